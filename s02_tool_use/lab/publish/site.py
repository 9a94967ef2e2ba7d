"""`site DIR`: the course as static files, for a browser and nothing else: JupyterLite, with Pyodide as its Python.

JupyterLite's own tools build it, in an environment of their own. What is added here: the wheels of the course, with a
lock file from which Pyodide loads them when a cell imports them, so that the notebooks are the same; and a page at the
door. Left out: packages beyond the course (no index is asked), a server that keeps what learners write.
"""

import argparse
import base64
import contextlib
import email
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ..start import apart, reset, setup

HERE = Path(__file__).parent
NEEDS = HERE / "needs"
FOLDER = setup.ROOT / ".site"  # the tools, and what was downloaded
MADE = "s02-site.json"  # in the site: the names of its files

# The Pyodide that this release of the kernel runs on: what npm says of its bytes, where it is, its public address.
PYODIDE = "314.0.6"
INTEGRITY = "BKDTJyIqFxC4BExLqeRS3f5xvXZIjOt8C3zGLN/Cc7tFxSwvKVhVkchQQ2AGLOtR4YrVOIFxbV8poyDOOmWwxQ=="  # sha512
NPM = "https://registry.npmjs.org"
PUBLIC = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/pyodide.mjs"
PARTS = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")  # what a page loads of it
INFO = {"abi_version": "2026_0", "arch": "wasm32", "platform": "emscripten_5_0_3", "python": "3.14.2"}
TAGS = ["--platform=pyemscripten_2026_0_wasm32", "--abi=cp314", "--abi=none", "--python-version=3.14.2"]
MARKS = {  # what the markers of a requirement ask
    "extra": "",
    "implementation_name": "cpython",
    "implementation_version": "3.14.2",
    "os_name": "posix",
    "platform_machine": "wasm32",
    "platform_python_implementation": "CPython",
    "platform_system": "Emscripten",
    "python_full_version": "3.14.2",
    "python_version": "3.14",
    "sys_platform": "emscripten",
}

COURSE = "s02-tool-use"
# In a page JupyterLite is in the place of JupyterLab and of the widgets' front ends; handouts are not made there.
NOT_THERE = {"jupyterlab", "jupyterlab-widgets", "nbconvert", "widgetsnbextension"}
RPDS = "rpds-py"  # made here, of the two that stand in for it
# What the kernel itself imports is loaded while Python starts, and with it the course, which the first cell imports.
KERNEL = ("micropip", "piplite", "pyodide-kernel", "ipykernel", "comm", "ipython", "jedi", "widgetsnbextension")
APPS = ("lab", "notebooks", "tree", "edit")


def main(argv: Sequence[str]) -> int | str:
    """Build the site. Returns 0, or a sentence about what stands in the way."""
    about = (__doc__ or "").split("\n")[0].partition(": ")[2]
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use site", description=about)
    parser.add_argument("folder", metavar="DIR", type=Path, help="a new folder, an empty one, or a site made before")
    parser.add_argument("--self-contained", action="store_true", help="put Pyodide in: for a room without a network")
    given = parser.parse_args(argv)
    try:
        build(given.folder, given.self_contained)
    except KeyboardInterrupt:
        return f"Stopped. {given.folder} is as it was."
    except (setup.SetupError, OSError) as error:
        return f"{known(str(error)) or error}\n{given.folder} is as it was."
    size = sum(path.stat().st_size for path in given.folder.rglob("*") if path.is_file())
    print(f"{given.folder}: {size / 1e6:.0f} MB.")
    quoted = f'"{given.folder}"'  # as every shell reads it
    print(f"To see it: python3 -m http.server --bind 127.0.0.1 --directory {quoted}, then http://127.0.0.1:8000")
    return 0


def known(failure: str) -> str:
    """A sentence for what goes wrong on many machines, or ""."""
    said = setup.cause(failure)
    said = said.replace("The first start installs from PyPI", "Building the site downloads from PyPI and npm")
    return said.replace(".venv needs 400 MB", "the site and its tools need 250 MB")


