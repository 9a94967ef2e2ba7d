"""Glob patterns: `*`, `?`, `[abc]`, `**` for any folders, `{a,b}` for either. Finds names, in time linear in the tree.

Every folder is opened below its parent and no link is followed, so a walk cannot leave the workspace. As in a shell,
wildcards pass over names that begin with a dot. Left out: ignore files, and letter case on systems that fold it.
"""

import fnmatch
import functools
import os
import re
import time
import unicodedata
from collections.abc import Callable

from ..calls.results import ToolError
from .names import ON_WINDOWS, quoted
from .opening import enter, is_junction, leaving

MAX_PATTERN_CHARACTERS = 1000  # characters
MAX_ALTERNATIVES = 100  # twenty {a,b} in a row would be a million patterns
MAX_DEPTH = 100  # folders; each holds a descriptor while the walk is below it
MAX_SECONDS, MAX_WIDE_SECONDS = 20, 1  # the second to count what stands behind dots

BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MAGIC = re.compile(r"[*?[]")


def find(pattern: str, parts_of: Callable, open_folder: Callable) -> tuple[list[str], list[str]]:
    """(names that match, sorted, relative to the workspace; notes on what was not searched).

    `parts_of(text)` gives the way from the workspace to a folder, or refuses it; `open_folder(parts)` opens it.
    """
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN_CHARACTERS:
        raise ToolError(f"pattern must be a string of 1 to {MAX_PATTERN_CHARACTERS} characters, such as **/*.py")
    if ON_WINDOWS:
        pattern = pattern.replace("\\", "/")
    last_parts: dict[tuple[tuple, tuple, bool], list[str]] = {}  # {a,b} in the last part makes one walk, not two
    for alternative in expand_braces(pattern):
        base, middle, last = _split(alternative)
        last_parts.setdefault((parts_of(base), middle, alternative.endswith("/")), []).append(last)
    search = _Search(open_folder)
    if not search.walk([(_Way(*rest, last), rest[0], {0}) for rest, last in last_parts.items()], MAX_SECONDS):
        search.notes.add(f"stopped after {MAX_SECONDS} s, not everything was searched; narrow the pattern")
    at_least = "" if search.walk(search.behind_dots, MAX_WIDE_SECONDS, wide=True) else "at least "
    if more := search.dotted - search.found:
        where = f"under names that begin with a dot, such as {quoted(min(more))}; write the dot too"
        search.notes.add(f"{at_least}{len(more)} more {where}")
    return sorted(search.found), sorted(search.notes)


def expand_braces(pattern: str) -> list:
    """'a.{b,c}' becomes ['a.b', 'a.c']; braces without a comma are plain text, as in a shell."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        if braces := BRACES.search(text):
            around = text[: braces.start()], text[braces.end() :]
            todo += [choice.join(around) for choice in reversed(braces[1].split(","))]
        else:
            done.append(text)
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise ToolError(f"the braces make more than {MAX_ALTERNATIVES} patterns; use fewer")
    return done


def _split(pattern):
    """(the folder to start in, the parts between, the last part); '..', '/' and links can stand in the first alone.

    Wildcards need no such care: they are held against names that a folder has, and '..' is none.
    """
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    plain = 0
    while plain < len(parts) - 1 and not MAGIC.search(parts[plain]):
        plain += 1
    base = "/" * pattern.startswith("/") + "/".join(parts[:plain]) or "."
    *middle, last = parts[plain:] + ["*"] * (parts[-1:] == ["**"]) or [""]
    return base, tuple(middle), last


def _composed(name):
    """A name of a Mac writes 'é' as two code points, a pattern that is typed as one: both are compared in one form."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


@functools.lru_cache(2000)
def _matchers(parts):
    """(fits one of `parts`, fits one that begins with a dot): functions of a name."""
    regexes = []
    for some in (parts, [part for part in parts if part.startswith(".")]):
        some = [_composed(part) for part in some]
        # fnmatch's regular expressions never try twice, however many stars; glob.translate's do.
        either = [fnmatch.translate(part) for part in some]
        either += [re.escape(part) + r"\Z" for part in some if "[" in part]  # 'app/[id]' is a folder in many projects
        regexes.append(re.compile("|".join(either) or "(?!)").match)
    return regexes


class _Way:
    """A pattern below its base. How far a walk may be in it is a set of places: numbers of the parts, `**` left out."""

    def __init__(self, base, middle, only_folders, last):
        self.base, self.only_folders, self.fits, self.stays = base, only_folders, [], set()
        for part in middle:
            if part == "**":  # any folder may be passed, and one is still before the next part
                self.stays.add(len(self.fits))
            else:
                self.fits.append(_matchers((part,)))
        self.last, self.fits_last = len(self.fits), _matchers(tuple(last))

    def further(self, places, name, is_hidden):
        """The places inside the folder `name`."""
        passed = {place + 1 for place in places if place < self.last and self.fits[place][is_hidden](name)}
        return passed if is_hidden else passed | (places & self.stays)


class _Search:
    """Walks folders. What only a dot hides from the wildcards is not found but counted, in `dotted`.

    Behind dots the walk is `wide`: a dot is a letter like any other. It comes last, and has a short time of its own.
    """

    def __init__(self, open_folder):
        self.open_folder = open_folder
        self.found, self.dotted, self.notes, self.behind_dots = set(), set(), set(), []

    def walk(self, starts, seconds, wide=False):
        """Walk from each (way, path, places) on; returns whether the seconds were enough."""
        self.deadline, self.in_time = time.monotonic() + seconds, True
        for start in starts:
            self.visit(None, *start, wide)
        return self.in_time

    def visit(self, above, way, path, places, wide):
        """Look into the folder at `path`, a tuple of names; `above` is the folder that it is in, if that is open."""
        if time.monotonic() > self.deadline:
            self.in_time = False
        elif len(path) - len(way.base) > MAX_DEPTH:
            self.notes.add(f"folders more than {MAX_DEPTH} levels down were not searched")
        else:
            try:
                folder = enter(above, path[-1]) if above is not None else self.open_folder(path)
                with leaving(folder):
                    with os.scandir(folder) as entries:
                        below = self.fitting(entries, way, path, places, wide)
                    for step in below:
                        self.visit(folder, *step, wide)
            except (FileNotFoundError, NotADirectoryError):
                pass  # nothing there; or by now a link
            except OSError:  # too many open files, or a folder that may not be opened or listed
                self.notes.add("some folders could not be opened")

    def fitting(self, entries, way, path, places, wide):
        """Note the names that fit, and return the steps to the folders in which the pattern goes on."""
        at_last, fits_last, below, hidden = way.last in places, way.fits_last, [], []
        found, shown = self.dotted if wide else self.found, "".join(f"{part}/" for part in path)
        for entry in entries:
            name, is_folder = entry.name, entry.is_dir(follow_symlinks=False)
            if ON_WINDOWS and is_folder and is_junction(entry.stat(follow_symlinks=False)):
                is_folder = False
            composed = _composed(name)
            if is_hidden := name[0] == "." and not wide:
                hidden.append(entry)
            if at_last and fits_last[is_hidden](composed) and (is_folder or not way.only_folders):
                found.add(shown + name)
            if is_folder and (reached := way.further(places, composed, is_hidden)):
                below.append((way, (*path, name), reached))
        if hidden:
            self.behind_dots += self.fitting(hidden, way, path, places, wide=True)
        return below
