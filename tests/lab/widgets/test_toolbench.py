"""Forms made from schemas: which fields there are, and what was typed as the input of a call."""

import pytest

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
