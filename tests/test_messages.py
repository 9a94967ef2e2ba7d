"""normalize_messages: what holds for every history, and each repair by itself."""

import copy
import gc
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from anthropic._models import construct_type
from anthropic.types import Message, ParsedTextBlock, TextBlock, ToolUseBlock
from anthropic.types.beta import BetaFallbackBlock
from histories import blocks_of_anything, histories, many, right_histories
from hypothesis import example, given

from s02_tool_use.history.answers import CANCELLED
from s02_tool_use.lab.api.rules import FIRST_PARTY, STRICT, validate
from s02_tool_use.messages import normalize_messages


def request(history):
    return {
        "model": "any",
        "max_tokens": 10,
        "messages": history,
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
    }


def flat(history, kind=None):
    """All blocks of a list, in order, also those of SDK objects."""
    found = []
    for message in history:
        content = message["content"]
        for block in [content] if isinstance(content, str) else content or []:
            if isinstance(block, str):
                block = {"type": "text", "text": block}
            block = block if isinstance(block, dict) else dict(block.__dict__)
            if kind in (None, block.get("type")):
                found.append(block)
    return found


@many
@given(histories)
def test_any_history_becomes_one_that_the_api_and_strict_endpoints_accept(history):
    fixed = normalize_messages(history)
    for profile in (FIRST_PARTY, STRICT):
        assert validate(request(fixed), replace(profile, system_role=True)) is None
        system = []
        assert validate(request(normalize_messages(history, system_role=False, system=system)), profile) is None
        assert all(block["type"] == "text" for block in system)


@many
@given(histories)
def test_fixing_twice_changes_nothing_more(history):
    once = normalize_messages(history)
    repairs = []
    assert normalize_messages(once, repairs=repairs) == once
    assert repairs == []


@many
@given(histories)
def test_the_input_stays_as_it_was_even_when_the_result_is_changed(history):
    before = copy.deepcopy(history)
    fixed = normalize_messages(history)
    spoil(fixed)
    assert history == before


def spoil(value):
    """Change everything that can be changed."""
    for item in list(value.values()) if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            spoil(item)
    value.clear()


@many
@given(histories)
def test_the_result_is_plain_json(history):
    fixed = normalize_messages(history)
    assert json.loads(json.dumps(fixed, allow_nan=False)) == fixed


@many
@given(histories)
def test_no_text_is_lost_and_texts_keep_their_order(history):
    said = [block["text"] for block in flat(history) if isinstance(block.get("text"), str) and "word" in block["text"]]
    fixed = normalize_messages(history)
    kept = [block["text"] for block in flat(fixed, "text") if "word" in block["text"]]
    assert sorted(kept) == sorted(said)
    of_the_system = {block["text"] for block in flat([m for m in fixed if m["role"] == "system"], "text")}
    for group in (of_the_system, set(said) - of_the_system):  # a system message may move behind the user's turn
        assert [words for words in kept if words in group] == [words for words in said if words in group]


@many
@given(histories)
def test_no_real_result_is_lost_or_replaced(history):
    """For each id: as many real results as there are calls for them, and a placeholder only when there are too few."""
    fixed = normalize_messages(history)
    given_, kept, asked = Counter(), Counter(), Counter()
    texts_given = [said(block) for block in flat(history, "tool_result")]
    for block in flat(history, "tool_result"):
        given_[legal(block["tool_use_id"])] += block.get("content") != CANCELLED
    for block in flat(fixed, "tool_use"):
        asked[base(block["id"])] += 1
    for block in flat(fixed, "tool_result"):
        if block.get("content") != CANCELLED:
            kept[base(block["tool_use_id"])] += 1
            assert said(block) in texts_given
    for name, count in asked.items():
        assert kept[name] == min(count, given_[name]), name


def legal(name):
    return re.sub("[^a-z]", "_", name) or "toolu"


def base(name):
    return re.sub(r"_\d+$", "", name)


def said(block):
    """The numbers of the texts in a result: they follow it wherever it goes."""
    return tuple(re.findall(r"(\d+):(?:RESULT|word|two)", json.dumps(block.get("content"))))


# ---- histories that are right already


def merged(history):
    """The list with neighbours of one role made one message; but each of the system messages stays one."""
    result = []
    for message in (message for message in history if message["content"] or "output_config" in message):
        if result and result[-1]["role"] == message["role"] != "system":
            result[-1] = {"role": message["role"], "content": listed(result[-1]) + listed(message)}
        else:
            result.append(message)
    return result


