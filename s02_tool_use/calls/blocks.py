"""The blocks that a tool may return (text, image, document, search_result), checked: the field that is wrong is named.

The tables are those of history/fields.py. A row of data that has a `type` and nothing else of a block is no block.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from ..history.fields import INSIDE_RESULT, SOURCES, TYPES, NotJson, as_json, block_of, has_words
from .pictures import check_picture, read_picture
from .results import KEY_CUT, MAX_RESULT_CHARACTERS, NOTHING, ToolError, shortened, whole
from .secrets import cut

# With this field beside its type, a dict is meant as a block.
_TELLING = {"text": "text", "image": "source", "document": "source", "search_result": "source"}
_TELLING |= {"tool_reference": "tool_name", "browser_state": "tabs"}
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MOST_BLOCKS = 1000
MOST_ENCODED = 24 * 1024 * 1024  # base64 characters of all blocks together: a request has at most 32 MB
_NO_TEXT = ("type", "media_type", "url", "file_id", "ttl")  # strings that are never shortened
_AS_DATA = "If it is data and not a block, return it as a string: json.dumps(...)."


def is_block(value: Any) -> bool:
    """Whether `value` is meant as a block: a dict or an SDK object with a known type and the field that tells it."""
    if isinstance(value, Mapping):
        kind, fields = value.get("type"), value
    elif hasattr(value, "model_dump") and not isinstance(value, type):
        kind, fields = getattr(value, "type", None), vars(value)
    else:
        return False
    # A picture as MCP writes it is meant as a block too, and told what is wrong with it.
    return isinstance(kind, str) and kind in INSIDE_RESULT and (_TELLING[kind] in fields or "mimeType" in fields)


def as_blocks(parts: list) -> list[dict]:
    """The blocks to send for `parts`, of which at least one is a block; strings beside it become text.

    A text without words is left out, since the API takes none.
    """
    if len(parts) > MOST_BLOCKS:
        raise ToolError(f"The tool returned more than {MOST_BLOCKS} blocks: put their text together.")
    blocks = [_plain(part, _place(n, parts)) for n, part in enumerate(parts)]
    blocks = [block for block in blocks if not (isinstance(block.get("text"), str) and not has_words(block["text"]))]
    clean = cut(blocks)
    pictures = sum(block["type"] == "image" for block in clean)
    for n, block in enumerate(clean):
        _check(block, _place(n, clean), pictures)
    sources = [block["source"] for block in clean if isinstance(block.get("source"), dict)]
    encoded = sum(len(source["data"]) for source in sources if source["type"] == "base64")
    if encoded > MOST_ENCODED:
        raise ToolError(f"The blocks are too large together: {encoded} base64 characters, at most {MOST_ENCODED}.")
    if clean != blocks:
        clean.append({"type": "text", "text": KEY_CUT.strip()})
    texts: list[str] = []
    _each_text(clean, texts.append)
    if sum(map(len, texts)) > MAX_RESULT_CHARACTERS:
        share = MAX_RESULT_CHARACTERS // len(texts)
        clean = _each_text(clean, lambda text: shortened(text, share))
    return whole(clean) or [{"type": "text", "text": NOTHING}]


def _place(n, parts):
    return f"block {n}" if len(parts) > 1 else "the block"


def _plain(part, place):
    if isinstance(part, str):
        return {"type": "text", "text": str.__str__(part)}
    if not is_block(part):
        shown = f"of type {type(part).__name__}" if not isinstance(part, Mapping) else "a dict that is not a block"
        raise ToolError(f"The tool returned blocks, but {place} is {shown}: return only blocks and strings. {_AS_DATA}")
    try:
        # Numbers that JSON lacks and surrogates are written out here.
        return as_json(block_of(part) if hasattr(part, "model_dump") else dict(part), log=lambda note: None)
    except NotJson as error:
        raise _wrong(
            place, f"it holds {error}, which JSON does not have (bytes: base64.b64encode(data).decode())"
        ) from None


def _each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """`value` with each of its texts changed; what names a thing and what is in base64 is none."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {*_NO_TEXT, "data"} if value.get("type") == "base64" else _NO_TEXT
    return {key: item if key in kept else _each_text(item, change) for key, item in value.items()}


# ---- what is wrong


def _wrong(place, what):
    return ToolError(f"The tool returned a block that the API refuses: {place}: {what}. {_AS_DATA}")


