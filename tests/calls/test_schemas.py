"""Any JSON Schema that a tool may have: what is taken, what is said of a wrong value, what form is called right.

The rows go through run_tool, as a call does, and each schema that is right is one that the API takes.
"""

import json

import pytest

from s02_tool_use import run_tool
from s02_tool_use.calls.schemas import Judge
from s02_tool_use.lab.api.rules import validate


def of(schema, **more):
    """The schema of a tool with one argument, a."""
    return {"type": "object", "properties": {"a": schema}, **more}


def call(schema, given):
    tool = {"name": "f", "description": "Does it.", "input_schema": schema}
    block = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": given}
    return run_tool(block, {"f": lambda **given: given}, [tool])


def form(schema):
    return Judge(schema).form()


def problem(schema):
    tool = {"name": "f", "input_schema": schema}
    return validate({"model": "m", "max_tokens": 1, "tools": [tool], "messages": [{"role": "user", "content": "Hi."}]})


INTEGER, STRING, NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}
TREE = of({"$ref": "#/$defs/T"}, **{"$defs": {"T": of({"anyOf": [{"$ref": "#/$defs/T"}, {"type": "null"}]})}})
CIRCLE = {"type": "object", "properties": {"kind": {"const": "circle"}, "r": NUMBER}, "required": ["kind", "r"]}
SQUARE = {"type": "object", "properties": {"kind": {"const": "square"}, "w": NUMBER}, "required": ["kind", "w"]}
PAIR = {"type": "array", "prefixItems": [INTEGER, STRING], "items": False}
POINT = {"allOf": [{"type": "object", "properties": {"x": INTEGER}, "required": ["x"]}, {"properties": {"y": STRING}}]}

TAKEN = [  # (schema of a, what is sent, what the handler gets)
    (INTEGER, "3", 3),
    (INTEGER, 3.0, 3),
    ({"type": ["integer", "null"]}, "3", 3),
    ({"type": ["integer", "null"]}, None, None),
    ({"anyOf": [INTEGER, STRING]}, "3", "3"),
    ({"anyOf": [INTEGER, {"type": "null"}]}, "3", 3),
    ({"oneOf": [CIRCLE, SQUARE]}, {"kind": "square", "w": "2"}, {"kind": "square", "w": 2}),
    ({"allOf": [INTEGER, {"minimum": 3}]}, "5", 5),
    (POINT, {"x": "1"}, {"x": 1}),
    ({"enum": ["a", 1, None, True]}, True, True),
    ({"const": 5}, 5, 5),
    ({"type": "array", "items": INTEGER}, ["1", 2.0], [1, 2]),
    (PAIR, ["1", "x"], [1, "x"]),
    ({"type": "object", "additionalProperties": NUMBER}, {"x": "1.5"}, {"x": 1.5}),
    ({"type": "string", "format": "date"}, "soon", "soon"),  # for JSON Schema a format is a remark
    ({}, [None], [None]),
    (True, {"b": 1}, {"b": 1}),
]


@pytest.mark.parametrize(("schema", "sent", "got"), TAKEN)
def test_what_fits_or_is_meant_well_reaches_the_function(schema, sent, got):
    result = call(of(schema), {"a": sent})
    assert "is_error" not in result
    assert json.loads(result["content"]) == {"a": got}
    assert problem(of(schema)) is None


WRONG = [  # (schema of a, what is sent, what is said of it)
    (INTEGER, "x", 'a must be of type integer, not string ("x")'),
    (INTEGER, True, "a must be of type integer, not boolean (true)"),
    ({"type": ["string", "null"]}, 3, "a must be of type string or null, not integer (3)"),
    ({"anyOf": [INTEGER, STRING]}, [], "a must be of type integer or string, not array"),
    ({"oneOf": [CIRCLE, SQUARE]}, {"kind": "circle"}, "a.r is missing"),
    ({"oneOf": [CIRCLE, SQUARE]}, {"kind": "line"}, 'a fits none of its forms: {"kind": "line"}'),
    ({"allOf": [INTEGER, {"minimum": 3}]}, 2, "a must be at least 3, not 2"),
    (POINT, {"y": "1"}, "a.x is missing"),
    ({"enum": ["a", 1]}, "1", 'a must be one of "a", 1, not "1"'),
    ({"const": 5}, 6, "a must be 5, not 6"),
    ({**STRING, "pattern": "^[a-z]+$"}, "A1", 'a must match the pattern ^[a-z]+$, which "A1" does not'),
    ({**STRING, "minLength": 2}, "x", "a must be at least 2 characters long, not 1"),
    ({**INTEGER, "multipleOf": 2}, 3, "a must be a multiple of 2, not 3"),
    ({"type": "array", "uniqueItems": True}, [1, 1], "a must not hold the same item twice: [1, 1]"),
    ({"type": "array", "items": INTEGER}, [1, "x"], 'a[1] must be of type integer, not string ("x")'),
    (PAIR, ["x"], 'a[0] must be of type integer, not string ("x")'),
    ({"type": "object", "additionalProperties": INTEGER}, {"b": "x"}, 'a.b must be of type integer, not string ("x")'),
    (of(INTEGER, additionalProperties=False), {"b": 1}, "there is no argument 'a.b'"),
    ({"not": STRING}, "x", "a: 'x' should not be valid under {'type': 'string'}"),
]