def listed(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else list(content)


@many
@given(right_histories())
def test_a_right_history_comes_back_equal_apart_from_merging(history):
    assert validate(request(history), replace(FIRST_PARTY, system_role=True)) is None
    repairs = []
    assert normalize_messages(history, repairs=repairs) == merged(history)
    assert all(line.startswith("joined messages ") for line in repairs)
    assert bool(repairs) == (len(merged(history)) < len(history))


@many
@given(histories)
def test_what_the_api_accepts_by_chance_comes_back_equal_too(history):
    plain = json.loads(json.dumps(history, default=lambda block: block.model_dump(exclude_none=True)))
    if validate(request(plain), replace(FIRST_PARTY, system_role=True)) is None:
        assert normalize_messages(plain) == merged(plain)


# ---- one repair at a time

Q = {"role": "user", "content": "List the files."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
CALL2, RESULT2 = {**CALL, "id": "toolu_2"}, {**RESULT, "tool_use_id": "toolu_2"}
NONE, NONE2 = ({**r, "content": "(cancelled)", "is_error": True} for r in (RESULT, RESULT2))
THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
MARKER = {"type": "ephemeral"}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}}
SYSTEM = {"role": "system", "content": "Be brief."}
OPTIONS = {"role": "system", "content": [], "output_config": {"effort": "low"}}
SOURCE = {"type": "text", "media_type": "text/plain", "data": "d"}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def repaired(*history, **options):
    repairs = []
    return normalize_messages(list(history), repairs=repairs, **options), repairs


