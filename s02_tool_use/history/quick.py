"""What is here for speed alone: long histories are mostly right, and are sent with each request.

normalize_messages does the same without it, in several times the time: tests/history/test_quick.py compares the two.
"""

import contextlib
import gc
from itertools import takewhile
from operator import ne

from .fields import THINKING, NotJson, as_json, has_words, is_whole
from .ids import all_legal
from .turns import merge_neighbours

# What stands beside calls and results, by role.
_BESIDE = {
    "assistant": {"text"} | THINKING,
    "user": {"text", "image", "search_result", "document", "container_upload"},
}
_DIRECT = {"type": "direct"}


@contextlib.contextmanager
def no_collector():
    """Without the garbage collector, which would look through the growing copy again and again, and find nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def usual(message):
    """A copy of a message of the usual shapes that has nothing to fix, else None."""
    if type(message) is not dict or len(message) != 2 or message.get("role") not in ("user", "assistant"):
        return None
    content = message.get("content")
    if type(content) is not list:
        return message.copy() if has_words(content) and is_whole(content) else None
    blocks = []
    for block in content:
        if type(block) is not dict:
            return None
        kind, fields, copy, right = block.get("type"), len(block), block.copy(), False
        if kind == "text":
            right = _is_text(block)
        elif kind == "tool_use":
            name, given = block.get("name"), block.get("input")
            if fields == 5 and block.get("caller") == _DIRECT:
                copy["caller"], fields = _DIRECT.copy(), 4
            right = fields == 4 and type(block.get("id")) is str and _is_string(name) and 0 < len(name) <= 200
            if right := right and type(given) is dict:
                try:
                    copy["input"] = as_json(given)
                except NotJson:
                    return None
        elif kind == "tool_result":
            said, failed = block.get("content"), block.get("is_error")
            if type(said) is list:
                copy["content"] = [part.copy() for part in said if _is_text(part)]
                right = len(copy["content"]) == len(said)
            else:
                right = _is_string(said)
            right = right and (fields == 3 or fields == 4 and type(failed) is bool) and (said or not failed)
            right = right and type(block.get("tool_use_id")) is str
        elif kind == "thinking":
            signature = block.get("signature")
            right = fields == 3 and _is_string(block.get("thinking")) and _is_string(signature) and signature
        if not right:
            return None
        blocks.append(copy)
    return {"role": message["role"], "content": blocks} if blocks else None


def _is_string(value):
    return type(value) is str and is_whole(value)


def _is_text(block):
    if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
        return False
    return _is_string(text := block.get("text")) and has_words(text)


def is_right(messages):
    """Whether plain messages keep the rules of calls and turns, so that no block needs a new id or another place.

    An assistant's turn with calls ends in one; the user's next turn begins with their results, one for each.
    Every call has a legal id of its own. No message ends in thinking. When in doubt, no: then all is taken apart.
    """
    before, kind, waiting, called = None, None, set(), set()
    for message in messages:
        role, content = message["role"], message["content"]
        if not content or kind in THINKING or role not in _BESIDE:
            return False
        if role != before and waiting and (role == "assistant" or kind != "tool_use"):
            return False
        before = role
        if isinstance(content, str):
            if waiting and role == "user":
                return False
            kind = "text"
            continue
        for block in content:
            kind = block["type"]
            if kind == "tool_use" and role == "assistant" and block["id"] not in called:
                called.add(block["id"])
                waiting.add(block["id"])
            elif kind == "tool_result" and role == "user" and block["tool_use_id"] in waiting:
                waiting.remove(block["tool_use_id"])
            elif waiting and role == "user" or kind not in _BESIDE[role]:
                return False
    return not waiting and kind not in THINKING and all_legal(called)


def right_copy(messages, log):
    """A copy of a list that has nothing to fix, or nothing but neighbours to merge; None if there is more to do.

    Each message is copied and looked at while it is in the processor's cache.
    """
    copies = []

    def usual_ones():
        for copy in takewhile(bool, map(usual, messages)):
            copies.append(copy)
            yield copy

    with contextlib.suppress(RecursionError):
        if is_right(usual_ones()) and len(copies) == len(messages) and messages and copies[-1]["role"] == "user":
            roles = [copy["role"] for copy in copies]
            return copies if all(map(ne, roles, roles[1:])) else merge_neighbours(copies, log)
    return None
