"""The passes of normalize_messages as switches: together they are the whole, and each alone is missed."""

import pytest

from s02_tool_use import normalize_messages
from s02_tool_use.lab import api_says, histories
from s02_tool_use.lab.widgets.historylab import BY_NAME, fix, pasted

CASES = histories()


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_all_passes_together_do_what_normalize_messages_does(case):
    after = outcome(fix, case["messages"])
    assert (after if isinstance(after, str) else after[0]) == outcome(normalize_messages, case["messages"])


@pytest.mark.parametrize("name", BY_NAME)
def test_each_pass_is_missed_in_some_history(name):
    rest = [other for other in BY_NAME if other != name]
    for case in CASES.values():
        after = outcome(fix, case["messages"], rest)
        if isinstance(after, str) or after[0] != fix(case["messages"])[0]:
            return
    raise AssertionError(f"{name} makes no difference anywhere")


def test_without_the_answers_an_orphan_is_still_refused():
    orphan = CASES["orphan-cancel-then-user"]["messages"]
    assert api_says(fix(orphan)[0]) == "accepted"
    assert api_says(fix(orphan, [name for name in BY_NAME if name != "answer_every_call"])[0]) != "accepted"


@pytest.mark.parametrize("name", BY_NAME)
def test_the_input_stays_as_it_was(name):
    for case in histories().values():
        before = repr(case["messages"])
        outcome(fix, case["messages"], [name])
        assert repr(case["messages"]) == before


def test_a_shape_that_only_the_first_pass_can_read_is_told():
    with pytest.raises(ValueError, match="need plain data first"):
        fix([{"role": "user"}], ["answer_every_call", "merge_turns", "end_well"])


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": null}]',
        "[{'role': 'user', 'content': None}]",
        '{"messages": [{"role": "user", "content": null}]}',
    ],
    ids=["JSON", "Python", "a request"],
)
def test_a_history_is_read_as_it_is_pasted(text):
    assert pasted(text) == [{"role": "user", "content": None}]


@pytest.mark.parametrize("text", ["", "[{", "__import__('os')", "3", '{"role": "user"}'])
def test_what_is_no_history_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match=r"neither JSON nor a Python list|list of messages"):
        pasted(text)
