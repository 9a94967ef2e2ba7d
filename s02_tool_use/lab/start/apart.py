"""A folder with an environment of its own, for a tool that does not belong into .venv: JupyterHub, JupyterLite.

What is installed there is pinned by the files that it is made from; a stamp is written last, so an install that was
interrupted begins anew. Standard library only.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from . import setup

ENV = "env"  # in that folder


def python_of(folder: Path) -> str:
    """The Python of the environment in this folder."""
    return str(folder / ENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def install(
    folder: Path, files: Iterable[Path], what: Sequence[str], said: str, then: Callable[[], None] = lambda: None
) -> None:
    """Make the environment and let pip install `what`, unless it was made from the same `files`. Then comes `then`.

    `said` is printed before. SetupError with a sentence if it fails.
    """
    stamp = folder / "installed.txt"
    marks = [setup.fingerprint().encode(), str(folder).encode(), *(file.read_bytes() for file in files)]
    mark = hashlib.sha256(b"".join(marks)).hexdigest()
    if stamp.exists() and stamp.read_text() == mark:
        return
    if not stamp.exists() and folder.exists() and any(folder.iterdir()):
        raise setup.SetupError(f"In {folder} there is something else: name a folder that is new or empty.")
    print(said, file=sys.stderr, flush=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    stamp.write_text("")  # begun
    real = os.path.realpath(sys.executable)  # in a seat of the hub no other link to it can be followed
    uv = shutil.which("uv", path=os.path.dirname(sys.executable)) or shutil.which("uv") or ""
    do([real, "-m", "venv", "--clear", "--without-pip", str(folder / ENV)])
    do(
        [uv, "pip", "install", "--python", python_of(folder), *what],
        [sys.executable, "-m", "pip", "--python", python_of(folder), "install", *what],
    )
    then()
    stamp.write_text(mark)


def do(*ways: list[str]) -> None:
    """Run a command of an install, or where it fails the next. SetupError with a sentence if all fail."""
    failure = ""
    for command in ways:
        if not (failure := setup.run(*command)):
            return
    known = setup.cause(failure).replace("The first start installs from PyPI", "This installs from PyPI and from npm")
    tail = "\n".join(failure.strip().splitlines()[-8:])
    raise setup.SetupError(known or f"{tail}\nInstalling failed.")
