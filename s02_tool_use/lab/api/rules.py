"""What the Messages API refuses, in its own order and words: one Problem a request, the first one.

First the headers (allowed.py) and the fields of the request and of its blocks (shape.py); then, here, what they say
together, and whether the messages make a conversation. Left out: what only the API's side can know, such as token
counts and the signatures of others.

A new rule is a function that returns Found, where the API looks for it, a line in rules_table.py, and in the tests
what it refuses.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, pairwise, takewhile
from operator import not_
from typing import Any

from ...calls.pictures import check_picture
from ...history.fields import CALL_OF, GOES_ON, HOME, SERVER_CALLS, SERVER_RESULTS, THINKING
from ...history.system import version_of
from ...history.turns import ends_in
from .allowed import BETAS, VERSIONS, effort_levels, lacking
from .rules_table import RULES, WORDS
from .wire import ERROR_TYPES

__all__ = ["FIRST_PARTY", "RULES", "STRICT", "Problem", "Profile", "validate"]


@dataclass(frozen=True)
class Profile:
    """What differs between the endpoints that speak this API. The default is the API itself, as it is today."""

    combine: bool = True  # neighbours of one role are read as one turn; some endpoints refuse them
    prefill: bool | None = None  # the list may end with the assistant; None: as the model has it
    system_role: bool | None = None  # messages may have the role "system"; None: as the model has it
    require_tools: bool = False  # a history with tool blocks needs `tools`: the older API, and Bedrock
    version: str = "2026-10-21"  # of the anthropic-version header
    betas: frozenset[str] | None = None  # of the anthropic-beta header; None: not known, so nothing is missing
    thinking: bool | None = None  # whether manual thinking is on, when not the request says it
    tools: bool | None = None  # whether there are tools, when not the request says it
    models: tuple = ()  # the models that there are; () is any
    max_output: int | None = None  # the most tokens that the model writes
    forged: Callable | None = None  # (block, calls before it) -> whether it was changed: only who signs knows


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

    @property
    def status(self) -> int:
        return 404 if self.rule == "T2" else 400

    @property
    def type(self) -> str:
        return ERROR_TYPES[self.status]


def validate(request: object, profile: Profile | dict = FIRST_PARTY) -> Problem | None:
    """Return the first Problem that the API would report for this request body, or None when it would accept it.

    profile: a Profile, or a dict of its fields. The request may be any JSON data and is not changed.
    """
    from .shape import refused  # here, since it is slow to import: pydantic and the tables

    if isinstance(profile, dict):
        profile = Profile(**profile)
    found = next(known_headers(profile), None) or refused(request, profile)
    if found is None:  # each field is right: what do they mean together?
        conversation = Conversation(request, profile)
        found = next((problem for rule in ORDER for problem in rule(conversation)), None)
    if found is None:
        return None
    rule, message, *place = found
    named = re.match(r"messages\.(\d+)(?:\.content\.(\d+))?", message)  # most messages say their place themselves
    return Problem(message, rule, *(place or [int(part) for part in (named.groups() if named else ()) if part]))


class Conversation:
    """A request as its conversation. `spots` has all blocks, as (message index, block index, block); `turns` is
    [(role, its spots)], and `starts` the first message of each turn, which may be an empty one; `parts` has the blocks
    and those inside results, as (message index, block index, where in the block, block).
    """

    def __init__(self, request: Any, profile: Profile) -> None:
        self.request, self.profile = request, profile
        self.messages, self.tools = request["messages"], request.get("tools") or []
        self.model = version_of(request["model"])
        self.older = self.model is not None and self.model < (4, 6)
        self.thinking = request.get("thinking", {}).get("type", "disabled")
        if profile.thinking is not None:
            self.thinking = "enabled" if profile.thinking else "disabled"
        self.turns: list[tuple[str, list]] = []
        self.starts: list[int] = []
        for i, message in enumerate(self.messages):
            if message["role"] == "system" and message["content"] == []:
                continue  # it only sets options, and may stand anywhere
            if not (profile.combine and self.turns and self.turns[-1][0] == message["role"]):
                self.turns.append((message["role"], []))
                self.starts.append(i)
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}] if content else []
            self.turns[-1][1].extend((i, j, block) for j, block in enumerate(content))
        self.spots = [spot for _, spots in self.turns for spot in spots]
        self.parts = [(i, j, *part) for i, j, block in self.spots for part in _parts(block)]
        system = request.get("system")
        holders = [(f"tools.{n}", ".custom", tool) for n, tool in enumerate(self.tools)]
        holders += [(f"system.{n}", "", block) for n, block in enumerate(system if isinstance(system, list) else ())]
        holders += [(f"messages.{i}.content.{j}{at}", f".{part['type']}", part) for i, j, at, part in self.parts]
        self.markers = [(*path, holder["cache_control"]) for *path, holder in holders if holder.get("cache_control")]


def _parts(block):
    content = block.get("content") if block["type"] == "tool_result" else None
    if isinstance(content, list):
        yield from ((f".tool_result.content.{k}", part) for k, part in enumerate(content))
    yield "", block


Found = Iterator[tuple]  # (rule, message), and message index and block index if the message does not say them


def known_headers(profile: Profile) -> Iterator[tuple[str, str]]:
    """T14, T15. What comes before the body: the version is one that there was, and so is each beta."""
    if profile.version not in VERSIONS:
        yield "T14", f'anthropic-version: "{profile.version}" is not a valid version'
    if unknown := sorted((profile.betas or frozenset()) - BETAS):
        yield "T15", WORDS["T15"].format(", ".join(f"`{beta}`" for beta in unknown))


# ---- the rules, in the order of the API: each function from here on that returns Found


def what_a_beta_brings(conversation: Conversation) -> Found:
    """T15. The fields, tools and blocks of a beta come with its header. A block is named as one that nobody knows."""
    from .shape import BUILT_IN, QUOTED_TAGS, UNKNOWN_TAG

    request, missing = conversation.request, lacking(conversation.profile.betas)
    for n, tool in enumerate(conversation.tools):
        if tool.get("type") in missing:
            known = ", ".join(f"'{name}'" for name in ["custom", *BUILT_IN] if name not in missing)
            yield "T15", f"tools.{n}: {UNKNOWN_TAG.format(tool['type'], known)}"
    for i, j, _, part in conversation.parts:
        if part["type"] in missing:
            yield "T15", f"messages.{i}.content.{j}: {UNKNOWN_TAG.format(part['type'], QUOTED_TAGS)}"
    places = [("", request), ("thinking.", request.get("thinking")), ("output_config.", request.get("output_config"))]
    places += [(f"messages.{i}.", message) for i, message in enumerate(conversation.messages)]
    places += [(f"{path}{tag}.cache_control.ephemeral.", marker) for path, tag, marker in conversation.markers]
    for path, holder in places:
        for name in sorted(missing & (holder or {}).keys()):
            yield "C9" if name == "scope" else "T15", f"{path}{name}: Extra inputs are not permitted"


def fields_that_fit(conversation: Conversation) -> Found:
    """T2. Where a list of models is given, the model is one of them.
    T16, K7. Its effort and its thinking are those that the model has.
    U10, U11. A tool that is forced is offered, and manual thinking is off.
    T10, T4. Thinking fixes the temperature, and no model writes more than it can.
    U12. The older API, and Bedrock: a history with tool blocks comes with tools.
    """
    request, profile, thinking = conversation.request, conversation.profile, conversation.thinking
    model, most, choice = request["model"], profile.max_output, request.get("tool_choice", {})
    if profile.models and model not in profile.models:
        yield "T2", f"model: {model}"
    effort, levels = (request.get("output_config") or {}).get("effort"), effort_levels(model)
    if effort and not levels:
        yield "T16", "This model does not support the effort parameter."
    if effort and effort not in levels:
        yield "T16", f"This model does not support effort level '{effort}'. Supported levels: {', '.join(levels)}."
    if conversation.model and conversation.model >= (4, 7) and thinking == "enabled":
        yield "K7", WORDS["K7"]
    if conversation.older and thinking == "adaptive":
        yield "K7", "adaptive thinking is not supported on this model"
    if choice.get("type") == "any" and not conversation.tools:
        yield "U10", "tool_choice.any may only be specified while providing tools"
    if choice.get("type") == "tool" and choice["name"] not in [tool.get("name") for tool in conversation.tools]:
        yield "U10", f"Tool '{choice['name']}' not found in provided tools"
    if choice.get("type") in ("any", "tool") and thinking == "enabled":
        yield "U11", "Thinking may not be enabled when tool_choice forces tool use."
    if request.get("temperature", 1) != 1 and thinking != "disabled":
        yield "T10", "temperature may only be set to 1 when thinking is enabled or in adaptive mode"
    if most and request["max_tokens"] > most:
        text = "which is the maximum allowed number of output tokens for"
        yield "T4", f"max_tokens: {request['max_tokens']} > {most}, {text} {model}"
    offered = conversation.tools if profile.tools is None else profile.tools
    kinds = {block["type"] for _, _, block in conversation.spots} if profile.require_tools else set()
    if kinds & {"tool_use", "tool_result"} and not offered:
        yield "U12", "Requests which include `tool_use` or `tool_result` blocks must define tools."


# ---- content


def right_pictures(conversation: Conversation) -> Found:
    """C10. A picture is what it says it is, and not too large: each one, and many of them."""
    pictures = [(i, j, inside, part["source"]) for i, j, inside, part in conversation.parts if part["type"] == "image"]
    for i, j, inside, source in pictures:
        if source["type"] == "base64":
            path = f"messages.{i}.content.{j}{inside}.image.source.base64"
            yield from (("C10", text) for text in check_picture(source, path, len(pictures)))


def has_content(conversation: Conversation) -> Found:
    """C1. A user's turn is not empty, though a message in it may be. No assistant's message is, but for the last."""
    starts = zip(conversation.starts, conversation.turns, strict=True)
    empty = {start for start, (role, spots) in starts if role == "user" and not spots}
    for i, message in enumerate(conversation.messages):
        if i in empty:
            yield "C1", f"messages.{i}: user messages must have non-empty content"
        if message["role"] == "assistant" and not message["content"] and i < len(conversation.messages) - 1:
            text = "all messages must have non-empty content except for the optional final assistant message"
            yield "C1", f"messages.{i}: {text}"


def has_text(conversation: Conversation) -> Found:
    """C2, C3. A text block has text, and more than white space. So has each one inside a result. Disputed: models
    before 4.6 took white space beside a call.
    """
    beside = {i for i, _, block in conversation.spots if block["type"] == "tool_use" and conversation.older}
    for rule, is_wrong in ("C2", not_), ("C3", str.isspace):
        for i, j, _, part in conversation.parts:
            passes = conversation.messages[i]["role"] == "system" or (rule == "C3" and i in beside)
            if part["type"] == "text" and is_wrong(part["text"]) and not passes:
                yield rule, f"messages: {WORDS[rule]}", i, j


# ---- roles


def system_in_its_place(conversation: Conversation) -> Found:
    """R3. Models that take system messages take them, also several, after the user and before the assistant."""
    messages = conversation.messages
    others = [None, *(message for message in messages if message["role"] != "system"), None]
    place = 0  # in `others`: of the last one before
    for i, message in enumerate(messages):
        content = message["content"]
        if message["role"] != "system":
            place += 1
            continue
        if content == [] and "output_config" in message:
            continue
        texts = [content] if isinstance(content, str) else [block.get("text", ".") for block in content]
        if not texts or not all(text.strip() for text in texts):
            yield "R3", f"messages.{i}: system text blocks must contain non-whitespace text"
        before, after = others[place], others[place + 1]
        if before is None:
            text = f"messages.{i}: use the top-level 'system' parameter for the initial system prompt"
        elif before["role"] != "user" and not ends_in(before, SERVER_RESULTS):
            text = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
        elif after is not None and after["role"] != "assistant":
            text = "role 'system' must precede an 'assistant' message or end the array"
        else:
            continue
        yield "R3", f"{text}; the directive-only form (content: [] with output_config) is accepted at any position", i


def right_role(conversation: Conversation) -> Found:
    """P11, C11. Calls and thinking are the assistant's; results are the user's, and since 2026-10-21 documents too."""
    today = conversation.profile.version >= "2026-10-21"
    for i, j, block in conversation.spots:
        role, kind = conversation.messages[i]["role"], block["type"]
        if HOME.get(kind, role) != role and (today or kind != "document"):
            rule = "C11" if kind == "document" else "P11"
            yield rule, f"messages.{i}: `{kind}` blocks can only be in `{HOME[kind]}` messages", i, j
        if today and role == "user" and kind == "text" and block.get("citations"):
            yield "C11", f"messages.{i}.content.{j}.text.citations: Extra inputs are not permitted"


# ---- calls and results


def own_id(conversation: Conversation) -> Found:
    """P7. No two calls of a conversation have the same id, however far apart. Disputed: models before 4.6 took an id
    again in a later turn.
    """
    seen = set()
    for turn, (_, spots) in enumerate(conversation.turns):
        for i, j, block in spots:
            if block["type"] in ("tool_use", "server_tool_use"):
                name = (block["type"], block["id"], turn if conversation.older else 0)
                if name in seen:
                    yield "P7", f"messages.{i}.content.{j}: `tool_use` ids must be unique"
                seen.add(name)


def answered_at_once(conversation: Conversation) -> Found:
    """P1 to P4. An assistant's turn with calls does not end in words, and all are answered, in any order, by the
    results that begin the user's. Thinking may stand between calls, as models send it; that text may is disputed.
    P5, P6. A result answers a call of the turn before, and no call has two results.
    """
    nobody: tuple[str, list] = ("", [])
    for (one, before), (two, after) in pairwise([nobody, *conversation.turns, nobody]):
        calls = [(i, j, block["id"]) for i, j, block in before if block["type"] == "tool_use"]
        results = [(i, j, block["tool_use_id"]) for i, j, block in after if block["type"] == "tool_result"]
        if one == "assistant" and calls:
            first = takewhile(lambda spot: spot[2]["type"] == "tool_result", after if two == "user" else ())
            closed = before[-1][2]["type"] in {"text", *THINKING}
            answered = {block["tool_use_id"] for _, _, block in first if not closed}
            if waiting := [call for call in calls if call[2] not in answered]:
                i, j, _ = waiting[0]
                yield "P1", WORDS["P1"].format(i, ", ".join(name for _, _, name in waiting)), i, j
        names, seen = {name for _, _, name in calls}, set()
        for i, j, name in results if two == "user" else ():
            if name in seen or name not in names:
                rule = "P6" if name in seen else "P5"
                yield rule, WORDS[rule].format(i, j, name)
            seen.add(name)


def server_pairs(conversation: Conversation) -> Found:
    """P14. The result of a tool at the API's side follows its call; until it does, the user may only send results."""
    calls, finished = set(), set()
    for i, j, block in conversation.spots:
        kind = block["type"]
        if kind in SERVER_CALLS:
            calls.add((kind, block["id"]))
        elif kind in SERVER_RESULTS:
            name = block["tool_use_id"]
            if (CALL_OF[kind], name) not in calls or name in finished:
                yield "P14", WORDS["P14"].format(i, j, kind, name, CALL_OF[kind])
            finished.add(name)
    for (one, spots), (two, following) in pairwise(conversation.turns):
        for i, j, block in spots if (one, two) == ("assistant", "user") else ():
            unfinished = block["type"] == "server_tool_use" and block["id"] not in finished
            if unfinished and any(other["type"] != "tool_result" for _, _, other in following):
                text = "has no result yet: the next message may only hold `tool_result` blocks"
                yield "P14", f"messages.{i}.content.{j}: `server_tool_use` {block['id']} {text}"