@pytest.mark.parametrize(("schema", "sent", "said"), WRONG)
def test_what_is_wrong_is_said_with_its_place_and_what_was_sent(schema, sent, said):
    result = call(of(schema), {"a": sent})
    assert result["is_error"] is True
    assert result["content"] == f"f: {said}. The right form of input: {form(of(schema))}"
    assert problem(of(schema)) is None


def test_a_fault_deep_in_a_schema_that_holds_itself_is_said_with_its_place():
    assert (
        'f: a.a.a must be of type object or null, not string ("x")' in call(TREE, {"a": {"a": {"a": "x"}}})["content"]
    )
    assert "is_error" not in call(TREE, {"a": {"a": {"a": None}}})


@pytest.mark.parametrize(
    ("schema", "right"),
    [
        (of(INTEGER, required=["a"]), '{"a": integer}'),
        (of({**INTEGER, "minimum": 1, "maximum": 5}), '{"a": integer >= 1 <= 5 (optional)}'),
        (of({"enum": ["a", 1]}), '{"a": "a" or 1 (optional)}'),
        (of({"type": ["string", "null"]}), '{"a": string or null (optional)}'),
        (of({"type": "string", "format": "date-time"}), '{"a": string (date-time) (optional)}'),
        (of({"type": "array", "items": {"type": "array", "items": NUMBER}}), '{"a": [[number, ...], ...] (optional)}'),
        (of(PAIR), '{"a": [integer, string] (optional)}'),
        (of({**PAIR, "items": NUMBER}), '{"a": [integer, string, number, ...] (optional)}'),
        (of({"type": "object", "additionalProperties": INTEGER}), '{"a": {any name: integer, ...} (optional)}'),
        (of(POINT), '{"a": {"y": string (optional), "x": integer} (optional)}'),
        (of({"allOf": [INTEGER, {"minimum": 3}]}), '{"a": integer >= 3 (optional)}'),
        (of({"anyOf": [INTEGER, CIRCLE]}), '{"a": integer or {"kind": "circle", "r": number} (optional)}'),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {}}, "{}"),
    ],
)
def test_the_right_form_is_told_in_a_few_words(schema, right):
    assert form(schema) == right


@pytest.mark.parametrize("part", [{"$ref": "#/$defs/T"}, {"allOf": [{"$ref": "#/$defs/T"}]}])
def test_the_form_of_a_schema_that_holds_itself_ends(part):
    schema = of({"$ref": "#/$defs/T"}, **{"$defs": {"T": {"allOf": [of(part), of(STRING)]}}})
    assert form(schema).startswith('{"a": {"a": ')


@pytest.mark.parametrize(
    "schema", [{"properties": {}}, {"additionalProperties": False}, {"properties": {}, "required": []}]
)
def test_a_schema_that_offers_nothing_takes_nothing(schema):
    schema = {"type": "object", **schema}
    assert call(schema, {})["content"] == "{}"
    result = call(schema, {"a": 1})
    assert result["is_error"] is True
    assert "there is no argument 'a'" in result["content"]


def test_a_schema_that_says_nothing_of_its_fields_takes_any():
    assert call({"type": "object"}, {"a": 1})["content"] == '{"a": 1}'
    assert "The right form of input: object" in call({"type": "object"}, [1])["content"]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (of({"type": "int"}), "properties.a.type: 'int'"),
        (of("integer"), "properties.a: 'integer' is not of type 'object', 'boolean'"),
        (of({"type": "array", "items": [INTEGER]}), "properties.a.items: [{'type': 'integer'}] is not of type"),
        (of({**INTEGER, "minimum": 0, "exclusiveMinimum": True}), "properties.a.exclusiveMinimum: True is not of type"),
        (of({**STRING, "pattern": "("}), "properties.a.pattern: '(' is not a 'regex'"),
        (of(INTEGER, required="path"), "required: 'path' is not of type 'array'"),
        ({"type": "object", "properties": ["a"]}, "it and its properties must be objects"),
        ("object", "it and its properties must be objects"),
    ],
)
def test_of_a_schema_that_is_none_it_is_said_what_is_wrong_with_it(schema, said):
    result = call(schema, {"a": [0]})
    assert result["is_error"] is True
    assert f"the input_schema of f can't be used: {said}" in result["content"]
    assert problem(schema) is not None


@pytest.mark.parametrize("where", ["http://example.com/schema", "#/$defs/none"])
def test_a_schema_that_stands_elsewhere_is_not_fetched(where):
    assert "the input_schema of f can't be used: " in call(of({"$ref": where}), {"a": 1})["content"]
