"""check.solution: after a try, in a cell where there are cells; each exercise has one that fits its page."""

import ast
import builtins
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from s02_tool_use.lab import check
from s02_tool_use.lab.check import pages, record

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
PAGES = [
    path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if path.stem[:2] in check.NOTEBOOKS and "." not in path.stem
]


@pytest.fixture(autouse=True)
def nothing_done(monkeypatch):
    monkeypatch.setattr(record, "_here", [])
    monkeypatch.setattr(pages, "_given", pages.Counter())


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A kernel in a notebook: what would be put into new cells is in `shell.cells`."""
    cells = []

    def write_payload(payload):
        assert payload.pop("source") == "set_next_input"
        assert payload.pop("replace") is False
        cells.append(payload["text"])

    made = SimpleNamespace(kernel=True, user_ns={}, starting_dir=str(tmp_path), cells=cells)
    made.payload_manager = SimpleNamespace(write_payload=write_payload)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: made))
    return made


def page_cells(path):
    return [cell for cell in pages.cells(path) if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_each_exercise_has_a_solution_of_its_own_that_uses_what_its_page_has(path):
    code = page_cells(path)
    asked = [(cell["id"], re.match(r"check\.(\w+)\((\w+)", cell["source"])) for cell in code]
    asked = [(f"Exercise {id[2]}", found[1], found[2]) for id, found in asked if re.fullmatch(r"ex\d-check", id)]
    solutions = list(pages.solutions_in(path.parent / "solutions" / path.name))
    assert [(one.title, one.check, one.given) for one in solutions] == asked
    assert len({one.source for one in solutions}) == len(solutions)
    of_the_page = set(dir(builtins))
    for cell in code:
        of_the_page |= bound(ast.parse(cell["source"]))
    for one in solutions:
        tree = ast.parse(one.source)
        assert one.given in bound(tree), one.title
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert used <= of_the_page | bound(tree), f"{one.title}: {used - of_the_page - bound(tree)}"


def bound(tree):
    """Each name that some statement in it sets."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def test_before_a_try_there_is_a_sentence_and_no_cell(shell, capsys):
    check.solution("safe_path")
    check.safe_path(lambda p: None)  # a stub is no try
    check.solution("safe_path")
    assert shell.cells == []
    line = (
        "Try it first: write something into the exercise, run its check, and read a hint. Then this shows safe_path.\n"
    )
    assert capsys.readouterr().out == 2 * line


@pytest.mark.parametrize("name", ["safe_path", check.safe_path])
def test_after_a_try_it_stands_in_a_new_cell(name, shell, capsys):
    check.safe_path(lambda p: "wrong")
    check.solution(name)
    (cell,) = shell.cells
    assert cell.startswith(
        "# Exercise 2: one solution. Why it is so stands in solutions/04_safe_path.ipynb\ndef my_safe_path(p):\n"
    )
    assert capsys.readouterr().out == "A solution stands in a new cell below.\n"
    names = {}
    exec(f"from s02_tool_use import workdir\n{cell}", names)
    assert check.safe_path(names["my_safe_path"]).passed
    check.solution(name)
    assert len(shell.cells) == 2


def test_a_try_in_another_notebook_or_before_a_restart_counts_and_so_does_a_pass(shell):
    record._here.append("?bash 1764604800\nwrite")
    check.solution("bash")
    check.solution("write")
    assert len(shell.cells) == 2


def test_where_one_check_has_two_exercises_the_second_comes_when_it_is_asked_for(shell, capsys):
    record._here.append("?run_tool 1764604800")
    for _ in range(3):
        check.solution("run_tool")
    assert [cell.split(":")[0] for cell in shell.cells] == ["# Exercise 2", "# Exercise 3", "# Exercise 3"]
    assert capsys.readouterr().out.splitlines()[:2] == [
        "A solution stands in a new cell below. Ask again for the next.",
        "A solution stands in a new cell below.",
    ]


def test_in_vs_code_and_in_a_terminal_it_is_printed(shell, monkeypatch, capsys):
    record._here.append("names")
    shell.user_ns["__vsc_ipynb_file__"] = "/somewhere/03_file_tools.ipynb"
    check.solution("names")
    in_vs_code = capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    check.solution("names")
    assert capsys.readouterr().out == in_vs_code
    assert "def my_glob(pattern):" in in_vs_code
    assert shell.cells == []


def test_a_project_is_asked_for_by_its_function(shell, capsys):
    check.solution("bar_chart")
    check.solution("project")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("Try it first")
    assert second.startswith('Which project? check.solution("query_orders"), check.solution("bar_chart")')
    record._here.append("?project 1764604800")
    check.solution("bar_chart")
    assert "def bar_chart(" in shell.cells[0]


def test_a_tried_project_is_on_record_and_a_stub_is_not():
    def greet(name: str) -> str:
        """Greet somebody."""
        raise NotImplementedError

    check.project(greet, [{"name": "Ada"}])
    assert record.tried() == {}

    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    check.project(greet, [{"name": "Ada"}])
    assert [*record.tried()] == ["project"]
    assert "○ project" in str(check.progress())


@pytest.mark.parametrize("name", ["nope", "my_tool", "progress", "", None])
def test_what_is_no_exercise_is_told_the_exercises(name, shell):
    with pytest.raises(check.NoSuchCheck, match="The checks are: stop_reason"):
        check.solution(name)


def test_the_solutions_beside_the_learners_notebooks_come_first_and_without_any_a_sentence_says_so(
    shell, tmp_path, monkeypatch, capsys
):
    record._here.append("names")
    monkeypatch.setattr(pages, "COURSE", tmp_path / "nowhere")
    check.solution("names")
    assert capsys.readouterr().out.startswith("The solutions of notebook 03 are not here.")
    (tmp_path / "solutions").mkdir()
    cells = [
        {"cell_type": "markdown", "id": "ex4", "source": "## Exercise 4: names"},
        {"cell_type": "code", "id": "ex4-solution", "source": ["my_glob = 'mine'"]},
        {"cell_type": "code", "id": "ex4-check", "source": ["check.names(my_glob)"]},
    ]
    (tmp_path / "solutions" / "03_file_tools.ipynb").write_text(json.dumps({"cells": cells}))
    check.solution("names")
    assert shell.cells[0].endswith("\nmy_glob = 'mine'")
