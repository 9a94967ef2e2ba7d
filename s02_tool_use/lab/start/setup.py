"""Makes .venv in the folder of the course and installs requirements.txt into it. Standard library only.

Nothing is installed outside .venv. uv does it in seconds; where uv does not run, pip does it in about a minute. Both
take from wheels/ if that folder is there, and no network is needed then.
A stamp is written last, so an install that was interrupted is taken up again. All that is said goes to stderr: stdout
belongs to the command that runs next.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname, urlopen

ROOT = Path(__file__).resolve().parents[3]
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / ("python.exe" if os.name == "nt" else "python"))
STAMP = VENV / "s02-installed.txt"
SETTINGS = Path(__file__).parent, ("jupyter_server_config.d/s02_tool_use.json", "jupyter_nbconvert_config.json")
FILES = [ROOT / name for name in ("requirements.txt", "constraints.txt", "pyproject.toml", "setup.py")]
WHEELS = ROOT / "wheels"  # `room wheels` fills it, and with it no network is needed
PIP = "https://pypi.org/pypi/pip/json"
APT = f"On Debian and Ubuntu: sudo apt install python3.{sys.version_info[1]}-venv. Then start again."

# What uv, pip or the system say when an install fails, and what that means. The first that fits is told.
CAUSES = {
    "no space left|not enough space|disk is full|quota exceeded": "The disk is full: .venv needs 400 MB. Make room and "
    "start again.",
    "permission denied|read-only file|access is denied": f"The folder {ROOT} is not writable: copy the course to a "
    "folder of your own and start there.",
    "connection|timed out|proxy|certificate": "The first start installs from PyPI, which cannot be reached. Connect to "
    "the internet (is a proxy set that does not exist?), or copy the folder that `room wheels` fills to "
    f"{WHEELS}, and start again.",
}


class SetupError(Exception):
    """What stands in the way, in a sentence that says what to do."""


class MissingError(SetupError):
    """What wheels/ does not have."""


def environment() -> str:
    """Return the Python that has all that requirements.txt names. Makes .venv for it if there is none."""
    if not all(file.is_file() for file in FILES):
        raise SetupError(f"requirements.txt is missing in {ROOT}: start in the folder that git clone made.")
    inside = Path(sys.prefix) == VENV
    if not (inside and STAMP.exists()) and has_everything():
        if not inside:
            print(f"Using the environment that was made for the course: {sys.prefix}", file=sys.stderr)
        return sys.executable
    if not is_ready():
        make()
    return PYTHON


def has_everything() -> bool:
    """Whether this Python has each package of requirements.txt at a version of constraints.txt, and this package."""
    from importlib import metadata  # slow, and seldom needed

    pins = FILES[1].read_text("utf-8").split()
    names = re.findall(r"(?m)^(\w[\w-]*)[=<>]", FILES[0].read_text("utf-8"))
    # Installed from this folder, not from another copy of the course, which the notebooks would then import.
    origins = [dist.read_text("direct_url.json") for dist in metadata.distributions(name="s02-tool-use")]
    if not any(url2pathname(urlsplit(json.loads(text)["url"]).path) == str(ROOT) for text in origins if text):
        return False
    try:
        return all(f"{name.replace('_', '-')}=={metadata.version(name)}" in pins for name in names)
    except metadata.PackageNotFoundError:
        return False


def is_ready() -> bool:
    """Whether .venv holds what the four files name, made by this Python, on this system, in this folder."""
    return os.path.exists(PYTHON) and STAMP.exists() and STAMP.read_text("utf-8") == fingerprint()


def fingerprint() -> str:
    """A hash of all that the environment depends on."""
    base = Path(sys.base_prefix).resolve()
    made_by = repr((sys.implementation.cache_tag, sys.platform, platform.machine(), str(base), str(ROOT)))
    return hashlib.sha256(made_by.encode() + b"".join(file.read_bytes() for file in FILES)).hexdigest()


def make() -> None:
    """Make .venv, or repair it. Raises SetupError for what this machine lacks."""
    print(f"Installing into {VENV}: once, about 100 MB, some seconds to a minute ...", file=sys.stderr)
    try:
        if not is_usable():
            create()
        STAMP.unlink(missing_ok=True)
        install()
        settle()
        STAMP.write_text(fingerprint(), "utf-8")
    except OSError as error:
        raise SetupError(cause(str(error)) or f"Installing failed: {error}") from error


def is_usable() -> bool:
    """Whether .venv runs, is of this version of Python, and was not moved here (its scripts hold its path)."""
    same = f"import sys; sys.exit(sys.implementation.cache_tag != {sys.implementation.cache_tag!r})"
    script = BIN / "activate"
    return script.exists() and str(VENV) in script.read_text("utf-8", "replace") and not run(PYTHON, "-c", same)


def create() -> None:
    """Make an empty .venv. pip comes later: with uv it takes no time."""
    if VENV.exists():
        print("The .venv found there was made for another Python, system or folder: making a new one.", file=sys.stderr)
    try:
        import venv

        venv.EnvBuilder(clear=True, symlinks=os.name != "nt").create(VENV)
    except ImportError:
        raise SetupError(f"This Python has no venv module. {APT}") from None
    except ValueError as error:
        raise SetupError(f"Python cannot make a .venv here: {error} Move the course to another folder.") from None


def install() -> None:
    """Install from wheels/ if it is there. Where it is not, or something is missing in it, from PyPI."""
    if not WHEELS.is_dir():
        install_with([])
        return
    try:
        install_with(["--no-index", "--find-links", WHEELS.as_uri()])
    except MissingError as error:
        print(f"{error}\nInstalling from PyPI ...", file=sys.stderr)
        install_with([])


def install_with(index: list[str]) -> None:
    """Install with uv, from its cache if there is no network, or else with pip."""
    what = [*index, "pip", "-r", "requirements.txt"]
    uv = shutil.which("uv")
    pip = [] if uv else find_pip()
    if pip and (known := cause(run(*pip, "install", *index, "uv"))):
        raise SetupError(known)  # the rest would fail in the same way, only later
    if uv := uv or shutil.which("uv", path=BIN):
        # Where Python stores no bytecode (many containers), each start would compile all that it imports.
        flags = ["--compile-bytecode"] if sys.dont_write_bytecode else []
        command = [uv, "pip", "install", "--python", PYTHON, *flags, *what]
        if not run(*command) or not run(*command, "--offline"):
            return
    if failure := run(*(pip or find_pip()), "install", *what):
        if known := cause(failure):
            raise SetupError(known)
        if index:
            raise MissingError(missing())
        tail = "\n".join(failure.strip().splitlines()[-8:])
        raise SetupError(f"{tail}\nInstalling failed. Start again, or see what the doctor says.")


def missing() -> str:
    """What wheels/ does not have, and how to get it, as a sentence."""
    there = {"-".join(path.name.split("-")[:2]).lower() for path in WHEELS.glob("*.whl")}
    pins = re.findall(r"(?m)^(\S+)==(\S+)$", FILES[1].read_text("utf-8"))  # those that everybody needs
    lacks = [f"{name} {number}" for name, number in pins if f"{name.replace('-', '_')}-{number}".lower() not in there]
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    said = f"The folder {WHEELS.name} is not complete for Python {version} on {system()}"
    if not lacks:
        said += " (a file in it is damaged, or for another Python)"
    else:
        said += f" ({lacks[0]} is missing{f', and {len(lacks) - 1} more' if lacks[1:] else ''})"
    fill = f"python3 -m s02_tool_use room wheels --platform {system()} --python {version}"
    return f"{said}. To fill it, where there is a network: {fill}"


def system() -> str:
    """The name that `room wheels` has for this platform."""
    name = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return f"{name}-{platform.machine().replace('AMD64', 'x86_64')}"


def settle() -> None:
    """Tell each Jupyter of this environment to save widgets as their twins, also one that is started by another way."""
    folder, names = SETTINGS
    for name in names:
        there = VENV / "etc" / "jupyter" / name
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / name, there)


def find_pip() -> list[str]:
    """Return the command of a pip that installs into .venv, which has none yet."""
    outside = [sys.executable, "-m", "pip", "--python", PYTHON]  # before pip 22.3 there was no --python
    if not run(*outside, "--version"):
        return outside
    if not run(PYTHON, "-m", "ensurepip"):
        return [PYTHON, "-m", "pip"]
    for file in WHEELS.glob("pip-*.whl"):
        return [PYTHON, str(file / "pip")]
    try:
        with urlopen(PIP, timeout=30) as reply:
            wheel = next(file for file in json.load(reply)["urls"] if file["packagetype"] == "bdist_wheel")
        with urlopen(urljoin(PIP, wheel["url"]), timeout=30) as reply:
            (VENV / wheel["filename"]).write_bytes(reply.read())
    except (OSError, ValueError):
        raise SetupError(f"This Python has no pip, and PyPI, which has one, cannot be reached. {APT}") from None
    return [PYTHON, str(VENV / wheel["filename"] / "pip")]


def run(*command: str) -> str:
    """Run a command, its last line shown while it goes on. Returns "" or, if it failed, what it printed."""
    output, width, shown = "", shutil.get_terminal_size().columns - 1, sys.stdout.isatty()
    ends: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    try:
        with subprocess.Popen(command, cwd=ROOT, encoding="utf-8", errors="replace", **ends) as child:
            for line in child.stdout or ():
                output += line
                if shown:
                    print(line.strip()[:width].ljust(width), end="\r", file=sys.stderr)
    except OSError as error:
        return str(error)
    if shown:
        print(" " * width, end="\r", file=sys.stderr)
    return (output or f"exit status {child.returncode}") if child.returncode else ""


def cause(failure: str) -> str:
    """Turn what a failed install said into a sentence that says what to do, if it is a failure that is known here."""
    return next((sentence for said, sentence in CAUSES.items() if re.search(said, failure, re.IGNORECASE)), "")


def has_display() -> bool:
    """Whether JupyterLab may open a browser. Without a display a text browser could open here, in the terminal."""
    return not sys.platform.startswith("linux") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))
