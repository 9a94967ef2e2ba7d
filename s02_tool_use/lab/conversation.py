"""A conversation taken apart for drawing: its blocks as rows, the label of each call, and what the API would refuse.

Takes SDK objects and dicts, whole histories and broken ones, and never fails on what is inside a list of messages.
"""

import itertools
import json
import re
from dataclasses import dataclass

from .api import wire


@dataclass(frozen=True)
class Row:
    """One block. `label` joins a call (A, B, ...) with its result; `body` is its text, as long as it is."""

    kind: str
    body: str
    label: str = ""
    name: str = ""  # of the tool
    id: str = ""
    note: str = ""  # what a reader should not miss: is_error, or that a result is still to come
    error: bool = False

    @property
    def head(self):
        """The row without its body: `A tool_use bash (toolu_01)`."""
        id = f"({self.id})" if self.id else ""
        return " ".join(part for part in (self.label, self.kind, self.name, id) if part)


def plain(value):
    """SDK objects as the JSON data that they stand for, without their empty fields; anything else as it is."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def request_of(given):
    """A list of messages, one message or a whole request as a request: plain data with a list of messages."""
    data = plain(given)
    if isinstance(data, dict) and "role" in data:
        data = [data]
    request = data if isinstance(data, dict) and "messages" in data else {"messages": data}
    if not isinstance(request["messages"], list):
        raise TypeError(f"A conversation is a list of messages, and this is {type(given).__name__}. Give a list.")
    return request


def blocks(message):
    """The blocks of one message, as they are; a string counts as one text block."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def calls(messages):
    """The tool_use blocks of these messages, in order."""
    every = (block for message in messages for block in blocks(message))
    return [block for block in every if isinstance(block, dict) and block.get("type") == "tool_use"]


def labels_of(*histories):
    """id -> A, B, ...: one label for each call, in the order of the calls. Several histories share their labels."""
    ids = [str(block.get("id")) for messages in histories for block in calls(messages)]
    return {id: _letters(number) for number, id in enumerate(dict.fromkeys(ids))}


def _letters(number):
    """0 -> A, 25 -> Z, 26 -> AA."""
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def judge(request):
    """What the API refuses first in this request (a rules.Problem), or None.

    A list of messages alone says no model, limit or tools: they are filled in. After an assistant's turn the user's is
    still to come, so the list is judged with one: the results that it waits for, or a word.
    """
    from .api.rules import validate

    messages = request["messages"]
    names = {str(block.get("name")) for block in calls(messages)}
    tools = [{"name": n, "input_schema": {"type": "object"}} for n in sorted(names) if re.fullmatch(r"[\w-]{1,128}", n)]
    turn = list(itertools.takewhile(_is_assistant, reversed(messages)))[::-1]
    results = [{"type": "tool_result", "tool_use_id": block.get("id"), "content": "."} for block in calls(turn)]
    rest = [{"role": "user", "content": results or "."}] if turn else []
    return validate({"model": "any", "max_tokens": 1000, "tools": tools} | request | {"messages": messages + rest})


def waiting(messages):
    """The ids of the calls in the last turn, if nothing has come after it: their results are still to be sent."""
    turn = itertools.takewhile(_is_assistant, reversed(messages))
    return {str(block.get("id")) for block in calls(turn)}


def _is_assistant(message):
    return isinstance(message, dict) and message.get("role") == "assistant"


def rows(message, labels, waits=()):
    """The rows of one message. `labels` is what labels_of gave, `waits` what waiting gave."""
    if not isinstance(message, dict):
        return [Row("(no message)", repr(message))]
    found = [_row(block, labels, waits) for block in blocks(message)]
    content = message.get("content")
    if not isinstance(content, (str, list)):
        found.append(Row("(no content)", "" if content is None else repr(content)))
    elif not found:
        found.append(Row("(empty content)", ""))
    extra = {key: value for key, value in message.items() if key not in ("role", "content")}
    # A reply that was appended as it came has id, model, usage and so on: those are the SDK's, not the reader's.
    return found if message.get("type") == "message" or not extra else [*found, Row("(other keys)", as_json(extra))]


def _row(block, labels, waits):
    if not isinstance(block, dict):
        return Row("(no block)", repr(block))
    kind = str(block.get("type", "(no type)"))
    if kind == "tool_use":
        id = str(block.get("id"))
        note = "waits for its result" if id in waits else ""
        return Row(kind, arguments(block.get("input")), labels.get(id, "?"), str(block.get("name")), id, note)
    if kind == "tool_result":
        id, error = str(block.get("tool_use_id")), block.get("is_error") is True
        body = inner(block.get("content", "")).removesuffix("\n")
        return Row(kind, body, labels.get(id, "?"), id=id, note="is_error" if error else "", error=error)
    return Row(kind, inner(block))


def arguments(given):
    """A call's input: as JSON when it fits on a line, else a line for each argument, long texts as they are."""
    line = as_json(given)
    if len(line) <= 100 or not isinstance(given, dict):
        return line
    parts = []
    for key, value in given.items():
        value = value if isinstance(value, str) else as_json(value)
        parts.append(f"{key}:\n{value}" if "\n" in value else f"{key}: {value}")
    return "\n".join(parts)


def inner(content):
    """The text of a block, or of a result's content: pictures and documents by their size, unknown blocks as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(inner(item) for item in content)
    if isinstance(content, dict):
        kind = content.get("type")
        if isinstance(kind, str) and isinstance(content.get(kind), str):  # text, thinking
            return content[kind]
        source = content.get("source")
        if isinstance(source, dict) and isinstance(source.get("data"), str):
            return f"{kind} {source.get('media_type')}, {len(source['data']):,} characters of base64"
        return as_json({key: value for key, value in content.items() if key != "type"})
    return "" if content is None else repr(content)


def as_json(value, indent=None):
    return json.dumps(value, ensure_ascii=False, indent=indent, default=repr)


def pretty(value, width=100, margin=""):
    """JSON in which whatever fits stands on one line: shorter to read than one line for each number."""
    line = as_json(value)
    if len(margin) + len(line) <= width or not value or not isinstance(value, (dict, list)):
        return line
    inner = margin + "  "
    if isinstance(value, dict):
        items = [f"{as_json(str(key))}: {pretty(item, width, inner)}" for key, item in value.items()]
    else:
        items = [pretty(item, width, inner) for item in value]
    start, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return start + "\n" + ",\n".join(inner + item for item in items) + f"\n{margin}{end}"


def counts(messages):
    """`3 messages, 4 blocks, about 60 tokens`: counted as the offline server counts them in `usage`."""
    number = sum(len(blocks(message)) for message in messages)
    tokens = wire.count_tokens(as_json(messages))
    return f"{_many(len(messages), 'message')}, {_many(number, 'block')}, about {_many(tokens, 'token')}"


def _many(number, thing):
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
