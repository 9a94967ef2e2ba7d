"""Every rule in one line: what it asks, and where its words were seen. The checks are in shape.py and rules.py.

`quoted`: the words are those of a real response, as reported where they were `seen`. Otherwise the rule is documented
or observed, and the words are ours. `disputed`: the API was also seen to accept what the rule refuses; then it is
accepted here where it was. The API's words may change at any time: branch on status and type.
"""

from typing import NamedTuple

_MIGRATION = "https://platform.claude.com/docs/en/api/migration-2026-10-21"
_PROBES = "a published log of probes against the API, 2026-08-30"


class Rule(NamedTuple):
    says: str
    seen: str  # owner/repository#issue, or where else
    quoted: bool = True
    disputed: str = ""  # what was seen elsewhere, and where


RULES = {
    # The request
    "T1": Rule("the model is a string that is not empty", _PROBES),
    "T2": Rule("an unknown model is not found (404)", "common to every report of a retired model"),
    "T3": Rule("max_tokens is there, a whole number of at least 0", _PROBES),
    "T4": Rule("max_tokens is not more than the model can write", "anthropics/claude-code#24451"),
    "T6": Rule("messages is a list with at least one message", _PROBES),
    "T7": Rule("there are at most 100,000 messages", "the SDK's docstring of messages.create", False),
    "T8": Rule("there is no key that the API does not know", "Aider-AI/aider#3367"),
    "T9": Rule("system is a string or a list of text blocks", _PROBES),
    "T10": Rule("there is no temperature, top_p, top_k since version 2026-10-21", _MIGRATION),
    "T11": Rule("stop_sequences, stream, metadata, service_tier and the like have their types", _PROBES),
    "T12": Rule("a container comes with the code execution tool", _PROBES),
    "T14": Rule("the anthropic-version is one that there was", "decolua/9router#2357"),
    "T15": Rule("a beta is known, and what it brings comes with its header", "pacifio/cersei#20"),
    "T16": Rule("an effort is one that the model has", "askalf/dario#491"),
    # Tools
    "U1": Rule("a tool's name is 1 to 128 letters, digits, _ or -", "modelcontextprotocol/modelcontextprotocol#1345"),
    "U2": Rule("no two tools have the same name", "anthropics/claude-code#10687"),
    "U3": Rule("a tool has an input_schema of type object", _PROBES),
    "U4": Rule("an input_schema is JSON Schema 2020-12", "anthropics/claude-code#86664"),
    "U5": Rule("an input_schema has no union at its top", "anthropics/claude-code#40075"),
    "U6": Rule("a strict tool closes its objects", _PROBES),
    "U7": Rule("tools is a list of objects with known fields", "anthropics/claude-code#31033"),
    "U8": Rule("a tool's type is known", "BerriAI/litellm#26324"),
    "U9": Rule("tool_choice is auto, any, tool or none", _PROBES),
    "U10": Rule("a tool that is forced is offered", _PROBES),
    "U11": Rule("manual thinking is off when a tool is forced", "mastra-ai/mastra#7507"),
    "U12": Rule("a history with tool blocks comes with tools (older API)", "langgenius/dify#17545"),
    "U13": Rule("a property at the top of an input_schema has a short and plain name", "anthropics/claude-code#79418"),
    # Roles
    "R1": Rule("a message is the user's or the assistant's", "BerriAI/litellm#26324"),
    "R2": Rule("the system prompt is no message", "ianarawjo/ChainForge#271"),
    "R3": Rule("a system message, if the model takes it, comes after the user's", "anthropics/claude-code#73821"),
    "R4": Rule("neighbours of one role are one turn; endpoints that do not join them refuse them", "etkecc/baibot#13"),
    "R6": Rule("the list ends with the user", "cortexkit/magic-context#511"),
    "R7": Rule("a prefill does not end in white space", "tailcallhq/forgecode#1872"),
    "R8": Rule("a message has role and content, and nothing else", _PROBES),
    # Content
    "C1": Rule("a message is not empty", "anthropics/claude-code#6774"),
    "C2": Rule("a text block is not empty", "anthropics/anthropic-sdk-python#461"),
    "C3": Rule(
        "a text block is not only white space",
        "anthropics/claude-code#23440",
        disputed="a space beside two calls: refused as above, accepted from a model of 4.5 in simonw/llm-anthropic",
    ),
    "C4": Rule("a block is an object of a known type, with the fields of that type", "AstrBotDevs/AstrBot#4444"),
    "C5": Rule("a block has no field that the API does not know", "anthropics/claude-code#4378"),
    "C6": Rule("a result may be empty, unless it is an error", "jlevy/markform#153"),
    "C7": Rule("an empty text carries no cache marker", "anthropics/claude-code#62379"),
    "C8": Rule("there are at most four cache markers", "tghamm/Anthropic.SDK#50"),
    "C9": Rule("a cache marker has a type and a ttl, and nothing else", "anthropics/claude-code#25597"),
    "C10": Rule("a picture is what it says it is, and not too large", "anthropics/claude-code#8184"),
    "C12": Rule("no cache marker of 1h after one of 5m", "cnighswonger/claude-code-cache-fix#44"),
    "C13": Rule("an error holds text alone", "vellum-ai/vellum-assistant#18387"),
    "C11": Rule("since 2026-10-21 no documents from the assistant, no citations from the user", _MIGRATION, False),
    # Calls and results
    "P1": Rule(
        "every call is answered at once, by the results that begin the next turn",
        "anthropics/claude-code#1237",
        disputed="text between calls: refused in BerriAI/litellm#22947 and vercel/ai#13013, accepted from five models "
        "in gotgenes/pi-anthropic-auth#66 and here",
    ),
    "P5": Rule("no result without a call in the turn before", "anthropics/claude-code#13460"),
    "P6": Rule("one result a call", "anthropics/claude-code#14110"),
    "P7": Rule(
        "every call has an id of its own",
        "NVIDIA-NeMo/Switchyard#502",
        disputed="an id again in a later turn: refused as above and in brainlid/langchain#619, accepted from a model "
        "of 4.5 in two recordings of pydantic/pydantic-ai",
    ),
    "P8": Rule("a call's id is letters, digits, _ and -", "anomalyco/opencode#1279"),
    "P9": Rule("a call's name has 1 to 200 characters", _PROBES),
    "P10": Rule("a call's input is an object", "anthropics/claude-code#6695"),
    "P11": Rule("calls are the assistant's, results the user's", _PROBES),
    "P12": Rule("a result says which call it answers", _PROBES),
    "P13": Rule("a call's caller is of a known type", _PROBES, False),
    "P14": Rule("a call at the API's side has an id of the API's; its result follows", "anthropics/claude-code#64383"),
    # Thinking
    "K1": Rule("with manual thinking on, a turn that calls tools begins with its thinking", "anomalyco/opencode#3077"),
    "K2": Rule("the thinking of the latest turn comes back as it was", "anthropics/claude-code#19539"),
    "K3": Rule("thinking has a valid signature", "anthropics/claude-code#10627"),
    "K4": Rule("thinking has its fields, though the text may be empty", "justlovemaki/AIClient2API#437"),
    "K5": Rule("an assistant's turn does not end in thinking", "tailcallhq/forgecode#2107"),
    "K6": Rule("no thinking in a prefill unless thinking is on", "tailcallhq/forgecode#1853"),
    "K7": Rule("thinking is configured as the API knows it, with a budget below max_tokens", _PROBES),
}

