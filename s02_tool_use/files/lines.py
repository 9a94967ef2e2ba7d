"""Lines of a file that may have gigabytes: where one begins, a few of them, how bytes are shown that are no text."""

import codecs
import os
import re
from itertools import islice

from ..calls.results import ToolError

PIECE_BYTES = 8192  # read at a time for a few lines: of a big file they cost one read
SEARCHED_BYTES = 1 << 20  # read at a time on the way to a line


def refuse_binary(raw, start, path, size):
    """ToolError if `raw`, which stands at byte `start` of the file `path`, is no text, or no relative of UTF-8."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not start:
        raise ToolError(f"{path!r} is UTF-16 text; convert it with bash first: iconv -f UTF-16 -t UTF-8")
    if b"\0" in raw:
        raise ToolError(f"{path!r} is not text but binary, {size} bytes; look at it with bash: file, xxd, strings")


def read_part(file, path, limit, line, at_byte, most) -> tuple[bytes, int, int]:
    """(some bytes of a text file, the byte at which they start, its size): `limit` lines, and `most` bytes.

    They start at byte `at_byte`, or at line number `line` if that is None.
    """
    size = os.fstat(file.fileno()).st_size
    if not size:
        return b"", 0, 0
    if at_byte and at_byte >= size:
        raise ToolError(f"byte_offset {at_byte} is past the end: {path!r} has {size} bytes")
    start = at_byte if at_byte is not None else start_of(line, file, path, size)
    raw = read_lines(file, start, limit, most)
    refuse_binary(raw, start, path, size)
    if at_byte is None and start + len(raw) < size:
        raw = raw[: raw.rfind(b"\n") + 1] or raw  # whole lines, if there is a whole one
    return raw, start, size


def start_of(line, file, path, size) -> int:
    """The byte at which the line of that number begins; 1 is the first. The file is read up to there, in pieces."""
    start, missing, last = 0, line - 1, b"\n"  # missing: newlines before the line; last: the byte before `start`
    while missing and (piece := file.read(SEARCHED_BYTES)):
        refuse_binary(piece, start, path, size)
        end = _after_newlines(piece, missing) or len(piece)
        missing -= piece.count(b"\n", 0, end)
        start, last = start + end, piece[end - 1 : end]
    if start >= size > 0:
        lines = line - 1 - missing + (last != b"\n")
        raise ToolError(f"offset {line} is past the end: {path!r} has {lines} line{'s' * (lines > 1)}")
    return start


def read_lines(file, start, limit, most) -> bytes:
    """From byte `start` on at most `limit` lines and `most` bytes, reading hardly more than that."""
    file.seek(start)
    raw = b""
    while len(raw) < most and (piece := file.read(min(PIECE_BYTES, most - len(raw)) if limit else most)):
        raw += piece
        if limit and (end := _after_newlines(raw, limit)):
            return raw[:end]
    return raw[:most]


def _after_newlines(raw, count):
    """Where that many newlines have passed; 0 if there are fewer."""
    return next(islice(re.finditer(b"\n", raw), count - 1, None)).end() if raw.count(b"\n") >= count else 0


def text_in(raw, start, size) -> tuple[str, int, list[str]]:
    """(text, bytes used, notes) of the bytes from `start` on in a file of `size`.

    A character that the cut went through is left for the next read; a byte order mark is no text.
    """
    notes, at_end = [], start + len(raw) >= size
    try:
        text, used = codecs.utf_8_decode(raw, "strict", at_end)
    except UnicodeDecodeError:
        text, used = codecs.utf_8_decode(raw, "backslashreplace", at_end)
        notes.append("not all of it is UTF-8: other bytes are shown as \\xNN")
    if "\x1b" in text or "\x9b" in text:  # would command the terminal that prints the result
        text = text.replace("\x1b", "\\x1b").replace("\x9b", "\\x9b")
        notes.append("escape characters are shown as \\x1b")
    if not size:
        notes.append("the file is empty")
    return text if start else text.removeprefix("\ufeff"), used, notes


def part_shown(raw, start, size, line) -> str:
    """The note on a part of a file: which it is, and how to read on. `line` is the number of its first; None: bytes."""
    end = start + len(raw)
    which, more = f"bytes {start} to {end} of {size}", f"byte_offset={end}"
    if line is None:
        which += " are shown"
    else:
        last = line + raw.count(b"\n") - raw.endswith(b"\n")
        which = (f"lines {line} to {last} are" if last > line else f"line {line} is") + f" shown, {which}"
        more = f"offset={last + 1}" if raw.endswith(b"\n") else f"{more}: line {last} goes on"
    return which + f"; truncated, read more with {more}" * (end < size)
