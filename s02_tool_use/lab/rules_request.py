"""The fields beside the messages: model, tools, tool_choice, system and the rest, checked in the order of the API.

Each check yields (rule, message). Left out: which model allows what, unless the Profile says it.
"""

import re

from .rules_content import ARRAY, BOOLEAN, EXTRA, INTEGER, OBJECT, REQUIRED, STRING, check_marker, unknown_tag

# Fields whose null is the same as absent.
_NULL_IS_ABSENT = {"metadata", "inference_geo", "stop_sequences", "cache_control", "container"}
_SAMPLING = ("temperature", "top_k", "top_p")
_UNCHECKED = {"diagnostics", "speed", "user_profile_id", "workspace_id"}


def check_fields(request, profile, check_messages):
    """Every field of the body, in the API's order; then the keys that it does not know."""
    if not isinstance(request, dict):
        yield "T1", OBJECT
        return
    if (
        profile.models
        and isinstance(request.get("model"), str)
        and request["model"]
        and request["model"] not in profile.models
    ):
        yield "T2", f"model: {request['model']}"
    for name, rule, check, required in _FIELDS:
        value = request.get(name)
        if name == "messages" and name in request:
            yield from check_messages(value)
        elif name in request and not (value is None and name in _NULL_IS_ABSENT):
            for fault in check(value, name):
                yield fault if isinstance(fault, tuple) else (rule, fault)
        elif required and name not in request:
            yield rule, f"{name}: {REQUIRED}"
    known = {name for name, *_ in _FIELDS} | _UNCHECKED
    for key in request:
        if key not in known:
            yield "T8", f"{key}: {EXTRA}"
        elif key in _SAMPLING and profile.version >= "2026-10-21":
            yield "T10", f"{key}: {EXTRA}"


def check_across(request, profile, last=False):
    """What several fields say together. `last`: the checks that come after the conversation."""
    tools = request.get("tools") or []
    thinking = request.get("thinking") or {}
    if last:
        if thinking.get("type") == "enabled" and request["max_tokens"] <= thinking["budget_tokens"]:
            yield "K7", "`max_tokens` must be greater than `thinking.budget_tokens`"
        code = any(str(tool.get("type")).startswith("code_execution") for tool in tools)
        if request.get("container") is not None and not code:
            yield "T12", "Container identifier can only be provided when using the code execution tool"
        return
    choice = request.get("tool_choice") or {}
    if choice.get("type") == "any" and not tools:
        yield "U10", "tool_choice.any may only be specified while providing tools"
    if choice.get("type") == "tool" and choice["name"] not in [tool.get("name") for tool in tools]:
        yield "U10", f"Tool '{choice['name']}' not found in provided tools"
    if choice.get("type") in ("any", "tool") and thinking.get("type", "disabled") != "disabled":
        yield "U11", "Thinking may not be enabled when tool_choice forces tool use."
    if request.get("temperature", 1) != 1 and thinking.get("type", "disabled") != "disabled":
        yield "T10", "temperature may only be set to 1 when thinking is enabled or in adaptive mode"
    if profile.max_output and request["max_tokens"] > profile.max_output:
        text = "which is the maximum allowed number of output tokens for"
        yield "T4", f"max_tokens: {request['max_tokens']} > {profile.max_output}, {text} {request['model']}"
    has_tools = bool(tools) if profile.tools is None else profile.tools
    if profile.require_tools and not has_tools and any(map(_has_tool_blocks, request["messages"])):
        yield "U12", "Requests which include `tool_use` or `tool_result` blocks must define tools."


def _has_tool_blocks(message):
    content = message["content"]
    return isinstance(content, list) and any(block["type"] in ("tool_use", "tool_result") for block in content)


# ---- one field each: check(value, path) yields what is wrong


def _string(value, path):
    if not isinstance(value, str):
        yield f"{path}: {STRING}"


def _boolean(value, path):
    if not isinstance(value, bool):
        yield f"{path}: {BOOLEAN}"


def _object(value, path):
    if not isinstance(value, dict):
        yield f"{path}: {OBJECT}"


def _is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()


def _integer(value, path):
    if not _is_whole(value):
        yield f"{path}: {INTEGER}"


def _model(value, path):
    if not isinstance(value, str):
        yield f"{path}: {STRING}"
    elif not value:
        yield f"{path}: String should have at least 1 character"


def _max_tokens(value, path):
    if not _is_whole(value):
        yield f"{path}: {INTEGER}"
    elif value < 0:
        yield f"{path}: must be greater than or equal to 0"


def _range(value, path):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield f"{path}: Input should be a valid number"
    elif not 0 <= value <= 1:
        yield f"{path}: range: 0..1"


