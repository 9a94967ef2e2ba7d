"""The fields of messages and blocks, checked as the API checks them: path first, then what is wrong with it.

Each check yields (rule, message, message index, block index). What blocks mean to each other is rules.py.
"""

from ...history.fields import CALLERS, FIELDS, INSIDE_RESULT, ONLY_INSIDE_RESULT, SERVER_RESULTS, SOURCES
from .pictures import check_picture
from .rules_types import (
    ARRAY,
    EXTRA,
    OBJECT,
    REQUIRED,
    STRING,
    array,
    boolean,
    cache_marker,
    mapping,
    matches,
    string,
    tagged,
    unknown_tag,
)

_ID = "^[a-zA-Z0-9_-]+$"
_SERVER_ID = "^srvtoolu_[a-zA-Z0-9_]+$"
# The tags that the API names when it meets another one, as quoted. It knows more by now; FIELDS has them.
_TAGS = (
    "document",
    "image",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text",
    "thinking",
    "tool_result",
    "tool_use",
    "web_search_tool_result",
)
_TOP_LEVEL = FIELDS.keys() - ONLY_INSIDE_RESULT


def check_messages(messages, profile):
    """T6, T7, R1, R2, R8 and the fields of every block, message by message."""
    if not isinstance(messages, list):
        yield "T6", f"messages: {ARRAY}"
        return
    if not messages:
        yield "T6", "messages: at least one message is required"
    if len(messages) > 100_000:
        yield "T7", "messages: at most 100000 messages are allowed"
    images = sum(_images(message) for message in messages)
    for i, message in enumerate(messages):
        for rule, text, *block in _check_message(message, f"messages.{i}", profile, images):
            yield rule, text, i, *block


def _check_message(message, path, profile, images):
    if not isinstance(message, dict):
        yield "R8", f"{path}: {OBJECT}"
        return
    if "role" not in message:
        yield "R1", f"{path}.role: {REQUIRED}"
    role = message.get("role")
    if role == "system" and not profile.system_role:
        text = 'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an'
        yield "R2", f"messages: {text} input message role."
    elif role not in ("user", "assistant", "system"):
        yield "R1", f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"'
    content = message.get("content")
    if "content" not in message:
        yield "R8", f"{path}.content: {REQUIRED}"
    elif not isinstance(content, (str, list)):
        yield "R8", f"{path}.content: {ARRAY}"
    for j, block in enumerate(content if isinstance(content, list) else ()):
        for rule, text in check_block(block, f"{path}.content.{j}", profile, images=images):
            yield rule, text, j
        if role == "system" and block["type"] != "text":
            yield "R3", f"{path}.content.{j}: {unknown_tag(block['type'], ['text'])}", j
    known = {"role", "content", "output_config"} if role == "system" else {"role", "content"}
    for key in message:
        if key not in known:
            yield "R8", f"{path}.{key}: {EXTRA}"


def _images(message):
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    inner = [part for block in blocks if isinstance(block.get("content"), list) for part in block["content"]]
    return sum(isinstance(block, dict) and block.get("type") == "image" for block in blocks + inner)


def check_block(block, path, profile, *, known=_TOP_LEVEL, tags=_TAGS, images=0):
    """C4, C5 and what each type asks of its fields. The path grows by the type: messages.1.content.0.tool_use.id."""
    if not isinstance(block, dict):
        yield "C4", f"{path}: {OBJECT}"
        return
    if "type" not in block:
        yield "C4", f"{path}.type: {REQUIRED}"
        return
    kind = block["type"]
    if not isinstance(kind, str) or kind not in known:
        yield "C4", f"{path}: {unknown_tag(kind, tags)}"
        return
    path = f"{path}.{kind}"
    for name, rule, check in _NEEDED.get(kind, ()):
        if name in block:
            for text in check(block[name], f"{path}.{name}"):
                yield rule, text
        elif not (name == "signature" and profile.unsigned_thinking):
            yield rule, f"{path}.{name}: {REQUIRED}"
    for name, rule, check in _OPTIONAL:
        if block.get(name) is not None and name in FIELDS[kind] and name not in _needed_names(kind):
            for text in check(block[name], f"{path}.{name}"):
                yield rule, text
    if kind in ("image", "document"):
        yield from _check_source(block["source"], f"{path}.source", SOURCES[kind], images)
    if kind == "tool_result":
        content = block.get("content", "")
        if not isinstance(content, (str, list)):
            yield "C6", f"{path}.content: {ARRAY}"
        for k, part in enumerate(content if isinstance(content, list) else ()):
            inner = f"{path}.content.{k}"
            yield from check_block(part, inner, profile, known=INSIDE_RESULT, tags=sorted(INSIDE_RESULT), images=images)
    for key in block:
        if key not in FIELDS[kind]:
            yield "C5", f"{path}.{key}: {EXTRA}"
    if kind == "tool_result" and block.get("is_error") and not block.get("content"):
        yield "C6", f"{path}: content cannot be empty if `is_error` is true"
    if kind == "text" and block["text"] == "" and block.get("cache_control") is not None:
        yield "C7", f"{path}: cache_control cannot be set for empty text blocks"


