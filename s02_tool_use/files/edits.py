"""The text of an edit, byte for byte: where old_text is, what stands there afterwards, and a hint when it is not there.

The work is linear in the file, and done by bytes.find and bytes.replace: nothing is kept for each line or each place.
Left out: fuzzy matching. It would change what the model did not name.
"""

import codecs
import difflib
import heapq
import os
import unicodedata
from itertools import accumulate, pairwise

from ..calls.results import ToolError
from .lines import refuse_binary

PIECE_BYTES = 1 << 20
MAX_EDITED_BYTES = 200_000_000  # bytes, before and after: an edit holds the file in memory up to four times
SHOWN_PLACES = 10  # places whose lines an answer names
MAX_OVERLAPPING = 1000  # places that are counted one by one, because they may overlap
MAX_MIXED = 1_000_000  # places in a file with both kinds of line end, where each has to be looked at: half a second

# A hint looks at this much of the file, and compares in full only the lines that a quick look finds alike.
HINT_BYTES, HINT_LINES, HINT_CHARACTERS, HINT_CANDIDATES = 500_000, 5000, 200, 10
ALIKE = 0.6  # as difflib.get_close_matches: 1 is the same, 0 has nothing in common


def read_for_edit(descriptor: int, new: bytes, path: str) -> tuple[bytes, os.stat_result]:
    """(the bytes of an open file, what it was then), if `new` can be put into it; else ToolError."""
    with open(descriptor, "rb") as file:
        seen = os.fstat(file.fileno())
        if seen.st_size > MAX_EDITED_BYTES:
            raise ToolError(f"{path!r} has {seen.st_size} bytes, too many to edit here; use bash, for example sed")
        raw = file.read()
    refuse_binary(raw, 0, path, seen.st_size)
    refuse_mixture(raw, new, path)
    return raw, seen


def refuse_mixture(raw, new, path):
    """ToolError if `new` would bring a second encoding into the file."""
    pieces = (raw[at : at + PIECE_BYTES] for at in range(0, len(raw), PIECE_BYTES))  # one str could take 4 x the size
    try:
        for _ in () if new.isascii() else codecs.iterdecode(pieces, "utf-8"):
            pass
    except UnicodeDecodeError:
        raise ToolError(f"{path!r} is not UTF-8, and new_text would be; use ASCII only, or bash with iconv") from None


def edited(raw: bytes, old: bytes, new: bytes, replace_all: bool = False) -> tuple[int, list[int], bytes | bytearray]:
    """(in how many places `old` is, the lines of the first SHOWN_PLACES, the bytes with `new` there).

    A line end in `old` fits LF and CRLF; `new` gets the line ends of its place, or of the file if the place has none.
    The bytes are `raw` itself if `old` is not to be replaced: in no place, or in several without replace_all.
    Overlapping places count too: 'aa' is twice in 'aaa', and bytes.count would say once.
    """
    wanted, new_lf = old.replace(b"\r\n", b"\n"), new.replace(b"\r\n", b"\n")
    new_crlf = new_lf.replace(b"\n", b"\r\n")
    crlf, text = raw.count(b"\r\n"), raw
    only_crlf = crlf > 0 and crlf == raw.count(b"\n")
    if only_crlf or (crlf and (b"\n" in old or old.endswith(b"\r"))):
        text = raw.replace(b"\r\n", b"\n")
    count, lines = _places(text, wanted, replace_all)
    if not count and text is not raw and old.endswith(b"\r"):  # it ends between the \r and the \n of one line end
        text, wanted = raw, old
        count, lines = _places(text, wanted, replace_all)
    if not count or (count > 1 and not replace_all):
        return count, lines, raw
    if len(text) + count * (len(new_lf) - len(wanted)) > MAX_EDITED_BYTES:
        raise ToolError(f"the result would have more than {MAX_EDITED_BYTES} bytes; replace fewer, or use bash")
    if only_crlf and text is not raw:
        return count, lines, text.replace(wanted, new_lf).replace(b"\n", b"\r\n")
    fitting = new_crlf if only_crlf else new_lf if b"\n" in old else new
    if text is raw:
        return count, lines, raw.replace(wanted, fitting)
    if count > MAX_MIXED:
        raise ToolError(f"{count} places in a file with both LF and CRLF are too many; convert it first, with bash")
    return count, lines, _replaced_in_both_kinds(raw, text, wanted, fitting, new_crlf)


def _places(text, wanted, replace_all):
    most = SHOWN_PLACES if replace_all else max(SHOWN_PLACES + 1, min(MAX_OVERLAPPING, 10_000_000 // len(wanted)))
    places, at = [], text.find(wanted)
    while at >= 0 and len(places) < most:
        places.append(at)
        at = text.find(wanted, at + (len(wanted) if replace_all else 1))
    newlines = (text.count(b"\n", *between) for between in pairwise([0, *places[:SHOWN_PLACES]]))
    count = len(places) if at < 0 else max(len(places), text.count(wanted))
    return count, list(accumulate(newlines, initial=1))[1:]


def _replaced_in_both_kinds(raw, text, wanted, new, new_crlf):
    """`raw` with `new` where `wanted` is in `text`, which is `raw` with LF alone; with `new_crlf` where CRLF stood."""
    marked = raw.replace(b"\r\n", b"\0")  # a byte for each of `text`; no text file has a NUL
    result, done, at = bytearray(), 0, text.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        result += marked[done:at].replace(b"\0", b"\r\n")
        result += new_crlf if b"\0" in marked[at:end] else new
        done, at = end, text.find(wanted, end)
    return result + marked[done:].replace(b"\0", b"\r\n")


def hint(raw: bytes, old_text: str) -> str:
    """What may be wrong with an old_text that is not there; the nearest lines are quoted, to show their spaces."""
    text = raw[:HINT_BYTES].decode(errors="backslashreplace")
    lines = [line.rstrip("\r")[:HINT_CHARACTERS] for line in text.split("\n", HINT_LINES)[:HINT_LINES]]
    start = map(str.strip, old_text[:HINT_BYTES].split("\n"))
    wanted = next(filter(None, start), old_text)[:HINT_CHARACTERS]
    if "\\x" in wanted and wanted.encode() not in raw and wanted in text.replace("\x1b", "\\x1b"):
        return " What read_file shows as \\xNN is a single byte of the file; use the text around it."
    composed = unicodedata.normalize("NFC", wanted)
    if any(composed in unicodedata.normalize("NFC", line) and wanted not in line for line in lines):
        return " The file spells its accents in another Unicode form (NFC or NFD); edit a part without accents."
    shown = "".join(f"\n{n}: {lines[n - 1]!r}" for n in _nearest(lines, wanted))
    if not shown:
        return " Read the file again and copy the text exactly."
    return f" Copy the text exactly, whitespace too. The nearest lines:{shown}"


def _nearest(lines, wanted):
    """The numbers of the three lines that are most alike. quick_ratio never says less than ratio, and is quick."""
    matcher = difflib.SequenceMatcher(b=wanted)

    def alike(measure, n):
        matcher.set_seq1(lines[n - 1].strip())
        return measure() if matcher.real_quick_ratio() >= ALIKE else 0

    numbers = range(1, len(lines) + 1)
    for measure, most in ((matcher.quick_ratio, HINT_CANDIDATES), (matcher.ratio, 3)):
        scores = {n: alike(measure, n) for n in numbers}
        numbers = heapq.nlargest(most, (n for n in scores if scores[n] >= ALIKE), key=scores.__getitem__)
    return sorted(numbers)
