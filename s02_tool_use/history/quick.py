"""What is here for speed alone: long histories are mostly right, and are sent with each request.

normalize_messages does the same without it, in several times the time: tests/history/test_quick.py compares the two.
"""

import contextlib
import gc
from itertools import pairwise

from .fields import THINKING, NotJson, as_json
from .turns import merge_neighbours

_OF_ASSISTANT = {"text"} | THINKING
_OF_USER = {"text", "image", "search_result", "document", "container_upload"}
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
    if type(message) is not dict or len(message) != 2:
        return None
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        return None
    if type(content) is str:
        return {"role": role, "content": content} if content and not content.isspace() else None
    if type(content) is not list or not content:
        return None
    blocks = []
    for block in content:
        if type(block) is not dict:
            return None
        kind, fields, copy = block.get("type"), len(block), block.copy()
        if kind == "text":
            text = block.get("text")
            if fields != 2 or type(text) is not str or not text or text.isspace():
                return None
        elif kind == "tool_use":
            name, arguments, caller = block.get("name"), block.get("input"), block.get("caller")
            if fields == 5 and type(caller) is dict and caller == _DIRECT:
                copy["caller"] = caller.copy()
            elif fields != 4:
                return None
            if type(block.get("id")) is not str or type(name) is not str or not 0 < len(name) <= 200:
                return None
            if type(arguments) is not dict:
                return None
            copy["input"] = as_json(arguments)
        elif kind == "tool_result":
            said, failed = block.get("content"), block.get("is_error")
            if fields != 3 and (fields != 4 or type(failed) is not bool) or type(block.get("tool_use_id")) is not str:
                return None
            if type(said) is list:
                copy["content"] = said = [part.copy() for part in said if _is_text(part)]
                if len(said) != len(block["content"]):
                    return None
            elif type(said) is not str:
                return None
            if failed and not said:
                return None
        elif kind == "thinking":
            signature = block.get("signature")
            if fields != 3 or type(block.get("thinking")) is not str or type(signature) is not str or not signature:
                return None
        else:
            return None
        blocks.append(copy)
    return {"role": role, "content": blocks}


def _is_text(block):
    if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
        return False
    text = block.get("text")
    return type(text) is str and text != "" and not text.isspace()


def is_right(messages):
    """Whether plain messages keep the rules of calls and turns, so that no block needs a new id or another place.

    An assistant's turn ends in its calls; the user's next turn begins with their results, one for each, in any order.
    Every call has a legal id of its own. No message ends in thinking. When in doubt, no: then all is taken apart.
    """
    before, kind, waiting, called = None, None, set(), set()
    for message in messages:
        role, content = message["role"], message["content"]
        if not content or kind in THINKING or role != before and role == "assistant" and waiting:
            return False
        before = role
        if isinstance(content, str):
            if waiting:
                return False
            kind = "text"
        elif role == "assistant":
            for block in content:
                kind = block["type"]
                if kind == "tool_use":
                    id = block["id"]
                    if id in called or not id.isascii() or not id.replace("_", "").replace("-", "").isalnum():
                        return False
                    called.add(id)
                    waiting.add(id)
                elif waiting or kind not in _OF_ASSISTANT:
                    return False
        else:
            for block in content:
                kind = block["type"]
                if kind == "tool_result" and block["tool_use_id"] in waiting:
                    waiting.remove(block["tool_use_id"])
                elif waiting or kind not in _OF_USER:
                    return False
    return not waiting and kind not in THINKING


def right_copy(messages, log):
    """A copy of a list that has nothing to fix, or nothing but neighbours to merge; None if there is more to do.

    Each message is copied and looked at while it is in the processor's cache.
    """
    copies, roles = [], []

    def usual_ones():
        for message in messages:
            copy = usual(message)
            if copy is None:
                return
            copies.append(copy)
            roles.append(copy["role"])
            yield copy

    try:
        right = is_right(usual_ones()) and len(copies) == len(messages) and roles[-1:] == ["user"]
    except (NotJson, RecursionError):
        return None
    if not right or all(one != other for one, other in pairwise(roles)):
        return copies if right else None
    return merge_neighbours(copies, log)