def alternating(conversation: Conversation) -> Found:
    """R4. The API itself joins neighbours of one role; endpoints that do not, refuse them."""
    for i, (one, two) in enumerate(pairwise(conversation.messages)):
        if one["role"] == two["role"] != "system" and not conversation.profile.combine:
            text = 'roles must alternate between "user" and "assistant", but found multiple "{}" roles in a row'
            yield "R4", f"messages: {text.format(one['role'])}", i + 1


# ---- thinking


def thinking_comes_first(conversation: Conversation) -> Found:
    """K1. With manual thinking, the assistant's turn that waits for these results began with its thinking."""
    loop = []
    for role, spots in reversed(conversation.turns):
        if role == "user" and not (spots and spots[0][2]["type"] == "tool_result"):
            break
        if role == "assistant" and spots:
            loop.append(spots[0])
    if conversation.thinking == "enabled" and loop and not {loop[0][2]["type"], loop[-1][2]["type"]} & THINKING:
        i, j, block = loop[0]
        yield "K1", WORDS["K1"].format(i, j, block["type"])


def thinking_is_untouched(conversation: Conversation) -> Found:
    """K2, K3. Thinking is signed: in the latest turn nothing of it may be changed, nor moved to other calls; a wrong
    signature never passes.
    """
    latest = max((spots[0][0] for role, spots in conversation.turns if role == "assistant" and spots), default=0)
    forged, calls = conversation.profile.forged or (lambda block, calls: False), 0
    for i, j, block in conversation.spots:
        calls += i >= latest and block["type"] == "tool_use"
        if block["type"] == "thinking":
            changed = forged(block, calls if i >= latest else None)
            if changed or not block["signature"]:
                rule = "K2" if changed and i >= latest else "K3"
                yield rule, WORDS[rule].format(i, j)