def build(
    folder: Path,
    self_contained: bool = False,
    *,
    apart_in: Path = FOLDER,
    notebooks: Path | None = None,
    say: Callable[[str], Any] = print,
) -> None:
    """Build the site beside `folder`, and put it there when it is whole. SetupError or OSError if it cannot be had.

    apart_in: keeps the tools and the downloads. notebooks: these, in place of the course's as they were shipped.
    """
    folder = folder.absolute()
    refuse(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    apart_in = apart_in.absolute()
    what = ["-c", "constraints.txt", "-r", str(NEEDS / "tools.txt")]
    apart.install(apart_in, [NEEDS / "tools.txt"], what, f"Installing JupyterLite into {apart_in}: once, 60 MB ...")
    say("Collecting what it is made of ...")
    wheels = wheels_of_the_page(apart_in)
    archive = pyodide(apart_in) if self_contained else b""
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent, ignore_cleanup_errors=True) as work:
        lite, site = Path(work, "lite"), Path(work, "site")
        reset.hand_out(lite / "files", notebooks)
        for path in (lite / "files").glob("*.md"):
            path.unlink()  # of the teacher
        for path in (lite / "files").rglob("*.ipynb"):
            as_served(path)
        settings = HERE.parent / "start" / "labconfig" / "default_setting_overrides.json"
        shutil.copy(settings, lite / "overrides.json")
        write_json(lite / "jupyter-lite.json", configuration(self_contained))
        say("Building the site ...")
        lite_build(apart_in, lite, site)
        lock(wheels, site / "static" / "wheels")
        if self_contained:
            unpack(archive, site / "static" / "pyodide")
        finish(site, self_contained)
        put(site, folder, Path(work, "old"))


def refuse(folder: Path) -> None:
    """SetupError unless a site may be put there without losing what somebody else has put there."""
    if folder.exists() and not folder.is_dir():
        raise setup.SetupError(f"{folder} is a file. Name a new folder.")
    there = files_of(folder) if folder.is_dir() else set()
    made: set[str] = set()
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):  # none, or not of ours
        made = {MADE, *json.loads((folder / MADE).read_text("utf-8"))["files"]}
    if strangers := sorted(there - made):
        others = f" and {len(strangers) - 1} more" if strangers[1:] else ""
        raise setup.SetupError(
            f"{folder} holds what no earlier build put there: {strangers[0]}{others}. Name a new or an empty folder."
        )


