"""What the offline API refuses: each rule by a request that breaks it, in the words of the API."""

import base64
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s02_tool_use.lab.api.allowed import version_of
from s02_tool_use.lab.api.rules import FIRST_PARTY, RULES, STRICT, Problem, Profile, validate

BASH = {"name": "bash", "input_schema": {"type": "object"}}
USER = {"role": "user", "content": "Hi."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
SECOND = {**CALL, "id": "toolu_2"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "out"}
RESULT_2 = {**RESULT, "tool_use_id": "toolu_2"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MARKER = {"type": "ephemeral"}
SYSTEM = {"role": "system", "content": "Be brief."}


def ask(**fields):
    """A request that is right, with some fields changed; None takes a field out."""
    request = {"model": "any", "max_tokens": 2000, "messages": [USER], **fields}
    return {key: value for key, value in request.items() if value is not None}


def talk(*messages, **fields):
    """A request of these messages: a string or a list is the content of user and assistant in turn."""
    roles = ["user", "assistant"] * len(messages)
    return ask(
        messages=[
            m if isinstance(m, dict) else {"role": role, "content": m} for m, role in zip(messages, roles, strict=False)
        ],
        **{"tools": [BASH], **fields},
    )


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def image(data, media_type="image/png"):
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()},
    }


def png(width, height):
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")


def jpeg(width, height):
    preview = b"\xff\xe0\0\x10" + bytes(14)
    return (
        b"\xff\xd8" + preview + b"\xff\xc0\0\x11\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + bytes(9)
    )


def custom(**more):
    return ask(tools=[{**BASH, **more}])


def schema(**more):
    return custom(input_schema={"type": "object", **more})


def sent_with(*betas):
    """The profile of a request with these names in its anthropic-beta header."""
    return Profile(betas=frozenset(betas))


