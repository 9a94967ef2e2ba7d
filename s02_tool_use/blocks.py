"""What each type of block must hold, and how one is mended that does not. Every block is looked at alone.

A mender gives back the block, or None when nothing of it can be sent. Rules (C2, P10) are those of lab/rules_table.py.
"""

import json

from .fields import CALLERS, INSIDE_RESULT, SERVER_RESULTS, SOURCES, as_json, known_fields, plain_block

NO_OUTPUT = "(no output)"


def mended(block, where, tell):
    """A plain block with known fields, made right; or None."""
    return _MENDERS[block["type"]](block, where, tell)


def mend_text(block, where, tell):
    """C2, C3: a text has something to read."""
    text = block.get("text")
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        tell(f"made the number {text} in {where} text")
        block["text"] = text = str(text)
    if not isinstance(text, str) or not text or text.isspace():
        return tell(f"dropped an empty text in {where}")
    if not isinstance(block.get("citations"), (list, type(None))):
        del block["citations"]
    return block


def mend_call(block, where, tell):
    """P8 to P10: a call has an id, a name, and an object of arguments."""
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        tell(f"made the input of a call in {where} an object")
        block["input"] = _arguments(arguments)
    name = block.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        tell(f"mended the name of a call in {where}")
        block["name"] = name[:200] if name and isinstance(name, str) else "unknown"
    block["id"] = _as_id(block.get("id"))
    caller = block.get("caller")
    if caller is not None and not (isinstance(caller, dict) and caller.keys() == CALLERS.get(str(caller.get("type")))):
        tell(f"removed the caller of a call in {where}")
        del block["caller"]
    return _string_or_nothing(block, "toolset_name")


def _arguments(given):
    """None is no arguments. JSON text is read; a text that is no JSON, such as a call cut off, is kept under a name."""
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = as_json(json.loads(given))
        except (ValueError, RecursionError):
            return {"invalid_json": given}
    return given if isinstance(given, dict) else {"value": given}


def _as_id(name):
    """An id as text. None is the empty id, which gets a name later (ids.py)."""
    return name if isinstance(name, str) else "" if name is None else str(name)


def mend_result(block, where, tell):
    """C6, P12: a result says which call it answers, in text or blocks. It may be empty, unless it is an error."""
    block["tool_use_id"] = _as_id(block.get("tool_use_id"))
    if not isinstance(block.get("is_error"), (bool, type(None))):
        block["is_error"] = str(block["is_error"]).lower() in ("true", "1")
    content = block.get("content")
    if isinstance(content, dict) and content.get("type") in INSIDE_RESULT:
        content = [content]
    if isinstance(content, list):
        block["content"] = [part for part in (_inside(part, where, tell) for part in content) if part]
    elif content is None:
        block.pop("content", None)
    elif not isinstance(content, str):
        tell(f"made the content of a result in {where} text")
        block["content"] = json.dumps(content, ensure_ascii=False)
    if block.get("is_error") and not block.get("content"):
        tell(f"gave the empty error in {where} a text: {NO_OUTPUT}")
        block["content"] = NO_OUTPUT
    return _string_or_nothing(block, "toolset_name")


def _inside(part, where, tell):
    """A block inside a result. What is no block there is kept as text, since it is what a tool said."""
    if isinstance(part, dict) and part.get("type") not in INSIDE_RESULT and not {"text", "image_url"} & part.keys():
        part = json.dumps(part, ensure_ascii=False)
    if not isinstance(part, (dict, str)):
        part = json.dumps(part, ensure_ascii=False)
    block = known_fields(plain_block(part, where), where, tell)
    return block and mended(block, where, tell)


def mend_thinking(block, where, tell):
    """K3, K4: thinking comes back signed, as it was, or not at all. The API may leave its text out; the field stays."""
    if not isinstance(block.get("signature"), str) or not block["signature"]:
        return tell(f"dropped the thinking without a signature in {where}")
    if not isinstance(block.get("thinking"), str):
        tell(f"gave the thinking in {where} an empty text")
        block["thinking"] = ""
    return block


def mend_source(block, where, tell):
    """C10, as far as a list can be mended: an image or a document says where it comes from."""
    source = block.get("source")
    fields = SOURCES.get(str(source.get("type"))) if isinstance(source, dict) else None
    whole = fields and all(name == "content" or isinstance(source.get(name), str) for name in fields)
    if not whole or not fields <= source.keys():
        return tell(f"dropped the {block['type']} in {where}: it has no source")
    block["source"] = {key: value for key, value in source.items() if key in fields}
    if not isinstance(block.get("citations"), (dict, type(None))):
        del block["citations"]
    if not isinstance(block.get("transformations"), (dict, type(None))):
        del block["transformations"]
    return _string_or_nothing(block, "title", "context")


def _string_or_nothing(block, *names):
    for name in names:
        if not isinstance(block.get(name), (str, type(None))):
            del block[name]
    return block


def _needs(**types):
    """A mender for blocks that are seldom met: kept if these fields are there, dropped if not."""

    def mend(block, where, tell):
        if all(isinstance(block.get(name), kind) for name, kind in types.items()):
            return block
        return tell(f"dropped the {block['type']} block in {where}: it is not whole")

    return mend


_MENDERS = {
    "text": mend_text,
    "tool_use": mend_call,
    "tool_result": mend_result,
    "thinking": mend_thinking,
    "redacted_thinking": _needs(data=str),
    "image": mend_source,
    "document": mend_source,
    "search_result": _needs(source=str, title=str, content=list),
    "container_upload": _needs(file_id=str),
    "tool_reference": _needs(tool_name=str),
    "browser_state": _needs(tabs=list),
    "server_tool_use": mend_call,
    **dict.fromkeys(SERVER_RESULTS, _needs(tool_use_id=str, content=(dict, list))),
}