# (what comes in, what comes out, the lines of repair)
REPAIRS = [
    ([Q, assistant(CALL)], [Q, assistant(CALL), user(NONE)], ["answered toolu_1: (cancelled)"]),
    (
        [Q, assistant(CALL), user(text("a")), assistant(text("b")), user(RESULT, text("c"))],
        [Q, assistant(CALL), user(RESULT, text("a")), assistant(text("b")), user(text("c"))],
        ["moved the result of toolu_1 from message 4 to its call in message 1"],
    ),
    (
        [Q, assistant(CALL), user(text("a"), RESULT)],
        [Q, assistant(CALL), user(RESULT, text("a"))],
        ["moved the result of toolu_1 from message 2 to its call in message 1"],
    ),
    (
        [user(RESULT), Q],
        [user(text("List the files."))],
        [
            "dropped the result of 'toolu_1' in message 0: there is no such call",
            "joined messages 0 to 1: they are one turn of the user",
        ],
    ),
    (
        [Q, assistant(CALL), user(NONE, RESULT)],
        [Q, assistant(CALL), user(RESULT)],
        ["took the result of toolu_1 in message 2 instead of the one before"],
    ),
    (
        [Q, assistant(CALL, THINKING, text("b")), user(RESULT)],
        [Q, assistant(CALL), user(RESULT), assistant(THINKING, text("b")), {"role": "user", "content": "Continue."}],
        [
            "reordered the turn at message 1: calls come last, their results right behind them",
            "added a user message: Continue.",
        ],
    ),
    (
        [Q, assistant(CALL, RESULT, text("done"))],
        [Q, assistant(CALL), user(RESULT), assistant(text("done")), {"role": "user", "content": "Continue."}],
        [
            "moved a tool_result block of message 1 to the user",
            "added a user message: Continue.",
        ],
    ),
    (
        [Q, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)],
        [
            Q,
            assistant(CALL),
            user(RESULT),
            assistant({**CALL, "id": "toolu_1_2"}),
            user({**RESULT, "tool_use_id": "toolu_1_2"}),
        ],
        ["renamed the call 'toolu_1' in message 3 to toolu_1_2"],
    ),
    (
        [Q, assistant(CALL, CALL), user(RESULT)],
        [Q, assistant(CALL), user(RESULT)],
        ["dropped the second copy of the call toolu_1 in message 1"],
    ),
    (
        [
            Q,
            assistant({**CALL, "id": "b:0"}, {**CALL2, "id": "b.0"}),
            user({**RESULT, "tool_use_id": "b.0"}, {**RESULT2, "tool_use_id": "b:0"}),
        ],
        [
            Q,
            assistant({**CALL, "id": "b_0"}, {**CALL2, "id": "b_0_2"}),
            user({**RESULT, "tool_use_id": "b_0_2"}, {**RESULT2, "tool_use_id": "b_0"}),
        ],
        ["renamed the call 'b:0' in message 1 to b_0", "renamed the call 'b.0' in message 1 to b_0_2"],
    ),
    (
        [Q, assistant(text(""), CALL), user(RESULT)],
        [Q, assistant(CALL), user(RESULT)],
        ["dropped an empty text block in message 1"],
    ),
    ([{"role": "user", "content": " "}, Q], [Q], ["dropped message 0: it was empty"]),
    (
        [Q, assistant({**CALL, "input": None}), user(RESULT)],
        [Q, assistant({**CALL, "input": {}}), user(RESULT)],
        ["made the input of a call in message 1 an object"],
    ),
    (
        [Q, assistant({**CALL, "input": '{"path": "a'}), user(RESULT)],
        [Q, assistant({**CALL, "input": {"invalid_json": '{"path": "a'}}), user(RESULT)],
        ["made the input of a call in message 1 an object"],
    ),
    (
        [Q, assistant(CALL), user({**RESULT, "content": "", "is_error": True})],
        [Q, assistant(CALL), user({**RESULT, "content": "(no output)", "is_error": True})],
        ["filled the empty error in message 2: (no output)"],
    ),
    (
        [Q, assistant(CALL), user({**RESULT, "content": [text("no"), IMAGE], "is_error": True})],
        [Q, assistant(CALL), user({**RESULT, "content": [text("no"), IMAGE], "is_error": False})],
        ["made the error in message 2 a plain result: an error can hold only text"],
    ),
    (
        [Q, assistant(CALL), user({**RESULT, "content": [{"rows": 3}]})],
        [Q, assistant(CALL), user({**RESULT, "content": [text('{"rows": 3}')]})],
        ["made a part of a result in message 2 a text block"],
    ),
    (
        [user({**text("a"), "_id": 1, "cache_control": {**MARKER, "scope": "global"}})],
        [user(text("a", cache_control=MARKER))],
        ["removed _id from a text block in message 0", "corrected the cache_control of a text block in message 0"],
    ),
    (
        [user(text("a", cache_control={"ttl": "1h", "scope": "global"}), text("b", cache_control={"ttl": "2h"}))],
        [user(text("a", cache_control={**MARKER, "ttl": "1h"}), text("b", cache_control=MARKER))],
        ["corrected the cache_control of a text block in message 0"] * 2,
    ),
    (
        [{**Q, "ts": 1, "id": "x"}],
        [Q],
        ["removed ts, id from message 0"],
    ),
    (
        [{"role": "system", "content": "Be brief."}, assistant(text("Yes?")), Q],
        [{"role": "user", "content": "Be brief."}, assistant(text("Yes?")), Q],
        ["made message 0 a user message: a system prompt goes into `system`, beside the list"],
    ),
    (
        [Q, assistant(THINKING), Q],
        [user(text("List the files."), text("List the files."))],
        ["dropped the thinking that ended an assistant turn"],
    ),
    (
        [Q, assistant(FOUND, text("a"), SEARCH, FOUND, text("b")), Q],
        [Q, assistant(text("a"), SEARCH, FOUND, text("b")), Q],
        ["dropped a web_search_tool_result block in message 1: this API made no call and result that belong together"],
    ),
    (
        [Q, assistant(text("a"), {**FOUND, "type": "mcp_tool_result"}), Q],
        [Q, assistant(text("a")), Q],
        ["dropped a mcp_tool_result block in message 1: this API made no call and result that belong together"],
    ),
    (
        [Q, assistant({**CALL, "input": {"n": [float("nan"), "a\udc80"]}}), user(RESULT)],
        [Q, assistant({**CALL, "input": {"n": ["nan", "a\\udc80"]}}), user(RESULT)],
        [
            "wrote out the number nan in message 1: JSON cannot hold it",
            "wrote out a lone surrogate in message 1: JSON cannot hold it",
        ],
    ),
    (
        [{"role": "user", "content": "a\ud800"}],
        [{"role": "user", "content": "a\\ud800"}],
        ["wrote out a lone surrogate in message 0: JSON cannot hold it"],
    ),
    (
        [Q, assistant({"type": "reasoning", "text": "I greet.", "summary": []}, text("Hello.")), Q],
        [Q, assistant(text("Hello.")), Q],
        ["dropped a block of type 'reasoning' in message 1"],
    ),
    (
        [Q, assistant(CALL), user({**RESULT, "content": [{"type": "log", "text": "a", "level": 3}]})],
        [Q, assistant(CALL), user({**RESULT, "content": [text('{"type": "log", "text": "a", "level": 3}')]})],
        ["made a part of a result in message 2 a text block"],
    ),
    (
        [Q, SYSTEM, Q],
        [user(text("List the files."), text("List the files.")), SYSTEM],
        ["moved a system message to the end of a user turn"],
    ),
    (
        [Q, assistant(CALL), SYSTEM, user(RESULT, text("a"))],
        [Q, assistant(CALL), user(RESULT, text("a")), SYSTEM],
        ["moved a system message to the end of a user turn"],
    ),
    (
        [Q, assistant(text("a")), SYSTEM, assistant(text("b")), Q],
        [Q, assistant(text("a"), text("b")), Q, SYSTEM],
        ["moved a system message to the end of a user turn"],
    ),
    (
        [Q, assistant(text("a")), SYSTEM],
        [Q, assistant(text("a")), {"role": "user", "content": "Continue."}, SYSTEM],
        [
            "added a user message: Continue.",
            "moved a system message to the end of a user turn",
        ],
    ),
    (
        [Q, assistant(text("a"), SEARCH), SYSTEM],
        [Q, SYSTEM, assistant(text("a"), SEARCH)],
        ["moved a system message to the end of a user turn"],
    ),
    (
        [assistant(text("a")), SYSTEM, assistant(SEARCH)],
        [{"role": "user", "content": "Continue."}, SYSTEM, assistant(text("a"), SEARCH)],
        ["added a user message: Continue."],
    ),
    (
        [Q, assistant(CALL, THINKING, CALL2), user(RESULT)],
        [Q, assistant(CALL, THINKING, CALL2), user(RESULT, NONE2)],
        ["answered toolu_2: (cancelled)"],
    ),
    (
        [{**Q, "output_config": {"effort": "low"}}],
        [Q],
        ["removed output_config from message 0"],
    ),
    (
        [Q, {"role": "system", "content": None, "output_config": {"effort": "low"}}],
        [Q, OPTIONS],
        ["gave message 1 an empty list as its content"],
    ),
    (
        [Q, {"role": "system", "content": [text("a"), {"type": "document", "source": SOURCE}]}],
        [user(text("List the files."), text("a"), {"type": "document", "source": SOURCE})],
        [
            "made message 1 a user message: a system prompt goes into `system`, beside the list",
            "joined messages 0 to 1: they are one turn of the user",
        ],
    ),
    (
        [Q, assistant(text("a"), SEARCH), Q],
        [Q, assistant(text("a")), Q],
        ["dropped a server_tool_use whose result never came"],
    ),
    (
        [Q, assistant(SEARCH, text("a"))],
        [Q, assistant(text("a")), {"role": "user", "content": "Continue."}],
        ["dropped a server_tool_use whose result never came", "added a user message: Continue."],
    ),
    (
        [Q, assistant(CALL, text("a"), SEARCH), user(RESULT, text("b"))],
        [Q, assistant(text("a"), CALL), user(RESULT, text("b"))],
        ["dropped a server_tool_use whose result never came", "moved the calls to the end of that turn"],
    ),
    (
        [
            user(text("1", cache_control=MARKER), text("2", cache_control=MARKER)),
            assistant(CALL),
            user(
                {**RESULT, "content": [text("3", cache_control=MARKER)]}, *(text(n, cache_control=MARKER) for n in "45")
            ),
        ],
        [
            user(text("1"), text("2", cache_control=MARKER)),
            assistant(CALL),
            user(
                {**RESULT, "content": [text("3", cache_control=MARKER)]}, *(text(n, cache_control=MARKER) for n in "45")
            ),
        ],
        ["removed the cache_control of an early text block"],
    ),
    ([], [{"role": "user", "content": "Continue."}], ["added a user message: Continue."]),
    *(
        (
            [Q, assistant(text("a"), {"type": kind, "text": "b"}), Q],
            [Q, assistant(text("a")), Q],
            [f"dropped a block of type {kind!r} in message 1"],
        )
        for kind in ({"a": 1}, ["text"], 5)
    ),
    (
        [{"role": "user", "content": ["a"]}],
        [user(text("a"))],
        ["made a string in the content of message 0 a text block"],
    ),
    ([{"role": "user", "content": text("a")}], [user(text("a"))], ["made the content of message 0 a list of blocks"]),
    (
        [user(text("a", cache_control={**MARKER, "ttl": "1h", "scope": "global"}))],
        [user(text("a", cache_control={**MARKER, "ttl": "1h"}))],
        ["corrected the cache_control of a text block in message 0"],
    ),
    (
        [user(*(text("a", cache_control={**MARKER, "ttl": ttl}) for ttl in ("1h", "5m", "1h")))],
        [user(*(text("a", cache_control={**MARKER, "ttl": ttl}) for ttl in ("1h", "5m", "5m")))],
        ["made the cache_control of a text block 5m, like the one before it"],
    ),
    (
        [Q, assistant(text("a")), SYSTEM, assistant(SEARCH)],
        [Q, SYSTEM, assistant(text("a"), SEARCH)],
        ["moved a system message to the end of a user turn"],
    ),
]


