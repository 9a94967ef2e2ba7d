"""What is wrong with this machine, in words that can be sent to a teacher: no key stands in them.

Looks at everything, whatever it finds on the way; installs and repairs nothing. Before the environment stands it says
what it could not look at. Run by `python3 -m s02_tool_use doctor`; the exit status is 1 if something is wrong.
"""

import contextlib
import io
import locale
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any
from urllib.request import urlopen

import s02_tool_use

from ...calls.secrets import cut, keep
from ..client.settings import PLACEHOLDER, SettingsError, host_of, lines, secrets
from . import fast_imports, setup  # noqa: F401  (early: before the kernel check imports Jupyter)

OK, NOTE, WRONG, UNKNOWN = "ok", "note", "WRONG", "?"
Findings = Iterator[tuple[str, str]]  # (one of these marks, a sentence)
START = f"{'py' if os.name == 'nt' else 'python3'} -m s02_tool_use"
MISNAMED = (".env.txt", "env.txt", "env", ".env.env", "dotenv", ".env.example.txt", "_env")
ENOUGH_BYTES = 500_000_000  # the environment takes 300 MB, the rest is for what people do

MAX_PATH = 259  # characters of a path on Windows; 260 with the NUL at its end
LONGEST = 180  # characters below .venv, what a package's longest path will have at most; 166 in November 2026

# What is said of a check that needs the environment.
TOO_EARLY = {
    "packages": "the packages cannot be checked",
    "kernel": "no kernel can be started",
    "endpoint": "what would answer cannot be checked",
}


def main(argv: Sequence[str] = ()) -> int:
    """Print one line for each thing looked at. Returns 1 if something is wrong, else 0."""
    if s02_tool_use.IN_A_PAGE:
        print("A browser page has nothing to set up, so there is nothing to look at: open a notebook and run it.")
        return 0
    print("What the course finds on this machine. You can send all of it to your teacher: it holds no key.\n")
    faults = 0
    for mark, sentence in findings():
        faults += mark == WRONG
        print(f"{mark:>5}  {sentence}", flush=True)
    print(f"\n{'Nothing is wrong.' if not faults else f'Marked with {WRONG}: {faults}.'}")
    return int(faults > 0)


def findings() -> Findings:
    """What is found, thing by thing, with no key and no home folder in it."""
    for _, mark, sentence in looked_at():
        yield mark, sentence


def looked_at() -> Iterator[tuple[str, str, str]]:
    """The findings, each after the name of its check."""
    stands = setup.has_everything()
    # Kept without connect(): the packages that it needs may not be there.
    keep(texts=secrets([*os.environ.items(), *lines(_read(setup.ROOT / ".env")), *lines(_read(Path(".env")))]))
    for check in (python, environment, packages, kernel, settings, endpoint, shell, text, folders, paths, network):
        try:
            early = "" if stands else TOO_EARLY.get(check.__name__, "")
            found = [(UNKNOWN, f"{early} before the environment is complete")] if early else list(check())
        except Exception as error:  # a check that fails is a finding as well
            found = [(WRONG, f"the check of {check.__name__} failed: {type(error).__name__}: {error}")]
        for mark, sentence in found:
            yield check.__name__, mark, cut(sentence).replace(str(Path.home()), "~")


def _read(path):
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


# What Python is, and what it has


def python() -> Findings:
    yield OK, f"Python {platform.python_version()} ({sys.executable}) on {platform.platform()}"
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"):
        if os.environ.get(name):
            yield (
                NOTE,
                f"{name} is set: what is there is imported before the course. If an import fails, try without it.",
            )


def environment() -> Findings:
    if setup.is_ready():
        yield OK, f"the environment is complete: {setup.VENV}"
    elif setup.has_everything():
        yield OK, f"the environment was made for the course: {sys.prefix}"
    elif setup.VENV.exists():
        yield NOTE, f"{setup.VENV} is incomplete or belongs to another Python. The next start repairs it: {START}"
    else:
        yield NOTE, f"there is no .venv yet. The first start makes it: {START}"


def packages() -> Findings:
    from packaging.requirements import Requirement

    pins = [Requirement(line) for line in setup.FILES[1].read_text("utf-8").splitlines()]
    pins = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    for pin in pins:
        version = next((dist.version for dist in metadata.distributions(name=pin.name)), None)
        if version is None or not pin.specifier.contains(version, prereleases=True):
            found = f"is {version}" if version else "is missing"
            yield WRONG, f"{pin.name} {found}, the course has {pin.specifier}. Remove .venv and start again: {START}"
    yield OK, f"{len(pins)} packages are checked"


def kernel() -> Findings:
    from jupyter_client.manager import run_kernel

    client: Any  # the blocking one, whatever the annotation there says
    with run_kernel(cwd=str(setup.ROOT / "notebooks"), stdout=-3, stderr=-3) as client:  # -3: shown nowhere
        reply = client.execute("import s02_tool_use", reply=True, timeout=60)["content"]
    if reply["status"] == "ok":
        yield OK, "a notebook's kernel starts and finds the course"
    else:
        yield WRONG, f"a notebook's kernel does not find the course: {reply.get('ename')}: {reply.get('evalue')}"


# Who answers


