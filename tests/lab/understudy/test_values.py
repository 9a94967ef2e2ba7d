"""The values of a call that is forced, and of JSON that was asked for, are those of the prompt where it has them."""

import json

import pytest
from talk import Talk, tool


def record(required=None, **properties):
    return {"type": "object", "properties": properties, "required": list(properties if required is None else required)}


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
PERSON = record(name=TEXT, age=WHOLE)
EXAMPLES = [
    ("Ada Lovelace is 36 years old.", PERSON, {"name": "Ada Lovelace", "age": 36}),
    ("Extract the name and the age: Bo Li, 7", PERSON, {"name": "Bo Li", "age": 7}),
    ("My age: 41, my name is Zoë", PERSON, {"age": 41, "name": "Zoë"}),
    (
        "Ada is 36 and Bo is 7.",
        record(people={"type": "array", "items": PERSON}),
        {"people": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 7}]},
    ),
    (
        "Ada is 36 and Bo is 7.",
        {**record((), people={"type": "array", "items": {"$ref": "#/$defs/one"}}), "$defs": {"one": PERSON}},
        {"people": [{"name": "Ada", "age": 36}, {"name": "Bo", "age": 7}]},
    ),
    ("Send 12 teas at 4.50 to Zoë", record(price=NUMBER, teas=WHOLE, to=TEXT), {"price": 4.5, "teas": 12, "to": "Zoë"}),
    ("Write to zoe@tea.org on 2026-12-24.", record(mail=TEXT | {"format": "email"}, day=TEXT | {"format": "date"}),
     {"mail": "zoe@tea.org", "day": "2026-12-24"}),
    ("The code is AB-12, please", record(code=TEXT | {"pattern": "^[A-Z]+-[0-9]+$"}), {"code": "AB-12"}),
    ("I like it: positive", record(mood={"enum": ["negative", "positive"]}), {"mood": "positive"}),
    ("tags: tea, green and hot", record(tags={"type": "array", "items": TEXT}), {"tags": ["tea", "green", "hot"]}),
    ("Compare Paris and Rome", record(cities={"type": "array", "items": TEXT}), {"cities": ["Paris", "Rome"]}),
    ("Add 3, 4 and 5", record(numbers={"type": "array", "items": WHOLE}), {"numbers": [3, 4, 5]}),
    ("Open README.md in Paris", record(file=TEXT, city=TEXT), {"file": "README.md", "city": "Paris"}),
    ("Ada is here", record(name=TEXT, job={"anyOf": [TEXT, {"type": "null"}]}), {"name": "Ada", "job": None}),
    ("Ada is 200", record(age=WHOLE | {"maximum": 150}), {"age": 150}),
]  # fmt: skip


@pytest.mark.parametrize(("prompt", "schema", "values"), EXAMPLES)
def test_they_are_found_in_the_prompt(prompt, schema, values):
    assert (
        json.loads(Talk([], output_config={"format": {"type": "json_schema", "schema": schema}}).say(prompt)) == values
    )
    talk = Talk([{"name": "record", "input_schema": schema}], tool_choice={"type": "any"})
    talk.messages = [{"role": "user", "content": prompt}]
    assert talk.step()[-1]["input"] == values


WEATHER = tool("get_weather", "Get the weather of a city.", ("city",))


def test_what_a_tool_returned_is_in_the_answer_that_a_form_or_a_final_tool_asks_for():
    wanted = record(city=TEXT, degrees=WHOLE)
    final = {"name": "final_result", "description": "The final response.", "input_schema": wanted}
    for options in (
        {"tools": [WEATHER], "output_config": {"format": {"type": "json_schema", "schema": wanted}}},
        {"tools": [WEATHER, final], "tool_choice": {"type": "any"}},
    ):
        talk = Talk(**options)
        talk.messages = [{"role": "user", "content": "What is the weather in Paris?"}]
        (call,) = talk.step()
        assert (call["name"], call["input"]) == ("get_weather", {"city": "Paris"})
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny, 21 degrees"}
        talk.messages.append({"role": "user", "content": [result]})
        (last,) = talk.step()
        assert (json.loads(last["text"]) if "text" in last else last["input"]) == {"city": "Paris", "degrees": 21}


def test_a_schema_that_nothing_satisfies_gets_an_answer_all_the_same():
    endless = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    many = {"$ref": "#/$defs/many"}
    growing = record(a=many) | {"$defs": {"many": {"type": "array", "items": many, "minItems": 9}}}
    nowhere = [record(a={"$ref": place}) for place in ("#/$defs/none", "http://127.0.0.1:9/none", "#/properties/a")]
    for schema in (endless, growing, *nowhere, record(a={"not": {}}), record(a=WHOLE | {"minimum": 3, "maximum": 1})):
        said = Talk([], output_config={"format": {"type": "json_schema", "schema": schema}}).say("Hello")
        assert list(json.loads(said)) == schema["required"]
