"""Where two requests differ, and how that is said in one line. A replay compares what was recorded and what is sent.

Left out: how much a difference matters. Any that can change the answer counts.
"""

import json
import os
import re

from ...calls.secrets import CUT
from .faults import printable

SHOWN_CHARACTERS = 50  # characters of a value


def differences(recorded, sent):
    """(place, recorded value, sent value) of each difference of two [method, path, body]. A place is a tuple of keys.

    What cannot change the answer is no difference: `stream`, a key that is null or left out, a text and a list with
    that one text, and ids of calls, as long as each call has one.
    """
    for key, old, new in zip(("method", "path"), recorded, sent, strict=False):
        if old != new:
            yield (key,), old, new
    old, new = ({**body, "stream": None} if isinstance(body, dict) else body for body in (recorded[2], sent[2]))
    yield from _differ(old, new, (), {})


def _differ(old, new, place, ids):
    if place and place[-1] in ("content", "system") and old and new:
        old, new = _as_blocks(old, new), _as_blocks(new, old)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _differ(old.get(key), new.get(key), (*place, key), ids)
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            one, other = (side[index] if index < len(side) else None for side in (old, new))
            yield from _differ(one, other, (*place, index), ids)
    elif isinstance(old, str) and isinstance(new, str) and _is_id(place):
        if ids.setdefault(old, new) != new:
            yield place, old, new
    elif old != new and not _fills(old, new):
        yield place, old, new


def _is_id(place):
    return bool(place) and place[-1] in ("id", "tool_use_id") and "content" in place and "input" not in place


def _fills(old, new):
    """Whether `new` can be the text from which a key was removed."""
    if not (isinstance(old, str) and isinstance(new, str) and CUT in old):
        return False
    return bool(re.fullmatch(".*".join(map(re.escape, old.split(CUT))), new, re.DOTALL))


def _as_blocks(content, other):
    """A text beside a list of blocks, as the list that means the same."""
    return [{"type": "text", "text": content}] if isinstance(content, str) and isinstance(other, list) else content


def said(place, old, new):
    """A difference in one line."""
    if isinstance(old, str) and isinstance(new, str):  # from a little before the place where they part
        start = max(0, len(os.path.commonprefix([old, new])) - 20)
        old, new = (("..." if start else "") + text[start:] for text in (old, new))
    old, new = ("nothing" if value is None else _short(json.dumps(value, ensure_ascii=False)) for value in (old, new))
    place = ".".join(map(str, place)) or "its body"  # as the API writes it: messages.2.content
    return f"{place}: recorded {old}, sent {new}"


def _short(text):
    return printable(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "...")
