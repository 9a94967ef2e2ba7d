"""The fields of a request, of its tools and of its blocks: what each holds, and the rule that it falls under.

The tables are compiled into one validator of pydantic's, whose words for JSON are the API's own; jsonschema judges the
schemas of tools. A new field is a row. A new type of block is an entry of history/fields.py, with rows here for what it
must hold. What blocks mean to each other is rules.py, which imports this module when it judges the first request.
"""

import functools
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic_core import PydanticCustomError as Refusal
from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as core

from ...history.fields import CALLERS, IN_SYSTEM, INSIDE_RESULT, ONLY_INSIDE_RESULT, SERVER_RESULTS, SOURCES, TYPES
from ...history.system import takes_system_messages, version_of
from .rules_table import RULES, WORDS
from .schemas import is_closed, is_json_schema

# ---- the words of the tables. A field without a rule is under that of what it stands in

ANY, OBJECT, TEXT = core.any_schema(), core.dict_schema(), core.str_schema()
FLAG, WHOLE, NUMBER = core.bool_schema(), core.int_schema(), core.float_schema()
_FIRST, _SECOND = "|first", "|second"  # stand in pydantic's path of a fault where the API's has nothing
items = partial(core.list_schema, fail_fast=True)


def one_of(*values: str) -> Any:
    return core.literal_schema(list(values))


def either(first: Any, second: Any) -> Any:
    """What is neither should be the first, as the API says it."""
    return core.union_schema([(first, _FIRST), (second, _SECOND)], mode="left_to_right")


def field(schema: Any = ANY, rule: str | None = None, *, must: bool = False, null: bool = False) -> Any:
    return core.typed_dict_field(
        core.nullable_schema(schema) if null else schema, required=must, metadata={"rule": rule}
    )


needed = partial(field, must=True)
optional = partial(field, null=True)  # it may be absent, and null is the same as absent
given = field  # it may be absent, but not null


def record(fields: dict, rule: str | None = None, others: Any = "forbid") -> Any:
    """An object with these fields. rule: of one that it does not know."""
    return core.typed_dict_schema(fields, extra_behavior=others, metadata={"rule": rule})


def tagged(choices: dict, rule: str | None = None, *, tag: str = "type", tag_rule: str | None = None) -> Any:
    """An object that says its type. choices: type -> its other fields, or a schema of all. tag_rule: of the type."""
    schemas = {
        name: choice if isinstance(choice.get("type"), str) else record({tag: needed(), **choice}, rule)
        for name, choice in choices.items()
    }
    return core.tagged_union_schema(schemas, tag, metadata={"rule": rule, "tag_rule": tag_rule or rule})


def checked(schema: Any, rule: str, is_right: Callable, *, words: str = "", first: bool = False) -> Any:
    """What fits the schema and passes the check. words: other ones than the rule's. first: the check comes first."""

    def check(value):
        if not is_right(value):
            raise Refusal(rule, words or WORDS[rule])
        return value

    around = core.no_info_before_validator_function if first else core.no_info_after_validator_function
    return around(check, schema)


# ---- blocks


def _source(kind):
    ways = {way: {name: needed(TEXT) for name in sorted(fields - {"type"})} for way, fields in SOURCES[kind].items()}
    if kind == "image":  # what else is asked of a picture is in calls/pictures.py
        ways["base64"]["media_type"] = needed(one_of("image/jpeg", "image/png", "image/gif", "image/webp"))
    else:
        ways["content"]["content"] = needed()
    return tagged(ways)


MARKER = tagged({"ephemeral": {"ttl": optional(one_of("5m", "1h")), "scope": optional(TEXT)}})
CALLER = tagged({kind: {name: needed() for name in fields - {"type"}} for kind, fields in CALLERS.items()})
CALL_ID, SERVER_ID = core.str_schema(pattern="^[a-zA-Z0-9_-]+$"), core.str_schema(pattern="^srvtoolu_[a-zA-Z0-9_]+$")
CALL = {"name": needed(core.str_schema(min_length=1, max_length=200), "P9"), "input": needed(OBJECT, "P10")}

