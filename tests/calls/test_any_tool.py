"""Whatever a function is annotated with, is sent and returns: run_tool answers, and the API accepts what it says."""

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import pathlib
import types
import typing
import uuid
from typing import Annotated, Any, Literal, Optional

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from s02_tool_use import run_tool, schemas_of, tool_of
from s02_tool_use.calls.results import MAX_RESULT_CHARACTERS
from s02_tool_use.lab.api.rules import validate


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Point(BaseModel):
    x: int
    y: float = 0.0
    name: str | None = None


class Line(BaseModel):
    points: list[Point]
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Box:
    width: int
    label: Optional[str] = None  # noqa: UP045


class Options(typing.TypedDict, total=False):
    verbose: bool
    depth: int


SCALARS = [
    str, int, float, bool, Any, None, Colour, Size, Literal["a", "b"], Literal[1, 2, "x"], Point, Line, Box,
    datetime.date, datetime.datetime, pathlib.Path, uuid.UUID, decimal.Decimal, bytes, dict, list,
    Annotated[int, Field(ge=0, description="a number")], Annotated[str, Field(max_length=3, pattern="^[a-z]*$")],
]  # fmt: skip
ANNOTATIONS = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        inner.map(lambda one: list[one])
        | inner.map(lambda one: dict[str, one])
        | inner.map(lambda one: set[int] if one is dict or one is list else Optional[one])  # noqa: UP045
        | inner.map(lambda one: tuple[one, int])
        | st.tuples(inner, inner).map(lambda two: typing.Union[two])  # noqa: UP007
    ),
    max_leaves=3,
)
NAMES = st.sampled_from(
    ["a", "path", "_x", "__y", "model_config", "model_fields", "schema", "json", "copy", "self_", "cls", "validate"]
    + ["class_", "type", "name", "input", "dict", "items", "n1"]
)
TEXT = st.text(max_size=8) | st.sampled_from(["red", "a", "2", "2.0", "\ud800", "2026-01-02", "x" * 200, "-", " "])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.integers(0, 3) | st.just(2.0),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["x", "y", "points", "width", "label", "name", "depth"]) | TEXT, inner, max_size=3
        )
    ),
    max_leaves=8,
)
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BLOCKS = st.sampled_from(
    [
        {"type": "text", "text": "hello"},
        {"type": "text", "text": ""},
        {"type": "text", "text": "\ud800" * 3},
        {"type": "text", "text": "x" * 150_000},
        {"type": "text", "text": 3},
        {"type": "text", "text": "a", "more": 1},
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "a", "cache_control": {"type": "for ever"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": PICTURE}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b"x"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": "a.png"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "hello"}, "title": "A"},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}},
        {"type": "document", "source": {"type": "content", "content": []}},
        {"type": "search_result", "source": "a", "title": "b", "content": [{"type": "text", "text": "c"}]},
        {"type": "search_result", "source": "a", "title": "b", "content": ["c"]},
        {"type": "search_result", "source": "a", "title": "b", "content": [], "citations": {"enabled": 1}},
        {"type": "document", "title": "a row of data"},
        {"type": "text"},
        {"type": ["text"]},
    ]
)


class Odd:
    def __str__(self):
        raise RuntimeError

    __len__ = __iter__ = __str__


VALUES = st.recursive(
    JSON | BLOCKS | st.binary(max_size=3) | st.complex_numbers() | st.decimals() | st.dates() | st.uuids()
    | st.sampled_from([Colour.RED, Size.LARGE, Point(x=1), Box(2), pathlib.Path("a"), Odd(), Odd, len, range(9)])
    | st.just(types.SimpleNamespace(a=1)) | st.frozensets(st.integers()),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner)
    | st.dictionaries(TEXT | st.integers() | st.none() | st.tuples(st.integers()), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


def accepts(tools, result):
    """What the API says of the request that follows."""
    call = {"type": "tool_use", "id": "toolu_01", "name": "tool", "input": {}}
    messages = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]}]
    request = {
        "model": "any",
        "max_tokens": 1,
        "tools": tools,
        "messages": [*messages, {"role": "user", "content": [result]}],
    }
    json.dumps(request, allow_nan=False, ensure_ascii=False).encode()
    return validate(request)


def check_result(result, tools=()):
    assert result["type"] == "tool_result"
    assert result["tool_use_id"] == "toolu_01"
    assert result.get("is_error", True) is True
    assert result["content"]
    assert len(json.dumps(result["content"], ensure_ascii=False)) < 2 * MAX_RESULT_CHARACTERS + 10_000
    assert accepts(schemas_of(list(tools)), result) is None


@st.composite
def functions(draw):
    """A function named tool, with parameters of any kind and name that a model can send."""
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    parameters = []
    for number, name in enumerate(names):
        kind = inspect.Parameter.KEYWORD_ONLY if number else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = draw(st.sampled_from([inspect.Parameter.empty, None, 1, "a", Colour.RED, object(), float("nan")]))
        parameters.append(inspect.Parameter(name, kind, annotation=draw(ANNOTATIONS), default=default))
    returned = draw(VALUES)

    def tool(**arguments):
        return returned

    tool.__signature__ = inspect.Signature(parameters)
    tool.__doc__ = draw(
        st.none() | st.text(max_size=30) | st.just("Does it.\n\nArgs:\n    a: the first\n    path (str): where")
    )
    return tool


@settings(suppress_health_check=list(HealthCheck))
@given(function=functions(), data=st.data())
def test_whatever_a_function_takes_gets_and_returns_the_api_accepts_what_follows(function, data):
    made = tool_of(function)
    names = list(made.schema["input_schema"]["properties"])
    arguments = data.draw(st.dictionaries(st.sampled_from([*names, "zzz"]), JSON, max_size=5) | JSON)
    block = {"type": "tool_use", "id": "toolu_01", "name": "tool", "input": arguments}
    check_result(run_tool(block, tools=[function]), [function])
