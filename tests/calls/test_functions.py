"""A typed function as a tool: the schema that it offers, what it gets, what it is told, and what is refused at once."""

from __future__ import annotations

import datetime
import enum
import functools
import json
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field, field_validator

from s02_tool_use import ToolError, run_tool, schemas_of, tool_of
from s02_tool_use.lab.api.rules import validate

if TYPE_CHECKING:
    from nowhere import Hidden


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Point(BaseModel):
    """A place."""

    x: int
    y: int = 0


@dataclass
class Box:
    width: int
    at: Point | None = None


def call(function, /, **given):
    return run_tool({"type": "tool_use", "id": "t", "name": tool_of(function).name, "input": given}, tools=[function])


def told(function, /, **given):
    result = call(function, **given)
    assert result["is_error"] is True
    return result["content"]


def properties(function):
    return tool_of(function).schema["input_schema"]["properties"]


def accepted(*tools):
    request = {"model": "any", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi."}]}
    return validate({**request, "tools": schemas_of(list(tools))})


# ---- the schema


def draw(
    path: str,
    colour: Colour,
    points: list[Point],
    box: Optional[Box] = None,  # noqa: UP045
    scale: Annotated[float, Field(gt=0, description="how large")] = 1.0,
    mode: Literal["fill", "line"] = "line",
    labels: dict[str, int] | None = None,
) -> str:
    """Draw points into a picture.

    Use it for charts.

    Args:
        path: where the picture
            is written
        colour (Colour): of the points
        scale: not this one
        nothing: there is no such parameter

    Returns:
        The size of the file.
    """
    return repr((path, colour, points, box, scale, mode, labels))


def test_the_schema_says_what_annotations_defaults_and_docstring_say():
    tool = tool_of(draw).to_dict()
    assert tool["name"] == "draw"
    assert tool["description"] == (
        "Draw points into a picture.\n\nUse it for charts.\n\nReturns:\n    The size of the file."
    )
    schema = tool["input_schema"]
    assert schema["required"] == ["path", "colour", "points"]
    assert schema["properties"] == {
        "path": {"type": "string", "description": "where the picture is written"},
        "colour": {"$ref": "#/$defs/Colour", "description": "of the points"},
        "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
        "box": {"anyOf": [{"$ref": "#/$defs/Box"}, {"type": "null"}], "default": None},
        "scale": {"type": "number", "exclusiveMinimum": 0, "description": "how large", "default": 1.0},
        "mode": {"type": "string", "enum": ["fill", "line"], "default": "line"},
        "labels": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}],
            "default": None,
        },
    }
    assert schema["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert schema["$defs"]["Point"] == {
        "description": "A place.",
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_the_api_accepts_the_schema_as_that_of_a_strict_tool_too():
    def plain(path: str, colour: Colour, points: list[Point], box: Box | None = None):
        pass

    assert accepted(draw) is None
    assert accepted({**tool_of(plain).to_dict(), "strict": True}) is None


@pytest.mark.parametrize(
    ("doc", "description", "said"),
    [
        (None, None, None),
        ("One line.", "One line.", None),
        ("One.\n\n    Args:\n        a: first\n\n            and more\n        b: x\n", "One.", "first and more"),
        ("One.\n\n    Arguments:\n      a (int, optional): first: the one\n", "One.", "first: the one"),
        (
            "One.\n\n    Args:\n        a:\n            below\n\n    Raises:\n        x: y\n",
            "One.\n\nRaises:\n    x: y",
            "below",
        ),
        ("Args:\n    a: first", None, "first"),
        ("One.\n\n    Args:\n", "One.", None),
        ("One.\n\n    Args: a and b", "One.\n\nArgs: a and b", None),
        ("Half \ud800", "Half \\ud800", None),
    ],
)
def test_what_a_docstring_says(doc, description, said):
    def f(a: int, b: int):
        pass

    f.__doc__ = doc
    tool = tool_of(f)
    assert tool.schema.get("description") == description
    assert tool.schema["input_schema"]["properties"]["a"].get("description") == said
    assert accepted(f) is None


def test_a_default_that_json_lacks_is_not_shown_and_holds():
    nothing = object()

    def f(a: str = nothing, b: float = float("nan"), c: Colour = Colour.BLUE):  # type: ignore[assignment]
        return [a is nothing, b != b, c is Colour.BLUE]

    assert [part.get("default") for part in properties(f).values()] == [None, None, "blue"]
    assert call(f)["content"] == "[true, true, true]"


def test_a_parameter_may_have_any_name():
    def f(
        _x: int, __y: int, model_config: str, schema: str, json: str, copy: str, model_fields: str, cls: str, input: str
    ):
        return [_x, __y, model_config, schema, json, copy, model_fields, cls, input]

    names = ["_x", "__y", "model_config", "schema", "json", "copy", "model_fields", "cls", "input"]
    assert list(properties(f)) == names
    given = dict(zip(names, [1, 2, *"cdefghi"], strict=True))
    assert json.loads(call(f, **given)["content"]) == list(given.values())


def test_a_field_may_give_the_default_the_description_and_another_name():
    def f(a: int = Field(3, ge=1, description="a number"), b: Annotated[str, Field(alias="from")] = "x"):
        return [a, b]

    assert properties(f) == {
        "a": {"type": "integer", "minimum": 1, "description": "a number", "default": 3},
        "from": {"type": "string"},
    }
    assert call(f)["content"] == '[3, "x"]'
    assert call(f, **{"from": "y", "a": 2})["content"] == '[2, "y"]'
    assert "a must be at least 1, not 0" in told(f, a=0)


def test_annotations_may_name_what_stands_around_the_function():
    class Local(BaseModel):
        a: int

    def f(one: Local, more: list["Local"]):  # noqa: UP037
        return "it names the class in its annotations alone, so that Python does not keep it"

    with pytest.raises(ToolError, match="'Local' of one cannot be resolved"):
        tool_of(f)

    def g(one: Local):
        return isinstance(one, Local)

    assert call(g, one={"a": 1})["content"] == "true"


# ---- what may be a tool


class Shop:
    """A shop."""

    def __init__(self, name):
        self.name = name

    def price(self, tea: str, pounds: int = 1) -> str:
        """What a tea costs."""
        return f"{self.name}: {tea} {pounds}"

    @classmethod
    def teas(cls, first: int) -> str:
        return cls.__name__

    @staticmethod
    def opens(day: str) -> str:
        return day


class Greeter:
    """Greets people."""

    def __call__(self, name: str) -> str:
        return f"Hi {name}"


def log(function):
    @functools.wraps(function)
    def logged(*args, **kwargs):
        return "logged " + function(*args, **kwargs)

    return logged


@log
def decorated(a: str) -> str:
    """Decorated."""
    return a


async def waits(a: int) -> int:
    """Waits."""
    return a + 1


@pytest.mark.parametrize(
    ("function", "name", "description", "given", "content"),
    [
        (Shop("Tea").price, "price", "What a tea costs.", {"tea": "green"}, "Tea: green 1"),
        (Shop.teas, "teas", None, {"first": 1}, "Shop"),
        (Shop("Tea").opens, "opens", None, {"day": "Monday"}, "Monday"),
        (Greeter(), "Greeter", "Greets people.", {"name": "you"}, "Hi you"),
        (decorated, "decorated", "Decorated.", {"a": "x"}, "logged x"),
        (functools.lru_cache(decorated), "decorated", "Decorated.", {"a": "x"}, "logged x"),
        (functools.partial(Shop("Tea").price, "black"), "price", "What a tea costs.", {"pounds": 2}, "Tea: black 2"),
        (functools.partial(Shop("Tea").price, pounds=9), "price", "What a tea costs.", {"tea": "x"}, "Tea: x 9"),
        (waits, "waits", "Waits.", {"a": 1}, "2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_method_an_object_a_partial_and_what_is_decorated_are_tools(function, name, description, given, content):
    tool = tool_of(function)
    assert (tool.name, tool.schema.get("description")) == (name, description)
    assert list(tool.schema["input_schema"]["properties"]) >= list(given)
    assert call(function, **given) == {"type": "tool_result", "tool_use_id": "t", "content": content}
    assert accepted(function) is None


def test_what_a_partial_has_bound_is_not_the_models_to_change():
    bound = functools.partial(Shop("Tea").price, pounds=9)
    assert list(properties(bound)) == ["tea"]
    assert "there is no argument 'pounds'" in told(bound, tea="x", pounds=1)


def test_two_objects_of_one_class_are_two_tools():
    one, two = Shop("One"), Shop("Two")
    assert [call(shop.price, tea="x")["content"] for shop in (one, two, one)] == ["One: x 1", "Two: x 1", "One: x 1"]


# ---- what cannot be one


def stars(*paths: str):
    pass


def keywords(path: str, **more: str):
    pass


def positional(path: str, /):
    pass


def untyped(path, limit=3):
    pass


def hidden(path: Hidden):
    pass


def hidden_inside(path: list[Hidden]):
    pass


def broken(path: "not an annotation"):  # noqa: F722
    pass


def connection(path: str, to: socket.socket):
    pass


def callback(then: "typing.Callable"):  # noqa: F821, UP037
    pass


def größe(path: str):
    pass


def accent(größe: str):
    pass


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (stars, r"stars cannot be a tool: \*paths.* does not say what a model may send. Write a named parameter"),
        (keywords, r"keywords cannot be a tool: \*\*more.* does not say what a model may send"),
        (positional, "positional cannot be a tool: path is positional-only.*Wrap it in a def"),
        (untyped, "untyped cannot be a tool: path has no annotation. Write what it takes, such as path: str"),
        (hidden, "the annotation 'Hidden' of path cannot be resolved.*Import or define it"),
        (hidden_inside, r"the annotation 'list\[Hidden\]' of path cannot be resolved"),
        (broken, "the annotation 'not an annotation' of path cannot be resolved"),
        (
            connection,
            "connection cannot be a tool: .* which cannot be turned into socket.socket, the type of to. Take a string",
        ),
        (callback, "cannot be resolved"),
        (größe, "'größe' is not a valid tool name"),
        (accent, "the API takes no argument called 'größe'"),
        (lambda path: path, "A lambda has no name.*write it with def"),
        (Shop.price, "it is a method taken from its class. Take it from an object: thing.price"),
        (Shop, "it is the class Shop: give a dict"),
        (Point, "it is the class Point: give a dict"),
        (print, r"print cannot be a tool: \*args"),
        (len, "len cannot be a tool: obj is positional-only"),
        (dict, "it is the class dict"),
        (3, "it is of type int: give a dict"),
        ("bash", "it is of type str"),
        (None, "it is of type NoneType"),
        (functools.partial(lambda a: a, 1), "A lambda has no name"),
    ],
    ids=lambda value: getattr(value, "__name__", "") if not isinstance(value, str) else "",
)
def test_what_cannot_be_a_tool_is_refused_when_it_is_made_in_one_sentence(thing, said):
    with pytest.raises(ToolError, match=said):
        schemas_of([thing])
    result = run_tool({"type": "tool_use", "id": "t", "name": "x", "input": {}}, tools=[thing])
    assert result["is_error"] is True


# ---- the arguments

RIGHT: dict[str, Any] = {"path": "a.svg", "colour": "red", "points": [{"x": 1}]}


def test_the_function_gets_enums_models_and_dataclasses_and_never_raw_dicts():
    given = {**RIGHT, "box": {"width": 2, "at": {"x": 1, "y": 2}}, "labels": {"a": 1}, "scale": 2, "mode": "fill"}
    got = eval(call(draw, **given)["content"].replace("<Colour.RED: 'red'>", "Colour.RED"))
    assert got == ("a.svg", Colour.RED, [Point(x=1)], Box(2, Point(x=1, y=2)), 2.0, "fill", {"a": 1})
    assert type(got[4]) is float


def test_what_is_meant_well_is_taken_inside_too():
    given = {**RIGHT, "points": [{"x": "2", "y": 3.0}, {"x": 1, "y": None}], "labels": {"a": "4"}, "scale": "1.5"}
    got = eval(call(draw, **given)["content"].replace("<Colour.RED: 'red'>", "Colour.RED"))
    assert got == ("a.svg", Colour.RED, [Point(x=2, y=3), Point(x=1)], None, 1.5, "line", {"a": 4})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"path": 3}, "path must be of type string, not integer (3)"),
        ({"colour": "green"}, 'colour must be one of "red", "blue", not "green"'),
        ({"colour": {"value": "red"}}, "colour must be"),
        ({"points": {"x": 1}}, "points must be of type array, not object"),
        ({"points": [{"x": "two"}]}, 'points[0].x must be of type integer, not string ("two")'),
        ({"points": [{"x": 1}, {"y": True}]}, "points[1].x is missing"),
        ({"points": [{"x": 1}, {"x": True}]}, "points[1].x must be of type integer, not boolean (true)"),
        ({"points": [{"x": 1, "z": 1}]}, "there is no argument 'points[0].z'"),
        ({"points": [{"x": 1.5}]}, "points[0].x must be of type integer, not number (1.5)"),
        ({"box": {"width": True}}, "box.width must be of type integer, not boolean"),
        ({"box": 3}, "box must be of type object or null, not integer (3)"),
        ({"scale": 0}, "scale must be more than 0, not 0"),
        ({"scale": True}, "scale must be of type number, not boolean (true)"),
        ({"scale": "nan"}, "scale must be of type number, not string"),
        ({"mode": "dots"}, 'mode must be one of "fill", "line", not "dots"'),
        ({"labels": {"a": "b"}}, 'labels.a must be of type integer, not string ("b")'),
        ({"size": 3}, "there is no argument 'size'"),
        ({"path": None}, "path must be of type string, not null"),
    ],
)
def test_what_is_wrong_is_named_with_what_was_sent_and_the_right_form(change, said):
    text = told(draw, **RIGHT | change)
    assert text.startswith("draw: ")
    assert said in text
    assert 'The right form of input: {"path": string, "colour": "red" or "blue", "points": [{"x": integer, ' in text


