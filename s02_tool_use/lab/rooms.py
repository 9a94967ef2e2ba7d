"""The folders that the lessons work in: a copy of the sample project, and the room to break out of in 04.

The lessons edit and break files. They do it in temporary folders, so that the originals stay whole and running a
notebook again starts from the same state.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ..workspace import use_workdir
from .client import banner

SAMPLE = Path(__file__).parent / "data" / "sample"
_folder: tempfile.TemporaryDirectory | None = None  # the one in use; removed when the process ends

# What may lie in the folder around a workspace `work`: a string is a file's content, a tuple is a link.
LAYOUTS: dict[str, dict[str, str | tuple[str]]] = {
    "plain": {"secret.txt": "TOP SECRET", "work/notes.txt": "Buy more Sencha."},
    "secret": {"work/sub/secret.txt": "The secret of good tea is the water."},
    "deep": {"work/sub/deep.txt": "Deep down."},
    "neighbour": {"work-evil/loot.txt": "The neighbour's loot"},
    "links": {"work/link.txt": ("../secret.txt",), "work/door": ("..",), "work/loop": ("loop",)},
    "inner": {"work/inner": ("sub",)},
}
ROOM = ("plain", "secret", "neighbour", "links")  # of them are in the room of 04


def fresh_workspace() -> None:
    """Copy the sample project to a new temporary folder and make it the workspace. Says its files, never its path.

    Call it again to get back to a clean state: the copy before it is removed, with all that was changed in it.
    """
    root = _new_folder()
    copy_sample(root)
    use_workdir(root)
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    banner.say("workspace", f"Workspace: a fresh copy of the sample project:\n{', '.join(names)}")


def copy_sample(folder: Path) -> None:
    """Put the sample project into `folder`. In its own place the programs are .txt: no tool takes them for ours."""
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
    for path in folder.glob("*.py.txt"):
        path.rename(path.with_suffix(""))


def escape_room(show: bool = True) -> Path:
    """Make a workspace `work` with something to find outside of it; returns the folder around it.

    Prints what lies where, as a tree, never the path. Call it again to get back to a clean state; with show=False it
    prints nothing.
    """
    base = _new_folder()
    refused = build_room(base)
    use_workdir(base / "work")
    banner.forget("workspace")
    for path in sorted(base.rglob("*")) if show else ():
        end = f" -> {os.readlink(path)}" if path.is_symlink() else "/" if path.is_dir() else ""
        print("    " * len(path.relative_to(base).parts[1:]) + path.name + end)
    if refused and show:
        print("This system made no links (Windows needs its developer mode for them): cells about links differ here.")
    return base


def build_room(base: Path, layouts: Iterable[str] = ROOM) -> list[str]:
    """Put what LAYOUTS has under these names into the folder `base`; returns the links that the system refused."""
    refused = []
    for name, content in (item for layout in layouts for item in LAYOUTS[layout].items()):
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content + "\n", encoding="utf-8", newline="\n")
            continue
        try:
            path.symlink_to(*content, target_is_directory=not name.endswith(".txt"))
        except OSError:
            refused.append(name)
    return refused


def _new_folder() -> Path:
    """A temporary folder, in place of the one before it."""
    global _folder
    if _folder is not None:
        _folder.cleanup()
    _folder = tempfile.TemporaryDirectory(prefix="s02-", ignore_cleanup_errors=True)
    return Path(_folder.name).resolve()
