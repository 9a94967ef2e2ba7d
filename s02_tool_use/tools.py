"""The four file tools. Each takes what a model sent and returns a string for it, or raises ToolError.

Each is built in notebook 03 in a few lines, and reads here as it does there; what makes those lines hold stands in
files/. They stay in the workspace (workspace.py). Left out: guessing. An edit that does not fit is refused, with a
hint.
"""

import contextlib

from .calls.arguments import fit, utf8
from .calls.results import ToolError
from .files import patterns
from .files.edits import edited, hint, read_for_edit
from .files.lines import part_shown, read_part, text_in
from .files.names import quoted
from .files.opening import locked, open_file, replace
from .workspace import open_folder, opened, opened_parent, parts_of

MAX_SHOWN_BYTES = 50_000  # bytes of a file at once: about 12,000 tokens
MAX_MATCHES = 500  # names of a glob


def run_read(path: str, limit: int | None = None, offset: int | None = None, byte_offset: int | None = None) -> str:
    """The text of a file, at most `limit` lines and MAX_SHOWN_BYTES, from line `offset` on; says so if it is a part.

    Lines are counted from 1 and end at newline characters, nowhere else. `byte_offset` is for what has no lines, or a
    very long one: the byte to start at. Bytes that are not UTF-8 are shown as \\xNN, with a warning.
    """
    limit, line = _number("limit", limit, 1), _number("offset", offset, 0)
    at_byte = _number("byte_offset", byte_offset, 0)
    if line is not None and at_byte is not None:
        raise ToolError("offset is the line to start at, byte_offset the byte; give only one of them")
    with opened(path) as file:
        raw, start, size = read_part(file, path, limit, line or 1, at_byte, MAX_SHOWN_BYTES)
    text, used, notes = text_in(raw, start, size)
    if start or used < size:
        notes.append(part_shown(raw[:used], start, size, None if at_byte is not None else line or 1))
    return _with_notes(text, notes)


def run_write(path: str, content: str) -> str:
    """Write `content` as UTF-8, replacing the file at once or not at all; missing folders are created.

    Where the file cannot be replaced it is written in place, and the result says so.
    """
    # Before anything is opened: a failure must not cost the old file.
    data = utf8("content", content)
    with opened_parent(path, create=True) as (folder, name), locked(folder):
        notes = replace(folder, name, data, path)
    return _with_notes(f"Wrote {len(data)} bytes to {path}", notes)


def run_edit(path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:
    """Replace `old_text`, which must be in the file exactly once, by `new_text`; with replace_all, wherever it is.

    Only the matched bytes change. A line end in old_text fits LF and CRLF, and new_text gets the kind of its place.
    """
    old, new = utf8("old_text", old_text), utf8("new_text", new_text)
    if not old or old == new:
        raise ToolError("old_text is empty" if not old else "old_text and new_text are the same: nothing to change")
    with opened_parent(path) as (folder, name), locked(folder):
        raw, seen = read_for_edit(open_file(folder, name, path), new, path)
        count, lines, result = edited(raw, old, new, replace_all)
        notes = replace(folder, name, result, path, seen) if result != raw else []
    # What is said takes its time too, and no other edit has to wait for it.
    first = ", ".join(map(str, lines)) + ", ..." * (count > len(lines))
    places = f"{count} place{'s' * (count > 1)} (line {first})"
    if not count:
        raise ToolError(f"old_text was not found in {path!r}.{hint(raw, old_text)}")
    if count > 1 and not replace_all:
        raise ToolError(
            f"old_text is in {path!r} at {places}; include surrounding text to make it unique, or use replace_all"
        )
    if result == raw:
        raise ToolError("this would change nothing: line ends keep the kind that the file has")
    return _with_notes(f"Edited {path}: {places}", notes)


def run_glob(pattern: str) -> str:
    """The names that match, sorted, one a line, relative to the workspace; at most MAX_MATCHES, with a count."""
    names, notes = find(pattern)
    listed = [quoted(name) for name in names[:MAX_MATCHES]]
    if len(names) > MAX_MATCHES:
        notes.append(f"truncated: {MAX_MATCHES} of {len(names)} matches are shown; narrow the pattern")
    return _with_notes("\n".join(listed) or f"No matches for {pattern}", notes)


def find(pattern: str) -> tuple[list[str], list[str]]:
    """(names that match, sorted, relative to the workspace; notes on what was not searched)."""
    return patterns.find(pattern, parts_of, open_folder)


def _number(name, value, least):
    """An argument that counts something, or None."""
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        if (number := fit(value, "integer")) >= least:
            return number
    raise ToolError(f"{name} must be a whole number, {least} or more, not {value!r}")


def _with_notes(text, notes):
    """Notes stand below the text in brackets, so that a reader can tell them from it."""
    below = "".join(f"[{note}]\n" for note in notes)[:-1]
    return text + "\n" * bool(text and below and not text.endswith("\n")) + below
