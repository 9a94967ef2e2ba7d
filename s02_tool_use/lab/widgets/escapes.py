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
from dataclasses import dataclass
from pathlib import Path

from ... import tools, workspace
from ..rooms import build_room
from ..sessions.job import Job

MOST_NAMES = 100  # names that a naive glob may find: a link to a folder above gives them without end
SHOWN_NAMES = 6  # of them are shown
DEADLINE_SECONDS = 2.0  # seconds for one search: a naive one may walk through the whole disk

SUGGESTIONS = (
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
)
PATTERNS = ("*.txt", "**/*.txt", "../*.txt", "door/*.txt", "[.][.]/*.txt", "BASE/*.txt")


# The naive versions, each with its flaw. They take the workspace and what the model said.


def joined(root, p):
    return Path(root, p)


def no_dots(root, p):
    if ".." in p:
        raise ValueError("there is .. in it")
    return Path(root, p)


def same_beginning(root, p):
    path = os.path.normpath(os.path.join(root, p))
    if not path.startswith(str(root)):
        raise ValueError("its text begins differently")
    return Path(path)


def same_parts(root, p):
    path = Path(os.path.normpath(os.path.join(root, p)))
    if not path.is_relative_to(root):
        raise ValueError("its parts begin differently")
    return path


def resolved(root, p):
    path = Path(root, p).resolve()
    if not path.is_relative_to(root):
        raise ValueError("its real place is outside")
    return path


def ours(root, p):
    return workspace.safe_path(p)


PATHS = {
    "root / p": joined,
    '".." in p': no_dots,
    "normpath, startswith": same_beginning,
    "normpath, is_relative_to": same_parts,
    "resolve, is_relative_to": resolved,
    "safe_path": ours,
}


def glob_plain(root, pattern):
    return glob.iglob(pattern, root_dir=root)


def glob_recursive(root, pattern):
    return glob.iglob(pattern, root_dir=root, recursive=True)


def glob_no_dots(root, pattern):
    if ".." in pattern:
        raise ValueError("there is .. in it")
    return glob.iglob(pattern, root_dir=root, recursive=True)


def glob_ours(root, pattern):
    return [line for line in tools.run_glob(pattern).split("\n") if not line.startswith(("[", "No matches"))]


GLOBS = {
    "glob(pattern)": glob_plain,
    "glob(pattern, recursive=True)": glob_recursive,
    '".." in pattern': glob_no_dots,
    "run_glob": glob_ours,
}


@dataclass(frozen=True)
class Finding:
    """What one version made of the input. `leads`: the real place of what it allowed; `outside`: is that out?"""

    version: str
    joined: str
    gives: str = ""
    refused: str = ""
    leads: str = ""
    outside: bool = False

    @property
    def verdict(self):
        if self.refused:
            return "refused"
        return "ESCAPED" if self.outside else "inside"


class EscapeRoom:
    """BASE, built by layout. `close()` removes it; so does the end of the process, or of this object."""

    def __init__(self):
        folder = tempfile.mkdtemp(prefix="s02-paths-")
        self.close = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.base = Path(folder).resolve()
        self.build()

    @property
    def root(self):
        return self.base / "work"

    def build(self, layouts=("neighbour", "links")):
        """Make BASE anew with these layouts. `can_link` is False where the system lets nobody make links (Windows)."""
        for old in self.base.iterdir():
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
        self.can_link = not build_room(self.base, ["plain", "deep", *layouts, *["inner"] * ("links" in layouts)])

    def contents(self):
        """What lies in BASE, as lines."""
        lines = []
        for path in sorted(self.base.rglob("*")):
            if path.is_symlink():
                lines.append(f"{self._name(path)} -> {os.readlink(path)}")
            elif path.is_file():
                lines.append(self._name(path))
        return lines

    def try_path(self, p):
        """A Finding for each version in PATHS."""
        p = p.replace("BASE", str(self.base))
        with workspace.within(self.root):
            return [self._path(name, function, p) for name, function in PATHS.items()]

    def try_pattern(self, pattern):
        """A Finding for each version in GLOBS."""
        pattern = pattern.replace("BASE", str(self.base))
        with workspace.within(self.root):
            return [self._glob(name, function, pattern) for name, function in GLOBS.items()]

    def _path(self, version, function, p):
        before = self._name(os.path.join(self.root, p))
        try:
            path = function(self.root, p)
            leads = Path(os.path.realpath(path))
        except (ValueError, OSError, RuntimeError) as error:
            return Finding(version, before, refused=self._said(error))
        outside = not leads.is_relative_to(self.root)
        return Finding(version, before, gives=self._name(path), leads=self._name(leads), outside=outside)

    def _glob(self, version, function, pattern):
        before = self._name(os.path.join(self.root, pattern))
        job = Job(lambda: sorted(itertools.islice(function(self.root, pattern), MOST_NAMES)))
        job.join(DEADLINE_SECONDS)
        if not job.done:
            job.stop()
            return Finding(
                version, before, gives="no end of it: stopped", outside=not pattern.startswith(str(self.root))
            )
        if isinstance(job.error, (ValueError, OSError, RuntimeError, NotImplementedError)):
            return Finding(version, before, refused=self._said(job.error))
        if job.error is not None:
            raise job.error
        # A name belongs to the folder in which it stands: a link in the workspace may be listed, and not be followed.
        folders = [Path(os.path.realpath(os.path.dirname(self.root / name) or self.root)) for name in job.value]
        outside = [
            str(name) for name, folder in zip(job.value, folders, strict=True) if not folder.is_relative_to(self.root)
        ]
        return Finding(version, before, gives=self._list(job.value), leads=self._list(outside), outside=bool(outside))

    def _list(self, names):
        names = [self._name(name) for name in names]
        more = (
            [f"... {len(names) - SHOWN_NAMES} more" + " and more" * (len(names) == MOST_NAMES)]
            if len(names) > SHOWN_NAMES
            else []
        )
        return "\n".join([*names[:SHOWN_NAMES], *more]) or "nothing"

    def _name(self, path):
        return str(path).replace(str(self.base), "BASE").replace(os.sep, "/")

    def _said(self, error):
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return self._name(text)