NEW, OLDER = "claude-opus-4-8", "claude-sonnet-4-5-20250929"  # each takes something that the other does not
ADVICE = {
    "type": "advisor_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "advisor_result", "text": "a"},
}
MCP_CALL = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "search", "server_name": "docs", "input": {}}
MCP_RESULT = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [text("tea")]}
COMPACTED = {"type": "compaction", "content": "They found tea."}
ADDED = {"type": "tool_addition", "tool": {"type": "tool_reference", "tool_name": "bash"}}
EDITS = {"edits": [{"type": "compact_20260112"}]}
LONGER = {**MARKER, "ttl": "1h"}
LATER = (
    "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
    "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
)
# What comes with a beta: (the beta, a request that has it, how it is named where the header is missing).
OF_BETAS = [
    ("compact-2026-01-12", ask(context_management=EDITS), "context_management: Extra inputs are not permitted"),
    ("context-management-2025-06-27", ask(context_management={}), "context_management: Extra inputs are not permitted"),
    ("compact-2026-09-04", ask(compaction={"type": "summarize"}), "compaction: Extra inputs are not permitted"),
    ("mcp-client-2025-04-04", ask(mcp_servers=[{"type": "url"}]), "mcp_servers: Extra inputs are not permitted"),
    ("structured-outputs-2025-11-13", ask(output_format=None) | {"output_format": None}, "output_format: Extra inputs"),
    ("server-side-fallback-2026-07-01", ask(fallbacks="default"), "fallbacks: Extra inputs are not permitted"),
    ("fallback-credit-2026-07-01", ask(fallback_credit_token="a"), "fallback_credit_token: Extra inputs"),
    ("user-profiles-billing-2026-10-01", ask(billing_policy={}), "billing_policy: Extra inputs are not permitted"),
    (
        "thinking-binding-controls-2026-08-01",
        ask(thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.block_binding: Extra inputs are not permitted",
    ),
    (
        "task-budgets-2026-03-13",
        ask(output_config={"task_budget": {}}),
        "output_config.task_budget: Extra inputs are not permitted",
    ),
    (
        "prompt-caching-scope-2026-01-05",
        talk([text("a", cache_control={**MARKER, "scope": "global"})]),
        "messages.0.content.0.text.cache_control.ephemeral.scope: Extra inputs are not permitted",
    ),
    (
        "mid-conversation-system-clear-at-2026-08-21",
        talk(USER, {**SYSTEM, "clear_at": "never"}, model=NEW),
        "messages.1.clear_at: Extra inputs are not permitted",
    ),
    ("mcp-client-2025-11-20", ask(tools=[{"type": "mcp_toolset", "mcp_server_name": "docs"}]), "tools.0: Input tag"),
    ("advisor-tool-2026-03-01", ask(tools=[{"type": "advisor_20260301", "name": "advisor"}]), "tools.0: Input tag"),
    ("computer-use-2025-11-24", ask(tools=[{"type": "computer_20251124", "name": "c"}]), "tools.0: Input tag"),
    ("compact-2026-09-04", talk("Hi.", [COMPACTED]), "messages.1.content.0: Input tag 'compaction' "),
    ("compact-2026-01-12", talk("Hi.", [COMPACTED, text("a")], "b"), "messages.1.content.0: Input tag 'compaction' "),
    ("mcp-client-2025-04-04", talk("Hi.", [MCP_CALL, MCP_RESULT, text("a")], "b"), "messages.1.content.0: Input tag"),
    ("advisor-tool-2026-03-01", talk("Hi.", [SEARCH, ADVICE, text("a")], "b"), "messages.1.content.1: Input tag"),
    (
        "mid-conversation-tool-changes-2026-07-01",
        talk(USER, {"role": "system", "content": [ADDED]}, model=NEW),
        "messages.1.content.0: Input tag 'tool_addition' ",
    ),
    (
        "mid-conversation-tool-changes-2026-07-01",
        talk(USER, {"role": "system", "content": [{**ADDED, "type": "tool_removal"}]}, model=NEW),
        "messages.1.content.0: Input tag 'tool_removal' ",
    ),
    (
        "mcp-client-2025-11-20",
        talk("Hi.", [{"type": "mcp_tool_listing", "mcp_server_name": "docs", "tools": []}, text("a")], "b"),
        "messages.1.content.0: Input tag 'mcp_tool_listing' ",
    ),
    (
        "server-side-fallback-2026-06-01",
        talk("Hi.", [{"type": "fallback", "from": {}, "to": {}}, text("a")], "b"),
        "messages.1.content.0: Input tag 'fallback' ",
    ),
]
NO_RESULT = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
NO_CALL = (
    "messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TAGS = (
    "'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', "
    "'tool_use', 'web_search_tool_result'"
)
UNKNOWN = "found using 'type' does not match any of the expected tags:"
BASE64 = "messages.0.content.0.image.source.base64"
R3 = "the directive-only form (content: [] with output_config) is accepted at any position"
SIGNED = Profile(forged=lambda block, calls: block["signature"] != "sig")
WITH_SYSTEM = Profile(system_role=True)
OLD = Profile(version="2023-06-01")

# (rule, request, message of the API, profile)
REFUSED = [
    # The request
    ("T1", ask(model=None), "model: Field required"),
    ("T1", ask(model=5), "model: Input should be a valid string"),
    ("T1", ask(model=""), "model: String should have at least 1 character"),
    ("T2", ask(model="old"), "model: old", Profile(models=("new",))),
    ("T3", ask(max_tokens=None), "max_tokens: Field required"),
    ("T3", ask(max_tokens="many"), "max_tokens: Input should be a valid integer"),
    *(("T3", ask(max_tokens=bad), "max_tokens: Input should be a valid integer") for bad in (True, 2000.0)),
    ("T3", ask(max_tokens=-1), "max_tokens: must be greater than or equal to 0"),
    (
        "T4",
        ask(),
        "max_tokens: 2000 > 1000, which is the maximum allowed number of output tokens for any",
        Profile(max_output=1000),
    ),
    ("T6", ask(messages=None), "messages: Field required"),
    ("T6", ask(messages="Hi."), "messages: Input should be a valid array"),
    ("T6", ask(messages=[]), "messages: at least one message is required"),
    ("T7", ask(messages=[USER] * 100_001), "messages: at most 100000 messages are allowed"),
    ("T8", ask(zzz=1), "zzz: Extra inputs are not permitted"),
    ("T9", ask(system=5), "system: Input should be a valid array"),
    ("T9", ask(system=["Be brief."]), "system.0: Input should be an object"),
    ("T9", ask(system=[{"type": "image"}]), "system.0.type: Input should be 'text'"),
    ("T9", ask(system=[{"type": "text"}]), "system.0.text: Field required"),
    ("T9", ask(system=[text("")]), "system: text content blocks must be non-empty"),
    ("T9", ask(system=[text("a", b=1)]), "system.0.b: Extra inputs are not permitted"),
    ("T10", ask(temperature=1), "temperature: Extra inputs are not permitted"),
    ("T10", ask(top_p=0.5), "top_p: Extra inputs are not permitted"),
    ("T10", ask(temperature="hot", top_k=None), "temperature: Extra inputs are not permitted"),
    ("T10", ask(temperature=2), "temperature: range: 0..1", OLD),
    ("T10", ask(temperature="hot"), "temperature: Input should be a valid number", OLD),
    ("T10", ask(top_k=0.5), "top_k: Input should be a valid integer", OLD),
    (
        "T10",
        ask(temperature=0, thinking={"type": "adaptive"}),
        "temperature may only be set to 1 when thinking is enabled or in adaptive mode",
        OLD,
    ),
    ("T11", ask(stop_sequences=[1]), "stop_sequences.0: Input should be a valid string"),
    ("T11", ask(stream=1), "stream: Input should be a valid boolean"),
    ("T11", ask(metadata={"x": 1}), "metadata.x: Extra inputs are not permitted"),
    ("T11", ask(service_tier="fast"), "service_tier: Input should be 'auto' or 'standard_only'"),
    (
        "T11",
        ask(output_config={"effort": "most"}),
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
    (
        "T11",
        ask(output_config={"format": {"type": "xml", "schema": {}}}),
        "output_config.format.type: Input should be 'json_schema'",
    ),
    ("T11", ask(speed="warp"), "speed: Input should be 'standard' or 'fast'"),
    ("T12", ask(container="c1"), "Container identifier can only be provided when using the code execution tool"),
    ("T14", ask(), 'anthropic-version: "banana" is not a valid version', Profile(version="banana")),
    (
        "T15",
        ask(),
        "Unexpected value(s) `no-such-beta-2020-01-01`, `nor-this` for the `anthropic-beta` header. Please consult our "
        "documentation at platform.claude.com/docs or try again without the header.",
        sent_with("nor-this", "no-such-beta-2020-01-01", "compact-2026-01-12"),
    ),
    *(
        ("T16", ask(model=model, output_config={"effort": effort}), f"This model does not support {words}")
        for model, effort, words in (
            ("claude-opus-4-6", "xhigh", "effort level 'xhigh'. Supported levels: high, low, max, medium."),
            ("claude-sonnet-4-6", "xhigh", "effort level 'xhigh'. Supported levels: high, low, max, medium."),
            ("claude-opus-4-5-20251101", "max", "effort level 'max'. Supported levels: high, low, medium."),
            ("claude-haiku-4-5", "low", "the effort parameter."),
            ("claude-3-7-sonnet-20250219", "high", "the effort parameter."),
        )
    ),
    # Tools
    ("U1", custom(name="a b"), "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
    ("U1", custom(name="a" * 129), "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
    ("U1", ask(tools=[{"input_schema": {}}]), "tools.0.custom.name: Field required"),
    ("U2", ask(tools=[BASH, BASH]), "tools: Tool names must be unique."),
    ("U3", ask(tools=[{"name": "bash"}]), "tools.0.custom.input_schema: Field required"),
    ("U3", custom(input_schema={}), "tools.0.custom.input_schema.type: Field required"),
    ("U3", custom(input_schema={"type": "array"}), "tools.0.custom.input_schema.type: Input should be 'object'"),
    *(
        (
            "U4",
            schema(**bad),
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12).",
        )
        for bad in (
            {"properties": {"a": {"type": "text"}}},
            {"properties": []},
            {"properties": {"a": {"items": [{}]}}},
            {"properties": {"a": {"minimum": 0, "exclusiveMinimum": True}}},
            {"required": "a"},
            {"required": [1]},
            {"properties": {"a": {"enum": "a"}}},
            {"properties": {"a": {"anyOf": {}}}},
            {"minProperties": -1},
            {"required": ["a", "a"]},
            {"title": 5},
            {"properties": {"a": {"pattern": "("}}},
            {"properties": {"a": {"maxLength": "3"}}},
            {"properties": {"a": {"type": []}}},
            {"properties": {"a": {"uniqueItems": "yes"}}},
            {"dependentRequired": ["b"]},
        )
    ),
    (
        "U5",
        schema(anyOf=[{}]),
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    (
        "U6",
        custom(strict=True),
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    *(
        (
            "U13",
            schema(properties={"path": {}, key: {}}),
            "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
        )
        for key in ("", "a b", "$top", "filter[id]", "größe", "a\n", "a" * 65)
    ),
    ("U7", ask(tools={}), "tools: Input should be a valid array"),
    ("U7", ask(tools=["bash"]), "tools.0: Input should be an object"),
    ("U7", custom(strict="yes"), "tools.0.custom.strict: Input should be a valid boolean"),
    ("U7", custom(zzz=1), "tools.0.custom.zzz: Extra inputs are not permitted"),
    ("U9", ask(tool_choice="auto"), "tool_choice: Input should be an object"),
    ("U9", ask(tool_choice={}), "tool_choice.type: Field required"),
    (
        "U9",
        ask(tool_choice={"type": "required"}),
        "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: "
        "'auto', 'any', 'tool', 'none'",
    ),
    ("U10", ask(tool_choice={"type": "any"}), "tool_choice.any may only be specified while providing tools"),
    ("U10", ask(tool_choice={"type": "tool", "name": "get_weather"}), "Tool 'get_weather' not found in provided tools"),
    (
        "U11",
        ask(tools=[BASH], tool_choice={"type": "any"}, thinking={"type": "enabled", "budget_tokens": 1024}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "U12",
        talk("Hi.", [CALL], [RESULT], tools=None),
        "Requests which include `tool_use` or `tool_result` blocks must define tools.",
        Profile(require_tools=True),
    ),
    # Roles
    (
        "R1",
        talk({"role": "tool", "content": "a"}),
        'messages: Unexpected role "tool". Allowed roles are "user" or "assistant"',
    ),
    ("R1", talk({"content": "a"}), "messages.0.role: Field required"),
    (
        "R2",
        talk(SYSTEM, USER),
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as '
        "an input message role.",
    ),
    *(
        ("R2", talk(USER, SYSTEM, model=model), "role 'system' is not supported on this model")
        for model in ("claude-opus-4-7", "claude-sonnet-4-6", "claude-haiku-4-5", "claude-3-opus-20240229")
    ),
    (
        "R3",
        talk(SYSTEM, USER),
        f"messages.0: use the top-level 'system' parameter for the initial system prompt; {R3}",
        WITH_SYSTEM,
    ),
    (
        "R3",
        talk(USER, assistant(text("a")), SYSTEM),
        "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; " + R3,
        WITH_SYSTEM,
    ),
    (
        "R3",
        talk(USER, SYSTEM, USER),
        "role 'system' must precede an 'assistant' message or end the array; " + R3,
        WITH_SYSTEM,
    ),
    (
        "R3",
        talk(USER, SYSTEM, SYSTEM, USER, model=NEW),
        "role 'system' must precede an 'assistant' message or end the array; " + R3,
    ),
    (
        "R3",
        talk(USER, assistant(CALL), SYSTEM, user(RESULT), model=NEW),
        "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result; " + R3,
    ),
    (
        "R3",
        talk(USER, {"role": "system", "content": " "}),
        "messages.1: system text blocks must contain non-whitespace text",
        WITH_SYSTEM,
    ),
    (
        "R4",
        talk(USER, USER),
        'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
        STRICT,
    ),
    (
        "R6",
        talk("Hi.", "Hello"),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    *(
        (
            "R6",
            talk("Hi.", "Hello", model=model),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
        for model in ("claude-sonnet-4-6", "claude-opus-5", "claude-fable-5-1")
    ),
    ("R7", talk("Hi.", "Hello ", model=OLDER), "messages: final assistant content cannot end with trailing whitespace"),
    (
        "R7",
        talk("Hi.", [text("Hello ")]),
        "messages: final assistant content cannot end with trailing whitespace",
        Profile(prefill=True),
    ),
    ("R8", talk("Hi", {"role": "assistant"}), "messages.1.content: Field required"),
    ("R8", talk({"role": "user", "content": None}), "messages.0.content: Input should be a valid array"),
    ("R8", talk({"role": "user", "content": 5}), "messages.0.content: Input should be a valid array"),
    ("R8", talk({"foo": 1, **USER}), "messages.0.foo: Extra inputs are not permitted"),
    ("R8", ask(messages=["Hi."]), "messages.0: Input should be an object"),
    # Content
    ("C1", talk(""), "messages.0: user messages must have non-empty content"),
    ("C1", talk("Hi.", "a", user(), user()), "messages.2: user messages must have non-empty content"),
    ("C1", talk(user(), USER), "messages.0: user messages must have non-empty content", STRICT),
    (
        "C1",
        talk("Hi.", [], "a"),
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    ("C2", talk("Hi.", [text("")], "a"), "messages: text content blocks must be non-empty"),
    ("C2", talk("Hi.", [CALL], [{**RESULT, "content": [text("")]}]), "messages: text content blocks must be non-empty"),
    ("C3", talk(" \n"), "messages: text content blocks must contain non-whitespace text"),
    ("C4", talk(["Hi."]), "messages.0.content.0: Input should be an object"),
    ("C4", talk([{"text": "Hi."}]), "messages.0.content.0.type: Field required"),
    (
        "C4",
        talk([text("a"), {"type": "image_url"}]),
        f"messages.0.content.1: Input tag 'image_url' {UNKNOWN} {TAGS}",
    ),
    ("C4", talk([{"type": "text", "text": None}]), "messages.0.content.0.text.text: Input should be a valid string"),
    (
        "C5",
        talk("Hi.", [{**CALL, "index": 1, "partial_json": ""}], [RESULT]),
        "messages.1.content.0.tool_use.index: Extra inputs are not permitted",
    ),
    (
        "C5",
        talk("Hi.", [CALL], [{**RESULT, "content": [text("a", _internal=1)]}]),
        "messages.2.content.0.tool_result.content.0.text._internal: Extra inputs are not permitted",
    ),
    (
        "C6",
        talk("Hi.", [CALL], [{**RESULT, "content": "", "is_error": True}]),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    (
        "C13",
        talk("Hi.", [CALL], [{**RESULT, "content": [text("no"), image(png(1, 1))], "is_error": True}]),
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
    (
        "C7",
        talk([text("a"), text("", cache_control=MARKER)]),
        "messages.0.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    (
        "C8",
        talk([text("a", cache_control=MARKER)] * 2, [CALL], [{**RESULT, "content": [text("a", cache_control=MARKER)]}])
        | {"system": [text("a", cache_control=MARKER)], "tools": [{**BASH, "cache_control": MARKER}]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        "C9",
        ask(system=[text("a"), text("b"), text("c", cache_control={**MARKER, "scope": "global"})]),
        "system.2.cache_control.ephemeral.scope: Extra inputs are not permitted",
    ),
    (
        "C9",
        talk([text("a", cache_control={**MARKER, "ttl": "2h"})]),
        "messages.0.content.0.text.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    ("C12", talk([text("a", cache_control=MARKER), text("b", cache_control=LONGER)]), f"messages.0.content.1.{LATER}"),
    (
        "C12",
        ask(tools=[{**BASH, "cache_control": {**MARKER, "ttl": "5m"}}], system=[text("a", cache_control=LONGER)]),
        f"system.0.{LATER}",
    ),
    (
        "C10",
        talk([image(b"", "image/bmp")]),
        f"{BASE64}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    *(
        ("C10", talk([{"type": "image", "source": source}]), f"messages.0.content.0.image.source{message}")
        for source, message in (
            ({"type": "bmp"}, f": Input tag 'bmp' {UNKNOWN} 'base64', 'url', 'file'"),
            ({}, ".type: Field required"),
            ({"type": "url"}, ".url.url: Field required"),
            ({"type": "url", "url": 5}, ".url.url: Input should be a valid string"),
            ({"type": "url", "url": "https://a.b", "x": 1}, ".url.x: Extra inputs are not permitted"),
        )
    ),
    (
        "C10",
        talk([image(jpeg(10, 10))]),
        f"{BASE64}.data: Image does not match the provided media type image/png",
    ),
    (
        "C10",
        talk([image(bytes(6_194_361))]),
        f"{BASE64}: image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes",
    ),
    *(
        (
            "C10",
            talk([image(picture, kind)]),
            f"{BASE64}.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
        )
        for picture, kind in (
            (png(8001, 1), "image/png"),
            (jpeg(1, 8001), "image/jpeg"),
            (b"GIF89a" + (8001).to_bytes(2, "little") + b"\1\0", "image/gif"),
        )
    ),
    (
        "C10",
        talk([image(png(2001, 1))] * 21),
        f"{BASE64}.data: At least one of the image dimensions exceed max allowed size for many-image requests: "
        "2000 pixels",
    ),
    (
        "C11",
        talk("Hi.", [{"type": "document", "source": {"type": "url", "url": "https://a.b"}}], "a"),
        "messages.1: `document` blocks can only be in `user` messages",
    ),
    (
        "C11",
        talk([text("a", citations=[{}])]),
        "messages.0.content.0.text.citations: Extra inputs are not permitted",
    ),
    # Calls and results
    ("P1", talk("Hi.", [text("a"), CALL]), NO_RESULT.format(1, "toolu_1")),
    ("P1", talk("Hi.", [CALL, {**CALL, "id": "toolu_2"}], "stop"), NO_RESULT.format(1, "toolu_1, toolu_2")),
    ("P1", talk("Hi.", [CALL], [text("first"), RESULT]), NO_RESULT.format(1, "toolu_1")),
    ("P1", talk("Hi.", [CALL], USER, user(RESULT)), NO_RESULT.format(1, "toolu_1")),
    ("P1", talk("Hi.", [CALL, text("after")], [RESULT]), NO_RESULT.format(1, "toolu_1")),
    ("P1", talk("Hi.", [CALL, THINKING, text("a")], [RESULT]), NO_RESULT.format(1, "toolu_1")),
    ("P1", talk("Hi.", [CALL], assistant(text("after")), user(RESULT)), NO_RESULT.format(1, "toolu_1")),
    (
        "P1",
        talk("Hi.", [CALL, {**CALL, "id": "toolu_2"}], [RESULT], user({**RESULT, "tool_use_id": "toolu_2"})),
        NO_RESULT.format(1, "toolu_2"),
        STRICT,
    ),
    ("P1", talk("Hi.", [THINKING, CALL, THINKING, SECOND], [RESULT]), NO_RESULT.format(1, "toolu_2")),
    ("P1", talk("Hi.", [CALL, text("a"), SECOND, text("b")], [RESULT]), NO_RESULT.format(1, "toolu_1, toolu_2")),
    ("P5", talk([RESULT]), NO_CALL.format("0.content.0", "toolu_1")),
    ("P5", talk("Hi.", [CALL], [RESULT], "a", [text("b"), RESULT]), NO_CALL.format("4.content.1", "toolu_1")),
    (
        "P6",
        talk("Hi.", [CALL], [RESULT], user(RESULT)),
        "messages.3.content.0: each tool_use must have a single result. "
        "Found multiple `tool_result` blocks with id: toolu_1",
    ),
    ("P7", talk("Hi.", [CALL, CALL], [RESULT]), "messages.1.content.1: `tool_use` ids must be unique"),
    ("P7", talk("Hi.", [CALL], [RESULT], [CALL], [RESULT]), "messages.3.content.0: `tool_use` ids must be unique"),
    ("P7", talk("Hi.", [CALL, CALL], [RESULT], model=OLDER), "messages.1.content.1: `tool_use` ids must be unique"),
    *(
        (
            "P8",
            talk("Hi.", [{**CALL, "id": bad}], [{**RESULT, "tool_use_id": bad}]),
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
        )
        for bad in ("functions.bash:0", "", "a\n")
    ),
    (
        "P9",
        talk("Hi.", [{**CALL, "name": ""}]),
        "messages.1.content.0.tool_use.name: String should have at least 1 character",
    ),
    (
        "P9",
        talk("Hi.", [{**CALL, "name": "a" * 201}]),
        "messages.1.content.0.tool_use.name: String should have at most 200 characters",
    ),
    *(
        ("P10", talk("Hi.", [{**CALL, "input": bad}]), "messages.1.content.0.tool_use.input: Input should be an object")
        for bad in (None, "{}", [])
    ),
    ("P11", talk("Hi.", [CALL, RESULT], "a"), "messages.1: `tool_result` blocks can only be in `user` messages"),
    ("P11", talk([CALL], [RESULT]), "messages.0: `tool_use` blocks can only be in `assistant` messages"),
    (
        "P12",
        talk("Hi.", [CALL], [{"type": "tool_result"}]),
        "messages.2.content.0.tool_result.tool_use_id: Field required",
    ),
    (
        "P13",
        talk("Hi.", [{**CALL, "caller": {"type": "me"}}], [RESULT]),
        f"messages.1.content.0.tool_use.caller: Input tag 'me' {UNKNOWN} "
        "'direct', 'code_execution_20250825', 'code_execution_20260120'",
    ),
    (
        "P14",
        talk("Hi.", [{**SEARCH, "id": "call_9"}], "a"),
        "messages.1.content.0.server_tool_use.id: String should match pattern '^srvtoolu_[a-zA-Z0-9_]+$'",
    ),
    (
        "P14",
        talk("Hi.", [FOUND, text("a")], "a"),
        "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1. Each "
        "`web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
    ),
    *(
        (
            "P14",
            talk("Hi.", [text("a")], "b", [*before, block, text("a")], "b"),
            f"messages.3.content.{len(before)}: unexpected `tool_use_id` found in `{block['type']}` blocks: "
            f"{block['tool_use_id']}. Each `{block['type']}` block must have a corresponding `{call}` block before it.",
        )
        for before, block, call in (
            ([], ADVICE, "server_tool_use"),
            ([], MCP_RESULT, "mcp_tool_use"),
            ([{**SEARCH, "id": "srvtoolu_2"}], ADVICE, "server_tool_use"),
        )
    ),
    (
        "P14",
        talk("Hi.", [SEARCH], "a"),
        "messages.1.content.0: `server_tool_use` srvtoolu_1 has no result yet: the next message may only hold "
        "`tool_result` blocks",
    ),
    # Thinking
    (
        "K1",
        talk("Hi.", [CALL], [RESULT], thinking={"type": "enabled", "budget_tokens": 1024}),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` "
        "is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of "
        "`tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid "
        "this requirement, disable `thinking`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    ),
    (
        "K2",
        talk("Hi.", [{**THINKING, "signature": "other"}, CALL], [RESULT]),
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response.",
        SIGNED,
    ),
    (
        "K3",
        talk("Hi.", [{**THINKING, "signature": "other"}, text("a")], "b", "c", "d"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        SIGNED,
    ),
    (
        "K3",
        talk("Hi.", [{**THINKING, "signature": ""}, text("a")], "b"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        "K4",
        talk("Hi.", [{"type": "thinking", "thinking": "hm"}, CALL], [RESULT]),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    (
        "K4",
        talk("Hi.", [{"type": "thinking", "signature": "sig"}, CALL], [RESULT]),
        "messages.1.content.0.thinking.thinking: Field required",
    ),
    ("K5", talk("Hi.", [THINKING], "a"), "messages.1: The final block in an assistant message cannot be `thinking`."),
    (
        "K6",
        talk("Hi.", [THINKING, text("a")]),
        "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain "
        "`thinking`. To use thinking blocks, enable `thinking` in your request.",
        Profile(prefill=True),
    ),
    (
        "K7",
        ask(thinking={"type": "enabled", "budget_tokens": 2000}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    ("K7", ask(thinking={}), "thinking.type: Field required"),
    *(
        (
            "K7",
            ask(model=model, thinking={"type": "enabled", "budget_tokens": 1024}),
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.',
        )
        for model in ("claude-opus-4-7", "claude-sonnet-5")
    ),
    (
        "K7",
        ask(model="claude-haiku-4-5", thinking={"type": "adaptive"}),
        "adaptive thinking is not supported on this model",
    ),
]


@pytest.mark.parametrize(("rule", "request_", "message", "profile"), [(*row, FIRST_PARTY)[:4] for row in REFUSED])
def test_a_request_that_breaks_the_rule_is_refused_in_the_words_of_the_api(rule, request_, message, profile):
    problem = validate(request_, profile)
    assert problem is not None
    assert (problem.rule, problem.message) == (rule, message)


def test_every_rule_of_the_table_is_broken_above_and_the_table_has_every_rule():
    assert {row[0] for row in REFUSED} | {"U8"} == set(RULES)


@pytest.mark.parametrize(("beta", "request_", "message"), OF_BETAS)
def test_what_a_beta_brings_is_accepted_with_its_header_alone(beta, request_, message):
    assert validate(request_, sent_with("claude-code-20250219", beta)) is None
    problem = validate(request_, sent_with("context-1m-2025-08-07"))
    assert problem.message.startswith(message)
    assert problem.rule in ("T15", "C9")


def test_where_the_headers_are_not_known_no_beta_is_missing():
    assert [beta for beta, request_, _ in OF_BETAS if validate(request_)] == ["prompt-caching-scope-2026-01-05"]


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-3-opus-20240229", (3, 0)),
        ("claude-3-5-sonnet-latest", (3, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("claude-opus-4-1-20250805", (4, 1)),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", (4, 5)),
        ("anthropic/claude-sonnet-4.6", (4, 6)),
        ("claude-fable-5", (5, 0)),
        ("claude-opus-5[1m]", (5, 0)),
        ("claude-haiku-5-5", (5, 5)),
        ("claude-mythos-preview", None),
        ("understudy", None),
    ],
)
def test_the_version_of_a_model_stands_in_its_name(model, version):
    assert version_of(model) == version


def test_an_unknown_type_of_tool_is_named_beside_the_known_ones():
    problem = validate(ask(tools=[{"type": "function", "function": {}}]))
    start = f"tools.0: Input tag 'function' {UNKNOWN} 'custom', 'bash_20250124', "
    assert problem.message.startswith(start)
    assert problem.rule == "U8"


ACCEPTED = [
    (schema(properties={key: {} for key in ("a", "A.b-c_9", "a" * 64)}), FIRST_PARTY),
    (
        schema(properties={"a": {"type": "object", "properties": {"of any name": {}}}}),
        FIRST_PARTY,
    ),  # seen at the top alone
    (talk("Hi.", [CALL], [{**RESULT, "content": [text("no"), text("more")], "is_error": True}]), FIRST_PARTY),
    (talk("Hi.", [CALL], [{**RESULT, "content": [image(png(1, 1))], "is_error": False}]), FIRST_PARTY),
    (ask(), FIRST_PARTY),
    (ask(model="new"), Profile(models=("new",))),
    *((ask(), Profile(version=version)) for version in ("2023-01-01", "2023-06-01")),
    *(
        (ask(model=model, output_config={"effort": effort}), FIRST_PARTY)
        for model, effort in (("claude-opus-4-6", "max"), ("claude-opus-4-5", "low"), ("claude-sonnet-5", "xhigh"))
    ),
    # From the models of 4.8 on the operator may speak in the middle.
    (talk("Hi.", "Hello.", "And now?", {**SYSTEM, "content": [text("Be brief.")]}, model=NEW), FIRST_PARTY),
    (talk(USER, assistant(CALL), user(RESULT), SYSTEM, model="claude-sonnet-5"), FIRST_PARTY),
    (talk(USER, SYSTEM, assistant(text("a")), USER, model="claude-fable-5"), FIRST_PARTY),
    (talk(USER, USER, SYSTEM, SYSTEM, assistant(text("a")), USER, model=NEW), FIRST_PARTY),
    (talk(USER, {"role": "system", "content": [text("a", cache_control=MARKER)]}, model=NEW), FIRST_PARTY),
    (talk(USER, {"role": "system", "content": [ADDED]}, model="claude-opus-5"), FIRST_PARTY),
    # A reply with thinking between its calls comes back as it was.
    (talk("Hi.", [THINKING, CALL, THINKING, SECOND], [RESULT, RESULT_2], thinking={"type": "adaptive"}), FIRST_PARTY),
    (talk("Hi.", [CALL, text("a"), SECOND], [RESULT_2, RESULT]), FIRST_PARTY),
    # Disputed, and seen with models of 4.5.
    (talk("Hi.", [CALL], [RESULT], [CALL], [RESULT], model=OLDER), FIRST_PARTY),
    (talk("Hi.", [text(" "), CALL, SECOND], [RESULT, RESULT_2], model="claude-haiku-4-5-20251001"), FIRST_PARTY),
    *((talk("Hi.", "{", model=model), FIRST_PARTY) for model in ("claude-3-5-sonnet-20240620", OLDER)),
    (talk([text("a", cache_control=LONGER), text("b", cache_control=MARKER)], system=[text("c")]), FIRST_PARTY),
    (ask(tools=[BASH], tool_choice={"type": "tool", "name": "bash"}, thinking={"type": "adaptive"}), FIRST_PARTY),
    (ask(max_tokens=0), FIRST_PARTY),
    (ask(tools=[], tool_choice={"type": "auto"}), FIRST_PARTY),
    (ask(tool_choice={"type": "none"}), FIRST_PARTY),
    (ask(tools=[BASH], tool_choice={"type": "tool", "name": "bash", "disable_parallel_tool_use": True}), FIRST_PARTY),
    (ask(tools=[BASH], tool_choice={"type": "any"}, thinking={"type": "adaptive"}), FIRST_PARTY),
    (ask(tools=[{"type": "bash_20250124", "name": "bash"}]), FIRST_PARTY),
    (ask(tools=[{"type": "code_execution_20250825", "name": "code_execution"}], container="c"), FIRST_PARTY),
    (custom(strict=True, input_schema={"type": "object", "additionalProperties": False}), FIRST_PARTY),
    (
        schema(properties={"a": {"type": ["string", "null"], "enum": ["a", None]}, "b": True}, required=["a"]),
        FIRST_PARTY,
    ),
    (ask(system=[text("a", cache_control={"type": "ephemeral", "ttl": "1h"})], cache_control=MARKER), FIRST_PARTY),
    (ask(temperature=0.5, top_k=3), OLD),
    (ask(thinking={"type": "enabled", "budget_tokens": 1024}, stop_sequences=["a"], stream=True), FIRST_PARTY),
    ({**ask(), "metadata": None, "stop_sequences": None, "cache_control": None}, FIRST_PARTY),
    (talk(USER, USER, assistant(text("a")), assistant(text("b")), USER), FIRST_PARTY),
    (talk(assistant(text("a")), USER), STRICT),
    (talk(user(), USER), FIRST_PARTY),
    (talk(USER, {"role": "user", "content": ""}), FIRST_PARTY),
    (talk("Hi.", [CALL, {**CALL, "id": "b"}], [{**RESULT, "tool_use_id": "b"}, RESULT, text("a")]), STRICT),
    (talk("Hi.", [CALL, {**CALL, "id": "b"}], [{**RESULT, "tool_use_id": "b"}], user(RESULT)), FIRST_PARTY),
    *((talk("Hi.", [CALL], [{**RESULT, "content": empty}]), FIRST_PARTY) for empty in ("", [])),
    (talk("Hi.", [CALL], [{"type": "tool_result", "tool_use_id": "toolu_1"}]), FIRST_PARTY),
    (talk("Hi.", [text("a", citations=None), {**CALL, "caller": None, "toolset_name": None}], [RESULT]), FIRST_PARTY),
    (talk("Hi.", [{**CALL, "caller": {"type": "direct"}}], [RESULT]), FIRST_PARTY),
    (
        talk(
            "Hi.", [{**THINKING, "thinking": ""}, CALL], [RESULT], thinking={"type": "enabled", "budget_tokens": 1024}
        ),
        SIGNED,
    ),
    (talk("Hi.", [text("a")], "b", thinking={"type": "enabled", "budget_tokens": 1024}), FIRST_PARTY),
    (talk("Hi.", [SEARCH, FOUND, text("a")], "b"), FIRST_PARTY),
    (talk("Hi.", [SEARCH]), FIRST_PARTY),
    (
        talk(USER, assistant(SEARCH), {**SYSTEM, "content": [], "output_config": {}}, assistant(CALL), user(RESULT)),
        Profile(combine=False, system_role=True),
    ),
    (talk("Hi.", [SEARCH, CALL], [RESULT], [FOUND, text("a")], "b"), FIRST_PARTY),
    (talk("Hi.", "Hello"), Profile(prefill=True)),
    (talk("Hi.", []), Profile(prefill=True)),
    (talk(USER, SYSTEM, assistant(text("a")), USER), WITH_SYSTEM),
    (talk({"role": "system", "content": [], "output_config": {}}, USER), WITH_SYSTEM),
    (talk([image(png(2000, 2000))] * 21), FIRST_PARTY),
    (talk([image(png(2001, 2001))] * 20), FIRST_PARTY),
    (talk([image(png(8000, 8000)), image(b"not a picture that we know")]), FIRST_PARTY),
    (talk("Hi.", [{"type": "document", "source": {"type": "url", "url": "https://a.b"}}], "a"), OLD),
    (talk([text("a", citations=[{}])]), OLD),
]


@pytest.mark.parametrize(("request_", "profile"), ACCEPTED)
def test_a_request_that_the_api_takes_is_accepted(request_, profile):
    assert validate(request_, profile) is None


def test_a_problem_says_where_it_is_and_what_http_would_answer():
    problem = validate(talk("Hi.", [CALL], [RESULT], user(text("a"), RESULT)))
    assert (problem.message_index, problem.block_index) == (3, 1)
    assert (problem.status, problem.type) == (400, "invalid_request_error")
    assert validate(ask(model="old"), Profile(models=("new",))).status == 404
    assert validate(ask(model="old"), Profile(models=("new",))).type == "not_found_error"
    assert validate(ask(max_tokens=None)).message_index is None


def test_every_place_that_a_message_names_is_also_given_as_numbers():
    for _, request_, message, *profile in REFUSED:
        if message.startswith("messages.") and message[9].isdigit():
            problem = validate(request_, *profile)
            assert f"messages.{problem.message_index}" == ".".join(message.split(":")[0].split(".")[:2])
            if ".content." in message.split(":")[0]:
                assert f".content.{problem.block_index}" in message


def test_the_profile_may_be_a_dict_of_its_fields():
    assert validate(talk("Hi.", "Hello"), {"prefill": True}) is None
    assert validate(talk(USER, USER), {"combine": False}).rule == "R4"
    with pytest.raises(TypeError, match="prefil"):
        validate(ask(), {"prefil": True})


def test_thinking_and_tools_of_the_profile_stand_for_those_of_the_request():
    history = talk("Hi.", [CALL], [RESULT])
    assert validate(history, Profile(thinking=True)).rule == "K1"
    assert validate(history, Profile(tools=False, require_tools=True)).rule == "U12"
    assert validate(talk("Hi.", [CALL], [RESULT], tools=None), Profile(tools=True, require_tools=True)) is None


def test_in_a_loop_of_calls_thinking_at_its_start_is_enough():
    request = talk("Hi.", [THINKING, CALL], [RESULT], [{**CALL, "id": "b"}], [{**RESULT, "tool_use_id": "b"}])
    assert validate(request, Profile(thinking=True)) is None


def test_fields_are_checked_before_the_conversation_and_in_the_order_of_the_api():
    broken = {
        "messages": [{"role": "assistant", "content": [CALL]}],
        "zzz": 1,
        "max_tokens": "a",
        "system": 5,
        "tools": 5,
    }
    order = []
    while problem := validate({"model": "any", "max_tokens": 10, **broken}):
        order.append(problem.message.split(":")[0])
        broken.pop(order[-1], None) or broken.update(messages=[USER])
    assert order == ["tools", "system", "max_tokens", "zzz", "messages.0"]


def test_the_request_is_not_changed():
    for _, request_, _, *profile in REFUSED[:200]:
        if len(request_.get("messages") or []) < 1000:
            before = json.dumps(request_)
            validate(request_, *profile)
            assert json.dumps(request_) == before


def test_rules_say_where_their_words_were_seen():
    for rule in RULES.values():
        assert rule.says
        words = ("https://", "a published log", "common", "the SDK")
        assert rule.seen.startswith(words) or re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", rule.seen)
    assert not RULES["C11"].quoted
    disputed = {name: rule.disputed for name, rule in RULES.items() if rule.disputed}
    assert list(disputed) == ["C3", "P1", "P7"]
    for both in disputed.values():
        assert re.search(r"refused (as above|in [\w.-]+/[\w.-]+#\d+).* accepted from .* in .*[\w.-]+/[\w.-]+", both)
    assert isinstance(validate(ask(model=None)), Problem)


# ---- anything at all

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.sampled_from(["", "a", "user", "assistant", "text", "tool_use", "bash"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "id", "name", "input", "tool_use_id", "source", "model", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)
KEYS = [
    "model",
    "tool_choice",
    "tools",
    "messages",
    "system",
    "thinking",
    "output_config",
    "cache_control",
    "max_tokens",
    "metadata",
    "stop_sequences",
]


@settings(derandomize=True, suppress_health_check=list(HealthCheck))
@given(JSON, st.dictionaries(st.sampled_from(KEYS), JSON, max_size=3), st.lists(JSON, max_size=3))
def test_no_json_makes_the_rules_crash(anything, some_fields, blocks):
    for request_ in (anything, ask(**some_fields), ask(messages=blocks), talk("a", blocks, blocks), ask(tools=blocks)):
        for profile in (
            FIRST_PARTY,
            STRICT,
            Profile(prefill=True, system_role=True, require_tools=True, version="2023-06-01"),
        ):
            problem = validate(request_, profile)
            assert problem is None or problem.rule in RULES
