"""What the Messages API refuses, in its own words. Small first version: pairing, empty content, unknown fields."""

from dataclasses import dataclass, fields

from s02_tool_use.messages import FIELDS


@dataclass(frozen=True)
class Profile:
    """What differs between endpoints: first-party API by default."""

    combine: bool = True
    prefill: bool = False
    system_role: bool = False
    require_tools: bool = False
    version: str = "2026-10-21"
    thinking: bool | None = None
    tools: bool | None = None


FIRST_PARTY = Profile()
STRICT = Profile(combine=False)


@dataclass(frozen=True)
class Problem:
    """One refusal: HTTP status, error type, message as the API words it, the place in the list, and the rule's name."""

    message: str
    rule: str
    message_index: int | None = None
    block_index: int | None = None
    status: int = 400
    type: str = "invalid_request_error"


def validate(request, profile=FIRST_PARTY):
    """The first Problem that the API would report for this request, or None when it would accept it."""
    if isinstance(profile, dict):
        known = {f.name for f in fields(Profile)}
        profile = Profile(**{k: v for k, v in profile.items() if k in known})
    messages = request["messages"]
    return next(iter(_problems(messages, profile)), None)


def _problems(messages, profile):
    for i, message in enumerate(messages):
        for j, block in enumerate(_blocks(message)):
            for key in block.keys() - FIELDS.get(block.get("type"), block.keys()):
                yield Problem(
                    f"messages.{i}.content.{j}.{block['type']}.{key}: Extra inputs are not permitted", "C5", i, j
                )
        for key in message.keys() - {"role", "content"}:
            yield Problem(f"messages.{i}.{key}: Extra inputs are not permitted", "R8", i)
    last = len(messages) - 1
    for i, message in enumerate(messages):
        if not message["content"]:
            if message["role"] == "user":
                yield Problem(f"messages.{i}: user messages must have non-empty content", "C1", i)
            elif i != last:
                text = "all messages must have non-empty content except for the optional final assistant message"
                yield Problem(f"messages.{i}: {text}", "C1", i)
    seen = set()
    for i, message in enumerate(messages):
        for j, block in enumerate(_blocks(message)):
            kind = block.get("type")
            if kind == "tool_result" and message["role"] != "user":
                yield Problem(f"messages.{i}: `tool_result` blocks can only be in `user` messages", "P11", i, j)
            if kind == "tool_use" and message["role"] != "assistant":
                yield Problem(f"messages.{i}: `tool_use` blocks can only be in `assistant` messages", "P11", i, j)
            if kind == "tool_use":
                if block["id"] in seen:
                    yield Problem(f"messages.{i}.content.{j}: `tool_use` ids must be unique", "P7", i, j)
                seen.add(block["id"])
    turns = []
    for i, message in enumerate(messages):
        blocks = [(i, j, block) for j, block in enumerate(_blocks(message))]
        if profile.combine and turns and turns[-1][0] == message["role"]:
            turns[-1][1].extend(blocks)
        else:
            turns.append((message["role"], blocks, i))
    for t, (role, blocks, start) in enumerate(turns):
        if role == "assistant":
            after = turns[t + 1][1] if t + 1 < len(turns) else []
            answered = set()
            for _, _, block in after:
                if block.get("type") != "tool_result":
                    break
                answered.add(block["tool_use_id"])
            trailing = True
            missing = []
            for i, _j, block in reversed(blocks):
                if block.get("type") != "tool_use":
                    trailing = False
                elif not trailing or block["id"] not in answered:
                    missing.insert(0, (i, block["id"]))
            if missing:
                ids = ", ".join(name for _, name in missing)
                yield Problem(
                    f"messages.{missing[0][0]}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                    f"{ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                    "P1",
                    missing[0][0],
                )
        else:
            calls = {b["id"] for _, _, b in turns[t - 1][1] if b.get("type") == "tool_use"} if t else set()
            seen = set()
            for i, j, block in blocks:
                if block.get("type") != "tool_result":
                    continue
                name = block["tool_use_id"]
                if name not in calls:
                    yield Problem(
                        f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each "
                        "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
                        "P5",
                        i,
                        j,
                    )
                if name in seen:
                    yield Problem(
                        f"messages.{i}.content.{j}: each tool_use must have a single result. Found multiple `tool_result` "
                        f"blocks with id: {name}",
                        "P6",
                        i,
                        j,
                    )
                seen.add(name)
    if messages and messages[-1]["role"] == "assistant" and not profile.prefill:
        text = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield Problem(text, "R6", last)


def _blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else list(content or [])
