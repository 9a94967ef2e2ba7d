"""What no tool may give away: the file that a key was read from, and the key itself.

Who reads a key registers both here (lab/client/settings.py). The file tools refuse the file under any name, the
sandbox leaves it out, and run_tool cuts the key out of every result. A key is found as it is, and as tools write it by
accident: escaped for JSON, Python, HTML or a URL, in base64 alone or inside more, and with line breaks in it. Left out:
a piece of a key, a dump in hex, and what is done on purpose: where bash can read a key, it can print it backwards.
"""

import base64
import contextlib
import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

CUT = "[key removed]"
SHORTEST_CHARACTERS = 8  # a shorter "key" is a word such as "ollama", which may stand anywhere: it is not cut
BREAKS = ("\n", "\r", "\\n", "\\r")  # the last two as they stand inside JSON

_files: set[Path] = set()
_forms: tuple[str, ...] = ()  # each way in which a key may be written; the longest first, since one may hold another
_pattern = re.compile("")  # any of them, with line breaks anywhere


def keep(file: str | os.PathLike[str] | None = None, texts: Iterable[str] = ()) -> None:
    """From now on no tool reads or writes `file`, and no result, request or drawing holds one of `texts`.

    Texts of fewer than SHORTEST_CHARACTERS are not cut: they would take ordinary words along.
    """
    global _forms, _pattern
    if file is not None:
        _files.add(Path(os.path.abspath(file)))
    new = {form for text in texts if len(text) >= SHORTEST_CHARACTERS for form in _ways_to_write(text)}
    if not new <= set(_forms):
        forms = tuple(sorted(new.union(_forms), key=len, reverse=True))
        between = f"(?:{'|'.join(map(re.escape, BREAKS))})*"
        _pattern = re.compile("|".join(between.join(map(re.escape, form)) for form in forms))
        _forms = forms  # at last: another thread may be cutting


def files() -> list[Path]:
    """The files that are kept, as they were named; whether they still exist is not asked."""
    return sorted(_files)


def is_kept(found: os.stat_result) -> bool:
    """Whether this is a kept file, whatever name led to it: a link or a hard link is the same file."""
    return any(_is_file(file, found) for file in _files)


def is_kept_name(folder: os.stat_result, name: str) -> bool:
    """Whether `name` in this folder, where there is no such file, is the place of a kept one: letter case aside."""
    places = (place for file in _files for place in (file, Path(os.path.realpath(file))))
    return any(place.name.casefold() == name.casefold() and _is_file(place.parent, folder) for place in places)


def _is_file(path, found):
    with contextlib.suppress(OSError):  # not there any more
        return os.path.samestat(os.stat(path), found)
    return False


def cut(value: Any) -> Any:
    """`value`, a string or JSON data of any depth, with CUT in the place of each key. Nothing registered: no work."""
    if not _forms:
        return value
    if isinstance(value, str):
        if len(value) < SHORTEST_CHARACTERS:
            return value
        flat = value
        for line_break in BREAKS:
            flat = flat.replace(line_break, "")
        return _pattern.sub(CUT, value) if any(form in flat for form in _forms) else value
    if isinstance(value, dict):
        return {cut(key): cut(item) for key, item in value.items()}
    return [cut(item) for item in value] if isinstance(value, list) else value


def held(text: str) -> int:
    """How many characters at the end of `text` may begin a key: who shows a stream waits for what follows them."""
    lengths = range(min(len(text), len(max(_forms, key=len, default="")) - 1), 0, -1)
    return next((n for n in lengths if any(form.startswith(text[-n:]) for form in _forms)), 0)


def _ways_to_write(text: str) -> Iterator[str]:
    yield from (text, repr(text)[1:-1], html.escape(text))
    yield from (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    for quoted in (quote(text), quote(text, safe=""), quote_plus(text)):
        yield from (quoted, re.sub("%..", lambda code: code[0].lower(), quoted))
    raw = text.encode("utf-8", "surrogatepass")
    for before in range(3):  # bytes of whatever stands before the key: base64 writes three bytes as four characters
        # Only what no neighbour takes part in: the six bits of a character may come from two bytes.
        whole = slice(-(-before * 8 // 6), (before + len(raw)) * 8 // 6)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[whole]