# What is said where the words are not pydantic's, and too long for a line of rules.py.
WORDS = {
    "T3": "must be greater than or equal to 0",
    "T6": "at least one message is required",
    "T7": "at most 100000 messages are allowed",
    "T10": "range: 0..1",
    "T15": "Unexpected value(s) {} for the `anthropic-beta` header. Please consult our documentation at "
    "platform.claude.com/docs or try again without the header.",
    "U2": "Tool names must be unique.",
    "U4": "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).",
    "U5": "input_schema does not support oneOf, allOf, or anyOf at the top level",
    "U6": "For 'object' type, 'additionalProperties' must be explicitly set to false",
    "U13": "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    "R1": 'Unexpected role "{}". Allowed roles are "user" or "assistant"',
    "R2": 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
    'not "system" as an input message role.',
    "R2 by model": "role 'system' is not supported on this model",
    "C2": "text content blocks must be non-empty",
    "C3": "text content blocks must contain non-whitespace text",
    "C6": "content cannot be empty if `is_error` is true",
    "C7": "cache_control cannot be set for empty text blocks",
    "C12": "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are "
    "processed in the following order: `tools`, `system`, `messages`.",
    "C13": "all content must be type `text` if `is_error` is true",
    "P1": "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    "P5": "messages.{}.content.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    "P6": "messages.{}.content.{}: each tool_use must have a single result. "
    "Found multiple `tool_result` blocks with id: {}",
    "P14": "messages.{0}.content.{1}: unexpected `tool_use_id` found in `{2}` blocks: {3}. "
    "Each `{2}` block must have a corresponding `{4}` block before it.",
    "K1": "messages.{}.content.{}.type: Expected `thinking` or `redacted_thinking`, but found `{}`. "
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
    "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. "
    "To avoid this requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking",
    "K2": "messages.{}.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
    "modified. These blocks must remain as they were in the original response.",
    "K3": "messages.{}.content.{}: Invalid `signature` in `thinking` block",
    "K6": "messages.{}.content.{}: When thinking is disabled, an `assistant` message in the final position cannot "
    "contain `{}`. To use thinking blocks, enable `thinking` in your request.",
    "K7": '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.',
}
