"""What each type of block must hold, and how one is fixed that does not. Every block is looked at alone.

A fix gives back the block, or None when nothing of it can be sent. Rules (C2, P10) are those of lab/rules_table.py.
"""

import contextlib
import json

from .fields import (
    CALLERS,
    INSIDE_RESULT,
    SOURCES,
    TYPES,
    as_json,
    as_other_apis_write,
    has_words,
    kind_name,
    known_fields,
)

NO_OUTPUT = "(no output)"


def fixed(block, place, log, unknown="drop"):
    """A plain block, made right; or None. Optional fields of a wrong type go."""
    block = known_fields(block, place, log, unknown)
    if block is None or block["type"] not in TYPES:
        return block
    kind = block["type"]
    for name, right in TYPES[kind].items():
        if not isinstance(block.get(name), right):
            if not isinstance(None, right):
                return log(f"dropped the {kind} block in {place}: it is incomplete")
            log(f"removed the {name} of a {kind} block in {place}: it was {kind_name(block[name])}")
            del block[name]
    caller = block.get("caller")
    if caller is not None and caller.keys() != CALLERS.get(str(caller.get("type"))):
        log(f"removed the unknown caller of a {kind} block in {place}")  # rule P13
        del block["caller"]
    if kind == "tool_result":
        return fix_result(block, place, log, unknown)
    return _FIXES[kind](block, place, log) if kind in _FIXES else block


def fix_text(block, place, log):
    """C2, C3: a text block has something to read. White space beside a call is disputed: refused in
    anthropics/claude-code#23440, accepted of Haiku 4.5 in llm-anthropic's recorded tests. None is right for all.
    """
    text = block.get("text")
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        log(f"made the number {text} in {place} a string")
        block["text"] = text = str(text)
    return block if has_words(text) else log(f"dropped an empty text block in {place}")


def fix_call(block, place, log):
    """P8 to P10: a call has an id, a name, and an object of arguments."""
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        log(f"made the input of a call in {place} an object")
        block["input"] = as_json(_arguments(arguments), place, log)
    name = block.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= 200:
        log(f"fixed the name of a call in {place}")
        block["name"] = name[:200] if name and isinstance(name, str) else "unknown"
    return _with_id(block, "id", place, log)


def _arguments(given):
    """None is no arguments, and so is the empty list, PHP's empty object. JSON in a string is read, also JSON in JSON;
    what is no JSON, such as a call cut off, is kept under a name.
    """
    read = given
    with contextlib.suppress(ValueError, RecursionError):
        while isinstance(read, str) and read:
            read = json.loads(read)
    if read in (None, "", []):
        return {}
    if isinstance(read, dict):
        return read
    return {"invalid_json": given} if isinstance(given, str) and read is given else {"value": read}


def _with_id(block, name, place, log):
    """An id is a string. One that is missing is the empty string, which gets a name later (ids.py)."""
    if not isinstance(block.get(name), str):
        log(f"made the {name} of a {block['type']} block in {place} a string")
        block[name] = "" if block.get(name) is None else str(block[name])
    return block


def fix_result(block, place, log, unknown):
    """C6, C13, P12: a result says which call it answers, in text or blocks. An error is not empty, and text alone."""
    if not isinstance(block.get("is_error"), (bool, type(None))):
        log(f"made the is_error of a result in {place} true or false")
        block["is_error"] = str(block["is_error"]).lower() in ("true", "1")
    content = block.get("content", "")
    if not isinstance(content, (str, list)):
        log(f"made the content of a result in {place} a list of blocks")
        content = [content]
    if isinstance(content, list):
        block["content"] = [part for part in (_inside(part, place, log, unknown) for part in content) if part]
    if block.get("is_error") and not block.get("content"):
        log(f"filled the empty error in {place}: {NO_OUTPUT}")
        block["content"] = NO_OUTPUT
    content = block.get("content")
    if block.get("is_error") and isinstance(content, list) and any(part["type"] != "text" for part in content):
        log(f"made the error in {place} a plain result: an error can hold only text")
        block["is_error"] = False
    return _with_id(block, "tool_use_id", place, log)


def _inside(part, place, log, unknown):
    """A block inside a result. Whatever else stands there is kept as text, since a tool said it; None is nothing."""
    if part is None:
        return log(f"dropped an empty part of a result in {place}")
    kind = part.get("type") if isinstance(part, dict) else None
    strange = isinstance(kind, str) and kind not in TYPES and unknown == "keep"
    if not (isinstance(part, dict) and (str(kind) in INSIDE_RESULT or strange or as_other_apis_write(part))):
        log(f"made a part of a result in {place} a text block")
        part = {"type": "text", "text": part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)}
    return fixed(part, place, log, unknown)


def fix_thinking(block, place, log):
    """K3, K4: thinking comes back signed, as it was, or not at all. The API may leave its text out; the field stays."""
    if not isinstance(block.get("signature"), str) or not block["signature"]:
        return log(f"dropped the thinking without a signature in {place}")
    if not isinstance(block.get("thinking"), str):
        log(f"added the missing text of the thinking in {place}: empty")
        block["thinking"] = ""
    return block


def fix_source(block, place, log):
    """C10, as far as a list can be fixed: an image or a document says where it comes from."""
    source = block.get("source")
    fields = SOURCES[block["type"]].get(str(source.get("type"))) if isinstance(source, dict) else None
    if not fields or not all(isinstance(source.get(name), str) for name in fields - {"content"}):
        return log(f"dropped the {block['type']} in {place}: it has no source")
    if "content" in fields and "content" not in source:
        return log(f"dropped the {block['type']} in {place}: its source is empty")
    if source.keys() - fields:
        log(f"removed {', '.join(sorted(source.keys() - fields))} from the source of the {block['type']} in {place}")
        block["source"] = {key: value for key, value in source.items() if key in fields}
    return block


_FIXES = {
    "text": fix_text,
    "tool_use": fix_call,
    "server_tool_use": fix_call,
    "mcp_tool_use": fix_call,
    "thinking": fix_thinking,
    "image": fix_source,
    "document": fix_source,
}