def _system(value, path):
    """T9: a string, or a list of text blocks."""
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        yield f"{path}: {ARRAY}"
        return
    for i, block in enumerate(value):
        here = f"{path}.{i}"
        if not isinstance(block, dict):
            yield f"{here}: {OBJECT}"
        elif block.get("type") != "text":
            yield f"{here}.type: " + ("Input should be 'text'" if "type" in block else REQUIRED)
        elif not isinstance(block.get("text"), str):
            yield f"{here}.text: " + (STRING if "text" in block else REQUIRED)
        else:
            if block.get("cache_control") is not None:
                for fault in check_marker(block["cache_control"], f"{here}.cache_control"):
                    yield "C9", fault
            for key in block:
                if key not in ("type", "text", "citations", "cache_control"):
                    yield f"{here}.{key}: {EXTRA}"
            if not block["text"].strip():
                state = "contain non-whitespace text" if block["text"] else "be non-empty"
                yield f"{path}: text content blocks must {state}"


def _marker(value, path):
    yield from check_marker(value, path)


def _thinking(value, path):
    """K7: on by budget, adaptive, or off."""
    yield from _tagged(
        value, path, {"adaptive": {"display"}, "between_tools": {"display"}, "disabled": set(), "enabled": None}
    )
    if isinstance(value, dict) and value.get("type") == "enabled":
        budget = value.get("budget_tokens")
        if "budget_tokens" not in value:
            yield f"{path}.enabled.budget_tokens: {REQUIRED}"
        elif not _is_whole(budget):
            yield f"{path}.enabled.budget_tokens: {INTEGER}"
        elif budget < 1024:
            yield f"{path}.enabled.budget_tokens: Input should be greater than or equal to 1024"
        for key in value.keys() - {"type", "budget_tokens", "display"}:
            yield f"{path}.enabled.{key}: {EXTRA}"


def _tagged(value, path, types):
    """An object that says its type, with the fields of that type (None: the caller checks them)."""
    if not isinstance(value, dict):
        yield f"{path}: {OBJECT}"
    elif "type" not in value:
        yield f"{path}.type: {REQUIRED}"
    elif not isinstance(value["type"], str) or value["type"] not in types:
        yield f"{path}: {unknown_tag(value['type'], types)}"
    elif types[value["type"]] is not None:
        for key in value:
            if key not in types[value["type"]] | {"type"}:
                yield f"{path}.{value['type']}.{key}: {EXTRA}"


def _metadata(value, path):
    if not isinstance(value, dict):
        yield f"{path}: {OBJECT}"
        return
    if not isinstance(value.get("user_id"), (str, type(None))):
        yield f"{path}.user_id: {STRING}"
    for key in value:
        if key != "user_id":
            yield f"{path}.{key}: {EXTRA}"


def _stop_sequences(value, path):
    if not isinstance(value, list):
        yield f"{path}: {ARRAY}"
        return
    for i, item in enumerate(value):
        yield from _string(item, f"{path}.{i}")


def _service_tier(value, path):
    if value not in ("auto", "standard_only"):
        yield f"{path}: Input should be 'auto' or 'standard_only'"


def _container(value, path):
    if not isinstance(value, (str, dict)):
        yield f"{path}: {STRING}"


# ---- tools


_BUILT_IN = (
    "bash_20250124",
    "browser_toolset_20260801",
    "code_execution_20250522",
    "code_execution_20250825",
    "code_execution_20260120",
    "code_execution_20260521",
    "computer_toolset_20260801",
    "memory_20250818",
    "text_editor_20250124",
    "text_editor_20250429",
    "text_editor_20250728",
    "tool_search_tool_bm25",
    "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex",
    "tool_search_tool_regex_20251119",
    "web_fetch_20250910",
    "web_fetch_20260209",
    "web_fetch_20260309",
    "web_fetch_20260318",
    "web_search_20250305",
    "web_search_20260209",
    "web_search_20260318",
)
_CUSTOM = {
    "allowed_callers",
    "cache_control",
    "defer_loading",
    "description",
    "eager_input_streaming",
    "input_examples",
    "input_schema",
    "name",
    "strict",
    "type",
}
_TOOL_NAME = "^[a-zA-Z0-9_-]{1,128}$"
_DRAFT = "https://json-schema.org/draft/2020-12"


def _tools(value, path):
    if not isinstance(value, list):
        yield "U7", f"{path}: {ARRAY}"
        return
    for i, tool in enumerate(value):
        yield from _tool(tool, f"{path}.{i}")
    names = [tool.get("name", i) for i, tool in enumerate(value)]
    if len(set(names)) < len(names):
        yield "U2", f"{path}: Tool names must be unique."


