"""Which exercises are done: one name a line in a small file beside the notebooks. Nothing is sent anywhere.

And what passed, for as long as this kernel lives: the pages run it in the agent. Under pytest no file is read or
written, so that outputs do not depend on what the reader has done.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

FILE = ".progress"  # git ignores it

_here: list[str] = []  # done in this process: all that there is under pytest

kept: dict[str, Any] = {}  # name -> what passed its check, unless something else has failed it since


def _path():
    if "PYTEST_VERSION" in os.environ:  # set by pytest, and inherited by the kernels that nbval starts
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return Path(getattr(shell, "starting_dir", None) or Path.cwd()) / FILE  # a cell may have changed the folder since


def done() -> list[str]:
    """The names recorded so far, in the order in which they were first done."""
    path, names = _path(), list(_here)
    if path is not None:
        with contextlib.suppress(OSError):  # no file yet, or no right to read it: then this session counts
            names = path.read_text(encoding="utf-8", errors="replace").split() + names
    return list(dict.fromkeys(names))


def record(name: str) -> None:
    """Remember that this exercise is done. A folder that cannot be written costs the memory, not the check."""
    if name in done():
        return
    _here.append(name)
    path = _path()
    if path is not None:
        # Appending: two notebooks may do it at once.
        with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as file:
            file.write(name + "\n")


def reset() -> None:
    """Forget everything."""
    _here.clear()
    path = _path()
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