@pytest.mark.parametrize(("history", "expected", "lines"), REPAIRS)
def test_a_fault_is_fixed_and_named(history, expected, lines):
    fixed, repairs = repaired(*history)
    assert fixed == expected
    assert repairs == lines


# What the API accepts, as recorded exchanges and reports show it.
MCP = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "search", "server_name": "docs", "input": {}}
MCP_RESULT = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": [text("tea")]}
ADVICE = {
    "type": "advisor_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": {"type": "advisor_result", "text": "a"},
}
ACCEPTED = {
    "interleaved thinking": [Q, assistant(THINKING, CALL, THINKING, CALL2), user(RESULT2, RESULT)],
    "thinking between calls in several messages": [
        Q,
        assistant(CALL, THINKING),
        assistant(CALL2),
        user(RESULT, RESULT2),
    ],
    "text between calls": [Q, assistant(text("a"), CALL, text("b"), CALL2), user(RESULT, RESULT2, text("c"))],
    "a server tool between calls": [Q, assistant(CALL, SEARCH, FOUND, CALL2), user(RESULT, RESULT2)],
    "a server tool behind a call": [Q, assistant(CALL, SEARCH, FOUND), user(RESULT)],
    "a server tool that waits behind a call": [Q, assistant(CALL, SEARCH), user(RESULT)],
    "a server tool and its result": [Q, assistant(SEARCH, FOUND, text("a")), Q],
    "a server tool that waits while results come": [Q, assistant(SEARCH, CALL), user(RESULT), assistant(text("a")), Q],
    "a paused turn": [Q, assistant(text("a"), SEARCH)],
    "a paused turn of an MCP server": [Q, assistant(text("a"), MCP)],
    "a paused turn of an MCP server with one id twice": [Q, assistant(text("a"), MCP, MCP)],
    "a paused turn that goes on": [Q, assistant(SEARCH), assistant(FOUND, text("a")), Q],
    "MCP": [Q, assistant({"type": "mcp_tool_listing", "mcp_server_name": "docs", "tools": []}, MCP, MCP_RESULT), Q],
    "an id of MCP twice, of which no rule was seen": [Q, assistant(MCP, MCP, MCP_RESULT, text("a")), Q],
    "an advisor": [Q, assistant({**SEARCH, "name": "advisor"}, ADVICE, text("a")), Q],
    "a compaction first": [assistant({"type": "compaction", "content": "We found tea."}, text("Tea.")), Q],
    "a compaction that failed": [Q, assistant({"type": "compaction", "content": None}, text("Tea.")), Q],
    "a compaction last": [assistant({"type": "compaction", "content": "We found tea."})],
    "a fallback": [Q, assistant({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}, text("a")), Q],
    "system at the end": [Q, assistant(text("a")), Q, SYSTEM],
    "system behind results": [Q, assistant(CALL), user(RESULT), SYSTEM],
    "system between": [Q, SYSTEM, assistant(text("a")), Q],
    "system behind a server tool's result": [Q, assistant(SEARCH, FOUND), SYSTEM, assistant(text("a")), Q],
    "system twice, with a marker": [Q, SYSTEM, {"role": "system", "content": [text("Be kind.", cache_control=MARKER)]}],
    "a tool that comes": [Q, {"role": "system", "content": [{"type": "tool_addition", "tool": {"name": "a"}}]}],
    "a system message that ends": [Q, {**SYSTEM, "clear_at": "next_user_message"}],
    "options at the beginning": [OPTIONS, Q],
    "options behind an instruction": [Q, SYSTEM, OPTIONS, assistant(text("a")), Q],
    "options between a call and its result": [Q, assistant(CALL), OPTIONS, user(RESULT, text("a"))],
}


