"""The blocks that the API knows, their fields, and a block brought down to them: plain data, nothing that is unknown.

The offline API (lab/api/shape.py) checks by the same tables. What the fields must hold is the matter of blocks.py.
"""

import re
from typing import Any

_DICT, _LIST, _STR = dict | None, list | None, str | None  # a field that may be absent
_ANY = {"type": str, "cache_control": object}
_CALL = _ANY | {"id": object, "name": object, "input": object, "caller": _DICT}
_SERVER_RESULT = _ANY | {"tool_use_id": str, "content": dict | list}
# Type of block -> its fields, and what each holds; `object` where blocks.py looks closer.
TYPES: dict[str, dict[str, Any]] = {
    "text": _ANY | {"text": object, "citations": _LIST},
    "image": _ANY | {"source": object, "transformations": _DICT},
    "document": _ANY | {"source": object, "title": _STR, "context": _STR, "citations": _DICT},
    "search_result": _ANY | {"source": str, "title": str, "content": list, "citations": _DICT},
    "container_upload": _ANY | {"file_id": str},
    "thinking": {"type": str, "thinking": object, "signature": object},
    "redacted_thinking": {"type": str, "data": str},
    "tool_use": _CALL | {"toolset_name": _STR},
    "tool_result": _ANY | {"tool_use_id": object, "content": object, "is_error": object, "toolset_name": _STR},
    "tool_reference": _ANY | {"tool_name": str},
    "browser_state": _ANY | {"tabs": list, "state_changes": _LIST},
    # What changed on the way: the context was made smaller, the model was, a tool came or went.
    "compaction": _ANY | {"content": _STR, "encrypted_content": _STR, "signature": _STR, "tool_changes": _LIST},
    "fallback": {"type": str, "from": dict, "to": dict, "trigger": object},
    "tool_addition": _ANY | {"tool": dict},
    "tool_removal": _ANY | {"tool": dict},
    # Tools that run at the API's side, or that it calls: call and result both stand in the assistant's turn.
    "mcp_tool_listing": {"type": str, "mcp_server_name": str, "tools": list},
    "mcp_tool_use": _ANY | {"id": str, "name": object, "input": object, "server_name": str},
    "mcp_tool_result": _ANY | {"tool_use_id": str, "content": str | list | None, "is_error": bool | None},
    "server_tool_use": _CALL,
    "advisor_tool_result": _SERVER_RESULT,
    "web_search_tool_result": _SERVER_RESULT | {"caller": _DICT},
    "web_fetch_tool_result": _SERVER_RESULT | {"caller": _DICT},
    "code_execution_tool_result": _SERVER_RESULT,
    "bash_code_execution_tool_result": _SERVER_RESULT,
    "text_editor_code_execution_tool_result": _SERVER_RESULT,
    "tool_search_tool_result": _SERVER_RESULT,
}
FIELDS = {kind: set(fields) for kind, fields in TYPES.items()}  # any other is refused: "Extra inputs are not permitted"
ONLY_INSIDE_RESULT = {"tool_reference", "browser_state"}
INSIDE_RESULT = {"text", "image", "document", "search_result"} | ONLY_INSIDE_RESULT
SERVER_RESULTS = {name for name in FIELDS if name.endswith("_tool_result")}
CALL_OF = dict.fromkeys(SERVER_RESULTS, "server_tool_use") | {"mcp_tool_result": "mcp_tool_use"}
SERVER_CALLS = set(CALL_OF.values())
SERVER_SIDE = SERVER_RESULTS | SERVER_CALLS
GOES_ON = SERVER_SIDE | {"compaction"}  # an assistant's turn that ends in one of these is sent back, and goes on
THINKING = {"thinking", "redacted_thinking"}
IN_SYSTEM = {"text", "tool_addition", "tool_removal"}  # what a system message holds
# Blocks that only one side may send: rules P11 and C11 of the offline API.
HOME = {
    "tool_result": "user",
    "document": "user",
    "tool_use": "assistant",
    **dict.fromkeys(SERVER_SIDE | THINKING | {"fallback"}, "assistant"),
}
# Where an image or a document comes from, and the fields of each way.
_DATA = {"type", "media_type", "data"}
_SOURCES = {"base64": _DATA, "url": {"type", "url"}, "file": {"type", "file_id"}}
SOURCES = {"image": _SOURCES, "document": {**_SOURCES, "text": _DATA, "content": {"type", "content"}}}
# Who made a call: the model, or code that it ran at the API's side.
CALLERS = {
    "direct": {"type"},
    **dict.fromkeys(("code_execution_20250825", "code_execution_20260120"), {"type", "tool_id"}),
}


