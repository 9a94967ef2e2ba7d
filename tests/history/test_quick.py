"""What is here for speed alone changes nothing: each history comes out as it does without, with the same repairs."""

import json
from unittest.mock import patch

import pytest
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
    assert lines == ["joined messages 2 to 3: they are one turn of the user's"]
    assert quick.right_copy(loop(100, "a.txt"), lines.append) == loop(100, "a.txt")