@pytest.mark.parametrize("history", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_api_accepts_comes_back_equal_and_nothing_is_said(history):
    fixed, repairs = repaired(*history)
    assert fixed == merged(history)
    assert repairs == [line for line in repairs if line.startswith("joined messages ")]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([], {}),
        ("[]", {}),
        ("", {}),
        ("null", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": NaN}', {"a": "nan"}),
        ("ls -l", {"invalid_json": "ls -l"}),
        ('"ls -l"', {"value": "ls -l"}),
        ([1], {"value": [1]}),
        (False, {"value": False}),
    ],
    ids=str,
)
def test_the_input_of_a_call_is_read_if_it_can_be(given, read):
    fixed, repairs = repaired(Q, assistant({**CALL, "input": given}), user(RESULT))
    assert fixed[1] == assistant({**CALL, "input": read})
    assert "made the input of a call in message 1 an object" in repairs


def test_a_block_of_a_type_that_nobody_knows_is_kept_by_choice():
    strange = {"type": "reasoning", "text": "I greet.", "id": 1}
    history = [Q, assistant(strange, CALL), user({**RESULT, "content": [strange]})]
    lines = [f"kept a block of type 'reasoning' in message {n}" for n in (1, 2)]
    assert repaired(*history, unknown="keep") == (history, lines)
    with pytest.raises(ValueError, match='unknown is None: give "drop" or "keep"'):
        normalize_messages(history, unknown=None)


