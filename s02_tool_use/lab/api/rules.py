"""What the Messages API refuses, in its own order and words: one Problem a request, the first one.

First the fields of the request and of its blocks (shape.py); then, here, what they say together, and whether the
messages make a conversation. Left out: what only the API's side can know, such as token counts and signatures.

A new rule is a function here with its place in ORDER, a line in rules_table.py, and in the tests what it refuses.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from ...history.fields import HOME, SERVER_RESULTS, THINKING
from .pictures import check_picture
from .rules_table import RULES

__all__ = ["FIRST_PARTY", "RULES", "STRICT", "Problem", "Profile", "validate"]


@dataclass(frozen=True)
class Profile:
    """What differs between the endpoints that speak this API. The default is the API itself, as it is today."""

    combine: bool = True  # neighbours of one role are read as one turn; some endpoints refuse them
    prefill: bool = False  # the list may end with the assistant: models before 4.6
    system_role: bool = False  # the model takes messages of the role "system"
    require_tools: bool = False  # a history with tool blocks needs `tools`: the older API, and Bedrock
    unsigned_thinking: bool = False  # thinking needs no signature: DeepSeek, MiMo
    version: str = "2026-10-21"  # of the anthropic-version header
    thinking: bool | None = None  # whether manual thinking is on, when not the request says it
    tools: bool | None = None  # whether there are tools, when not the request says it
    models: tuple = ()  # the models that there are; () is any
    max_output: int | None = None  # the most tokens that the model writes
    forged: Callable | None = None  # says whether a thinking block's signature is wrong: only a server that signs can


FIRST_PARTY = Profile()
STRICT = Profile(combine=False)


@dataclass(frozen=True)
class Problem:
    """A refusal: what the API would answer, where in the list (message and block index, or None), and by which rule.

    `rule` is a key of RULES, which says the rule in a sentence, where its words were seen, and whether they are quoted.
    """

    message: str
    rule: str
    message_index: int | None = None
    block_index: int | None = None
    status: int = 400
    type: str = "invalid_request_error"


def validate(request: object, profile: Profile | dict = FIRST_PARTY) -> Problem | None:
    """Return the first Problem that the API would report for this request body, or None when it would accept it.

    profile: a Profile, or a dict of its fields. The request may be any JSON data and is not changed.
    """
    if isinstance(profile, dict):
        profile = Profile(**profile)
    for rule, message, *place in _problems(request, profile):
        if rule == "T2":
            return Problem(message, rule, status=404, type="not_found_error")
        return Problem(message, rule, *place)
    return None


def _problems(request, profile):
    """The problems, as (rule, message, message index, block index): fields first, then what they mean together."""
    from .shape import refused  # here, since it is slow to import: pydantic and the tables

    if fault := refused(request, profile):
        yield fault
        return
    conversation = Conversation(request, profile)
    for rule in ORDER:
        yield from rule(conversation)


@dataclass
class Conversation:
    """A request as its conversation. `turns` is [(role, spots)], and a spot is (message index, block index, block);
    `indexes` has the messages of each turn, empty ones too.
    """

    request: dict
    profile: Profile
    turns: list = field(default_factory=list)
    indexes: list = field(default_factory=list)

    def __post_init__(self):
        self.messages = self.request["messages"]
        self.tools = self.request.get("tools") or []
        self.thinking = self.request.get("thinking", {}).get("type", "disabled")
        if self.profile.thinking is not None:
            self.thinking = "enabled" if self.profile.thinking else "disabled"
        for i, message in enumerate(self.messages):
            if not (self.profile.combine and self.turns and self.turns[-1][0] == message["role"]):
                self.turns.append((message["role"], []))
                self.indexes.append((message["role"], []))
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}] if content else []
            self.turns[-1][1].extend((i, j, block) for j, block in enumerate(content))
            self.indexes[-1][1].append(i)

    def spots(self):
        return (spot for _, spots in self.turns for spot in spots)

    def assistant_turns(self):
        return [spots for role, spots in self.turns if role == "assistant" and spots]


Found = Iterator[tuple]  # (rule, message), and where there is one, message index and block index


# ---- what several fields say together


def known_model(conversation: Conversation) -> Found:
    """T2. Where a list of models is given, the model is one of them."""
    model = conversation.request["model"]
    if conversation.profile.models and model not in conversation.profile.models:
        yield "T2", f"model: {model}"


def choice_that_can_be_met(conversation: Conversation) -> Found:
    """U10, U11. A tool that is forced is offered, and manual thinking is off."""
    choice = conversation.request.get("tool_choice", {})
    if choice.get("type") == "any" and not conversation.tools:
        yield "U10", "tool_choice.any may only be specified while providing tools"
    if choice.get("type") == "tool" and choice["name"] not in [tool.get("name") for tool in conversation.tools]:
        yield "U10", f"Tool '{choice['name']}' not found in provided tools"
    if choice.get("type") in ("any", "tool") and conversation.thinking == "enabled":
        yield "U11", "Thinking may not be enabled when tool_choice forces tool use."


def within_the_model(conversation: Conversation) -> Found:
    """T10, T4. Thinking fixes the temperature, and no model writes more than it can."""
    request, most = conversation.request, conversation.profile.max_output
    if request.get("temperature", 1) != 1 and conversation.thinking != "disabled":
        yield "T10", "temperature may only be set to 1 when thinking is enabled or in adaptive mode"
    if most and request["max_tokens"] > most:
        text = "which is the maximum allowed number of output tokens for"
        yield "T4", f"max_tokens: {request['max_tokens']} > {most}, {text} {request['model']}"


def tools_for_their_blocks(conversation: Conversation) -> Found:
    """U12. The older API, and Bedrock: a history with tool blocks comes with tools."""
    profile = conversation.profile
    lacks_tools = not (conversation.tools if profile.tools is None else profile.tools)
    kinds = {block["type"] for _, _, block in conversation.spots()} if profile.require_tools and lacks_tools else set()
    if kinds & {"tool_use", "tool_result"}:
        yield "U12", "Requests which include `tool_use` or `tool_result` blocks must define tools."


def room_for_thinking(conversation: Conversation) -> Found:
    """K7. What may be thought is less than what may be written."""
    thinking = conversation.request.get("thinking", {})
    if thinking.get("type") == "enabled" and conversation.request["max_tokens"] <= thinking["budget_tokens"]:
        yield "K7", "`max_tokens` must be greater than `thinking.budget_tokens`"


def container_for_code(conversation: Conversation) -> Found:
    """T12. A container comes with the code execution tool."""
    code = any(str(tool.get("type")).startswith("code_execution") for tool in conversation.tools)
    if conversation.request.get("container") is not None and not code:
        yield "T12", "Container identifier can only be provided when using the code execution tool"


# ---- content


def right_pictures(conversation: Conversation) -> Found:
    """C10. A picture is what it says it is, and not too large: each one, and many of them."""
    pictures = [
        (i, j, f".tool_result.content.{k - 1}" if k else "", part["source"])
        for i, j, block in conversation.spots()
        for k, part in enumerate(_parts(block))
        if part["type"] == "image"
    ]
    for i, j, inside, source in pictures:
        if source["type"] == "base64":
            path = f"messages.{i}.content.{j}{inside}.image.source.base64"
            for text in check_picture(source["media_type"], source["data"], path, len(pictures)):
                yield "C10", text, i, j


def has_content(conversation: Conversation) -> Found:
    """C1. A user's turn is not empty, though a message in it may be. No assistant's message is, but for the last."""
    said = {i for i, _, _ in conversation.spots()}
    for role, indexes in conversation.indexes:
        empty = [i for i in indexes if i not in said]
        if role == "user" and len(empty) == len(indexes):
            yield "C1", f"messages.{empty[0]}: user messages must have non-empty content", empty[0]
        if role == "assistant" and empty and empty[0] < len(conversation.messages) - 1:
            text = "all messages must have non-empty content except for the optional final assistant message"
            yield "C1", f"messages.{empty[0]}: {text}", empty[0]


def has_text(conversation: Conversation) -> Found:
    """C2, C3. A text block has text, and more than white space. So do the texts inside a result."""
    spots = [spot for spot in conversation.spots() if conversation.messages[spot[0]]["role"] != "system"]
    texts = [(i, j, part["text"]) for i, j, block in spots for part in _parts(block) if part["type"] == "text"]
    for i, j, text in texts:
        if not text:
            yield "C2", "messages: text content blocks must be non-empty", i, j
    for i, j, text in texts:
        if text.isspace():
            yield "C3", "messages: text content blocks must contain non-whitespace text", i, j


def _parts(block):
    """A block, and those in it if it is a result."""
    content = block.get("content") if block["type"] == "tool_result" else None
    return [block, *content] if isinstance(content, list) else [block]


def right_role(conversation: Conversation) -> Found:
    """P11, C11. Calls and thinking are the assistant's; results are the user's, and since 2026-10-21 documents too."""
    today = conversation.profile.version >= "2026-10-21"
    for i, j, block in conversation.spots():
        role, kind = conversation.messages[i]["role"], block["type"]
        if HOME.get(kind, role) != role and (today or kind != "document"):
            rule = "C11" if kind == "document" else "P11"
            yield rule, f"messages.{i}: `{kind}` blocks can only be in `{HOME[kind]}` messages", i, j
        if today and role == "user" and kind == "text" and block.get("citations"):
            yield "C11", f"messages.{i}.content.{j}.text.citations: Extra inputs are not permitted", i, j


def few_markers(conversation: Conversation) -> Found:
    """C8. At most four cache markers, counted over tools, system and messages."""
    system = conversation.request.get("system")
    blocks = [*conversation.tools, *(system if isinstance(system, list) else [])]
    blocks += (part for _, _, block in conversation.spots() for part in _parts(block))
    found = sum(block.get("cache_control") is not None for block in blocks)
    if found > 4:
        yield "C8", f"A maximum of 4 blocks with cache_control may be provided. Found {found}."


# ---- roles and ends


def system_in_its_place(conversation: Conversation) -> Found:
    """R3. Models that take a system message take it after the user, before the assistant; not at the start."""
    form = "the directive-only form (content: [] with output_config) is accepted at any position"
    for i, message in enumerate(conversation.messages):
        if message["role"] != "system" or (message["content"] == [] and "output_config" in message):
            continue
        content = message["content"]
        if not all(text.strip() for text in ([content] if isinstance(content, str) else [b["text"] for b in content])):
            yield "R3", f"messages.{i}: system text blocks must contain non-whitespace text", i
        before = conversation.messages[i - 1] if i else None
        after = conversation.messages[i + 1]["role"] if i + 1 < len(conversation.messages) else "assistant"
        if before is None:
            text = f"messages.0: use the top-level 'system' parameter for the initial system prompt; {form}"
            yield "R3", text, i
        elif before["role"] != "user" and not _ends_in(before, SERVER_RESULTS):
            text = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
            yield "R3", f"{text}; {form}", i
        elif after != "assistant":
            yield "R3", f"role 'system' must precede an 'assistant' message or end the array; {form}", i


def alternating(conversation: Conversation) -> Found:
    """R4. The API itself joins neighbours of one role; endpoints that do not, refuse them."""
    for i, (one, two) in enumerate(pairwise(conversation.messages)):
        if one["role"] == two["role"] and not conversation.profile.combine:
            role = one["role"]
            text = f'roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
            yield "R4", f"messages: {text}", i + 1


def ends_with_the_user(conversation: Conversation) -> Found:
    """R6. The models of today answer the user; only a turn that is paused on a server tool goes on by itself.
    R7, K6. Where prefill is allowed, it does not end in white space, and has no thinking unless the request wants it.
    """
    last, final = len(conversation.messages) - 1, conversation.messages[-1]
    if final["role"] != "assistant" or _ends_in(final, SERVER_RESULTS | {"server_tool_use"}):
        return
    if not conversation.profile.prefill:
        text = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield "R6", text, last
    spots = conversation.turns[-1][1]
    for i, j, block in spots:
        if block["type"] in THINKING and conversation.thinking == "disabled":
            text = (
                "When thinking is disabled, an `assistant` message in the final position cannot contain "
                f"`{block['type']}`. To use thinking blocks, enable `thinking` in your request."
            )
            yield "K6", f"messages.{i}.content.{j}: {text}", i, j
    if spots and spots[-1][2]["type"] == "text" and spots[-1][2]["text"] != spots[-1][2]["text"].rstrip():
        yield "R7", "messages: final assistant content cannot end with trailing whitespace", last, spots[-1][1]


def _ends_in(message, kinds):
    content = message["content"]
    return message["role"] == "assistant" and isinstance(content, list) and content and content[-1]["type"] in kinds


# ---- calls and results


def own_id(conversation: Conversation) -> Found:
    """P7. No two calls of a conversation have the same id, however far apart."""
    seen = set()
    for i, j, block in conversation.spots():
        if block["type"] in ("tool_use", "server_tool_use"):
            if (block["type"], block["id"]) in seen:
                yield "P7", f"messages.{i}.content.{j}: `tool_use` ids must be unique", i, j
            seen.add((block["type"], block["id"]))


def answered_at_once(conversation: Conversation) -> Found:
    """The pairing rule, turn by turn: the assistant's calls against the results in the user's turn after them."""
    nobody: tuple[str, list] = ("user", [])
    for (_, before), (role, spots), (next_role, after) in zip(
        [nobody, *conversation.turns], conversation.turns, [*conversation.turns[1:], nobody], strict=False
    ):
        if role == "assistant":
            yield from _open_calls(spots, after if next_role == "user" else [])
        elif role == "user":
            yield from _stray_results(spots, before)


def _open_calls(spots, following):
    """P1 to P4. Calls that end the assistant's turn are answered by results that begin the user's, in any order.
    A call with anything after it does not end its turn, and a result with anything before it does not begin one.
    """
    answered = {block["tool_use_id"] for _, _, block in _leading(following, "tool_result")}
    ending = len(spots) - len(list(_leading(reversed(spots), "tool_use")))
    open_calls = [
        (i, j, block["id"])
        for k, (i, j, block) in enumerate(spots)
        if block["type"] == "tool_use" and (k < ending or block["id"] not in answered)
    ]
    if open_calls:
        i, j, _ = open_calls[0]
        text = (
            "`tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(name for _, _, name in open_calls)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
        yield "P1", f"messages.{i}: {text}", i, j


def _stray_results(spots, before):
    """P5, P6. A result answers a call of the turn before, and no call has two results."""
    calls = {block["id"] for _, _, block in before if block["type"] == "tool_use"}
    seen = set()
    for i, j, block in spots:
        if block["type"] != "tool_result":
            continue
        name = block["tool_use_id"]
        if name in seen:
            text = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: " + name
            yield "P6", f"messages.{i}.content.{j}: {text}", i, j
        elif name not in calls:
            text = (
                f"unexpected `tool_use_id` found in `tool_result` blocks: {name}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            yield "P5", f"messages.{i}.content.{j}: {text}", i, j
        seen.add(name)


def _leading(spots, kind):
    """The spots with which a turn begins, as long as they are of this kind."""
    return takewhile(lambda spot: spot[2]["type"] == kind, spots)


def server_pairs(conversation: Conversation) -> Found:
    """P14. The result of a tool at the API's side follows its call; until it does, the user may only send results."""
    calls, finished = set(), set()
    for i, j, block in conversation.spots():
        kind = block["type"]
        if kind == "server_tool_use":
            calls.add(block["id"])
        elif kind in SERVER_RESULTS:
            name = block["tool_use_id"]
            if name not in calls or name in finished:
                text = (
                    f"unexpected `tool_use_id` found in `{kind}` blocks: {name}. "
                    f"Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                )
                yield "P14", f"messages.{i}.content.{j}: {text}", i, j
            finished.add(name)
    for (role, spots), (_, following) in pairwise(conversation.turns):
        for i, j, block in spots if role == "assistant" else ():
            unfinished = block["type"] == "server_tool_use" and block["id"] not in finished
            if unfinished and any(other["type"] != "tool_result" for _, _, other in following):
                text = "has no result yet: the next message may only hold `tool_result` blocks"
                yield "P14", f"messages.{i}.content.{j}: `server_tool_use` {block['id']} {text}", i, j


# ---- thinking


def thinking_comes_first(conversation: Conversation) -> Found:
    """K1. With manual thinking, the assistant's turn that waits for these results began with its thinking."""
    loop = []
    for role, spots in reversed(conversation.turns):
        if role == "user" and not (spots and spots[0][2]["type"] == "tool_result"):
            break
        if role == "assistant" and spots:
            loop.append(spots[0])
    if (
        conversation.thinking == "enabled"
        and loop
        and not any(block["type"] in THINKING for _, _, block in (loop[0], loop[-1]))
    ):
        i, j, block = loop[0]
        text = (
            f"Expected `thinking` or `redacted_thinking`, but found `{block['type']}`. When `thinking` is enabled, "
            "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
            "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
        yield "K1", f"messages.{i}.content.{j}.type: {text}", i, j


def thinking_is_untouched(conversation: Conversation) -> Found:
    """K2, K3. Thinking is signed: in the latest turn nothing of it may be changed; a wrong signature never passes."""
    latest = conversation.assistant_turns()[-1:]
    for i, j, block in conversation.spots():
        if block["type"] != "thinking" or conversation.profile.unsigned_thinking:
            continue
        forged = conversation.profile.forged is not None and conversation.profile.forged(block)
        if forged and latest and i >= latest[0][0][0]:
            text = (
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response."
            )
            yield "K2", f"messages.{i}.content.{j}: {text}", i, j
        elif forged or not block["signature"]:
            yield "K3", f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block", i, j


def thinking_is_not_last(conversation: Conversation) -> Found:
    """K5. An assistant's turn does not end in thinking."""
    for spots in conversation.assistant_turns():
        i, j, block = spots[-1]
        if block["type"] in THINKING:
            yield "K5", f"messages.{i}: The final block in an assistant message cannot be `{block['type']}`.", i, j


ORDER = (
    known_model,
    choice_that_can_be_met,
    within_the_model,
    tools_for_their_blocks,
    right_pictures,
    has_content,
    has_text,
    system_in_its_place,
    right_role,
    own_id,
    answered_at_once,
    server_pairs,
    alternating,
    thinking_comes_first,
    thinking_is_untouched,
    thinking_is_not_last,
    ends_with_the_user,
    few_markers,
    room_for_thinking,
    container_for_code,
)
