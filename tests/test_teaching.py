"""The teacher's guide: its minutes are those of the pages, and what it names is there."""

import contextlib
import re

import pytest
from refresh import ROOT, notebooks, read
from teaching import GUIDE, minutes, pages, written

from s02_tool_use.__main__ import COMMANDS
from s02_tool_use.lab import room

TEXT = GUIDE.read_text(encoding="utf-8")
PLANS = re.findall(r"(?ms)^### (\d+) minutes$(.*?)(?=^##)", TEXT)
TIMES = pages()


def test_the_minutes_of_the_plans_are_those_of_the_pages():
    assert written(TEXT, TIMES) == TEXT, "run: python tests/teaching.py"


@pytest.mark.parametrize(("length", "plan"), PLANS, ids=[length for length, _ in PLANS])
def test_a_plan_fits_into_its_time_and_leaves_little_of_it(length, plan):
    rows = re.findall(r"(?m)^\| ([\d:]+) \| (\d+) \|", plan)
    assert 0.9 * int(length) <= sum(int(took) for _, took in rows) <= int(length)
    hours, rest = rows[-1][0].split(":")
    assert 60 * int(hours) + int(rest) + int(rows[-1][1]) <= int(length)


def test_there_are_plans_for_an_hour_for_an_hour_and_a_half_and_for_three():
    assert [length for length, _ in PLANS] == ["60", "90", "180"]


@pytest.mark.parametrize(("length", "plan"), PLANS, ids=[length for length, _ in PLANS])
def test_each_exercise_that_a_row_names_stands_in_its_sections(length, plan):
    for page, part, how in re.findall(r"(?m)^\| [\d:]+ \| \d+ \| (\d\d): ([^|]*) \| (.*) \|$", plan):
        (path,) = (ROOT / "notebooks").glob(f"{page}_*.ipynb")
        of, section = {}, ""
        for source in (cell.source for cell in read(path).cells if cell.cell_type == "markdown"):
            section = source[3:].partition(".")[0] if source.startswith("## ") else section
            if found := re.match(r"### Exercise (\d+):", source):
                of[found[1]] = section
        meant = set(re.findall(r"\d", part)) if part.startswith("section") else {*of.values()}
        for numbers in re.findall(r"[Ee]xercises? (\d+(?: and \d+)?)", how):
            assert {of.get(number) for number in numbers.split(" and ")} <= meant, (page, how)


def test_a_page_that_takes_longer_is_seen_in_each_plan_that_has_it():
    total, sections, rest = TIMES["01"]
    longer = written(TEXT, TIMES | {"01": (total + 7, [sections[0] + 7, *sections[1:]], rest)})
    plans = re.findall(r"(?ms)^### (\d+) minutes$(.*?)(?=^##)", longer)
    assert all(new != old for (_, new), (_, old) in zip(plans, PLANS, strict=True))


@pytest.mark.parametrize(
    "row", ["99: all", "04: sections 1, 6", "04: section x", "04: half", "04: sections", "talk: long"]
)
def test_a_row_that_names_what_is_not_there_is_an_error(row):
    with pytest.raises(ValueError, match=r"there is no page|name sections|invalid literal"):
        minutes(row, TIMES)


def test_each_notebook_has_its_aim_what_to_draw_what_goes_wrong_and_two_questions():
    parts = dict(re.findall(r"(?ms)^### (\d\d) .*?$(.*?)(?=^##)", TEXT.partition("## Page by page")[2]))
    assert [*parts] == [path.stem[:2] for path in notebooks() if path.parent.name == "notebooks"]
    for part in parts.values():
        assert re.findall(r"(?m)^- \*\*(.+?)\*\*", part) == ["Aim", "Draw", "Goes wrong", "Ask"]
        assert part.partition("**Ask**")[2].count("?") == 2


def test_it_answers_ten_questions_and_stays_short():
    questions = re.findall(r"(?m)^(\d+)\. \*\*.*\?", TEXT.partition("## Ten questions")[2])
    assert questions == [str(number) for number in range(1, 11)]
    assert len(TEXT.splitlines()) <= 300


def test_each_command_that_it_names_is_there():
    named = set(re.findall(r"python3 -m s02_tool_use (\w+)(?: (\w+))?", TEXT))
    assert {"reset", "update", "doctor"} <= {command for command, _ in named}
    assert {command for command, _ in named} <= {*COMMANDS}


def test_it_names_each_command_for_a_room_with_options_that_it_has(capsys):
    named = re.findall(r"s02_tool_use room (\w+)([^`]*)`", TEXT)
    assert {name for name, _ in named} == {*room.COMMANDS}
    for name in room.COMMANDS:
        with contextlib.suppress(SystemExit):
            room.main([name, "--help"])
        known = capsys.readouterr().out
        for option in re.findall(r"--\w+", "".join(rest for one, rest in named if one == name)):
            assert option in known, f"{name} {option}"


def test_the_readme_sends_teachers_there():
    assert "](notebooks/TEACHING.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