class NotJson(Exception):
    """A value that JSON does not have."""


def as_json(value, place="", log=None):
    """A deep copy of JSON data. Tuples become lists, SDK objects dicts. NotJson for what JSON does not have.

    With a log, numbers and characters that JSON does not have are written out.
    """
    if isinstance(value, str) and is_whole(value):
        return str.__str__(value)
    if isinstance(value, dict):
        return {key if type(key) is str else str(key): as_json(item, place, log) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, place, log) for item in value]
    if value is None or isinstance(value, int) or isinstance(value, float) and value - value == 0:
        return value
    if isinstance(value, (str, float)) and log:
        kind = "a lone surrogate" if isinstance(value, str) else f"the number {value}"
        log(f"wrote out {kind} in {place}: JSON cannot hold it")
        return str(value).encode("utf-8", "backslashreplace").decode()
    if hasattr(value, "model_dump"):
        return as_json(dumped(value), place, log)
    raise NotJson(kind_name(value))


def dumped(model, **how):
    """An object of the SDK, or of pydantic, as the SDK sends it: what was set, by its name on the wire, also None."""
    return model.model_dump(by_alias=True, exclude_unset=True, warnings=False, **how)


def block_of(model, **how):
    """A block that is an object of the SDK as a dict. A field that holds None may as well be absent; one inside of a
    field, such as the title of a citation, may not.
    """
    block = dumped(model, **how)
    block.setdefault("type", getattr(model, "type", None))  # which nobody may have set, if it has a default
    return {key: value for key, value in block.items() if value is not None}


def known_fields(block, place, log, unknown):
    """Rules C4, C5, C9: the block without fields that the API does not know. If it does not know the type: None, or the
    block as it is with unknown="keep".
    """
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in FIELDS:
        other, keep = as_other_apis_write(block), unknown == "keep" and isinstance(kind, str)
        log(f"{'rewrote' if other else 'kept' if keep else 'dropped'} a block of type {kind!r} in {place}")
        return other or (block if keep else None)
    if extra := [key for key in block if key not in FIELDS[kind]]:
        log(f"removed {', '.join(extra)} from a {kind} block in {place}")
        block = {key: value for key, value in block.items() if key not in extra}
    marker = block.get("cache_control")
    if marker is not None and marker not in _MARKERS:
        log(f"corrected the cache_control of a {kind} block in {place}")
        ttl = marker.get("ttl") if isinstance(marker, dict) else None
        block["cache_control"] = {"type": "ephemeral"} | ({"ttl": ttl} if ttl in ("5m", "1h") else {})
    return block


_MARKERS = [{"type": "ephemeral"}] + [{"type": "ephemeral", "ttl": ttl} for ttl in ("5m", "1h", None)]


def as_other_apis_write(block):
    """Text as OpenAI and Gemini write it, and OpenAI's image_url, as the blocks that they are here; None for anything
    else: a block with text in it, such as `reasoning`, need not be what somebody said.
    """
    said = block.get("type") in (None, "input_text", "output_text") and not block.get("thought")
    if said and isinstance(block.get("text"), str):
        return {"type": "text", "text": block["text"]}
    url = block.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str):
        return None
    data = re.fullmatch(r"data:(image/(?:jpeg|png|gif|webp));base64,(.+)", url, re.DOTALL)
    if data:
        return {"type": "image", "source": {"type": "base64", "media_type": data[1], "data": data[2]}}
    return {"type": "image", "source": {"type": "url", "url": url}} if url.startswith(("http://", "https://")) else None


def has_words(text):
    """Whether a value is a string with more in it than white space."""
    return isinstance(text, str) and text != "" and not text.isspace()


def is_whole(text):
    """Whether UTF-8 can write a string: it holds no lone surrogate, as broken file names have."""
    return text.isascii() or _HALF.search(text) is None


_HALF = re.compile("[\ud800-\udfff]")


def kind_name(value):
    """None, a list, an int: a value's type as one says it in a sentence."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
