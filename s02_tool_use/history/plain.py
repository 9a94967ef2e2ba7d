"""The first pass: whatever a program keeps as its history becomes plain messages, made of known fields alone.

One message comes out for each that goes in, so the indexes stay. What calls and results mean to each other comes later.
"""

from collections.abc import Callable
from typing import Any

from . import quick
from .blocks import fixed
from .fields import ONLY_INSIDE_RESULT, NotJson, as_json, block_of, has_words, kind_name, known_fields
from .system import keep_or_move

ROLES = ("user", "assistant", "system")
ONLY_OF_SYSTEM = ("output_config", "clear_at")  # what else a system message holds


def plain_messages(
    messages: list,
    log: Callable[[str], object] = lambda line: None,
    system_role: bool = True,
    system: list | None = None,
    **options: Any,
) -> list:
    """Plain data, known fields only. New dicts, which share nothing that can change with `messages`.

    A message with nothing to send has the content []. ValueError for what nobody can fix.
    """
    plain, index, begun = [], 0, False
    try:
        for index, message in enumerate(messages):
            one = quick.usual(message) or _plain(message, f"message {index}", log, **options)
            if one["role"] == "system":
                one = keep_or_move(one, f"message {index}", log, system_role, begun, system)
            else:
                begun = begun or bool(one["content"])
            plain.append(one)
    except NotJson as error:
        raise ValueError(f"message {index} holds {error}: only JSON data can be sent") from None
    except RecursionError:
        raise ValueError(f"message {index} is nested too deeply to be sent") from None
    return plain


def _plain(message, place, log, **options):
    role, content, more = _parts_of(message, place, log)
    if has_words(content):
        content = as_json(content, place, log)
    elif not content and "output_config" in more:
        if content != []:
            log(f"gave {place} an empty list as its content")
        content = []
    else:
        blocks = [_block(block, role, place, log, **options) for block in _as_list(content, place, log)]
        content = [block for block in blocks if block]
    return {"role": role, "content": content, **more}


def _block(block, role, place, log, keep_unsigned_thinking=False, unknown="drop", **_):
    """Plain data first, then known fields, then what they must hold. None when nothing is left."""
    if isinstance(block, str):
        log(f"made a string in the content of {place} a text block")
        block = {"type": "text", "text": block}
    if hasattr(block, "model_dump"):
        block = block_of(block)
    if not isinstance(block, dict):
        raise ValueError(f"a block of {place} is {kind_name(block)}: give a dict with a type, or an SDK object")
    block = as_json(block, place, log)
    if str(block.get("type")) in ONLY_INSIDE_RESULT:
        return log(f"dropped a {block['type']} block in {place}: it belongs inside a tool_result")
    if block.get("type") == "text" and role != "assistant" and block.get("citations"):
        log(f"removed the citations from the {role}'s text in {place}")  # rule C11
        del block["citations"]
    if keep_unsigned_thinking and block.get("type") == "thinking" and isinstance(block.get("thinking"), str):
        if not isinstance(block.get("signature", ""), str):
            log(f"removed the signature of the thinking in {place}: it is {kind_name(block.pop('signature'))}")
        return known_fields(block, place, log, unknown)
    return fixed(block, place, log, unknown)


def _parts_of(message, place, log):
    """Rules R1, R8: a message has a role of the three, a content, and nothing that it may not have."""
    if hasattr(message, "model_dump"):  # a reply of the SDK, put into the list as it is: its id and usage stay behind
        said = {key: getattr(message, key, None) for key in ("role", "content")}
        message = said | (getattr(message, "model_extra", None) or {})
    if not isinstance(message, dict):
        raise ValueError(f'{place} is {kind_name(message)}: give a dict with "role" and "content"')
    role = message.get("role")
    if role not in ROLES:
        raise ValueError(f'{place} has the role {role!r}: give "user" or "assistant"')
    more = {key: message[key] for key in ONLY_OF_SYSTEM if role == "system" and key in message}
    if extra := [str(key) for key in message if key not in ("role", "content", *more)]:
        log(f"removed {', '.join(extra)} from {place}")
    return role, message.get("content"), as_json(more, place, log)


def _as_list(content, place, log):
    """Rules C1 to C3: a content that is no list, as a list of blocks. Text of white space alone is no block."""
    if content in (None, [], ()) or isinstance(content, str) and not content.strip():
        log(f"dropped {place}: it was empty")
        return []
    if isinstance(content, (str, dict)) or hasattr(content, "model_dump"):
        log(f"made the content of {place} a list of blocks")
        return [content]
    if not isinstance(content, (list, tuple)):
        raise ValueError(f"the content of {place} is {kind_name(content)}: give a string or a list of blocks")
    return content
