"""Glob patterns: `*`, `?`, `[abc]`, `**` for any folders, `{a,b}` for either. Finds names, in time linear in the tree.

Every folder is opened below its parent and no link is followed, so a walk cannot leave the workspace. As in a shell,
wildcards pass over names that begin with a dot. Left out: ignore files, and letter case on systems that fold it.
"""

import fnmatch
import functools
import os
import re
import time
from collections.abc import Callable

from ..calls.results import ToolError
from .names import ON_WINDOWS, shown
from .opening import FOLDER

MAX_PATTERN_CHARACTERS = 1000  # characters
MAX_ALTERNATIVES = 100  # twenty {a,b} in a row would be a million patterns
MAX_DEPTH = 100  # folders; each holds a descriptor while the walk is below it
MAX_SECONDS, MAX_WIDE_SECONDS = 20, 1  # the second to count what stands behind dots

UNOPENED = "some folders could not be opened"

BRACES = re.compile(r"\{([^{}]*)\}")
MAGIC = re.compile(r"[*?[]")


def find(pattern: str, parts_of: Callable, open_folder: Callable) -> tuple[list[str], list[str]]:
    """(names that match, sorted, relative to the workspace; notes on what was not searched).

    `parts_of(text)` gives the way from the workspace to a folder, or refuses it; `open_folder(parts)` opens it.
    """
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN_CHARACTERS:
        raise ToolError(f"pattern must be text of 1 to {MAX_PATTERN_CHARACTERS} characters, such as **/*.py")
    walks: dict[tuple, list[str]] = {}  # {a,b} in the last part makes one walk, not two
    for alternative in expand_braces(pattern):
        text, parts = _split(alternative)
        base = parts_of(text)
        *middle, last = parts or [""]
        walks.setdefault((base, tuple(middle), alternative.endswith("/")), []).append(last)
    search = _Search(open_folder)
    for (base, middle, only_folders), last in walks.items():
        search.start(base, middle, last, only_folders)
    if more := search.dotted - search.found:
        count = "at least " * search.is_cut + str(len(more))
        search.notes.add(
            f"{count} more under names that begin with a dot, such as {shown(min(more))}; write the dot too"
        )
    return sorted(search.found), sorted(search.notes)


def expand_braces(pattern: str) -> list:
    """'a.{b,c}' becomes ['a.b', 'a.c']; braces without a comma are plain text, as in a shell."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        braces = next((match for match in BRACES.finditer(text) if "," in match[1]), None)
        if braces:
            choices = braces[1].split(",")
            todo += [text[: braces.start()] + choice + text[braces.end() :] for choice in reversed(choices)]
        else:
            done.append(text)
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise ToolError(f"the braces make more than {MAX_ALTERNATIVES} patterns; use fewer")
    return done


def _split(pattern):
    """(the folder to start in, the parts to match below it); '..', '/' and links can stand in the first alone.

    Wildcards need no such care: they are held against names that a folder has, and '..' is none.
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    plain = 0
    while plain < len(parts) - 1 and not MAGIC.search(parts[plain]):
        plain += 1
    base = "/" * pattern.startswith("/") + "/".join(parts[:plain]) or "."
    return base, parts[plain:] + ["*"] * (parts[-1:] == ["**"])


def _matcher(parts, wide):
    return re.compile("|".join(_regex(part, wide) for part in parts)).match


@functools.lru_cache(1000)
def _regex(part, wide):
    """A regular expression for one name. fnmatch's never try twice, however many stars; glob.translate's do."""
    regex = ("" if wide or part.startswith(".") else r"(?!\.)") + fnmatch.translate(part)
    return f"{regex}|{re.escape(part)}\\Z" if "[" in part else regex  # 'app/[id]' is a folder in many projects


class _Search:
    """Walks folders, and knows at each one how far into the pattern it can be: a set of places in `middle`.

    What only a dot hides from the wildcards is not found but counted, in `dotted`: behind dots the walk is `wide`, and
    a dot is a letter like any other. That walk comes last, and has a short time of its own.
    """

    def __init__(self, open_folder):
        self.open_folder = open_folder
        self.found, self.dotted, self.notes = set(), set(), set()
        self.deadline = time.monotonic() + MAX_SECONDS
        self.wide_seconds, self.is_cut = MAX_WIDE_SECONDS, False

    def start(self, base, middle, last, only_folders):
        self.middle, self.only_folders, self.behind_dots = middle, only_folders, []
        self.is_last = [_matcher(last, wide) for wide in (False, True)]
        self.is_part = [[_matcher([part], wide) for part in middle] for wide in (False, True)]
        self.enter(lambda: self.open_folder(base), "".join(f"{part}/" for part in base), self.with_none({0}), 0)
        started = time.monotonic()
        self.wide_deadline = started + self.wide_seconds
        for path, places in self.behind_dots:
            self.enter(lambda path=path: self.open_folder(path), "/".join(path) + "/", places, len(path), wide=True)
        self.wide_seconds -= time.monotonic() - started

    def with_none(self, places):
        """`**` may stand for no folder: whoever is before it is also behind it."""
        places = set(places)
        for place in range(len(self.middle)):
            if place in places and self.middle[place] == "**":
                places.add(place + 1)
        return places

    def further(self, places, name, wide):
        """The places inside the folder `name`."""
        reached = set()
        for place in places - {len(self.middle)}:
            if self.middle[place] != "**":
                reached |= {place + 1} if self.is_part[wide][place](name) else set()
            elif wide or not name.startswith("."):
                reached.add(place)
        return self.with_none(reached)

    def enter(self, opening, shown, places, depth, wide=False):
        if depth > MAX_DEPTH:
            self.notes.add(f"folders more than {MAX_DEPTH} levels down were not searched")
        elif wide and time.monotonic() > self.wide_deadline:
            self.is_cut = True
        elif time.monotonic() > self.deadline:
            self.notes.add(f"stopped after {MAX_SECONDS} s, not everything was searched; narrow the pattern")
        else:
            try:
                folder = opening()
            except (FileNotFoundError, NotADirectoryError):
                return  # nothing there; or by now a link
            except OSError:
                self.notes.add(UNOPENED)
                return
            try:
                self.look(folder, shown, places, depth, wide)
            finally:
                if not ON_WINDOWS:
                    os.close(folder)

    def look(self, folder, shown, places, depth, wide):
        """Look at the names in an open folder, shown as 'a/b/'; then go into those where the pattern goes on."""
        at_last, is_last, found = len(self.middle) in places, self.is_last[wide], self.dotted if wide else self.found
        below = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name, is_folder = entry.name, entry.is_dir(follow_symlinks=False)
                    if at_last and is_last(name) and (is_folder or not self.only_folders):
                        found.add(shown + name)
                    if is_folder and (reached := self.further(places, name, wide)):
                        below.append((name, reached))
                    if name[0] == "." and not wide:
                        self.note_dotted(shown, name, is_folder, places)
        except OSError:  # too many open files, or a folder that may be opened and not be listed
            self.notes.add(UNOPENED)
        for name, reached in below:
            self.enter(lambda name=name: _open_below(folder, name), f"{shown}{name}/", reached, depth + 1, wide)

    def note_dotted(self, shown, name, is_folder, places):
        if len(self.middle) in places and self.is_last[True](name) and (is_folder or not self.only_folders):
            self.dotted.add(shown + name)
        if is_folder and (reached := self.further(places, name, True)):
            self.behind_dots.append(((shown + name).split("/"), reached))


def _open_below(folder, name):
    return os.path.join(folder, name) if ON_WINDOWS else os.open(name, FOLDER, dir_fd=folder)
