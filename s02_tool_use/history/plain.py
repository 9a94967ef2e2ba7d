"""The first pass: whatever a program keeps as its history becomes plain messages, made of known fields alone.

One message comes out for each that goes in, so the indexes stay. What calls and results mean to each other comes later.
"""

from . import quick
from .blocks import fixed
from .fields import FIELDS, ONLY_INSIDE_RESULT, NotJson, as_json, has_words, kind_name, known_fields

_ROLES = {"user": "user", "assistant": "assistant", "system": "user"}


def plain_messages(messages, log, keep_unsigned_thinking=False, **_):
    """Plain data, known fields only. New dicts, which share nothing that can change with `messages`.

    A message with nothing to send has the content []. ValueError for what nobody can fix.
    """
    plain, index = [], 0
    try:
        for index, message in enumerate(messages):
            plain.append(quick.usual(message) or _plain(message, f"message {index}", log, keep_unsigned_thinking))
    except NotJson as error:
        raise ValueError(f"message {index} holds {error}: only JSON data can be sent") from None
    except RecursionError:
        raise ValueError(f"message {index} is nested too deeply to be sent") from None
    return plain


def _plain(message, place, log, keep_unsigned_thinking):
    role, content = _role_and_content(message, place, log)
    if has_words(content):
        return {"role": role, "content": content}
    blocks = [_block(block, role, place, log, keep_unsigned_thinking) for block in _as_list(content, place, log)]
    return {"role": role, "content": [block for block in blocks if block]}


def _block(block, role, place, log, keep_unsigned_thinking):
    """Plain data first, then known fields, then what they must hold. None when nothing is left."""
    if isinstance(block, str):
        block = {"type": "text", "text": block}
    if hasattr(block, "model_dump"):  # an SDK object: its known fields that hold something
        block = block.model_dump(exclude_none=True, warnings=False)
        block = {key: value for key, value in block.items() if key in FIELDS.get(block.get("type"), block)}
    if not isinstance(block, dict):
        raise ValueError(f"a block of {place} is {kind_name(block)}: give a dict with a type, or an SDK object")
    block = known_fields(as_json(block), place, log)
    if block is None:
        return None
    if block["type"] in ONLY_INSIDE_RESULT:
        return log(f"dropped a {block['type']} block in {place}: it belongs inside a tool_result")
    if block["type"] == "text" and role == "user" and block.get("citations"):
        log(f"removed the citations from the user's text in {place}")  # rule C11
        del block["citations"]
    if keep_unsigned_thinking and block["type"] == "thinking" and isinstance(block.get("thinking"), str):
        return {key: value for key, value in block.items() if isinstance(value, str)}
    return fixed(block, place, log)


def _role_and_content(message, place, log):
    """Rules R1, R2, R8: a role of the two, a content, nothing else. A system message becomes the user's."""
    if hasattr(message, "model_dump"):  # a reply of the SDK, put into the list as it is
        message = {"role": getattr(message, "role", None), "content": getattr(message, "content", None)}
    if not isinstance(message, dict):
        raise ValueError(f'{place} is {kind_name(message)}: give a dict with "role" and "content"')
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise ValueError(f'{place} has the role {role!r}: give "user" or "assistant"')
    if extra := [str(key) for key in message if key not in ("role", "content")]:
        log(f"removed {', '.join(extra)} from {place}")
    if role == "system":
        log(f"made {place} the user's: a system prompt goes beside the list, into `system`")
    return _ROLES[role], message.get("content")


def _as_list(content, place, log):
    """Rules C1 to C3: a content that is no list, as a list of blocks. Blank text is no block."""
    if content in (None, [], ()) or isinstance(content, str) and not content.strip():
        log(f"dropped {place}: it was empty")
        return []
    if isinstance(content, (str, dict)) or hasattr(content, "model_dump"):
        return [content]
    if not isinstance(content, (list, tuple)):
        raise ValueError(f"the content of {place} is {kind_name(content)}: give a string or a list of blocks")
    return content