@pytest.mark.parametrize("kind", ["input_text", "output_text", None])
def test_text_as_other_apis_write_it_is_text(kind):
    block = {"type": kind, "text": "Hello."} if kind else {"text": "Hello."}
    assert repaired(Q, assistant(block), Q)[0][1] == assistant(text("Hello."))
    assert repaired(Q, assistant({**block, "thought": True}), Q)[0] == [user(*[text("List the files.")] * 2)]


@pytest.mark.parametrize("options", [{"system_role": False}, {}])
def test_a_system_message_that_cannot_stay_goes_into_the_system_of_the_request(options):
    first, second = {"role": "system", "content": "a"}, {"role": "system", "content": [text("b", cache_control=MARKER)]}
    system = []
    assert repaired(first, second, Q, system=system, **options) == (
        [Q],
        [f"moved message {n} into the `system` of the request" for n in (0, 1)],
    )
    assert system == [text("a"), text("b", cache_control=MARKER)]
    assert repaired(Q, OPTIONS, SYSTEM, system_role=False)[1] == [
        "removed output_config from message 1",
        "made message 2 a user message: a system prompt goes into `system`, beside the list",
        "joined messages 0 to 2: they are one turn of the user",
    ]


def test_a_placeholder_of_another_program_gives_way_to_the_real_result():
    for words in (
        "Tool execution was interrupted before completion.",
        "[System: Tool execution skipped/interrupted by user. No result provided for tool 'bash'.]",
        "[migration] Tool result missing",
        "[Request interrupted by user for tool use]",
        "Tool execution aborted",
    ):
        fixed, _ = repaired(Q, assistant(CALL), user({**RESULT, "content": words, "is_error": True}), user(RESULT))
        assert fixed == [Q, assistant(CALL), user(RESULT)], words


def test_of_two_real_results_the_first_counts_and_an_error_is_real():
    error = {**RESULT, "content": "no such file", "is_error": True}
    assert repaired(Q, assistant(CALL), user(error, RESULT))[0] == [Q, assistant(CALL), user(error)]


def test_a_result_before_its_call_counts_only_when_none_comes_after():
    early = {**RESULT, "content": "early"}
    assert repaired(Q, user(early), assistant(CALL), user(RESULT))[0][1:] == [assistant(CALL), user(RESULT)]
    assert repaired(Q, user(early), assistant(CALL), user(NONE))[0][1:] == [assistant(CALL), user(early)]


def test_of_namesakes_in_one_message_each_gets_its_own_result_also_if_one_says_that_there_is_none():
    other, none = {**CALL, "input": {"command": "pwd"}}, {**RESULT, "content": CANCELLED, "is_error": True}
    fixed, _ = repaired(Q, assistant(CALL, other), user(none, {**RESULT, "content": "/home"}))
    assert fixed[2] == user(none, {**RESULT, "tool_use_id": "toolu_1_2", "content": "/home"})
    late, _ = repaired(Q, assistant(CALL, other), user(none, none), assistant(text("a")), user(RESULT, RESULT))
    assert late[2] == user(RESULT, {**RESULT, "tool_use_id": "toolu_1_2"})


def test_a_turn_that_loses_its_results_still_stands_between_two_turns_of_the_assistant():
    """Else the two would be one turn, and the text would come before the call that it speaks of."""
    history = [Q, assistant(CALL), user({**RESULT, "tool_use_id": "gone"}), assistant(text("One file.")), user(RESULT)]
    fixed, _ = repaired(*history)
    assert fixed[1:4] == [assistant(CALL), user(RESULT), assistant(text("One file."))]


def test_prefill_keeps_the_last_word_of_the_assistant_and_takes_the_space_at_its_end():
    assert repaired(Q, {"role": "assistant", "content": "I am \n"}, prefill=True)[0] == [
        Q,
        {"role": "assistant", "content": "I am"},
    ]
    assert repaired(Q, assistant(THINKING, text("Well. "), text("I am ")), prefill=True) == (
        [Q, assistant(text("Well. "), text("I am"))],
        [
            "dropped the thinking in the message that the model goes on with",
            "removed the white space at the end of the message that the model goes on with",
        ],
    )
    assert repaired(Q, assistant(text("I am"), CALL), prefill=True)[0][-1] == user(NONE)