def _check(block, place, pictures):
    kind, fields = block["type"], TYPES[block["type"]]
    for name in block:
        if name not in fields:
            raise _wrong(place, f"a block of type {kind} has no field {name!r}; it has {', '.join(fields)}")
    for name, right in fields.items():
        if not isinstance(block.get(name), right):
            raise _wrong(place, _is_missing(block, name) or f"{name} is {_kind(block[name])}")
    marker = block.get("cache_control")
    if marker is not None and not _is_marker(marker):
        raise _wrong(place, 'cache_control must be {"type": "ephemeral"}, with a ttl of "5m" or "1h" or none')
    if kind == "text":
        if not isinstance(block.get("text"), str):
            raise _wrong(place, f"text must be a string, not {_kind(block.get('text'))}")
        if block.get("citations"):
            raise _wrong(place, "citations are for what the model says: leave them out")
    elif kind in SOURCES:
        _check_source(kind, block.get("source"), f"{place}: source", pictures)
    elif kind == "search_result":
        texts = block["content"]
        if not texts or not all(isinstance(one, dict) and one.get("type") == "text" for one in texts):
            raise _wrong(place, "content must be a list of text blocks, with at least one")
        for n, text in enumerate(texts):
            if not has_words(text.get("text")):
                raise _wrong(f"{place}: content[{n}]", "text must be a string with something in it")
            _check(text, f"{place}: content[{n}]", pictures)
    asked = block.get("citations")
    if kind in ("document", "search_result") and asked is not None and not _asks(asked):
        raise _wrong(place, 'citations must be {"enabled": true} or {"enabled": false}')


def _check_source(kind, source, place, pictures):
    ways = SOURCES[kind]
    if not isinstance(source, dict) or source.get("type") not in ways:
        raise _wrong(place, f"it must be an object whose type is one of {', '.join(ways)}")
    way, fields = source["type"], ways[source["type"]]
    for name in [*source, *sorted(fields)]:
        if name not in fields:
            raise _wrong(place, f"a source of type {way} has no field {name!r}; it has {', '.join(sorted(fields))}")
        if name == "content" and name in source:
            continue
        if not isinstance(source.get(name), str) or not source[name]:
            raise _wrong(
                place, _is_missing(source, name) or f"{name} must be a string, not empty, not {_kind(source[name])}"
            )
    if way == "url" and not source["url"].startswith(("http://", "https://")):
        raise _wrong(place, "url must begin with https://; give other data in base64, with a media_type")
    if way == "content":
        _check_inner(source.get("content"), place, pictures)
    elif way == "text" and source["media_type"] != "text/plain":
        raise _wrong(place, f"media_type must be text/plain, not {source['media_type']!r}")
    elif way == "base64":
        _check_bytes(kind, source, place, pictures)


def _check_inner(content, place, pictures):
    if isinstance(content, str) and content.strip():
        return
    if not isinstance(content, list) or not content:
        raise _wrong(place, "content must be a string or a list of text and image blocks")
    for n, inner in enumerate(content):
        if not isinstance(inner, dict) or inner.get("type") not in ("text", "image"):
            raise _wrong(f"{place}: content[{n}]", "it must be a text or an image block")
        _check(inner, f"{place}: content[{n}]", pictures)
        if inner["type"] == "text" and not has_words(inner["text"]):
            raise _wrong(f"{place}: content[{n}]", "text must have something in it")


def _check_bytes(kind, source, place, pictures):
    right = _PICTURES if kind == "image" else ("application/pdf",)
    if source["media_type"] not in right:
        raise _wrong(place, f"media_type must be one of {', '.join(right)}, not {source['media_type']!r}")
    try:
        raw = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(place, "data is not base64 (without line breaks): base64.b64encode(data).decode()") from None
    if kind == "image" and read_picture(raw)[0] is None or kind == "document" and b"%PDF" not in raw[:1024]:
        raise _wrong(place, f"the bytes of data are no {source['media_type']}")
    if kind == "image":
        for said in check_picture(source, place, pictures):
            raise _wrong(place, said.removeprefix(place).lstrip(".: "))


def _is_missing(fields, name):
    return f"{name} is missing" if fields.get(name) is None else ""


def _is_marker(marker):
    if not isinstance(marker, dict) or not marker.keys() <= {"type", "ttl"}:
        return False
    return marker.get("type") == "ephemeral" and marker.get("ttl") in (None, "5m", "1h")


def _asks(asked):
    return asked.keys() == {"enabled"} and isinstance(asked["enabled"], bool)


def _kind(value):
    return "null" if value is None else f"of type {type(value).__name__}"
