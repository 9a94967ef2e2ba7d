"""What a handler returned, as the content of a tool_result: a string, or a list of blocks.

A string stays one. Blocks are sent as they are, checked (blocks.py). Any other value that JSON can say becomes JSON,
numbers that JSON lacks (NaN) as strings. What cannot be sent is a ToolError that names its type.
"""

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import os
import uuid
from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any

from .blocks import as_blocks, is_block
from .results import MAX_RESULT_CHARACTERS, ToolError, failed, sendable, shortened
from .schemas import said_of
from .waiting import Cut, settled

DONE = "(done, no output)"
MOST_VALUES = 1_000_000  # in data; JSON of more is never sent whole
_LISTS: tuple = (list, tuple, set, frozenset, deque, range, type({}.keys()), type({}.values()), type({}.items()))
_AS_STRING = (datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, uuid.UUID, decimal.Decimal)


def content_of(value: Any) -> str | list[dict]:
    """The content of the result for what a handler returned. ToolError if it cannot be sent."""
    if type(value) is str:
        return sendable(value)
    value = settled(value)
    if value is None:
        return DONE
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return sendable(str.__str__(value))
    parts = list(value) if isinstance(value, (list, tuple)) else [value]
    if any(map(is_block, parts)):
        return as_blocks(parts)
    try:
        data = _Data().plain(value, "")
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)  # a Path or a date by itself
    except RecursionError:
        raise ToolError("The tool returned data that is nested too deeply, or that contains itself.") from None
    if isinstance(value, Cut):
        note = f"[stopped after {len(value)} items: there are more. Return fewer, or a summary.]"
        text = f"{shortened(text, MAX_RESULT_CHARACTERS // 2)}\n{note}"
    return sendable(text)


class _Data:
    """Makes JSON data of Python's values, and counts them."""

    def __init__(self) -> None:
        self.values = 0

    def plain(self, value: Any, place: str) -> Any:
        self.values += 1
        if self.values > MOST_VALUES:
            raise ToolError(f"The tool returned more than {MOST_VALUES:,} values: return fewer, or a summary.")
        if isinstance(value, enum.Enum):
            return self.plain(value.value, place)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return _whole(value, place)
        if isinstance(value, float):
            return (
                float(value) if value - value == 0 else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
            )
        if isinstance(value, _AS_STRING):
            return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else str(value)
        if isinstance(value, os.PathLike):
            path = os.fspath(value)
            return path if isinstance(path, str) else self.plain(path, place)
        if isinstance(value, (bytes, bytearray, memoryview)):
            raise ToolError(
                f"The tool returned {_name(value)}{_at(place)}, which JSON does not have: return a string "
                "(data.decode()), or for a picture an image block with its data in base64."
            )
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            value = value._asdict()
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(value, "model_dump") and not isinstance(value, type):
            value = value.model_dump(mode="json")
        elif callable(getattr(type(value), "tolist", None)):  # numbers and arrays of numpy, pandas and the like
            return self.plain(value.tolist(), place)
        elif inspect.isawaitable(value):
            getattr(value, "close", lambda: None)()  # else Python warns that nobody awaited it
            raise ToolError(f"The tool returned something to await{_at(place)}: await it, and return what it gives.")
        if isinstance(value, Mapping):
            return {self._key(key, place): self.plain(item, f"{place}[{key!r}]"[:200]) for key, item in value.items()}
        if isinstance(value, _LISTS):
            return [self.plain(item, f"{place}[{n}]"[:200]) for n, item in enumerate(islice(value, MOST_VALUES))]
        raise ToolError(
            f"The tool returned a value of type {_name(value)}{_at(place)}, which cannot be sent: return a string, "
            "content blocks, or data that JSON has (dict, list, number)."
        )

    def _key(self, key, place):
        if isinstance(key, enum.Enum):
            key = key.value
        if (
            isinstance(key, (datetime.date, *_AS_STRING, os.PathLike))
            or key is None
            or isinstance(key, (str, bool, int, float))
        ):
            key = self.plain(key, place)
            return key if isinstance(key, str) else json.dumps(key)
        if isinstance(key, tuple):
            return str(key)
        raise ToolError(f"The tool returned a dict with a key of type {_name(key)}: use strings as keys.")


def _whole(value, place):
    try:
        str(int(value))
    except ValueError:  # Python writes no more than 4300 digits
        raise ToolError(f"The tool returned a number{_at(place)} that is too long to be written.") from None
    return int(value)


def _at(place):
    return place and f" at {place}"


def _name(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def fault_content(name: object, error: Exception) -> str | list[dict]:
    """The content for an error that is no ToolError of ours.

    The SDK's ToolError says it in its own content. Of its blocks only texts can be sent: the API takes no others in an
    error. Of an SDK tool that refuses its arguments, pydantic knows which one is wrong.
    """
    if any(kind.__name__ == "ToolError" and kind.__module__.startswith("anthropic.") for kind in type(error).__mro__):
        said = getattr(error, "content", None)
        if isinstance(said, str):
            return sendable(said)
        try:
            blocks = as_blocks(list(said or ()))
            texts = [block for block in blocks if block["type"] == "text"]
            if left := len(blocks) - len(texts):
                texts.append({"type": "text", "text": f"[{left} block(s) left out: an error can hold only text]"})
            return texts
        except Exception:  # its blocks cannot be sent: its text can
            return sendable(error)
    cause = error.__cause__
    if type(cause).__name__ == "ValidationError" and hasattr(cause, "errors"):
        return sendable(f"{name}: {'; '.join(said_of(cause))}")
    return sendable(failed(name, error))
