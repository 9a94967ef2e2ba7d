"""The first pass: whatever a program keeps as its history becomes plain messages, made of known fields alone.

One message comes out for each that goes in, so the indexes stay. What calls and results mean to each other comes later.
"""

from .blocks import mended
from .fields import ONLY_INSIDE_RESULT, NotJson, as_json, kind_name, known_fields, plain_block

_ROLES = {"user": "user", "assistant": "assistant", "system": "user"}


def plain_messages(messages, log=lambda line: None, start=0, keep_unsigned_thinking=False, markers=None):
    """Return new {"role", "content"} dicts. They share nothing that can change with `messages`, which stay untouched.

    tell gets a line for each repair; start is the index of the first message; markers, a list, gets the blocks with a
    cache marker. A message with nothing to send has the content []. ValueError for what nobody can mend.
    """
    plain, index = [], start
    try:
        for index, message in enumerate(messages, start):
            if type(message) is not dict or len(message) != 2 or message.get("role") not in ("user", "assistant"):
                message = _role_and_content(message, f"message {index}", log)
            role, content = message["role"], message.get("content")
            if type(content) is str and content and not content.isspace():
                plain.append({"role": role, "content": content})
                continue
            blocks = []
            for block in content if type(content) is list else _as_list(content, f"message {index}", log):
                usual = _usual(block)
                if usual:
                    blocks.append(usual)
                    continue
                block = _unusual(block, role, f"message {index}", log, keep_unsigned_thinking)
                if block:
                    blocks.append(block)
                    if markers is not None:
                        markers += _marked(block)
            if not content and type(content) is list:
                log(f"dropped message {index}: it was empty")
            plain.append({"role": role, "content": blocks})
    except NotJson as error:
        raise ValueError(f"message {index} holds {error}: only JSON data can be sent") from None
    except RecursionError:
        raise ValueError(f"message {index} is nested too deeply to be sent") from None
    return plain


def _usual(block):
    """A copy of a block that has one of the three usual shapes and nothing to mend, else None.

    Long histories consist of these. This short way is why mending one costs less than writing it as JSON.
    """
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if kind == "text" and len(block) == 2:
        text = block.get("text")
        return block.copy() if type(text) is str and text and not text.isspace() else None
    if kind == "tool_result" and (len(block) == 3 or len(block) == 4 and type(block.get("is_error")) is bool):
        content = block.get("content")
        usual = (
            type(content) is str and type(block.get("tool_use_id")) is str and (content or not block.get("is_error"))
        )
        return block.copy() if usual else None
    if kind == "tool_use" and len(block) == 4:
        name, arguments = block.get("name"), block.get("input")
        if type(block.get("id")) is str and type(name) is str and 0 < len(name) <= 200 and type(arguments) is dict:
            copy = block.copy()
            copy["input"] = as_json(arguments)
            return copy
    return None


def _unusual(block, role, place, log, keep_unsigned_thinking):
    """Any other block: plain data first, then known fields, then what they must hold. None when nothing is left."""
    block = known_fields(plain_block(block, place), place, log)
    if block is None:
        return None
    if block["type"] in ONLY_INSIDE_RESULT:
        return log(f"dropped a {block['type']} block in {place}: it belongs inside a tool_result")
    if block["type"] == "text" and role == "user" and block.get("citations"):
        log(f"removed the citations from the user's text in {place}")  # rule C11
        del block["citations"]
    if keep_unsigned_thinking and block["type"] == "thinking" and isinstance(block.get("thinking"), str):
        return {key: value for key, value in block.items() if isinstance(value, str)}
    return mended(block, place, log)


def _marked(block):
    inside = block.get("content") if block["type"] == "tool_result" else None
    return [b for b in (block, *(inside if isinstance(inside, list) else ())) if b.get("cache_control")]


def _role_and_content(message, place, log):
    """Rules R1, R2, R8: a role of the two, a content, nothing else. A system message becomes the user's."""
    if hasattr(message, "model_dump"):  # a reply of the SDK, put into the list as it is
        message = {"role": getattr(message, "role", None), "content": getattr(message, "content", None)}
    if not isinstance(message, dict):
        raise ValueError(f'{place} is {kind_name(message)}: give a dict with "role" and "content"')
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise ValueError(f'{place} has the role {role!r}: give "user" or "assistant"')
    extra = [str(key) for key in message if key not in ("role", "content")]
    if extra:
        log(f"removed {', '.join(extra)} from {place}")
    if role == "system":
        log(f"made {place} the user's: a system prompt goes beside the list, into `system`")
    return {"role": _ROLES[role], "content": message.get("content")}


def _as_list(content, place, log):
    """Rules C1 to C3: a content that is no list, as a list of blocks. Blank text is no block."""
    if isinstance(content, str) and content and not content.isspace():
        return [content]  # a subclass of str
    if content is None or isinstance(content, str):
        log(f"dropped {place}: it was empty")
        return []
    if isinstance(content, dict) or hasattr(content, "model_dump"):
        return [content]
    if not isinstance(content, (list, tuple)):
        raise ValueError(f"the content of {place} is {kind_name(content)}: give a string or a list of blocks")
    return content