# What history/fields.py says of a field, in the words above; and what it leaves open: of some blocks, and of any.
HELD: dict[Any, Any] = {
    str: needed(TEXT),
    dict: needed(OBJECT),
    list: needed(items()),
    dict | list: needed(either(items(), OBJECT)),
}
HELD |= {str | None: optional(TEXT), dict | None: optional(OBJECT), list | None: optional(items()), object: optional()}
HELD |= {bool | None: optional(FLAG), str | list | None: optional(either(items(), TEXT))}
BLOCKS: dict[str, dict] = {
    "text": {"text": needed(TEXT)},
    "thinking": {"signature": needed(TEXT, "K4"), "thinking": needed(TEXT, "K4")},
    "tool_use": {"id": needed(CALL_ID, "P8"), **CALL},
    "tool_result": {"tool_use_id": needed(CALL_ID, "P12")},
    "server_tool_use": {"id": needed(SERVER_ID, "P14"), **CALL},
    **dict.fromkeys(SERVER_RESULTS, {"tool_use_id": needed(SERVER_ID, "P14")}),
    "mcp_tool_use": CALL,
    "mcp_tool_result": {},
    "image": {"source": needed(_source("image"), "C10")},
    "document": {"source": needed(_source("document"), "C10")},
}
ANY_BLOCK = {
    "cache_control": optional(MARKER, "C9"),
    "caller": optional(CALLER, "P13"),
    "is_error": optional(FLAG, "C6"),
}
BLOCK_CHECKS = {
    "text": ("C7", lambda block: block["text"] or block.get("cache_control") is None),
    "tool_result": ("C6", lambda block: block.get("content") or not block.get("is_error")),
}
# The tags that the API names when it meets another one, as quoted. It knows more by now; FIELDS has them.
QUOTED_TAGS = (
    "'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', "
    "'tool_use', 'web_search_tool_result'"
)
UNKNOWN_TAG = "Input tag '{}' found using 'type' does not match any of the expected tags: {}"


# ---- tools


def _has_no_union(schema):
    return not (isinstance(schema, dict) and schema.keys() & {"oneOf", "allOf", "anyOf"})


def _has_right_keys(properties):
    return not isinstance(properties, dict) or all(map(re.compile(PROPERTY_KEY).fullmatch, properties))


PROPERTY_KEY = "[a-zA-Z0-9_.-]{1,64}"
PROPERTIES = given(checked(ANY, "U13", _has_right_keys))  # those at the top: of others no report was seen
INPUT_SCHEMA = record({"type": needed(one_of("object")), "properties": PROPERTIES}, others="allow")
INPUT_SCHEMA = checked(INPUT_SCHEMA, "U4", lambda schema: is_json_schema(json.dumps(schema)))
INPUT_SCHEMA = checked(INPUT_SCHEMA, "U5", _has_no_union, first=True)
CUSTOM = {
    "type": needed(),
    "cache_control": optional(MARKER, "C9"),
    "name": needed(core.str_schema(pattern="^[a-zA-Z0-9_-]{1,128}$"), "U1"),
    "description": given(TEXT),
    "input_schema": needed(INPUT_SCHEMA, "U3"),
    "allowed_callers": optional(items(TEXT)),
    "defer_loading": optional(FLAG),
    "eager_input_streaming": optional(FLAG),
    "input_examples": optional(items(OBJECT)),
    "strict": optional(FLAG),
}
# The tools that the API brings along. Only what they have in common is looked at.
BUILT_IN = [
    "bash_20250124", "browser_toolset_20260801", "computer_toolset_20260801", "memory_20250818",
    "code_execution_20250522", "code_execution_20250825", "code_execution_20260120", "code_execution_20260521",
    "text_editor_20250124", "text_editor_20250429", "text_editor_20250728",
    "tool_search_tool_bm25", "tool_search_tool_bm25_20251119",
    "tool_search_tool_regex", "tool_search_tool_regex_20251119",
    "web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318",
    "web_search_20250305", "web_search_20260209", "web_search_20260318",
    "advisor_20260301", "bash_20241022", "computer_20241022", "computer_20250124", "computer_20251124", "mcp_toolset",
    "text_editor_20241022",
]  # fmt: skip
_BUILT_IN = record({"name": given(TEXT, "U1"), "cache_control": optional(MARKER, "C9")}, others="allow")
_CUSTOM = checked(record(CUSTOM, "U7"), "U6", lambda tool: not tool.get("strict") or is_closed(tool["input_schema"]))
TOOL = tagged({"custom": _CUSTOM, **dict.fromkeys(BUILT_IN, _BUILT_IN)}, "U7", tag_rule="U8")


