"""The little project that the agent works on: a fresh copy of notebooks/sample for each notebook.

The lessons edit and break files. They do it in a copy, so that the original stays whole and running a notebook again
starts from the same state.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from ..workspace import use_workdir

SAMPLE = Path(__file__).resolve().parents[2] / "notebooks" / "sample"
_copies = []  # folders to remove when the process ends


def fresh_workspace():
    """Copy the sample project to a new temporary folder and make it the workspace. Prints its files, never its path.

    Call it again to get back to a clean state: the copy before it is removed, with all that was changed in it.
    """
    root = Path(tempfile.mkdtemp(prefix="s02-"))
    shutil.copytree(SAMPLE, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    use_workdir(root)
    if not _copies:
        atexit.register(_remove_copies)
    _remove_copies()
    _copies.append(root)
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    print("Workspace: a fresh copy of the sample project:", ", ".join(names))


def _remove_copies():
    while _copies:
        shutil.rmtree(_copies.pop(), ignore_errors=True)