def files_of(folder: Path) -> set[str]:
    """The files in a folder, by their paths in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


def put(site: Path, folder: Path, old: Path) -> None:
    """The new site in the place of the old one."""
    if folder.exists():
        folder.rename(old)
    try:
        site.rename(folder)
    except BaseException:
        if old.exists():
            old.rename(folder)
        raise


# ---- the wheels


def wheels_of_the_page(apart_in: Path) -> dict[str, bytes]:
    """The file names and contents of all wheels that are loaded in the page."""
    made = [course_wheel(), rpds_wheel()]
    for path in sorted(kernel_files(apart_in).glob("*.whl")):
        if not path.name.startswith("widgetsnbextension-3"):
            made.append((path.name, path.read_bytes()))
    pins, kept = pins_of_the_page(), apart_in / "wheels"
    kept.mkdir(exist_ok=True)
    found = {name: (file, content) for file, content in made for name in [about(content)[0]]}
    while missing := sorted(needed(found) - found.keys()):
        for name, file in download(missing, pins, kept).items():
            found[name] = file.name, file.read_bytes()
    return dict(sorted(found.values()))


def needed(found: dict[str, tuple[str, bytes]]) -> set[str]:
    """The names of what these wheels need, and the kernel."""
    return set(KERNEL).union(*(about(content)[2] for _, content in found.values()))


def pins_of_the_page() -> dict[str, str]:
    """name -> version, as constraints.txt has it for a page; page.txt has the rest."""
    lines = [*setup.FILES[1].read_text("utf-8").splitlines(), *(NEEDS / "page.txt").read_text("utf-8").splitlines()]
    pins = [Requirement(line.partition("#")[0]) for line in lines if line[0] != "#"]
    there = [pin for pin in pins if not pin.marker or pin.marker.evaluate({**MARKS})]
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in there}


def download(names: list[str], pins: dict[str, str], kept: Path) -> dict[str, Path]:
    """name -> its wheel, from what was kept, or else from the index that pip asks."""
    if strangers := [name for name in names if name not in pins]:
        raise setup.SetupError(f"No version of {strangers[0]} is named in constraints.txt or {NEEDS / 'page.txt'}.")
    missing = [name for name in names if not wheel_of(name, pins[name], kept)]
    if missing:
        with tempfile.TemporaryDirectory(dir=kept) as fresh:
            asked = [f"{name}=={pins[name]}" for name in missing]
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", fresh]
            pip += ["--no-deps", "--only-binary=:all:", "--implementation=cp", *TAGS, *asked]
            if failure := setup.run(*pip):
                lines = [line for line in failure.splitlines() if not line.startswith("WARNING")]
                raise setup.SetupError(known(failure) or "\n".join(lines[-8:]) + "\nDownloading the wheels failed.")
            for path in Path(fresh).glob("*.whl"):
                path.replace(kept / path.name)
    found = {name: wheel_of(name, pins[name], kept) for name in names}
    return {name: path for name, path in found.items() if path}


def wheel_of(name: str, version: str, kept: Path) -> Path | None:
    """The wheel that was kept of this version, if it is whole."""
    for path in kept.glob("*.whl"):
        parts = path.name.split("-")
        if (canonicalize_name(parts[0]), parts[1]) == (name, version) and zipfile.is_zipfile(path):
            return path
    return None


def about(wheel: bytes) -> tuple[str, str, set[str], list[str]]:
    """(name, version, what it needs in a page, what can be imported from it) of a wheel."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        files = archive.namelist()
        info = next(name for name in files if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        said = email.message_from_bytes(archive.read(info))
    needs = [Requirement(line) for line in said.get_all("Requires-Dist") or ()]
    names = {str(canonicalize_name(need.name)) for need in needs if not need.marker or need.marker.evaluate({**MARKS})}
    modules = {name.split("/")[0].removesuffix(".py") for name in files if name.endswith(".py")}
    imports = sorted(name for name in modules if name.isidentifier())
    return str(canonicalize_name(said["Name"])), str(said["Version"]), names - NOT_THERE, imports


def lock(wheels: dict[str, bytes], folder: Path) -> None:
    """Write the wheels, and the lock file that tells Pyodide what is in them."""
    folder.mkdir(parents=True)
    packages = {}
    for file, content in wheels.items():
        name, version, needs, imports = about(content)
        packages[name] = {
            "name": name,
            "version": version,
            "file_name": file,
            "sha256": hashlib.sha256(content).hexdigest(),
            "depends": sorted(needs),
            "imports": imports,
            "install_dir": "site",
            "package_type": "package",
            "unvendored_tests": False,
        }
        (folder / file).write_bytes(content)
    write_json(folder / "pyodide-lock.json", {"info": INFO, "packages": packages})


def course_wheel() -> tuple[str, bytes]:
    """The package of this clone, with what its installation says of it."""
    files = {}
    for path in sorted((setup.ROOT / "s02_tool_use").rglob("*")):
        inside = path.relative_to(setup.ROOT)
        if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inside.parts):
            files[inside.as_posix()] = path.read_bytes()
    said = importlib.metadata.distribution(COURSE)
    return wheel(COURSE, said.version, said.read_text("METADATA") or said.read_text("PKG-INFO") or "", files)


def rpds_wheel() -> tuple[str, bytes]:
    """The names of rpds-py, by pyrsistent, as pyrsistent-as-rpds-py says that it is to be done."""
    version = pins_of_the_page()[RPDS]
    needs = "".join(f"Requires-Dist: {name}\n" for name in ("pyrsistent", "pyrsistent-as-rpds-py"))
    said = f"Metadata-Version: 2.1\nName: {RPDS}\nVersion: {version}\n{needs}"
    return wheel(RPDS, version, said, {"rpds/__init__.py": b"from pyrsistent_as_rpds.pure import *\n"})


def wheel(name: str, version: str, metadata: str, files: dict[str, bytes]) -> tuple[str, bytes]:
    """(file name, content) of a wheel of pure Python; always the same bytes for the same files."""
    stem = f"{name.replace('-', '_')}-{version}"
    said = "Wheel-Version: 1.0\nGenerator: s02-tool-use\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {**files, f"{stem}.dist-info/METADATA": metadata.encode(), f"{stem}.dist-info/WHEEL": said.encode()}
    record = f"{stem}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(content)},{len(content)}" for path, content in files.items()]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)  # of 1980
    return f"{stem}-py3-none-any.whl", made.getvalue()


