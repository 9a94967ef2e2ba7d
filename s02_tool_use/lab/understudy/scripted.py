"""Scripted: the model says the lines that a notebook wrote for it. For behaviour that one cannot ask for."""

import threading
from collections.abc import Iterable
from typing import Any


class Scripted:
    """Answers with the given lines, in order, one a request.

    A line is a string, a content block, a list of strings and blocks, a dict with `content` and perhaps `stop_reason`
    or a fault, or a function that takes the request and returns one of these. Ids of tool_use blocks may be left out.

    | fault          | what the client meets                                                            |
    |----------------|----------------------------------------------------------------------------------|
    | `status`       | an error body: 429, 529, 500, ...; with `message` and `retry_after` (seconds)    |
    | `slow`         | so many seconds between two events of a stream, or before a JSON body            |
    | `break_off`    | (True) a stream that ends properly, but in the middle: the SDK does not notice   |
    | `hang_up`      | (True) a connection that is cut in the middle of the response                    |
    | `stream_error` | an `event: error` of this type in the middle of a stream, after the status 200   |

    A `stop_reason` of max_tokens cuts the last block in its middle, as a real limit does. The lines are used up: after
    the last one each request gets a 400 that says so, and `connect(script=...)` starts over.
    """

    name = "scripted"

    def __init__(self, lines: Iterable[Any]):
        if isinstance(lines, str) or not hasattr(lines, "__iter__"):
            raise TypeError("A script is a list of lines, for example ['Hello.']")
        self.lines = [line if callable(line) else _reply(line, f"line {n}") for n, line in enumerate(lines, 1)]
        self._used = 0
        self._lock = threading.Lock()

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next line as a reply dict."""
        with self._lock:
            self._used += 1
            number = self._used
        if number > len(self.lines):
            length = "1 line" if len(self.lines) == 1 else f"{len(self.lines)} lines"
            said = f"The script has {length}, and this was request {number}."
            return {"status": 400, "message": f"{said} Add a line, or run connect(script=...) again."}
        line = self.lines[number - 1]
        return _reply(line(request), f"what the function of line {number} returned") if callable(line) else line


def _reply(line, where):
    """A line as a reply dict. Raises ValueError for one that cannot be sent."""
    reply = dict(line) if isinstance(line, dict) and "type" not in line else {"content": line}
    content = reply.get("content", [])
    blocks = content if isinstance(content, (list, tuple)) else [content]
    reply["content"] = [_block(block, where) for block in blocks]
    return reply


def _block(block, where):
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if hasattr(block, "model_dump"):
        block = block.model_dump(mode="json", exclude_none=True)
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise ValueError(f"Script, {where}: {block!r} is neither a string nor a content block (a dict with a type)")
    key = {"text": "text", "tool_use": "name", "thinking": "thinking"}.get(block["type"], "type")
    if not isinstance(block.get(key), str):
        raise ValueError(f"Script, {where}: the {block['type']} block needs {key!r}, a string")
    if block["type"] == "tool_use" and not isinstance(block.get("input", {}), dict):
        raise ValueError(f"Script, {where}: the input of a tool_use block is a dict")
    return block
