"""What is here for speed alone changes nothing: each history comes out as it does without, with the same repairs."""

import json
from unittest.mock import patch

import pytest
from anthropic.types import TextBlock
from benchmarks.bench_messages import broken, loop
from histories import blocks_of_anything, histories, many, right_histories
from hypothesis import given
from hypothesis import strategies as st

from s02_tool_use import agent_loop, normalize_messages
from s02_tool_use.history import quick
from s02_tool_use.lab import histories as reported

CASES = reported()


def outcome(history, **options):
    """(the list or the error, the repairs) of a history."""
    repairs = []
    try:
        return json.dumps(normalize_messages(history, repairs=repairs, **options)), repairs
    except ValueError as error:
        return str(error), repairs


def assert_the_same(history, **options):
    fast = outcome(history, **options)
    with (
        patch.object(quick, "usual", lambda message: None),
        patch.object(quick, "is_right", lambda messages: False),
        patch.object(quick, "right_copy", lambda messages, log: None),
    ):
        assert fast == outcome(history, **options)


@pytest.mark.parametrize("options", [{}, {"prefill": True}, {"keep_unsigned_thinking": True}], ids=str)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_reported_history_comes_out_the_same(case, options):
    assert_the_same(case["messages"], **options)


def call(id, **more):
    return {"type": "tool_use", "id": id, "name": "bash", "input": {"n": [1]}, **more}


def result(id, content="out", **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def text(words):
    return {"type": "text", "text": words}


THINKING = {"type": "thinking", "thinking": "hm", "signature": "sig"}
# Turns, the assistant's first, as the loop makes them or nearly so.
TURNS = {
    "usual": [[THINKING, text("I look."), call("a", caller={"type": "direct"})], [result("a", [text("out")])]],
    "a failed call": [[call("a")], [result("a", "no", is_error=True)]],
    "empty results": [[call("a"), call("b")], [result("b", []), result("a", "")]],
    "an empty error": [[call("a")], [result("a", "", is_error=True)]],
    "an empty list as an error": [[call("a")], [result("a", [], is_error=True)]],
    "a blank part": [[call("a")], [result("a", [text(" "), text("out")])]],
    "a part with a field too many": [[call("a")], [result("a", [{**text("out"), "n": 1}])]],
    "a part that is a string": [[call("a")], [result("a", ["out"])]],
    "a blank text": [[text("\n"), call("a")], [result("a")]],
    "a caller that is code": [[call("a", caller={"type": "code_execution_20260120", "tool_id": "s"})], [result("a")]],
    "an unknown caller": [[call("a", caller={"type": "elsewhere"})], [result("a")]],
    "no caller": [[call("a", caller=None)], [result("a")]],
    "a field too many": [[call("a", n=1)], [result("a", n=1)]],
    "a name that is too long": [[call("a", name="n" * 201)], [result("a")]],
    "arguments in a string": [[call("a", input="{}")], [result("a")]],
    "arguments that are not JSON": [[call("a", input={"n": float("nan")})], [result("a")]],
    "a letter that ids may not have": [[call("é")], [result("é")]],
    "an id of signs": [[call("_-_")], [result("_-_")]],
    "an empty id": [[call("")], [result("")]],
    "one id twice": [[call("a")], [result("a")], [call("a")], [result("a")]],
    "a result a turn too late": [[call("a"), call("b")], [result("a")], [call("c")], [result("b"), result("c")]],
    "a text before a result": [[call("a")], [text("Wait."), result("a")]],
    "a text behind a call": [[call("a"), text("I look.")], [result("a")]],
    "thinking without a signature": [[{**THINKING, "signature": ""}, call("a")], [result("a")]],
    "thinking at the end": [[text("I look."), THINKING], [text("Go on.")]],
    "an answer at the end": [[call("a")], [result("a")], [text("Done.")]],
    "a marker": [[call("a")], [{**result("a"), "cache_control": {"type": "ephemeral"}}]],
    "an SDK object": [[TextBlock(type="text", text="I look."), call("a")], [result("a")]],
}


@pytest.mark.parametrize("turns", TURNS.values(), ids=TURNS)
def test_what_is_usual_or_nearly_so_comes_out_the_same_and_shares_nothing_with_the_input(turns):
    roles = ["assistant", "user"] * len(turns)
    history = [{"role": "user", "content": "Go."}]
    history += [{"role": role, "content": blocks} for role, blocks in zip(roles, turns, strict=False)]
    assert_the_same(history)
    given = set(map(id, containers(history)))
    assert not [part for part in containers(normalize_messages(history)) if id(part) in given]


def containers(value):
    """All lists and dicts in it, itself too."""
    if isinstance(value, (list, dict)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


@many
@given(st.one_of(histories, right_histories(), blocks_of_anything))
def test_any_history_comes_out_the_same(history):
    assert_the_same(history)


@pytest.mark.parametrize("make", [loop, broken])
def test_a_long_list_comes_out_the_same(make):
    assert_the_same(make(1000, "a.txt"))


@pytest.mark.parametrize("lost", [1, 500, -4, -3, -2, -1])
def test_a_long_list_with_one_message_lost_anywhere_comes_out_the_same(lost):
    history = loop(1000, "a.txt")
    del history[lost]
    assert_the_same(history)


def test_what_the_loop_makes_takes_the_short_way(scripted, workspace):
    """With a prompt behind results, as after Stop: neighbours are merged, and named."""
    calls = [{"type": "tool_use", "name": "glob", "input": {"pattern": "*"}}, "Done.", "Hello."]
    client, model = scripted(calls)
    messages = [{"role": "user", "content": "Go."}]
    agent_loop(client, model, messages, max_turns=1)
    messages.append({"role": "user", "content": "Go on."})
    agent_loop(client, model, messages)
    messages.append({"role": "user", "content": "Hello?"})
    lines = []
    assert quick.right_copy(messages, lines.append) == normalize_messages(messages)
    assert lines == ["joined messages 2 to 3: they are one turn of the user"]
    assert quick.right_copy(loop(100, "a.txt"), lines.append) == loop(100, "a.txt")
