"""Each option that the offline API accepts is obeyed, and the reply, sent back with its results, is accepted."""

import http.client
import json

import jsonschema
import pytest
from talk import tool
from waiting import PATIENCE_SECONDS

from s02_tool_use import TOOLS
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.understudy import Understudy

HEADERS = {"x-api-key": "any", "anthropic-version": "2023-06-01", "content-type": "application/json"}
# With the first, output_format was what output_config.format is now.
BETAS = {"output_format": "structured-outputs-2025-11-13", "compaction": "compact-2026-09-04"}


@pytest.fixture(scope="module")
def ask():
    """ask(request) is the message that the offline API answers to it."""
    with Server(Understudy()) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=PATIENCE_SECONDS)

        def post(request):
            sent = json.dumps(request)
            beta = [beta for option, beta in BETAS.items() if f'"{option}"' in sent]
            headers = HEADERS | {"anthropic-beta": beta[0]} if beta else HEADERS
            connection.request("POST", "/v1/messages", sent, headers)
            body = json.loads(connection.getresponse().read())
            assert body["type"] == "message", body
            return body

        yield post
        connection.close()


def calls(message):
    return [block for block in message["content"] if block["type"] == "tool_use"]


def is_valid(schema, value):
    judge = jsonschema.Draft202012Validator
    return judge(schema, format_checker=judge.FORMAT_CHECKER).is_valid(value)


# What a reply must be that obeys


def thinks(request, message):
    first = message["content"][0]
    return first["type"] == "thinking" and "No model thinks here" in first["thinking"] and first["signature"]


def thinks_unseen(request, message):
    first = message["content"][0]
    return (first["type"], first["thinking"]) == ("thinking", "") and first["signature"]


def thinks_and_calls(request, message):
    return thinks(request, message) and {block["type"] for block in message["content"][1:]} == {"tool_use"}


def calls_none(request, message):
    return not calls(message) and message["stop_reason"] == "end_turn"


def calls_one(request, message):
    return len(calls(message)) == 1 and message["stop_reason"] == "tool_use"


def calls_two(request, message):
    return len(calls(message)) == 2 and message["stop_reason"] == "tool_use"


def tells_the_results(request, message):
    return calls_none(request, message) and message["content"][-1]["text"].count("tea") == 2


def tells_the_result(request, message):
    return calls_none(request, message) and "tea" in message["content"][-1]["text"]


def calls_what_is_forced(request, message):
    schemas = {one["name"]: one["input_schema"] for one in request["tools"]}
    allowed = {request["tool_choice"].get("name")} - {None} or schemas.keys()
    right = [call["name"] in allowed and is_valid(schemas[call["name"]], call["input"]) for call in calls(message)]
    return all(right) and len(right) == len(message["content"]) > 0


def is_json(request, message):
    form = request.get("output_format") or request["output_config"]["format"]
    schema = form["schema"]
    return calls_none(request, message) and is_valid(schema, json.loads(message["content"][-1]["text"]))


def stops_at_the_sequence(request, message):
    stopped = (message["stop_reason"], message["stop_sequence"]) == ("stop_sequence", "rules")
    return stopped and message["content"][-1]["text"].endswith("a set of ")


def is_cut_off(request, message):
    return message["stop_reason"] == "max_tokens" and message["usage"]["output_tokens"] == request["max_tokens"]


def is_a_summary(request, message):
    [block] = message["content"]
    right = (message["stop_reason"], block["type"]) == ("compaction", "compaction")
    return right and "Read README.md" in block["content"] and 5 < message["usage"]["output_tokens"] < 100


PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
PERSON = {**PERSON, "required": ["name", "age"], "additionalProperties": False}
NODE = {"type": "object", "properties": {"nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}
NODE["required"] = ["nodes"]
SCHEMAS = {
    "types": {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"type": "boolean"},
        "e": {"type": "null"},
        "f": {"type": ["integer", "null"]},
    },
    "enum and const": {"a": {"enum": ["tea", "coffee"]}, "b": {"const": 7}, "c": {"type": "integer", "enum": [5, 6]}},
    "arrays": {
        "a": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "b": {"type": "array", "items": PERSON, "minItems": 1, "maxItems": 2},
        "c": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        "d": {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
    },
    "nested": {"a": {"type": "object", "properties": {"b": PERSON}, "required": ["b"]}},
    "a tree": {"a": {"$ref": "#/$defs/node"}},
    "some properties": {
        "a": {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
        "b": {"type": "object", "properties": {"c": {}}, "required": ["c"], "dependentRequired": {"c": ["d"]}},
    },
    "different options": {
        "a": {"type": "array", "items": {"enum": ["tea", "coffee"]}, "uniqueItems": True, "minItems": 2},
    },
    "references": {"a": {"$ref": "#/$defs/person"}, "b": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
    "alternatives": {
        "a": {"anyOf": [{"type": "null"}, PERSON]},
        "b": {"oneOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
        "c": {"allOf": [{"type": "integer"}, {"minimum": 3}]},
        "d": {"anyOf": [{**PERSON, "properties": {**PERSON["properties"], "name": {"const": "cat"}}}, PERSON]},
    },
    "bounds": {
        "a": {"type": "integer", "minimum": 100},
        "b": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "c": {"type": "integer", "exclusiveMinimum": 4, "maximum": 5},
        "d": {"type": "string", "minLength": 30, "maxLength": 40},
        "e": {"type": "integer", "multipleOf": 7, "minimum": 10},
    },
    "formats": {
        name: {"type": "string", "format": name}
        for name in ("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid")
    },
}
SCHEMAS = {
    name: {"type": "object", "properties": parts, "required": list(parts), "$defs": {"person": PERSON, "node": NODE}}
    for name, parts in SCHEMAS.items()
}
LOOK, TALK = "Read README.md and report.py", "Who are you?"
ENABLED, ADAPTIVE = {"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}
NONE, ANY, GLOB = {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "glob"}
ALONE = {"type": "auto", "disable_parallel_tool_use": True}
JSON = {"format": {"type": "json_schema", "schema": SCHEMAS["types"]}}
OFFER = {"tools": TOOLS}

# What is asked, with which options, and what obeys them; then the same for the request with the results, if it differs.
OPTIONS = {
    "thinking": (LOOK, OFFER | {"thinking": ENABLED}, thinks),
    "thinking without tools": (TALK, {"thinking": ENABLED}, thinks),
    "thinking unseen": (LOOK, OFFER | {"thinking": ENABLED | {"display": "omitted"}}, thinks_unseen),
    "adaptive thinking": (LOOK, OFFER | {"thinking": ADAPTIVE}, thinks),
    "adaptive thinking and a forced tool": (LOOK, OFFER | {"thinking": ADAPTIVE, "tool_choice": ANY}, thinks_and_calls),
    "adaptive thinking and max_tokens": (TALK, {"thinking": ADAPTIVE, "max_tokens": 20}, is_cut_off),
    "any": (TALK, OFFER | {"tool_choice": ANY}, calls_what_is_forced),
    "any, when something is to be done": (LOOK, OFFER | {"tool_choice": ANY}, calls_what_is_forced),
    "by name": (LOOK, OFFER | {"tool_choice": GLOB}, calls_what_is_forced),
    "none": (LOOK, OFFER | {"tool_choice": NONE}, calls_none),
    "any after results": (LOOK, OFFER, calls_two, OFFER | {"tool_choice": ANY}, calls_what_is_forced),
    "by name after results": (LOOK, OFFER, calls_two, OFFER | {"tool_choice": GLOB}, calls_what_is_forced),
    "none after results": (LOOK, OFFER, calls_two, OFFER | {"tool_choice": NONE}, tells_the_results),
    "one at a time": (LOOK, OFFER | {"tool_choice": ALONE}, calls_one),
    "stop_sequences": (TALK, {"stop_sequences": ["rules"]}, stops_at_the_sequence),
    "max_tokens": (TALK, {"max_tokens": 5}, is_cut_off),
    "max_tokens in a call": ("Run `ls -la`", OFFER | {"max_tokens": 9}, is_cut_off, OFFER, calls_none),
    "max_tokens in JSON": (TALK, {"max_tokens": 5, "output_config": JSON}, is_cut_off),
    "output_format": (TALK, {"output_format": JSON["format"]}, is_json),
    "JSON after calls": (LOOK, OFFER | {"output_config": JSON}, calls_two, OFFER | {"output_config": JSON}, is_json),
    "compaction": (LOOK, {"compaction": {"type": "summarize"}}, is_a_summary, OFFER, calls_two),
    "compaction after calls": (LOOK, OFFER, calls_two, {"compaction": {"type": "summarize"}}, is_a_summary),
}
for one, prompt in [
    (tool("Bash", required=("command",)), "Run `ls`"),
    (tool("Read", required=("file_path",)), "Read README.md"),
    (tool("execute_command", required=("command", "requires_approval")), "Run `ls`"),
    (tool("x", "Runs a shell command.", required=("line",), line={"description": "The command"}), "Run `ls`"),
    ({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}, "Read README.md"),
    ({"type": "bash_20250124", "name": "bash"}, "Run `ls`"),
]:
    OPTIONS[f"a tool called {one['name']}"] = (prompt, {"tools": [one]}, calls_one, {"tools": [one]}, tells_the_result)
for name, schema in SCHEMAS.items():
    offer = {"tools": [{"name": "record", "description": "Record it.", "input_schema": schema}], "tool_choice": ANY}
    OPTIONS[f"arguments: {name}"] = (TALK, offer, calls_what_is_forced)
    OPTIONS[f"arguments of names: {name}"] = (LOOK, offer, calls_what_is_forced)
    OPTIONS[f"arguments of two: {name}"] = ("Ada is 36 and Bo is 7.", offer, calls_what_is_forced)
    OPTIONS[f"JSON: {name}"] = (TALK, {"output_config": {"format": {"type": "json_schema", "schema": schema}}}, is_json)


@pytest.mark.parametrize(
    ("prompt", "options", "obeys", "then"), [(*row[:3], row[3:] or row[1:3]) for row in OPTIONS.values()], ids=OPTIONS
)
def test_what_is_accepted_is_obeyed_and_accepted_back(ask, prompt, options, obeys, then):
    messages = [{"role": "user", "content": prompt}]
    for asked, obeyed in ((options, obeys), then, ({}, lambda request, message: True)):
        request = {"model": "m", "max_tokens": 8000, **OFFER, **asked, "messages": messages}
        message = ask(request)
        assert obeyed(request, message), message
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "tea"} for call in calls(message)]
        messages += [{"role": "assistant", "content": message["content"]}]
        messages += [{"role": "user", "content": results or prompt}]