def test_a_server_tool_waits_for_results_and_not_for_words():
    waiting = [Q, assistant(text("a"), SEARCH, CALL), user(RESULT)]
    assert repaired(*waiting) == (waiting, [])
    assert repaired(*waiting[:2], user(RESULT, text("b")))[0][1] == assistant(text("a"), CALL)
    assert repaired(Q, assistant(text("a"), SEARCH), user(text("b")))[0][1] == assistant(text("a"))


def test_thinking_that_follows_a_call_stays_together():
    more = {**THINKING, "thinking": "more"}
    fixed, _ = repaired(Q, assistant(CALL, THINKING, more, text("a")), user(RESULT), Q)
    assert fixed == [
        Q,
        assistant(CALL),
        user(RESULT),
        assistant(THINKING, more, text("a")),
        user(text("List the files.")),
    ]


def test_two_calls_of_one_turn_with_one_id_get_their_results_in_order():
    pwd = {**CALL, "input": {"command": "pwd"}}
    fixed, _ = repaired(Q, assistant(CALL, pwd), user(RESULT, {**RESULT, "content": "/home"}))
    second = {**RESULT, "tool_use_id": "toolu_1_2", "content": "/home"}
    assert fixed == [Q, assistant(CALL, {**pwd, "id": "toolu_1_2"}), user(RESULT, second)]


def test_of_two_calls_with_one_id_the_earlier_gets_its_late_result_instead_of_a_placeholder():
    late = {**RESULT, "content": "late"}
    fixed, _ = repaired(Q, assistant(CALL), user(NONE), assistant(CALL), user(RESULT, late))
    renamed = "toolu_1_2"
    assert fixed[2] == user(late)
    assert fixed[3:] == [assistant({**CALL, "id": renamed}), user({**RESULT, "tool_use_id": renamed})]


@pytest.mark.parametrize(("name", "fixed"), [("", "unknown"), (None, "unknown"), ("a" * 201, "a" * 200)])
def test_a_call_has_a_name_of_a_length_that_the_api_takes(name, fixed):
    history, repairs = repaired(Q, assistant({**CALL, "name": name}), user(RESULT))
    assert history[1] == assistant({**CALL, "name": fixed})
    assert repairs == ["fixed the name of a call in message 1"]


def test_unsigned_thinking_goes_unless_the_endpoint_wants_it():
    thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
    history = [Q, assistant(thinking, CALL), user(RESULT)]
    assert repaired(*history)[0][1] == assistant(CALL)
    assert repaired(*history, keep_unsigned_thinking=True) == (history, [])
    history[1] = assistant({**thinking, "signature": None}, CALL)
    fixed, lines = repaired(*history, keep_unsigned_thinking=True)
    assert fixed[1] == assistant({"type": "thinking", "thinking": "hm"}, CALL)
    assert lines == ["removed the signature of the thinking in message 1: it is None"]


