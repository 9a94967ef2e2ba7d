"""The text of an edit, byte for byte: where old_text is, what stands there afterwards, and a hint when it is not there.

Left out: fuzzy matching. It would change what the model did not name.
"""

import difflib
import re
import unicodedata

from s02_tool_use.workspace import ToolError


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
    """(start, end) of each place, overlapping ones too unless all are replaced: 'aa' is twice in 'aaa'."""
    line_end = rb"(?:\r\n|(?<!\r)\n)"
    finder = re.compile(line_end.join(map(re.escape, old.replace(b"\r\n", b"\n").split(b"\n"))))
    places = []
    place = finder.search(raw)
    while place and (replace_all or len(places) < 1000):
        places.append(place.span())
        place = finder.search(raw, place.end() if replace_all else place.start() + 1)
    return places


def replaced(raw, places, new):
    only_crlf = b"\r\n" in raw and raw.count(b"\n") == raw.count(b"\r\n")
    pieces, done = [], 0
    for start, end in places:
        matched = raw[start:end]
        crlf = b"\r\n" in matched if b"\n" in matched else only_crlf
        pieces += raw[done:start], new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if crlf else new
        done = end
    return b"".join([*pieces, raw[done:]])


def hint(raw, old_text):
    """The lines that are most like old_text, with their numbers, quoted so that blanks can be seen."""
    text = raw.decode(errors="backslashreplace")
    if unicodedata.normalize("NFC", old_text) in unicodedata.normalize("NFC", text):
        return " The file spells its accents in another Unicode form (NFC or NFD); edit a part without accents."
    lines = [line.rstrip("\r")[:200] for line in text[:500_000].split("\n")]
    wanted = [line for line in old_text.split("\n") if line.strip()] or [old_text]
    near = difflib.get_close_matches(wanted[0].strip()[:200], [line.strip() for line in lines[:5000]], 3)
    numbers = [n for n, line in enumerate(lines[:5000], 1) if line.strip() in near][:3]
    if not numbers:
        return " Read the file again and copy the text exactly."
    shown = "".join(f"\n{n}: {lines[n - 1]!r}" for n in numbers)
    return f" Copy the text exactly, blanks and all. The nearest lines:{shown}"
