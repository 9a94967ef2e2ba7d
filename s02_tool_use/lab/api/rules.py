"""What the Messages API refuses, in its own order and words: one Problem a request, the first one.

First the fields of the request and of its blocks (rules_request.py, rules_content.py); then, here, whether the messages
make a conversation. Left out: what only the API's side can know, such as token counts and signatures.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from ...history.fields import HOME, SERVER_RESULTS, THINKING
from .rules_content import check_messages
from .rules_request import check_across, check_fields
from .rules_special import (
    ends_in,
    server_pairs,
    system_in_its_place,
    thinking_comes_first,
    thinking_is_not_last,
    thinking_is_untouched,
)
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
    forged: Callable | None = (
        None  # says of a thinking block whether its signature is wrong; only a server that signs can
    )


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


def validate(request, profile=FIRST_PARTY):
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
    """All problems, as (rule, message, message index, block index): fields first, then the conversation."""
    yield from check_fields(request, profile, lambda messages: check_messages(messages, profile))
    yield from check_across(request, profile)
    conversation = Conversation(request, profile)
    for rule in CONVERSATION:
        yield from rule(conversation)
    yield from check_across(request, profile, last=True)


# ---- the conversation


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
        thinking = self.request.get("thinking") or {}
        self.thinking = thinking.get("type", "disabled")
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


def has_content(conversation):
    """C1. A user's turn is not empty, though a message in it may be. No assistant's message is, but for the last."""
    said = {i for i, _, _ in conversation.spots()}
    for role, indexes in conversation.indexes:
        empty = [i for i in indexes if i not in said]
        if role == "user" and len(empty) == len(indexes):
            yield "C1", f"messages.{empty[0]}: user messages must have non-empty content", empty[0]
        if role == "assistant" and empty and empty[0] < len(conversation.messages) - 1:
            text = "all messages must have non-empty content except for the optional final assistant message"
            yield "C1", f"messages.{empty[0]}: {text}", empty[0]


def has_text(conversation):
    """C2, C3. A text block has text, and more than white space. So do the texts inside a result."""
    spots = [spot for spot in conversation.spots() if conversation.messages[spot[0]]["role"] != "system"]
    texts = [(i, j, text) for i, j, block in spots for text in _texts(block)]
    for i, j, text in texts:
        if not text:
            yield "C2", "messages: text content blocks must be non-empty", i, j
    for i, j, text in texts:
        if text.isspace():
            yield "C3", "messages: text content blocks must contain non-whitespace text", i, j


def _texts(block):
    content = block.get("content")
    inner = content if block["type"] == "tool_result" and isinstance(content, list) else []
    return [part["text"] for part in (block, *inner) if part["type"] == "text"]


def right_role(conversation):
    """P11, C11. Calls and thinking are the assistant's; results are the user's, and since 2026-10-21 documents too."""
    for i, j, block in conversation.spots():
        role, kind = conversation.messages[i]["role"], block["type"]
        if kind == "document" and conversation.profile.version < "2026-10-21":
            continue
        if HOME.get(kind, role) != role:
            rule = "C11" if kind == "document" else "P11"
            yield rule, f"messages.{i}: `{kind}` blocks can only be in `{HOME[kind]}` messages", i, j
        if (
            role == "user"
            and block.get("citations")
            and kind == "text"
            and conversation.profile.version >= "2026-10-21"
        ):
            yield "C11", f"messages.{i}.content.{j}.text.citations: Extra inputs are not permitted", i, j


def own_id(conversation):
    """P7. No two calls of a conversation have the same id, however far apart."""
    seen = set()
    for i, j, block in conversation.spots():
        if block["type"] in ("tool_use", "server_tool_use"):
            if (block["type"], block["id"]) in seen:
                yield "P7", f"messages.{i}.content.{j}: `tool_use` ids must be unique", i, j
            seen.add((block["type"], block["id"]))


def answered_at_once(conversation):
    """The pairing rule, turn by turn: the assistant's calls against the results in the user's turn after them."""
    nobody = ("user", [])
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


def alternating(conversation):
    """R4. The API itself joins neighbours of one role; endpoints that do not, refuse them."""
    for i, (one, two) in enumerate(pairwise(conversation.messages)):
        if one["role"] == two["role"] and not conversation.profile.combine:
            role = one["role"]
            text = f'roles must alternate between "user" and "assistant", but found multiple "{role}" roles in a row'
            yield "R4", f"messages: {text}", i + 1


def ends_with_the_user(conversation):
    """R6. The models of today answer the user; only a turn that is paused on a server tool goes on by itself.
    R7, K6. Where prefill is allowed, it does not end in white space, and has no thinking unless the request wants it.
    """
    last, final = len(conversation.messages) - 1, conversation.messages[-1]
    if final["role"] != "assistant" or ends_in(final, SERVER_RESULTS | {"server_tool_use"}):
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


def few_markers(conversation):
    """C8. At most four cache markers, counted over tools, system and messages."""
    tools, system = conversation.request.get("tools") or [], conversation.request.get("system") or []
    blocks = [*tools, *(system if isinstance(system, list) else [])]
    for _, _, block in conversation.spots():
        inside = block.get("content") if block["type"] == "tool_result" else None
        blocks += [block, *(inside if isinstance(inside, list) else [])]
    found = sum(isinstance(block, dict) and block.get("cache_control") is not None for block in blocks)
    if found > 4:
        yield "C8", f"A maximum of 4 blocks with cache_control may be provided. Found {found}."


CONVERSATION = (
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
)
