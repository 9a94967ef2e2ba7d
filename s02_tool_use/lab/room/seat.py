"""What starts for a learner on the hub, with the learner's rights: copies of the notebooks, then their Jupyter server.

    python -m s02_tool_use.lab.room.seat FOLDER [arguments for the server]

A notebook that a learner has changed is never written again. One that is as it was handed out follows the folder: how
it was handed out is kept beside it, as in a copy of the course.
"""

import contextlib
import runpy
import shutil
import sys
from pathlib import Path

from ..start import fast_imports, reset, setup  # noqa: F401  (the slow import is kept out)


def hand_out(home: Path, course: Path) -> None:
    """Copy each notebook of the course that the home does not have, or has as it was handed out before."""
    before = home / reset.COPY

    def copy(source, target):
        given = before / Path(source).relative_to(course)
        if not Path(target).exists() or Path(target).read_bytes() == given.read_bytes():
            shutil.copyfile(source, target)

    for folder, way in ((home / reset.NOTEBOOKS, copy), (before, shutil.copyfile)):
        with contextlib.suppress(OSError):  # such as a folder in the place of a file: the server starts all the same
            shutil.copytree(course, folder, ignore=shutil.ignore_patterns(".*"), copy_function=way, dirs_exist_ok=True)
    with contextlib.suppress(OSError):
        (home / "s02_tool_use").symlink_to(setup.ROOT / "s02_tool_use")  # the notebooks link to the modules beside them


if __name__ == "__main__":
    hand_out(Path.home(), Path(sys.argv.pop(1)))
    runpy.run_module("jupyterhub.singleuser", run_name="__main__", alter_sys=True)
