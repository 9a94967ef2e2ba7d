"""The blocks of a conversation as rows, ready to be drawn: the label of a call, its text, what must not be missed."""

import json
from collections.abc import Collection
from typing import NamedTuple

from ...calls.secrets import cut
from ..api import wire
from ..client.faults import printable
from ..conversation import blocks, calls


class Row(NamedTuple):
    """One block. `label` joins a call (A, B, ...) with its result; `body` is its text, as long as it is."""

    kind: str
    body: str
    label: str = ""
    name: str = ""  # of the tool
    id: str = ""
    note: str = ""  # what a reader should not miss: is_error, or that a result is still to come


def labels_of(*histories: list) -> dict[str, str]:
    """id -> A, B, ...: one label for each call, in the order of the calls. Several histories share their labels."""
    ids = [str(block.get("id")) for messages in histories for block in calls(messages)]
    return {id: letters(number) for number, id in enumerate(dict.fromkeys(ids))}


def letters(number: int) -> str:
    """0 -> A, 25 -> Z, 26 -> AA."""
    return (letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def rows(message: object, labels: dict[str, str], waits: Collection[str] = ()) -> list[Row]:
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
    return found if message.get("type") == "message" or not extra else [*found, Row("(other keys)", to_text(extra))]


def _row(block, labels, waits):
    if not isinstance(block, dict):
        return Row("(no block)", repr(block))
    kind = str(block.get("type", "(no type)"))
    if kind == "tool_use":
        id = str(block.get("id"))
        note = "waits for its result" if id in waits else ""
        return Row(kind, arguments(block.get("input")), labels.get(id, "?"), str(block.get("name")), id, note)
    if kind == "tool_result":
        id, note = str(block.get("tool_use_id")), "is_error" if block.get("is_error") is True else ""
        return Row(kind, inner(block.get("content", "")).removesuffix("\n"), labels.get(id, "?"), id=id, note=note)
    return Row(kind, inner(block))


def arguments(given: object) -> str:
    """A call's input: as JSON when it fits on a line, else a line for each argument, long texts as they are."""
    line = to_text(given)
    if len(line) <= 100 or not isinstance(given, dict):
        return line
    parts = []
    for key, value in given.items():
        value = value if isinstance(value, str) else to_text(value)
        parts.append(f"{key}:\n{value}" if "\n" in value else f"{key}: {value}")
    return "\n".join(parts)


def inner(content: object) -> str:
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
        return to_text({key: value for key, value in content.items() if key != "type"})
    return "" if content is None else repr(content)


def to_text(value: object, indent: int | None = None) -> str:
    """JSON of whatever it is, without keys: it is shown or saved."""
    return cut(json.dumps(value, ensure_ascii=False, indent=indent, default=repr))


def to_edit(value: object) -> str:
    """JSON for a field: what could not be seen is written as JSON writes it, so it can be edited and says the same."""
    text = to_text(value, indent=2).replace("\x7f", "\\u007f")
    return printable(text, mark=lambda character: json.dumps(character)[1:-1])


def counts(messages: list) -> str:
    """`3 messages, 4 blocks, about 60 tokens`: counted as the offline server counts them in `usage`."""
    number = sum(len(blocks(message)) for message in messages)
    tokens = wire.count_tokens(to_text(messages))
    return f"{many(len(messages), 'message')}, {many(number, 'block')}, about {many(tokens, 'token')}"


def many(number: int, thing: str) -> str:
    """`1 line`, `2 lines`"""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
