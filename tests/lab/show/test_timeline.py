"""Calls on a line of time: what ran at the same time stands in one column, the same on every machine."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from s02_tool_use.lab import show_timeline
from s02_tool_use.lab.check.exercise import Block


def call(id, path):
    return {"type": "tool_use", "id": id, "name": "read_file", "input": {"path": path, "limit": 1}}


A, B = call("toolu_01", "report.py"), call("toolu_02", "test_orders.py")
IN_TURN = [("begins", A), ("ends", A), ("begins", B), ("ends", B)]
TOGETHER = [("begins", A), ("begins", B), ("ends", A), ("ends", B)]


def test_one_after_another_and_together_are_two_pictures():
    assert repr(show_timeline({"one after another": IN_TURN, "together": TOGETHER})).split("\n") == [
        "one after another: at most 1 call at a time",
        "  call                        moment  1     2",
        "  A read_file report.py       1       ▇▇▇▇▇",
        "  B read_file test_orders.py  2             ▇▇▇▇▇",
        "together: at most 2 calls at a time",
        "  call                        moment  1",
        "  A read_file report.py       1       ▇▇▇▇▇",
        "  B read_file test_orders.py  1       ▇▇▇▇▇",
    ]


def test_whichever_thread_was_first_the_picture_is_the_same():
    begins, ends = [("begins", A), ("begins", B)], [("ends", A), ("ends", B)]
    orders = itertools.product(itertools.permutations(begins), itertools.permutations(ends))
    assert len({show_timeline({"": [*first, *last]}).html for first, last in orders}) == 1


def test_events_of_real_threads_are_drawn():
    gate, events = Barrier(3, timeout=20), []

    def run(one):
        events.append(("begins", one))
        gate.wait()
        events.append(("ends", one))

    with ThreadPoolExecutor() as pool:
        list(pool.map(run, ["x", "y", "z"]))
    assert "at most 3 calls at a time" in repr(show_timeline({"threads": events}))


def test_calls_that_overlap_in_part_share_the_columns_in_which_they_do():
    events = [("begins", "x"), ("begins", "y"), ("ends", "y"), ("begins", "z"), ("ends", "x"), ("ends", "z")]
    lines = repr(show_timeline({"run": events})).split("\n")[2:]
    assert lines == ["  A x   1-2     ▇▇▇▇▇▇▇▇▇▇▇", "  B y   1       ▇▇▇▇▇", "  C z   2             ▇▇▇▇▇"]


def test_a_call_that_does_not_end_says_so():
    assert repr(show_timeline({"run": [("begins", "x")]})).endswith("1-?     ▇▇▇▇▇ does not end")


def test_a_block_of_the_sdk_is_a_call_too():
    block = Block(type="tool_use", id="toolu_01", name="bash", input={"command": "ls\n-l"})
    assert "A bash ls -l" in repr(show_timeline({"run": [("begins", block), ("ends", block)]}))


def test_what_is_long_or_hostile_stays_in_its_place():
    page = show_timeline({"<b>": [("begins", call("t", "<script>" * 50)), ("ends", call("t", "x"))]})
    assert "<script>" not in page.html
    assert "&lt;b&gt;" in page.html
    assert max(map(len, repr(page).split("\n"))) < 100
    assert "<U+202E>" in repr(show_timeline({"run": [("begins", "a\u202eb")]}))


def test_of_many_calls_the_first_are_drawn_and_the_others_counted():
    names = [f"call {number}" for number in range(10_000)]
    page = show_timeline({"in turn": [event for name in names for event in (("begins", name), ("ends", name))]})
    assert len(page.html) < 6_000
    assert repr(page).endswith("  and 9,988 more calls")
    page = show_timeline({"at once": [("begins", name) for name in names] + [("ends", name) for name in names]})
    assert "at most 10,000 calls at a time" in repr(page)
    assert repr(page).endswith("  and 9,970 more calls")


def test_a_run_without_calls_and_no_runs():
    assert repr(show_timeline({"idle": []})) == "idle: no calls"
    assert repr(show_timeline({})) == ""


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("ends", A)], "read_file report.py ends and has not begun"),
        ([("begins", A), ("begins", A)], "begins twice"),
        ([("starts", A)], "An event is"),
        ([A], "An event is"),
        (["begins"], "An event is"),
        ([("begins", 3)], "a string, and this is int"),
        ([("begins", {"name": "bash"})], "with an id"),
    ],
)
def test_events_that_do_not_fit_together_are_told(events, said):
    with pytest.raises(ValueError, match=said):
        show_timeline({"run": events})


def test_events_without_the_name_of_their_run_are_told():
    with pytest.raises(ValueError, match="a name for each run"):
        show_timeline(TOGETHER)
