"""The four file tools. Each takes what a model sent and returns text for it, or raises ToolError.

They stay in the workspace (workspace.py). Left out: guessing. An edit that does not fit is refused, with a hint.
"""

import codecs
import os

from .calls.results import ToolError
from .files import patterns
from .files.edits import MAX_EDITED_BYTES, edited, hint, refuse_mixture
from .files.names import shown
from .files.opening import locked, open_file, replace
from .workspace import open_folder, opened_parent, parts_of

MAX_SHOWN_BYTES = 50_000  # bytes of a file at once: about 12,000 tokens
MAX_MATCHES = 500  # names of a glob
PIECE_BYTES = 8192  # bytes read at a time: a few lines of a big file cost one read


def run_read(path: str, limit: int | None = None, offset: int | None = None) -> str:
    """The text of a file, from byte `offset` on, at most `limit` lines and MAX_SHOWN bytes; says so if it cut.

    Lines end at newline characters and nowhere else. Bytes that are not UTF-8 are shown as \\xNN, with a warning.
    """
    limit = _number("limit", limit, 1)
    start = _number("offset", offset, 0) or 0
    with opened_parent(path) as (folder, name), open(open_file(folder, name, path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if start >= size > 0:
            raise ToolError(f"offset {start} is not before the end: {path!r} has {size} bytes")
        raw = _read_lines(file, start, limit) if size else b""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not start:
        raise ToolError(f"{path!r} is UTF-16 text; convert it with bash first: iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw:
        raise ToolError(f"{path!r} is not text but binary, {size} bytes; look at it with bash: file, xxd, strings")
    text, used, notes = _decode(raw, at_end=start + len(raw) >= size)
    end = start + used
    if not size:
        notes.append("the file is empty")
    elif start or end < size:
        more = f"; truncated, read more with offset={end}" if end < size else ""
        notes.append(f"bytes {start} to {end} of {size} are shown{more}")
    return _with_notes(text if start else text.removeprefix("\ufeff"), notes)  # the byte order mark is no text


def _read_lines(file, start, limit):
    """At most `limit` lines and MAX_SHOWN bytes, reading hardly more than that: the file may have gigabytes."""
    file.seek(start)
    raw, lines, end = b"", 0, 0
    while len(raw) < MAX_SHOWN_BYTES and (
        piece := file.read(min(PIECE_BYTES, MAX_SHOWN_BYTES - len(raw)) if limit else MAX_SHOWN_BYTES)
    ):
        raw += piece
        while limit and (end := raw.find(b"\n", end) + 1):
            lines += 1
            if lines == limit:
                return raw[:end]
        end = len(raw)
    return raw[:MAX_SHOWN_BYTES]


def _decode(raw, at_end):
    """(text, bytes used, notes); a character that the cut went through is left for the next read."""
    notes = []
    try:
        text, used = codecs.utf_8_decode(raw, "strict", at_end)
    except UnicodeDecodeError:
        text, used = codecs.utf_8_decode(raw, "backslashreplace", at_end)
        notes.append("not all of it is UTF-8: other bytes are shown as \\xNN")
    if "\x1b" in text or "\x9b" in text:  # would command the terminal that prints the result
        text = text.replace("\x1b", "\\x1b").replace("\x9b", "\\x9b")
        notes.append("escape characters are shown as \\x1b")
    return text, used, notes


def run_write(path: str, content: str) -> str:
    """Write `content` as UTF-8, replacing the file at once or not at all; missing folders are made."""
    data = _encoded("content", content)  # before anything is opened: a failure must not cost the old file
    with opened_parent(path, create=True) as (folder, name), locked(folder):
        replace(folder, name, data, path)
    return f"Wrote {len(data)} bytes to {path}"


def run_edit(path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:
    """Replace `old_text`, which must be in the file exactly once, by `new_text`; with replace_all, wherever it is.

    Only the matched bytes change. A line end in old_text fits LF and CRLF, and new_text gets the kind of its place.
    """
    old, new = _encoded("old_text", old_text), _encoded("new_text", new_text)
    if not old or old == new:
        raise ToolError("old_text is empty" if not old else "old_text and new_text are the same: nothing to change")
    with opened_parent(path) as (folder, name), locked(folder):
        with open(open_file(folder, name, path), "rb") as file:
            seen = os.fstat(file.fileno())
            if seen.st_size > MAX_EDITED_BYTES:
                raise ToolError(f"{path!r} has {seen.st_size} bytes, too many to edit here; use bash, for example sed")
            raw = file.read()
        refuse_mixture(raw, new, path)
        count, lines, result = edited(raw, old, new, replace_all)
        if result != raw:
            replace(folder, name, result, path, seen)
    # What is said takes its time too, and no other edit has to wait for it.
    first = ", ".join(map(str, lines)) + ", ..." * (count > len(lines))
    where = f"{count} place{'s' * (count > 1)} (line {first})"
    if not count:
        raise ToolError(f"old_text was not found in {path!r}.{hint(raw, old_text)}")
    if count > 1 and not replace_all:
        raise ToolError(
            f"old_text is in {path!r} at {where}; add text around it until it is unique, or use replace_all"
        )
    if result == raw:
        raise ToolError("this would change nothing: a line end stays the kind that it is in the file")
    return f"Edited {path}: {where}"


def run_glob(pattern: str) -> str:
    """The names that match, sorted, one a line, relative to the workspace; at most MAX_MATCHES, with a count."""
    names, notes = find(pattern)
    listed = [shown(name) for name in names[:MAX_MATCHES]]
    if len(names) > MAX_MATCHES:
        notes.append(f"truncated: {MAX_MATCHES} of {len(names)} matches are shown; narrow the pattern")
    return _with_notes("\n".join(listed) or f"No matches for {pattern}", notes)


def find(pattern: str) -> tuple:
    """(names that match, sorted, relative to the workspace; notes on what was not searched)."""
    return patterns.find(pattern, parts_of, open_folder)


def _number(name, value, least):
    """An argument that counts something, or None. '2' and 2.0 are meant well."""
    if value is None:
        return None
    try:
        number = int(value)
        if isinstance(value, bool) or number < least or (isinstance(value, float) and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise ToolError(f"{name} must be a whole number, {least} or more, not {value!r}") from None
    return number


def _encoded(name, text):
    if not isinstance(text, str):
        raise ToolError(f"{name} must be text, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{name} holds half of a character (a lone surrogate) at {error.start}; send it whole"
        ) from None


def _with_notes(text, notes):
    """Notes stand below the text in brackets, so that a reader can tell them from it."""
    below = "".join(f"[{note}]\n" for note in notes)[:-1]
    return text + "\n" * bool(text and below and not text.endswith("\n")) + below
