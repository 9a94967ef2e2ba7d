"""Rules U1 to U9: what tools and tool_choice look like. Each check yields (rule, message), or a message alone."""

import re

from .rules_types import ARRAY, EXTRA, OBJECT, REQUIRED, STRING, cache_marker, string, tagged, unknown_tag

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


def check_tools(value, path):
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
        for fault in cache_marker(tool["cache_control"], f"{path}.cache_control"):
            yield "C9", fault
    if kind != "custom":
        if "name" in tool:
            for fault in string(tool["name"], f"{path}.name"):
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


def check_tool_choice(value, path):
    """U9: auto, any, one tool by its name, or none."""
    parallel = {"disable_parallel_tool_use"}
    yield from tagged(value, path, {"auto": parallel, "any": parallel, "tool": parallel | {"name"}, "none": set()})
    if isinstance(value, dict) and value.get("type") == "tool":
        if "name" not in value:
            yield f"{path}.tool.name: {REQUIRED}"
        else:
            yield from string(value["name"], f"{path}.tool.name")