def digest(content: bytes) -> str:
    """As a RECORD has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


# ---- Pyodide


def pyodide(apart_in: Path) -> bytes:
    """The package pyodide of npm, from what was kept, or else from the registry that npm asks."""
    kept = apart_in / f"pyodide-{PYODIDE}.tgz"
    content = kept.read_bytes() if kept.exists() else b""
    if not is_right(content):
        address = f"{registry()}/pyodide/-/{kept.name}"
        try:
            with urlopen(address, timeout=60) as reply:
                content = reply.read()
        except (OSError, ValueError) as error:  # ValueError: the registry is no address
            raise setup.SetupError(
                f"Pyodide comes from {address}, which says: {error}. Is the network there?"
            ) from None
        if not is_right(content):
            raise setup.SetupError(f"What came from {address} is not what npm has published under this name.")
        draft = kept.with_suffix(".new")
        draft.write_bytes(content)
        draft.replace(kept)
    return content


def is_right(content: bytes) -> bool:
    return base64.b64encode(hashlib.sha512(content).digest()).decode() == INTEGRITY


def registry() -> str:
    """The address of the npm registry: as npm itself, from the environment or ~/.npmrc, or the public one."""
    given = next((value for name, value in os.environ.items() if name.lower() == "npm_config_registry" and value), "")
    if not given and (file := Path.home() / ".npmrc").is_file():
        found = re.search(r"(?m)^registry\s*=\s*[\"']?([^\s\"']+)", file.read_text("utf-8", "replace"))
        given = found[1] if found else ""
    return (given or NPM).rstrip("/")


def unpack(archive: bytes, folder: Path) -> None:
    """What a page loads of Pyodide."""
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for name in PARTS:
            member = files.extractfile(f"package/{name}")
            assert member, name
            (folder / name).write_bytes(member.read())


# ---- JupyterLite


def configuration(self_contained: bool) -> dict[str, Any]:
    """jupyter-lite.json: which Python, and what it loads."""
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.mjs" if self_contained else PUBLIC,
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"lockFileURL": "./static/wheels/pyodide-lock.json", "packages": [*KERNEL, COURSE]},
    }
    data = {
        "appName": "Tool use",
        "exposeAppInBrowser": True,
        "litePluginSettings": {"@jupyterlite/pyodide-kernel-extension:kernel": kernel},
    }
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}


def as_served(path: Path) -> None:
    """Write a notebook as a server sends it: each string in one piece. In a page nobody joins the lines."""
    import nbformat

    write_json(path, nbformat.read(path, as_version=4))


def lite_build(apart_in: Path, lite: Path, site: Path) -> None:
    """Let JupyterLite build. SetupError with what it said if it fails."""
    options = {
        "apps": list(APPS),
        "cache_dir": str(lite.with_name("cache")),
        "contents": [str(lite / "files")],
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "output_dir": str(site),
        "source_date_epoch": made_at(),
    }
    write_json(lite / "jupyter_lite_config.json", {"LiteBuildConfig": options})
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTHON"))}
    command = [apart.python_of(apart_in), "-m", "jupyterlite_core", "build", "--lite-dir", str(lite)]
    env = {**kept, "JUPYTER_CONFIG_DIR": str(lite / "none"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        command, cwd=lite, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
        raise setup.SetupError(known(tail) or f"{tail}\nJupyterLite could not build the site.")


def made_at() -> int:
    """The time that all files say they were made at, so that the same course makes the same site."""
    if commit := reset.course_commit():
        return int(reset.git("show", "-s", "--format=%ct", commit))
    return 1767225600  # 2026


def kernel_files(apart_in: Path) -> Path:
    """Where the kernel keeps its own wheels."""
    return apart_in / apart.ENV / "share/jupyter/labextensions/@jupyterlite/pyodide-kernel-extension/static/pypi"


def finish(site: Path, self_contained: bool) -> None:
    """Drop what only builds of JupyterLite need, put the page at the door, list what is there."""
    for pattern in ("package.json", "*/package.json", "rspack.config*", "jupyterlite.schema*"):
        for path in site.glob(pattern):
            path.unlink()
    shutil.copy(site / "lab" / "favicon.ico", site / "favicon.ico")
    page = (HERE / "site.html").read_text("utf-8").replace("<!-- notebooks -->", contents(site / "files"))
    (site / "index.html").write_text(page, encoding="utf-8")
    write_json(site / MADE, {"self_contained": self_contained, "files": sorted(files_of(site))})


def contents(folder: Path) -> str:
    """The notebooks as a list of links, each with the solution if there is one."""
    lines = []
    for path in sorted(folder.glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        title = "".join(cells[0]["source"]).partition("\n")[0].lstrip("# ") if cells else ""
        shown = f"{path.stem.partition('_')[0]} {title or path.stem}"
        line = f'<li><a href="notebooks/index.html?path={quote(path.name)}">{escape(shown)}</a>'
        if (folder / "solutions" / path.name).exists():
            line += f' (<a href="notebooks/index.html?path=solutions/{quote(path.name)}">solved</a>)'
        lines.append(f"{line}</li>")
    return "\n".join(lines)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