def _needed_names(kind):
    return [name for name, _, _ in _NEEDED.get(kind, ())]


# ---- required fields, by type


def _either(value, path):
    if not isinstance(value, (dict, list)):
        yield f"{path}: {ARRAY}"


def _name(value, path):
    if not isinstance(value, str):
        yield f"{path}: {STRING}"
    elif not value:
        yield f"{path}: String should have at least 1 character"
    elif len(value) > 200:
        yield f"{path}: String should have at most 200 characters"


def _citations(value, path):
    """Of a text: a list of places. Of a document or search result: an object that switches them on."""
    yield from (array if path.endswith(".text.citations") else mapping)(value, path)


def _caller(value, path):
    """P13. Who made the call: the model itself, or code that it ran at the API's side."""
    yield from tagged(value, path, CALLERS)
    if isinstance(value, dict) and "type" in value:
        for key in sorted(CALLERS.get(str(value["type"]), set()) - value.keys()):
            yield f"{path}.{value['type']}.{key}: {REQUIRED}"


# Type of block -> (field, rule, check) for what must be there.
_NEEDED = {
    "text": [("text", "C4", string)],
    "thinking": [("signature", "K4", string), ("thinking", "K4", string)],
    "redacted_thinking": [("data", "K4", string)],
    "tool_use": [("id", "P8", matches(_ID)), ("name", "P9", _name), ("input", "P10", mapping)],
    "tool_result": [("tool_use_id", "P12", matches(_ID))],
    "server_tool_use": [("id", "P14", matches(_SERVER_ID)), ("name", "P9", _name), ("input", "P10", mapping)],
    **{name: [("content", "C4", _either), ("tool_use_id", "P14", matches(_SERVER_ID))] for name in SERVER_RESULTS},
    "search_result": [("content", "C4", array), ("source", "C4", string), ("title", "C4", string)],
    "container_upload": [("file_id", "C4", string)],
    "tool_reference": [("tool_name", "C4", string)],
    "browser_state": [("tabs", "C4", array)],
    "image": [("source", "C4", mapping)],
    "document": [("source", "C4", mapping)],
}
# What may be there, in any block that has the field; null is the same as absent.
_OPTIONAL = [
    ("cache_control", "C9", cache_marker),
    ("caller", "P13", _caller),
    ("citations", "C4", _citations),
    ("context", "C4", string),
    ("is_error", "C6", boolean),
    ("state_changes", "C4", array),
    ("title", "C4", string),
    ("toolset_name", "C4", string),
    ("transformations", "C4", mapping),
]


def _check_source(source, path, ways, images):
    """C10. Where an image or document comes from, and whether the picture is what it says it is."""
    if not isinstance(source, dict):
        return
    kind = source.get("type")
    if not isinstance(kind, str) or kind not in ways:
        yield "C10", f"{path}: {unknown_tag(kind, ways)}"
        return
    for key in sorted(ways[kind]):
        if key not in source:
            yield "C10", f"{path}.{kind}.{key}: {REQUIRED}"
        elif key != "content" and not isinstance(source[key], str):
            yield "C10", f"{path}.{kind}.{key}: {STRING}"
    for key in source:
        if key not in ways[kind]:
            yield "C10", f"{path}.{kind}.{key}: {EXTRA}"
    if kind == "base64" and ".image.source" in path:
        for text in check_picture(source["media_type"], source["data"], f"{path}.base64", images):
            yield "C10", text