def thinking_is_not_last(conversation: Conversation) -> Found:
    """K5. An assistant's turn does not end in thinking."""
    for role, spots in conversation.turns:
        if role == "assistant" and spots and spots[-1][2]["type"] in THINKING:
            i, j, block = spots[-1]
            yield "K5", f"messages.{i}: The final block in an assistant message cannot be `{block['type']}`.", i, j


# ---- ends and limits


def ends_with_the_user(conversation: Conversation) -> Found:
    """R6. The models since 4.6 answer the user; only a turn paused on a server tool or a compaction goes on.
    R7, K6. Where prefill is allowed, it does not end in white space, and has no thinking unless the request wants it.
    """
    last, final = len(conversation.messages) - 1, conversation.messages[-1]
    if final["role"] != "assistant" or ends_in(final, GOES_ON):
        return
    if not (conversation.older if conversation.profile.prefill is None else conversation.profile.prefill):
        text = "This model does not support assistant message prefill. The conversation must end with a user message."
        yield "R6", text, last
    spots = conversation.turns[-1][1]
    for i, j, block in spots:
        if block["type"] in THINKING and conversation.thinking == "disabled":
            yield "K6", WORDS["K6"].format(i, j, block["type"])
    if spots and spots[-1][2]["type"] == "text" and spots[-1][2]["text"] != spots[-1][2]["text"].rstrip():
        yield "R7", "messages: final assistant content cannot end with trailing whitespace", last, spots[-1][1]


def within_limits(conversation: Conversation) -> Found:
    """C8, C12. At most four cache markers, over tools, system and messages, and none for longer after a shorter one.
    K7. What may be thought is less than what may be written.
    T12. A container comes with the code execution tool.
    """
    request, thinking = conversation.request, conversation.request.get("thinking", {})
    markers = conversation.markers
    if len(markers) > 4:
        yield "C8", f"A maximum of 4 blocks with cache_control may be provided. Found {len(markers)}."
    for path, _, marker in dropwhile(lambda marker: marker[-1].get("ttl") == "1h", markers):
        if marker.get("ttl") == "1h":
            yield "C12", f"{path}.cache_control.ttl: {WORDS['C12']}"
    if thinking.get("type") == "enabled" and request["max_tokens"] <= thinking["budget_tokens"]:
        yield "K7", "`max_tokens` must be greater than `thinking.budget_tokens`"
    code = any(str(tool.get("type")).startswith("code_execution") for tool in conversation.tools)
    if request.get("container") is not None and not code:
        yield "T12", "Container identifier can only be provided when using the code execution tool"


ORDER = [thing for thing in list(globals().values()) if getattr(thing, "__annotations__", {}).get("return") == Found]
