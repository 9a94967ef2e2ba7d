"""Glob patterns: `*`, `?`, `[abc]`, `**` for any folders, `{a,b}` for either. Finds names, in time linear in the tree.

Every folder is opened below its parent and no link is followed, so a walk cannot leave the workspace. As in a shell,
wildcards pass over names that begin with a dot. Left out: ignore files, and letter case on systems that fold it.
"""

import fnmatch
import functools
import os
import re
import time

from s02_tool_use.workspace import FOLDER, ON_WINDOWS, ToolError, open_folder, safe_path, workdir

MAX_PATTERN = 1000  # characters
MAX_ALTERNATIVES = 100  # twenty {a,b} in a row would be a million patterns
MAX_DEPTH = 100  # folders; each holds a descriptor while the walk is below it
MAX_SECONDS = 20

_BRACES = re.compile(r"\{([^{}]*)\}")
_MAGIC = re.compile(r"[*?[]")


def find(pattern: str):
    """(sorted names relative to the workspace, notes on what was left out) for a pattern relative to the workspace."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > MAX_PATTERN:
        raise ToolError(f"pattern must be text of 1 to {MAX_PATTERN} characters, such as **/*.py")
    walks = {}  # patterns that differ only in their last part share a walk
    for alternative in expand_braces(pattern):
        parts = [part for part in alternative.split("/") if part not in ("", ".")]
        magic = next((i for i, part in enumerate(parts) if _MAGIC.search(part)), len(parts))
        fixed = min(magic, max(len(parts) - 1, 0))
        # '..', absolute paths and links are decided here, in the part without wildcards; wildcards never match '..'
        base = safe_path("/" * alternative.startswith("/") + "/".join(parts[:fixed]) or ".")
        if parts and parts[-1] == "**":
            parts.append("*")
        if parts:
            middle = tuple(
                part for i, part in enumerate(parts[fixed:-1]) if part != "**" or parts[fixed + i - 1] != "**"
            )
            walks.setdefault((base, middle, alternative.endswith("/")), []).append(parts[-1])
    found, notes = set(), set()
    deadline = time.monotonic() + MAX_SECONDS
    for (base, middle, only_folders), last in walks.items():
        _Walk(middle, last, only_folders, found, notes, deadline).start(base)
    return sorted(found), sorted(notes)


def expand_braces(pattern: str) -> list:
    """'a.{b,c}' becomes ['a.b', 'a.c']; braces without a comma are plain text, as in a shell."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        braces = next((match for match in _BRACES.finditer(text) if "," in match[1]), None)
        if braces:
            choices = braces[1].split(",")
            todo += [text[: braces.start()] + choice + text[braces.end() :] for choice in reversed(choices)]
        else:
            done.append(text)
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise ToolError(f"the braces make more than {MAX_ALTERNATIVES} patterns; use fewer")
    return done


@functools.lru_cache(1000)
def _regex(part):
    """A regular expression for one name. fnmatch's never backtrack, however many stars (glob.translate's do)."""
    dot = "" if part.startswith(".") else r"(?!\.)"
    regex = dot + fnmatch.translate(part)
    return f"{regex}|{re.escape(part)}\\Z" if "[" in part else regex  # app/[id] is a real folder in many projects


def _matcher(parts):
    return re.compile("|".join(map(_regex, parts))).match


class _Walk:
    """One walk for the pattern `middle`/`last`: at each folder it knows at which places of `middle` it can be."""

    def __init__(self, middle, last, only_folders, found, notes, deadline):
        self.middle, self.only_folders = middle, only_folders
        self.found, self.notes, self.deadline = found, notes, deadline
        self.is_last = _matcher(last)
        self.is_part = [_matcher([part]) for part in middle]

    def start(self, base):
        relative = base.relative_to(workdir())
        try:
            folder = open_folder(relative.parts)
        except OSError:
            return  # not there, or not a folder: no matches
        self.folder(folder, "".join(part + "/" for part in relative.parts), self.closure({0}), 0)

    def closure(self, places):
        """`**` may also stand for no folder at all."""
        places = set(places)
        for place in sorted(places):
            while place < len(self.middle) and self.middle[place] == "**":
                place += 1
                places.add(place)
        return frozenset(places)

    def folder(self, folder, shown, places, depth):
        """Look through an open folder, shown as 'a/b/', and close it."""
        here = len(self.middle) in places
        below = []
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if here and self.is_last(name) and (is_folder or not self.only_folders):
                    self.found.add(shown + name)
                if is_folder and (further := self.step(places, name)):
                    below.append((name, further))
        for name, further in below:
            if depth == MAX_DEPTH:
                self.notes.add(f"folders more than {MAX_DEPTH} levels down were not searched")
            elif time.monotonic() > self.deadline:
                self.notes.add(f"stopped after {MAX_SECONDS} s: not everything was searched; narrow the pattern")
            else:
                self.enter(folder, name, shown, further, depth)
        if not ON_WINDOWS:
            os.close(folder)

    def step(self, places, name):
        further = set()
        for place in places:
            if place < len(self.middle):
                if self.middle[place] == "**":
                    if not name.startswith("."):
                        further.add(place)
                elif self.is_part[place](name):
                    further.add(place + 1)
        return self.closure(further)

    def enter(self, folder, name, shown, places, depth):
        try:
            below = os.path.join(folder, name) if ON_WINDOWS else os.open(name, FOLDER, dir_fd=folder)
        except OSError:
            self.notes.add("some folders could not be opened")
            return
        self.folder(below, f"{shown}{name}/", places, depth + 1)