def test_an_image_of_openai_becomes_one_of_this_api():
    url = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}
    assert repaired(user(url))[0] == [user({"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}})]
    assert repaired(user({"type": "image_url"}, text("a")))[0] == [user(text("a"))]


def test_sdk_objects_become_dicts_wherever_they_stand():
    reply = Message.model_construct(
        id="msg_1",
        role="assistant",
        content=[
            TextBlock(type="text", text="I look."),
            ToolUseBlock(type="tool_use", id="toolu_1", name="bash", input={"command": "ls", "limit": None}),
        ],
    )
    nested = {**RESULT, "content": [TextBlock(type="text", text="a.txt")]}
    fixed, repairs = repaired(Q, reply, user(nested))
    call = {**CALL, "input": {"command": "ls", "limit": None}}
    assert fixed == [Q, assistant(text("I look."), call), user({**RESULT, "content": [text("a.txt")]})]
    assert repairs == []


def test_what_a_reply_of_the_sdk_holds_that_no_reply_has_goes_with_a_line():
    reply = Message.model_construct(role="assistant", content=[TextBlock(type="text", text="I look.")], mood="good")
    fixed, repairs = repaired(Q, reply, user(text("Go on.")))
    assert fixed[1] == assistant(text("I look."))
    assert repairs == ["removed mood from message 1"]


def test_an_sdk_object_with_a_value_of_a_wrong_type_is_fixed_without_a_warning():
    """The SDK takes whatever an endpoint sends; pydantic warns when it is written out again."""
    call = ToolUseBlock.model_construct(type="tool_use", id="toolu_1", name="bash", input='{"command": "ls"}')
    fixed, _ = repaired(
        Q, assistant(call), user({**RESULT, "content": [TextBlock.model_construct(type="text", text=7)]})
    )
    assert fixed == [Q, assistant(CALL), user({**RESULT, "content": [text("7")]})]


def test_what_an_sdk_object_holds_that_cannot_be_sent_is_named():
    call = ToolUseBlock.model_construct(**CALL, caller=None, partial_json="", score=float("nan"))
    assert repaired(Q, assistant(call), user(RESULT)) == (
        [Q, assistant(CALL), user(RESULT)],
        [
            "wrote out the number nan in message 1: JSON cannot hold it",
            "removed partial_json, score from a tool_use block in message 1",
        ],
    )


def test_an_sdk_object_comes_back_as_the_sdk_sends_it():
    """None inside of a field stays, where the API requires it; a name that Python has taken is that of the wire."""
    place = {"type": "char_location", "cited_text": "a", "document_index": 0, "document_title": None}
    cited = {**text("a"), "citations": [{**place, "start_char_index": 0, "end_char_index": 1}]}
    hop = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": {"type": "refusal"}}
    blocks = [
        construct_type(value=hop, type_=BetaFallbackBlock),
        construct_type(value=cited, type_=TextBlock),
        ParsedTextBlock.model_construct(type="text", text="b", parsed_output={"a": 1}),
    ]
    assert repaired(Q, assistant(*blocks), Q) == ([Q, assistant(hop, cited, text("b")), Q], [])


def test_a_block_that_stands_in_two_places_is_two_blocks_in_the_result():
    fixed, _ = repaired(Q, assistant(CALL), user(RESULT), assistant(CALL), user(RESULT))
    fixed[1]["content"][0]["input"]["command"] = "rm"
    assert fixed[3]["content"][0]["input"] == {"command": "ls"}


def test_the_garbage_collector_runs_again_afterwards_also_after_an_error():
    assert gc.isenabled()
    repaired(Q)
    with pytest.raises(ValueError, match="message 0"):
        repaired(5)
    assert gc.isenabled()


class Opaque:
    pass


nested_deeply = {}
for _ in range(5000):
    nested_deeply = {"a": nested_deeply}


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ("Hi.", "messages is a str: give a list of messages"),
        (None, "messages is None: give a list of messages"),
        ({"role": "user", "content": "Hi."}, "messages is a dict"),
        ([Q, "Hi."], 'message 1 is a str: give a dict with "role" and "content"'),
        ([Q, {"role": "user", "content": 5}], "the content of message 1 is an int: give a string or a list of blocks"),
        ([{"role": "tool", "content": "a"}], 'message 0 has the role \'tool\': give "user" or "assistant"'),
        ([{"content": "a"}], "message 0 has the role None"),
        ([{"role": ["user"], "content": "a"}], "message 0 has the role"),
        ([Q, user(5)], "a block of message 1 is an int: give a dict with a type, or an SDK object"),
        ([Q] * 1500 + [user(5)], "a block of message 1500 is an int"),
        ([Q, assistant({**CALL, "input": {"a": Opaque()}})], "message 1 holds an Opaque: only JSON data can be sent"),
        ([Q, user(text("a", x=Opaque()))], "message 1 holds an Opaque"),
        ([Q, assistant({**CALL, "input": nested_deeply})], "message 1 is nested too deeply to be sent"),
    ],
)
def test_what_nobody_can_fix_is_an_error_that_names_the_place(history, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        normalize_messages(history)


def test_a_list_far_larger_than_a_stretch_is_fixed_as_a_whole():
    """Faults, and a result whose call stands thousands of messages before."""
    middle = [{"role": role, "content": f"{n}"} for n in range(2000) for role in ("assistant", "user")]
    fixed, repairs = repaired(Q, assistant(CALL), user(text("a")), *middle, user(RESULT))
    assert fixed[2] == user(RESULT, text("a"))
    assert repairs == [
        "moved the result of toolu_1 from message 4003 to its call in message 1",
        "joined messages 4002 to 4003: they are one turn of the user",
    ]
    assert validate(request(fixed), STRICT) is None


def test_equal_ids_far_apart_are_found():
    turns = [
        message
        for n in range(600)
        for message in (assistant({**CALL, "id": f"t{n}"}), user({**RESULT, "tool_use_id": f"t{n}"}))
    ]
    fixed, repairs = repaired(Q, *turns, assistant({**CALL, "id": "t0"}), user({**RESULT, "tool_use_id": "t0"}))
    assert repairs == ["renamed the call 't0' in message 1201 to t0_2"]
    assert validate(request(fixed), STRICT) is None


# ---- anything at all


@many
@given(blocks_of_anything)
@example([user({"type": "tool_result", "tool_use_id": "a", "content": [{"type": ["text"]}]})])
def test_whatever_the_fields_of_a_block_hold_the_list_comes_right(history):
    assert validate(request(normalize_messages(history)), STRICT) is None