def test_a_lone_unknown_argument_is_an_error():
    def now() -> str:
        return "noon"

    assert call(now)["content"] == "noon"
    assert told(now, zone="UTC") == "now: there is no argument 'zone'. The right form of input: {}"


@pytest.mark.parametrize("given", [None, [], "a", 3, True])
def test_an_input_that_is_no_object_is_told_the_right_form(given):
    result = run_tool({"type": "tool_use", "id": "t", "name": "waits", "input": given}, tools=[waits])
    assert "input must be an object" in result["content"]
    assert '{"a": integer}' in result["content"]


@pytest.mark.parametrize("value", [True, False, 1.5, "x", None, [1], 3])
def test_true_is_no_number_of_an_enum_or_a_literal(value):
    def f(size: Size, either: Literal[1, "x"] = "x"):
        return [size is Size.LARGE, either]

    assert call(f, size=2, either=1)["content"] == "[true, 1]"
    assert call(f, size="2")["content"] == '[true, "x"]'
    assert "size must be" in told(f, size=value)
    if value not in ("x", None):
        assert "either must be" in told(f, size=2, either=value)


def test_what_only_pydantic_can_judge_is_told_with_its_place():
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def is_even(cls, value):
            if value % 2:
                raise ValueError("must be even")
            return value

    def f(day: datetime.date, evens: list[Any]):
        return day.isoformat()

    f.__annotations__["evens"] = list[Even]
    assert call(f, day="2026-01-02", evens=[])["content"] == "2026-01-02"
    assert "day: Input should be a valid date" in told(f, day="soon", evens=[])
    assert "evens[1].n: must be even" in told(f, day="2026-01-02", evens=[{"n": 2}, {"n": 3}])


def test_a_lone_surrogate_is_told():
    assert "lone surrogate" in told(draw, **RIGHT | {"path": "\ud800"})


def test_null_is_kept_where_it_is_a_value_and_else_means_left_out():
    def f(a: int | None = 5, b: int = 6):
        return [a, b]

    assert call(f, a=None, b=None)["content"] == "[null, 6]"


def test_a_models_own_word_about_other_fields_holds():
    class Open(BaseModel, extra="allow"):
        a: int

    def f(one: Any):
        return sorted(one.model_dump())

    f.__annotations__["one"] = Open
    assert call(f, one={"a": 1, "b": 2})["content"] == '["a", "b"]'


def test_a_right_call_of_a_tool_with_enums_is_judged_without_jsonschema(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys\nfrom typing import Literal\nfrom s02_tool_use import run_tool\n"
        "def f(a: Literal['x', 'y'], b: list[int] | None = None): return a\n"
        "print(run_tool({'id': 't', 'name': 'f', 'input': {'a': 'x', 'b': [1]}}, tools=[f])['content'])\n"
        "print('jsonschema' in sys.modules, 'pydantic' in sys.modules, 'anthropic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["x", "False", "True", "False"]
