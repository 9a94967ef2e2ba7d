"""What six ways to check a path, and four to search by pattern, make of one input. The PathLab draws it.

It works in a folder of its own, BASE, with a workspace in it and things around it. Nothing there is opened: it says
where a path leads. Left out: what can be swapped between the check and the opening (notebook 04).
"""

import glob
import itertools
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import NamedTuple

from ... import tools, workspace
from ..rooms import build_room
from ..sessions.job import Job, ctrl_c_kept

MOST_NAMES = 100  # names that a naive glob may find: a link to a folder above gives them without end
SHOWN_NAMES = 6  # of them are shown
DEADLINE_SECONDS = 2.0  # seconds for one search: a naive one may walk through the whole disk

EXAMPLES = {
    "path": [
        "(choose one)",
        "notes.txt",
        "../secret.txt",
        "BASE/secret.txt",
        "../work-evil/loot.txt",
        "link.txt",
        "door/secret.txt",
        "inner/deep.txt",
        "loop/../link.txt",
        "v1..v2.diff",
        "~/notes.txt",
    ],
    "pattern": ["(choose one)", "*.txt", "**/*.txt", "../*.txt", "door/*.txt", "[.][.]/*.txt", "BASE/*.txt"],
}

# The versions, the naive ones each with its flaw. They take the workspace and what the model said.


def only_if(made, fine, refusal):
    """What a version made, if its check finds that fine."""
    if not fine:
        raise ValueError(refusal)
    return made


def normal(root, p):
    return Path(os.path.normpath(os.path.join(root, p)))


def recursive(root, pattern):
    return glob.iglob(pattern, root_dir=root, recursive=True)


PATHS = {
    "root / p": Path,
    '".." in p': lambda root, p: only_if(Path(root, p), ".." not in p, "there is .. in it"),
    "normpath, startswith": lambda root, p: only_if(
        path := normal(root, p), str(path).startswith(str(root)), "its string starts differently"
    ),
    "normpath, is_relative_to": lambda root, p: only_if(
        path := normal(root, p), path.is_relative_to(root), "its parts start differently"
    ),
    "resolve, is_relative_to": lambda root, p: only_if(
        path := Path(root, p).resolve(), path.is_relative_to(root), "its real place is outside"
    ),
    "safe_path": lambda root, p: workspace.safe_path(p),
}
GLOBS = {
    "glob(pattern)": lambda root, pattern: glob.iglob(pattern, root_dir=root),
    "glob(pattern, recursive=True)": recursive,
    '".." in pattern': lambda root, pattern: only_if(
        recursive(root, pattern), ".." not in pattern, "there is .. in it"
    ),
    "run_glob": lambda root, pattern: [
        line for line in tools.run_glob(pattern).split("\n") if not line.startswith(("[", "No matches"))
    ],
}
REFUSALS = (ValueError, OSError, RuntimeError, NotImplementedError)  # what a version may raise


class Finding(NamedTuple):
    """What one version made of the input. `leads`: the real place of a path, or those names that lead out."""

    version: str
    verdict: str  # inside, refused or ESCAPED
    gives: str
    leads: str = ""


class EscapeRoom:
    """BASE, built by layout. `close()` removes it; so does the end of the process, or of this object."""

    def __init__(self):
        folder = tempfile.mkdtemp(prefix="s02-paths-")
        self.close = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.base = Path(folder).resolve()
        self.root = self.base / "work"
        self.build()

    def build(self, layouts=("neighbour", "links")):
        """Make BASE anew with these layouts. `can_link` is False where the system lets nobody make links (Windows)."""
        for old in self.base.iterdir():
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        self.can_link = not build_room(self.base, ["plain", "deep", *layouts, *["inner"] * ("links" in layouts)])

    def contents(self):
        """What lies in BASE, as lines."""
        paths = [path for path in sorted(self.base.rglob("*")) if path.is_symlink() or path.is_file()]
        return [self._name(path) + (f" -> {os.readlink(path)}" if path.is_symlink() else "") for path in paths]

    def joined(self, said):
        """The input joined with the workspace, with BASE for the folder around it."""
        return self._name(os.path.join(self.root, self._real(said)))

    def findings(self, kind, said):
        """A Finding for each version. kind: "path" or "pattern"."""
        versions, judge = (PATHS, self._path) if kind == "path" else (GLOBS, self._glob)
        with workspace.within(self.root):
            return [self._finding(name, version, judge, self._real(said)) for name, version in versions.items()]

    def _finding(self, name, version, judge, said):
        with ctrl_c_kept() as pressed:
            job = Job(lambda: judge(version(self.root, said)))
            job.join(DEADLINE_SECONDS, pressed)
        if not job.done:
            job.stop()
            verdict = "inside" if said.startswith(str(self.root)) else "ESCAPED"
            return Finding(name, verdict, "it does not end: stopped")
        if isinstance(job.error, REFUSALS):
            return Finding(name, "refused", self._name(getattr(job.error, "strerror", None) or job.error))
        if job.error is not None:
            raise job.error
        gives, leads, outside = job.value
        return Finding(name, "ESCAPED" if outside else "inside", gives, leads)

    def _path(self, path):
        """What it gives, where that leads, and whether it is outside."""
        leads = Path(os.path.realpath(path))
        return self._name(path), self._name(leads), not leads.is_relative_to(self.root)

    def _glob(self, names):
        found = sorted(itertools.islice(names, MOST_NAMES))
        # A name belongs to the folder in which it stands: a link in the workspace may be listed, and not be followed.
        folders = {name: Path(os.path.realpath(os.path.dirname(self.root / name) or self.root)) for name in found}
        outside = [name for name in found if not folders[name].is_relative_to(self.root)]
        return self._list(found), self._list(outside) if outside else "", bool(outside)

    def _list(self, names):
        shown = [self._name(name) for name in names[:SHOWN_NAMES]]
        if len(names) > SHOWN_NAMES:
            shown.append(f"... {len(names) - SHOWN_NAMES} more" + " and more" * (len(names) == MOST_NAMES))
        return "\n".join(shown) or "nothing"

    def _real(self, said):
        return said.replace("BASE", str(self.base))

    def _name(self, path):
        return str(path).replace(str(self.base), "BASE").replace(os.sep, "/")
