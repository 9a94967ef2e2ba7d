"""Forms made from schemas: which fields there are, and what was typed as the input of a call."""

import enum
import html
import re
from typing import Literal

import pytest
from anthropic import beta_tool
from pydantic import BaseModel

from s02_tool_use import TOOLS
from s02_tool_use.lab.widgets.toolbench import Field, ToolBench, fields_of, value_of


def tool(required=(), **properties):
    return {"name": "t", "input_schema": {"type": "object", "properties": properties, "required": list(required)}}


def test_there_is_a_field_for_each_argument_of_each_tool():
    for one in TOOLS:
        assert [field.name for field in fields_of(one)] == list(one["input_schema"]["properties"])


def test_what_is_required_and_what_can_be_chosen_is_known():
    made = tool(["a"], a={"type": "string", "enum": ["x", "y"]}, b={"type": "boolean"}, c={})
    assert list(fields_of(made)) == [
        Field("a", "string", True, "", ("x", "y")),
        Field("b", "boolean", False, "", (True, False)),
        Field("c", "string", False),
    ]


@pytest.mark.parametrize("schema", [{}, {"input_schema": {}}, {"input_schema": {"properties": {}}}])
def test_a_tool_without_arguments_has_no_fields(schema):
    assert list(fields_of({"name": "t", **schema})) == []


@pytest.mark.parametrize(
    ("kind", "typed", "value"),
    [
        ("string", "12", "12"),
        ("integer", "12", 12),
        ("number", "1.5", 1.5),
        ("integer", "ten", "ten"),
        ("array", '["a"]', ["a"]),
        ("object", '{"a": 1}', {"a": 1}),
        ("boolean", True, True),
        ("integer", "", None),
        ("string", None, None),
    ],
)
def test_what_is_typed_becomes_a_value_of_its_kind(kind, typed, value):
    assert value_of(Field("x", kind, False), typed) == value


def test_an_empty_text_counts_where_a_text_is_required():
    assert value_of(Field("content", "string", True), "") == ""


def test_what_should_be_json_and_is_not_is_told():
    with pytest.raises(ValueError, match=r"x takes JSON, such as \[\]"):
        value_of(Field("x", "array", False), "a, b")


def test_what_is_left_empty_is_left_out():
    bench = ToolBench([tool(["path"], path={"type": "string"}, limit={"type": "integer"})], {"t": len})
    bench.fields["path"].value = "a.txt"
    bench.run_button.click()
    assert bench.block["input"] == {"path": "a.txt"}


# Functions as tools


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: float = 0.0


def draw(
    colour: Colour,
    at: Point | None = None,
    through: list[Point] = [],  # noqa: B006
    kind: Literal["dot", "line"] = "dot",
    only: Literal["this"] = "this",
    mixed: Literal["1", 1, None] = None,
    closed: bool = False,
    size: int = 1,
    label: str = "",
    either: int | str = 0,
) -> str:
    """Draw a line.

    Args:
        colour: What it looks like.
    """
    return f"{colour!r} {at!r} {through!r} {kind} {mixed!r} {closed} {size} {label!r} {either!r}"


class Shop:
    async def price(self, tea: str) -> float:
        """The price of a tea."""
        return 4.5


@beta_tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@pytest.fixture
def bench():
    return ToolBench([draw, Shop().price, shout, *TOOLS])


def ran(bench, **values):
    """What the model gets for a call with what is typed here; or the complaint of the form."""
    for name, value in values.items():
        bench.fields[name].value = value
    before = bench.result
    bench.run_button.click()
    complaint = html.unescape(re.sub("<[^>]*>", "", bench.notice.value))
    return bench.result["content"] if bench.result is not before else complaint


def test_what_a_function_lets_one_choose_is_a_dropdown(bench):
    chosen = {name: dict(part.options) for name, part in bench.fields.items() if hasattr(part, "options")}
    assert chosen == {
        "colour": {"(left out)": None, "red": "red", "blue": "blue"},
        "kind": {"(left out)": None, "dot": "dot", "line": "line"},
        "only": {"(left out)": None, "this": "this"},
        "mixed": {"(left out)": None, '"1"': "1", "1": 1},
        "closed": {"(left out)": None, "True": True, "False": False},
    }
    assert bench.fields["colour"].description == "colour *"
    assert bench.fields["colour"].tooltip == "What it looks like."


def test_what_is_nested_is_typed_as_json_and_its_form_is_shown(bench):
    assert bench.fields["at"].placeholder == '{"x": integer, "y": number (optional)}'
    assert bench.fields["through"].placeholder == '[{"x": integer, "y": number (optional)}, ...]'
    said = ran(bench, colour="red", at='{"x": 1}', through='[{"x": 2, "y": 3}]', either="7", mixed=1)
    assert said == "<Colour.RED: 'red'> Point(x=1, y=0.0) [Point(x=2, y=3.0)] dot 1 False 1 '' 7"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            '{"x": ',
            'at takes JSON in the form {"x": integer, "y": number (optional)}. This is not JSON: Expecting value',
        ),
        ("x=1", 'at takes JSON in the form {"x": integer, "y": number (optional)}. This is not JSON: Expecting value'),
        ("5", "draw: at must be of type object or null, not integer (5)."),
        ('{"x": "one"}', 'draw: at.x must be of type integer, not string ("one").'),
        ("[]", "draw: at must be of type object or null, not array"),
    ],
)
def test_what_is_typed_wrong_is_told_with_the_right_form(bench, typed, said):
    assert ran(bench, colour="red", at=typed).startswith(said)


def test_a_wrong_value_goes_to_the_tool_as_a_model_would_send_it(bench):
    assert ran(bench, colour="red", size="many").startswith('draw: size must be of type integer, not string ("many").')
    assert bench.block["input"] == {"colour": "red", "size": "many"}
    assert bench.result["is_error"]


@pytest.mark.parametrize(
    ("name", "values", "said"), [("price", {"tea": "Sencha"}, "4.5"), ("shout", {"text": "hi"}, "HI")]
)
def test_methods_and_tools_of_the_sdk_have_forms_too(bench, name, values, said):
    bench.tool.value = name
    assert ran(bench, **values) == said


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([draw, draw], "Two tools are named 'draw'"),
        ([3], "This cannot be a tool, because it is of type int"),
        (draw, "tools must be a list, not function"),
        ([], "There are no tools"),
    ],
)
def test_what_is_no_list_of_tools_is_refused_in_a_sentence(tools, said):
    with pytest.raises(ValueError, match=said):
        ToolBench(tools)
