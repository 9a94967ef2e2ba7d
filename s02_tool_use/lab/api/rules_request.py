"""The fields beside the messages: model, tools, tool_choice, system and the rest, checked in the order of the API.

Each check yields (rule, message). Left out: which model allows what, unless the Profile says it.
"""

from .rules_tools import check_tool_choice, check_tools
from .rules_types import (
    ARRAY,
    EXTRA,
    OBJECT,
    REQUIRED,
    STRING,
    boolean,
    cache_marker,
    is_whole,
    mapping,
    string,
    tagged,
    whole,
)

# Fields whose null is the same as absent.
_NULL_IS_ABSENT = {"metadata", "inference_geo", "stop_sequences", "cache_control", "container"}
_SAMPLING = ("temperature", "top_k", "top_p")  # unknown since version 2026-10-21
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
    fields = [field for field in _FIELDS if profile.version < "2026-10-21" or field[0] not in _SAMPLING]
    for name, rule, check, required in fields:
        value = request.get(name)
        if name == "messages" and name in request:
            yield from check_messages(value)
        elif name in request and not (value is None and name in _NULL_IS_ABSENT):
            for fault in check(value, name):
                yield fault if isinstance(fault, tuple) else (rule, fault)
        elif required and name not in request:
            yield rule, f"{name}: {REQUIRED}"
    known = {name for name, *_ in fields} | _UNCHECKED
    for key in request:
        if key not in known:
            yield "T10" if key in _SAMPLING else "T8", f"{key}: {EXTRA}"


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


def _model(value, path):
    if not isinstance(value, str):
        yield f"{path}: {STRING}"
    elif not value:
        yield f"{path}: String should have at least 1 character"


def _max_tokens(value, path):
    if not is_whole(value):
        yield from whole(value, path)
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
                for fault in cache_marker(block["cache_control"], f"{here}.cache_control"):
                    yield "C9", fault
            for key in block:
                if key not in ("type", "text", "citations", "cache_control"):
                    yield f"{here}.{key}: {EXTRA}"
            if not block["text"].strip():
                state = "contain non-whitespace text" if block["text"] else "be non-empty"
                yield f"{path}: text content blocks must {state}"


def _thinking(value, path):
    """K7: on by budget, adaptive, or off."""
    yield from tagged(
        value, path, {"adaptive": {"display"}, "between_tools": {"display"}, "disabled": set(), "enabled": None}
    )
    if isinstance(value, dict) and value.get("type") == "enabled":
        budget = value.get("budget_tokens")
        if "budget_tokens" not in value:
            yield f"{path}.enabled.budget_tokens: {REQUIRED}"
        elif not is_whole(budget):
            yield from whole(budget, f"{path}.enabled.budget_tokens")
        elif budget < 1024:
            yield f"{path}.enabled.budget_tokens: Input should be greater than or equal to 1024"
        for key in value.keys() - {"type", "budget_tokens", "display"}:
            yield f"{path}.enabled.{key}: {EXTRA}"


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
        yield from string(item, f"{path}.{i}")


def _service_tier(value, path):
    if value not in ("auto", "standard_only"):
        yield f"{path}: Input should be 'auto' or 'standard_only'"


def _container(value, path):
    if not isinstance(value, (str, dict)):
        yield f"{path}: {STRING}"


# (field, rule, check, required), in the API's order.
_FIELDS = (
    ("model", "T1", _model, True),
    ("tool_choice", "U9", check_tool_choice, False),
    ("tools", "U7", check_tools, False),
    ("messages", "T6", None, True),
    ("system", "T9", _system, False),
    ("thinking", "K7", _thinking, False),
    ("output_config", "T8", mapping, False),
    ("cache_control", "C9", cache_marker, False),
    ("max_tokens", "T3", _max_tokens, True),
    ("metadata", "T11", _metadata, False),
    ("stop_sequences", "T11", _stop_sequences, False),
    ("temperature", "T10", _range, False),
    ("service_tier", "T11", _service_tier, False),
    ("top_k", "T10", whole, False),
    ("top_p", "T10", _range, False),
    ("stream", "T11", boolean, False),
    ("container", "T12", _container, False),
    ("inference_geo", "T11", string, False),
)
