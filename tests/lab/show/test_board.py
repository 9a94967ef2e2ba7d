"""The scoreboard of 05: a square for each reported history, green only where the API accepts and nothing is gone."""

import json
import re
from pathlib import Path

import pytest

from s02_tool_use import blocks_of, normalize_messages
from s02_tool_use.history.turns import merge_neighbours
from s02_tool_use.lab import histories, score
from s02_tool_use.lab.show.board import ACCEPTED, KINDS, LOST, RAISED, REFUSED, kind_of

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
CASES = {name: case for name, case in histories().items() if case["checkable"]}


def test_every_reported_history_that_a_list_can_show_has_one_square_in_the_row_of_its_fault():
    board = score()
    assert list(board.marks) == sorted(CASES, key=lambda name: list(KINDS).index(kind_of(CASES[name])))
    assert len(board.marks) == 64
    assert {name for name, mark in board.marks.items() if mark == ACCEPTED} == {
        name for name, case in CASES.items() if case["api_error"] is None
    }


def test_the_package_leaves_red_what_needs_another_request():
    board = score(normalize_messages)
    assert repr(board).startswith("normalize_messages: 62 of 64\n  right already   ■■■■■■■\n")
    assert {CASES[name].get("repair_scope") for name, mark in board.marks.items() if mark != ACCEPTED} == {"request"}


def test_passes_run_one_after_the_other_and_what_is_none_is_left_out():
    def first(messages):
        return [*messages, {"role": "user", "content": "And?"}]

    def second(messages):
        assert messages[-1]["content"] == "And?"
        return messages[:-1]

    board = score(first, None, second)
    assert repr(board).startswith("first, second: 7 of 64")
    assert score(None).marks == score().marks == board.marks


def test_a_strict_server_does_not_join_neighbours():
    assert repr(score(strict=True)).startswith("as they are, strict server: 4 of 64\n  right already   □■■□□■■\n")
    assert "  right already   ■■■■■■■\n" in repr(score(merge_neighbours, strict=True))


def test_what_throws_words_or_results_away_is_not_green_although_the_api_accepts_it():
    constant = score(lambda messages: [{"role": "user", "content": "Hi."}])
    assert constant.accepted == 0
    assert set(constant.marks.values()) <= {LOST, REFUSED}
    texts = score(
        lambda messages: [m for m in normalize_messages(messages) if isinstance(m["content"], str)] or messages
    )
    assert texts.marks["parallel-results-in-two-messages"] == LOST
    assert "is gone" in repr(constant)


def raises(messages):
    raise KeyError("role")


def takes_nothing():
    return []


def raises_not_yet(messages):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("yours", "mark", "says"),
    [
        (raises, RAISED, "× orphan-cancel-then-user: KeyError: 'role'"),
        (raises_not_yet, RAISED, "it is not written yet"),
        (lambda messages: None, REFUSED, "what came back is NoneType, not a list of messages"),
        (lambda messages: tuple(messages), REFUSED, "what came back is tuple"),
        (lambda messages: [1], REFUSED, "messages.0"),
        (lambda messages: [{"role": "user", "content": {1, 2}}], REFUSED, "messages.0"),
        (lambda messages: [], REFUSED, "at least one message"),
        (takes_nothing, RAISED, "TypeError"),
    ],
)
def test_whatever_a_pass_does_the_board_is_drawn_and_says_it(yours, mark, says):
    board = score(yours)
    assert set(board.marks.values()) == {mark}
    assert says in repr(board)


def test_a_list_that_holds_itself_is_no_list_of_messages():
    def holds_itself(messages):
        messages.append(messages)
        return messages

    assert "this is not a list of messages: RecursionError" in repr(score(holds_itself))


def test_what_a_pass_prints_is_not_shown_and_what_it_changes_spoils_no_other_board(capsys):
    def destroys(messages):
        print("here")
        messages.clear()
        return messages

    score(destroys)
    assert capsys.readouterr().out == ""
    assert score().accepted == 7


@pytest.mark.parametrize("given", [4, "merge", [merge_neighbours]])
def test_what_is_no_function_is_a_sentence(given):
    with pytest.raises(ValueError, match="score takes functions"):
        score(given)


def test_a_square_has_its_colour_and_a_title_of_the_reader_stays_text():
    def titled(messages):
        return messages

    titled.__name__ = "<script>"
    board = score(titled)
    assert "<script>" not in board.html
    assert "&lt;script&gt;" in board.html
    assert board.html.count("■") == 8  # and one in the legend


def test_the_page_promises_the_numbers_that_its_solutions_reach():
    solved = json.loads((NOTEBOOKS / "solutions" / "05_normalize_messages.ipynb").read_text(encoding="utf-8"))["cells"]
    page = json.loads((NOTEBOOKS / "05_normalize_messages.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = {cell["id"]: " ".join("".join(cell["source"]).split()) for cell in page}
    boards = {}
    for cell in solved:
        for output in cell.get("outputs", ()):
            shown = "".join(output.get("data", {}).get("text/plain", "") or output.get("text", ""))
            if found := re.search(r"(\d+) of 64", shown):
                boards[cell["id"]] = int(found[1])
    promised = {f"ex{n}-board": prose[f"ex{n}"] for n in (1, 3, 4, 5, 6)}
    for name, text in promised.items():
        assert re.findall(r"the board goes (?:from 7 )?to (\d+)", text) == [str(boards[name])], name
    assert [boards[name] for name in ("s1-score", "s1-naive", "tested-score")] == [7, 9, 62]
    assert "Seven are right as they are" in prose["s1-naive-say"]
    assert "The other 57" in prose["s1-naive-say"]
    assert prose["s1-late"].startswith("Two more.")
    assert "Two squares stay red" in prose["tested-rest"]


def test_what_the_package_does_beyond_needs_it_one_history_a_row():
    """The rows of the page's table: red with the passes of the solutions, green with the package's."""
    page = json.loads((NOTEBOOKS / "05_normalize_messages.ipynb").read_text(encoding="utf-8"))["cells"]
    solved = json.loads((NOTEBOOKS / "solutions" / "05_normalize_messages.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in [*page, *solved]}
    names: dict = {"blocks_of": blocks_of}
    exec(sources["s3-split"].split("\n\n\n")[0] + "\n" + sources["s4-known"], names)
    for n in range(1, 6):
        exec(sources[f"ex{n}-solution"], names)
    names |= {"plain": names["my_plain"], "merge": names["my_merge"], "answers": names["my_answers"]}
    exec(sources["ex6-solution"], names)
    readers, package = score(names["my_normalize"]), score(normalize_messages)
    beyond = [name for name in re.findall(r'"([a-z-]+)"', sources["tested-table"]) if name in CASES]
    assert len(beyond) > 10
    assert {readers.marks[name] for name in beyond} == {LOST, REFUSED}
    assert {package.marks[name] for name in beyond} == {ACCEPTED}
    red = {name for name, mark in readers.marks.items() if mark != ACCEPTED and package.marks[name] == ACCEPTED}
    assert {kind_of(CASES[name]) for name in red} == {kind_of(CASES[name]) for name in beyond}
    assert score(names["my_merge"]).accepted == 8  # "one square"