def _tool(tool, path):
    if not isinstance(tool, dict):
        yield "U7", f"{path}: {OBJECT}"
        return
    kind = tool.get("type") or "custom"
    if not isinstance(kind, str) or kind not in ("custom", *_BUILT_IN):
        yield "U8", f"{path}: {unknown_tag(kind, ('custom', *_BUILT_IN))}"
        return
    path = f"{path}.{kind}"
    if tool.get("cache_control") is not None:
        for fault in check_marker(tool["cache_control"], f"{path}.cache_control"):
            yield "C9", fault
    if kind != "custom":
        if "name" in tool:
            for fault in _string(tool["name"], f"{path}.name"):
                yield "U1", fault
        return
    if "name" not in tool:
        yield "U1", f"{path}.name: {REQUIRED}"
    elif not isinstance(tool["name"], str):
        yield "U1", f"{path}.name: {STRING}"
    elif not re.fullmatch(_TOOL_NAME.strip("^$"), tool["name"]):
        yield "U1", f"{path}.name: String should match pattern '{_TOOL_NAME}'"
    if not isinstance(tool.get("description", ""), str):
        yield "U7", f"{path}.description: {STRING}"
    yield from _input_schema(tool, path)
    for key in tool:
        if key not in _CUSTOM:
            yield "U7", f"{path}.{key}: {EXTRA}"


def _input_schema(tool, path):
    if "input_schema" not in tool:
        yield "U3", f"{path}.input_schema: {REQUIRED}"
        return
    schema, here = tool["input_schema"], f"{path}.input_schema"
    if not isinstance(schema, dict):
        yield "U3", f"{here}: {OBJECT}"
    elif schema.keys() & {"oneOf", "allOf", "anyOf"}:
        yield "U5", f"{here}: input_schema does not support oneOf, allOf, or anyOf at the top level"
    elif "type" not in schema:
        yield "U3", f"{here}.type: {REQUIRED}"
    elif schema["type"] != "object":
        yield "U3", f"{here}.type: Input should be 'object'"
    elif not _is_schema(schema):
        text = f"JSON schema is invalid. It must match JSON Schema draft 2020-12 ({_DRAFT})."
        yield "U4", f"{here}: {text}"
    elif tool.get("strict") and any(not _is_closed(part) for part in _schemas(schema)):
        yield "U6", f"{path}: For 'object' type, 'additionalProperties' must be explicitly set to false"


_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "patternProperties", "properties")
_NUMBERS = ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf")


def _is_schema(schema):
    """U4, for the faults that people make: unknown types, a list for one schema, booleans of older drafts, no lists."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return (
        all(kind in _TYPES for kind in kinds if isinstance(kind, str))
        and all(isinstance(kind, str) for kind in kinds)
        and all(_is_schema(schema[key]) for key in _ONE if key in schema)
        and all(isinstance(schema[key], list) and all(map(_is_schema, schema[key])) for key in _LISTS if key in schema)
        and all(
            isinstance(schema[key], dict) and all(map(_is_schema, schema[key].values()))
            for key in _NAMED
            if key in schema
        )
        and all(
            isinstance(schema[key], (int, float)) and not isinstance(schema[key], bool)
            for key in _NUMBERS
            if key in schema
        )
        and isinstance(schema.get("enum", []), list)
        and isinstance(schema.get("required", []), list)
        and all(isinstance(name, str) for name in schema.get("required", []))
    )


def _schemas(schema):
    """A schema and all that it is made of."""
    if isinstance(schema, dict):
        yield schema
        for key in _ONE:
            yield from _schemas(schema.get(key))
        for key in _LISTS:
            for part in schema.get(key, []):
                yield from _schemas(part)
        for key in _NAMED:
            for part in schema.get(key, {}).values():
                yield from _schemas(part)


def _is_closed(schema):
    return schema.get("type") != "object" or schema.get("additionalProperties") is False


def _tool_choice(value, path):
    """U9: auto, any, one tool by its name, or none."""
    parallel = {"disable_parallel_tool_use"}
    yield from _tagged(value, path, {"auto": parallel, "any": parallel, "tool": parallel | {"name"}, "none": set()})
    if isinstance(value, dict) and value.get("type") == "tool":
        if "name" not in value:
            yield f"{path}.tool.name: {REQUIRED}"
        else:
            yield from _string(value["name"], f"{path}.tool.name")


# (field, rule, check, required), in the API's order.
_FIELDS = (
    ("model", "T1", _model, True),
    ("tool_choice", "U9", _tool_choice, False),
    ("tools", "U7", _tools, False),
    ("messages", "T6", None, True),
    ("system", "T9", _system, False),
    ("thinking", "K7", _thinking, False),
    ("output_config", "T8", _object, False),
    ("cache_control", "C9", _marker, False),
    ("max_tokens", "T3", _max_tokens, True),
    ("metadata", "T11", _metadata, False),
    ("stop_sequences", "T11", _stop_sequences, False),
    ("temperature", "T10", _range, False),
    ("service_tier", "T11", _service_tier, False),
    ("top_k", "T10", _integer, False),
    ("top_p", "T10", _range, False),
    ("stream", "T11", _boolean, False),
    ("container", "T12", _container, False),
    ("inference_geo", "T11", _string, False),
)