def _with_type(tool):
    return {**tool, "type": tool.get("type") or "custom"} if isinstance(tool, dict) else tool


TOOLS = items(core.no_info_before_validator_function(_with_type, TOOL))
TOOLS = checked(TOOLS, "U2", lambda tools: len({tool.get("name", n) for n, tool in enumerate(tools)}) == len(tools))

# ---- the request, in the API's order

PARALLEL = {"disable_parallel_tool_use": optional(FLAG)}
TOOL_CHOICE = {"auto": PARALLEL, "any": PARALLEL, "tool": {"name": needed(TEXT), **PARALLEL}, "none": {}}
DISPLAY = {"display": optional(one_of("summarized", "omitted")), "block_binding": optional(OBJECT)}
THINKING = {
    "adaptive": DISPLAY,
    "between_tools": {},
    "disabled": {},
    "enabled": {"budget_tokens": needed(core.int_schema(ge=1024)), **DISPLAY},
}
FORMAT = optional(record({"type": needed(one_of("json_schema")), "schema": needed(OBJECT)}), "T11")
OUTPUT_CONFIG = {
    "effort": optional(one_of("low", "medium", "high", "xhigh", "max")),
    "format": FORMAT,
    "task_budget": optional(OBJECT),
}
INSTRUCTION = {
    "type": needed(one_of("text")),
    "text": needed(TEXT),
    "cache_control": optional(MARKER, "C9"),
    "citations": optional(),
}
SYSTEM = items(record(INSTRUCTION))
SYSTEM = checked(SYSTEM, "T9", lambda blocks: all(block["text"] for block in blocks), words=WORDS["C2"])
SYSTEM = checked(SYSTEM, "T9", lambda blocks: not any(block["text"].isspace() for block in blocks), words=WORDS["C3"])
PART_OF_ONE = checked(NUMBER, "T10", lambda number: 0 <= number <= 1)
REQUEST = {
    "model": needed(core.str_schema(min_length=1), "T1"),
    "tool_choice": given(tagged(TOOL_CHOICE), "U9"),
    "tools": given(TOOLS, "U7"),
    "messages": needed(items(), "T6"),  # of what, a profile says: _messages
    "system": given(either(SYSTEM, TEXT), "T9"),
    "thinking": given(tagged(THINKING), "K7"),
    "output_config": given(record(OUTPUT_CONFIG), "T11"),
    "cache_control": optional(MARKER, "C9"),
    "max_tokens": needed(checked(WHOLE, "T3", lambda most: most >= 0), "T3"),
    "metadata": optional(record({"user_id": optional(TEXT)}), "T11"),
    "stop_sequences": optional(items(TEXT), "T11"),
    "temperature": given(PART_OF_ONE, "T10"),
    "service_tier": given(one_of("auto", "standard_only"), "T11"),
    "top_k": given(WHOLE, "T10"),
    "top_p": given(PART_OF_ONE, "T10"),
    "stream": given(FLAG, "T11"),
    "container": optional(either(TEXT, OBJECT), "T12"),
    "inference_geo": optional(TEXT, "T11"),
    "diagnostics": optional(OBJECT, "T11"),
    "speed": optional(one_of("standard", "fast"), "T11"),
    "user_profile_id": optional(TEXT, "T11"),
    "workspace_id": optional(TEXT, "T11"),
    **dict.fromkeys(("billing_policy", "compaction", "context_management"), optional(OBJECT, "T11")),
    "fallback_credit_token": optional(either(OBJECT, TEXT), "T11"),
    "fallbacks": optional(either(items(OBJECT), TEXT), "T11"),
    "mcp_servers": given(items(OBJECT), "T11"),
    "output_format": FORMAT,  # since renamed: output_config.format
}
SAMPLING = {"temperature", "top_k", "top_p"}  # unknown since version 2026-10-21


# ---- the tables as one schema, by what a profile changes


def _block(kind, **changed):
    fields = {name: ANY_BLOCK.get(name, HELD[holds]) for name, holds in TYPES[kind].items()}
    fields |= {"type": needed(), **BLOCKS.get(kind, {}), **changed}
    schema = record(fields, "C5")
    return checked(schema, *BLOCK_CHECKS[kind]) if kind in BLOCK_CHECKS else schema


