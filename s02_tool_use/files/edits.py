"""The text of an edit, byte for byte: where old_text is, what stands there afterwards, and a hint when it is not there.

Left out: fuzzy matching. It would change what the model did not name.
"""

import bisect
import difflib
import re
import unicodedata

from ..calls.results import ToolError


def refuse_mixture(raw, new, path):
    if b"\0" in raw:
        raise ToolError(f"{path!r} is binary or UTF-16, not text in UTF-8; change it with bash")
    try:
        new.isascii() or raw.decode()
    except UnicodeDecodeError:
        raise ToolError(
            f"{path!r} is not UTF-8, so new_text would bring in a second encoding; use ASCII only, or bash with iconv"
        ) from None


def find_places(raw, old, replace_all):
    """(start, end) of each place, a line end fitting LF and CRLF; at most 1000 unless all are to be replaced.

    Overlapping places count too: 'aa' is twice in 'aaa', and str.count would say once.
    """
    flat, old = raw.replace(b"\r\n", b"\n"), old.replace(b"\r\n", b"\n")
    shorter_from = [match.start() - n for n, match in enumerate(re.finditer(b"\r\n", raw))]  # places in flat
    places = []
    at = flat.find(old)
    while at >= 0 and (replace_all or len(places) < 1000):
        places.append(tuple(place + bisect.bisect_left(shorter_from, place) for place in (at, at + len(old))))
        at = flat.find(old, at + (len(old) if replace_all else 1))
    return places


def replaced(raw, places, new):
    """`raw` with `new` at each place, its line ends those of the place, or of the file if the place has none."""
    only_crlf = b"\r\n" in raw and raw.count(b"\n") == raw.count(b"\r\n")
    pieces, done = [], 0
    for start, end in places:
        pieces += raw[done:start], _with_line_ends_of(raw[start:end], new, only_crlf)
        done = end
    return b"".join([*pieces, raw[done:]])


def _with_line_ends_of(matched, new, only_crlf):
    if b"\n" not in matched and not only_crlf:
        return new
    lines = new.replace(b"\r\n", b"\n")
    return lines.replace(b"\n", b"\r\n") if b"\r\n" in matched or b"\n" not in matched else lines


def hint(raw, old_text):
    """The lines that are most like old_text, with their numbers, quoted so that blanks can be seen."""
    text = raw[:500_000].decode(errors="backslashreplace")
    if unicodedata.normalize("NFC", old_text) in unicodedata.normalize("NFC", text):
        return " The file spells its accents in another Unicode form (NFC or NFD); edit a part without accents."
    lines = [line.rstrip("\r")[:200] for line in text.split("\n")]
    wanted = [line for line in old_text.split("\n") if line.strip()] or [old_text]
    near = difflib.get_close_matches(wanted[0].strip()[:200], [line.strip() for line in lines[:5000]], 3)
    numbers = [n for n, line in enumerate(lines[:5000], 1) if line.strip() in near][:3]
    if not numbers:
        return " Read the file again and copy the text exactly."
    shown = "".join(f"\n{n}: {lines[n - 1]!r}" for n in numbers)
    return f" Copy the text exactly, whitespace too. The nearest lines:{shown}"