def settings() -> Findings:
    for folder in dict.fromkeys((setup.ROOT, setup.ROOT / "notebooks", Path.cwd())):
        for name in MISNAMED:
            if (folder / name).is_file():
                yield WRONG, f"{folder / name} is not read: its name must be .env, with nothing after it"
    if dict(lines(_read(setup.ROOT / ".env.example"))).get("API_KEY") not in (None, "", PLACEHOLDER):
        yield WRONG, "there is a key in .env.example, which is not read and which git would publish: move it to .env"
    if (setup.ROOT / ".env").is_dir():
        yield WRONG, f"{setup.ROOT / '.env'} is a folder: it must be a file"


def endpoint() -> Findings:
    from ..client.endpoint import connect

    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            client, _ = connect()
    except SettingsError as error:
        yield WRONG, str(error)
        return
    banner = said.getvalue().strip()
    yield NOTE if "placeholder" in banner else OK, banner
    if banner.startswith("Offline"):
        return
    host, found = host_of(client.base_url), (OK, "can be reached")
    try:
        client.with_options(max_retries=0, timeout=10).models.list()  # costs nothing
    except Exception as error:  # any other answer is an answer: not every server has a list of models
        if getattr(error, "status_code", None) in (401, 403):
            found = (WRONG, "refuses the key: copy it again, or make a new one")
        elif "Connection" in type(error).__name__ or "Timeout" in type(error).__name__:
            found = (
                WRONG,
                "cannot be reached. Is its server running? Is the address right? Is there a proxy in between?",
            )
    yield found[0], f"{host} {found[1]}"


# What the machine allows


def shell() -> Findings:
    from ...bash.program import INSTALL, which_bash
    from ...bash.sandbox import sandbox_status

    if found := which_bash():
        yield OK, f"the bash tool runs {found}"
    else:
        yield WRONG, f"there is no bash, and cells of the notebooks will fail: {INSTALL[os.name]}"
    confined, why = sandbox_status()
    yield OK if confined else NOTE, why
    if not confined:
        yield NOTE, "so a command can find a key: in .env, and in the environment of another process of yours"


def text() -> Findings:
    if "utf" in sys.getfilesystemencoding().lower() and "utf" in (sys.stdout.encoding or "").lower():
        yield OK, f"names and output are UTF-8 (files: {locale.getpreferredencoding(False)})"
    else:
        yield NOTE, f"this terminal uses {sys.stdout.encoding}: some letters show as ?. Set PYTHONUTF8=1"


def folders() -> Findings:
    here = Path.home() if "JUPYTERHUB_SERVICE_PREFIX" in os.environ else setup.ROOT  # on a hub learners write at home
    for folder in (here, here / "notebooks", Path(tempfile.gettempdir())):
        try:
            with tempfile.TemporaryFile(dir=folder):
                free = shutil.disk_usage(folder).free
        except OSError as error:
            yield WRONG, f"{folder} is not writable ({error.strerror}): notebooks cannot be saved there"
            continue
        where = f"{folder} is writable, {free / 1e9:.1f} GB free"
        yield (OK, where) if free > ENOUGH_BYTES else (WRONG, f"{where}: that is too little, make room")
    if not setup.has_display():
        yield NOTE, "there is no display here: JupyterLab prints its address, open it in a browser"


def paths() -> Findings:
    if not _long_paths():
        stands = setup.has_everything()
        venv = Path(sys.prefix) if stands else setup.VENV
        yield room_for_paths(venv, _longest(venv) if stands else LONGEST)


def room_for_paths(venv: PurePath, longest: int) -> tuple[str, str]:
    """What Windows' limit means for a path of `longest` characters below `venv`."""
    left = MAX_PATH - len(str(venv)) - 1 - longest
    if left >= 0:
        return (
            OK,
            f"Windows takes paths of {MAX_PATH} characters, the longest here has {MAX_PATH - left}: {left} are left",
        )
    return (
        WRONG,
        f"the path of the course's folder is {-left} characters too long: files of packages below it pass the "
        f"{MAX_PATH} that Windows takes. Move it to a shorter one, such as C:\\course, and start again. (Or let "
        "Windows take more: https://docs.python.org/3/using/windows.html#removing-the-max-path-limitation)",
    )


def _long_paths():
    """Whether this system takes paths of any length: Windows only if its registry says so."""
    if sys.platform != "win32":
        return True
    import winreg

    with contextlib.suppress(OSError):
        place = r"SYSTEM\CurrentControlSet\Control\FileSystem"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, place) as key:
            return winreg.QueryValueEx(key, "LongPathsEnabled")[0] == 1
    return False


def _longest(folder):
    """The characters of the longest path below the folder."""
    return max(len(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names) - len(str(folder)) - 1


def network() -> Findings:
    for name in sorted(os.environ):
        if name.lower() in ("http_proxy", "https_proxy", "all_proxy") and (proxy := os.environ[name]):
            used = "used to install and for a model elsewhere, not for calls on this machine"
            yield NOTE, f"{name} is set ({host_of(proxy)}): {used}"
    if not setup.has_everything() and not setup.WHEELS.is_dir():
        pypi = "PyPI, from which the first start installs,"
        try:
            urlopen(setup.PIP, timeout=10).close()
            yield OK, f"{pypi} can be reached"
        except (OSError, ValueError) as error:
            yield WRONG, f"{pypi} cannot be reached: {getattr(error, 'reason', error)}"