def _errs_in_text(result):
    content = result.get("content")
    return not (result.get("is_error") and isinstance(content, list)) or {one["type"] for one in content} <= {"text"}


def _messages():
    inside = tagged({kind: _block(kind) for kind in sorted(INSIDE_RESULT)}, "C4")
    blocks = {kind: _block(kind) for kind in TYPES.keys() - ONLY_INSIDE_RESULT}
    result = _block("tool_result", content=given(either(items(inside), TEXT), "C6"))
    blocks["tool_result"] = checked(result, "C13", _errs_in_text)
    said = {"content": needed(either(items(tagged(blocks, "C4")), TEXT), "R8")}
    directives = items(tagged({kind: blocks[kind] for kind in IN_SYSTEM}, "C4", tag_rule="R3"))
    system = {"content": needed(either(directives, TEXT), "R8"), "output_config": optional(), "clear_at": optional()}
    roles = {"user": said, "assistant": said, "system": system}
    messages = checked(items(tagged(roles, "R8", tag="role", tag_rule="R1")), "T6", bool)
    messages = checked(messages, "T7", lambda messages: len(messages) <= 100_000)
    return core.with_info_before_validator_function(_without_system, messages)


def _without_system(messages, info):
    if info.context and isinstance(messages, list):
        for message in messages:
            if isinstance(message, dict) and message.get("role") == "system":
                raise Refusal("R2", info.context)
    return messages


@functools.cache
def _compiled(sampling):
    fields = REQUEST | {"messages": needed(_messages(), "T6")}
    schema = record({name: fields[name] for name in fields if sampling or name not in SAMPLING}, "T8")
    return schema, SchemaValidator(schema)


# ---- what is wrong


def refused(request: Any, profile: Any) -> tuple | None:
    """The first field that the API refuses: (rule, message). Or None.

    request: anything. profile: a rules.Profile.
    """
    schema, validator = _compiled(profile.version < "2026-10-21")
    model = request.get("model") if isinstance(request, dict) else None
    takes = takes_system_messages(str(model)) if profile.system_role is None else profile.system_role
    no_system = WORDS["R2"] if version_of(str(model)) is None else WORDS["R2 by model"]
    try:
        validator.validate_python(request, strict=True, context=None if takes else no_system)
        return None
    except ValidationError as error:
        fault: Any = error.errors(include_url=False)[0]
    kind, about, words = fault["type"], fault.get("ctx", {}), fault["msg"]
    place = [part for part in fault["loc"] if part not in (_FIRST, _SECOND)]
    if place[:1] == ["messages"]:
        del place[2:3]  # the role, by which pydantic tells messages apart
    rule = _rule(schema, fault["loc"], "tag_rule" if kind.startswith("union_tag") else "rule")
    if kind in RULES:
        rule, place = kind, [] if kind == "R2" else place
    elif kind == "union_tag_not_found":
        place, words = [*place, about["discriminator"].strip("'")], "Field required"
    elif kind == "union_tag_invalid" and about["discriminator"] == "'role'":
        rule, place, words = "R1", ["messages"], WORDS["R1"].format(about["tag"])
    else:
        if "'tool_use'" in about.get("expected_tags", ""):
            about["expected_tags"] = QUOTED_TAGS
        words = ValidationError.from_exception_data("", [fault], input_type="json").errors()[0]["msg"]
    return rule, ": ".join(filter(None, [".".join(map(str, place)), words]))


def _rule(schema: Any, place, name, rule="T1"):
    """The innermost rule on the way to this place."""
    known, fields = schema.get("metadata", {}), schema.get("fields")
    if fields is None:
        rule = known.get(name) or known.get("rule") or rule
    if "schema" in schema:  # a field, null, or a check, around what is looked for
        return _rule(schema["schema"], place, name, rule)
    if not place:
        return rule
    first, *rest = place
    if fields is not None and first not in fields:
        return "T10" if first in SAMPLING and known["rule"] == "T8" else known["rule"] or rule
    if schema["type"] == "list":
        inside = schema["items_schema"]
    elif schema["type"] == "union":
        inside = next(choice for choice, label in schema["choices"] if label == first)
    else:
        inside = (fields or schema["choices"])[first]
    return _rule(inside, rest, name, rule)
