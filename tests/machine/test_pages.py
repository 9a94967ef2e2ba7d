"""The pages as readers work through them: solved, in any order, a section twice, the checks again after a restart."""

import json
import re

import pytest
from refresh import nbformat, read, runner, said
from test_structure import NOTEBOOKS, PLACED, REWRITTEN, SOLUTIONS

from s02_tool_use.lab import check

WITH_EXERCISES = [path for path in NOTEBOOKS if path.stem[:2] in check.NOTEBOOKS]


def by_name(paths):
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


def run_all(notebook, folder):
    """Run a notebook to its end, whatever its cells raise."""
    client = runner(notebook, folder)
    client.allow_errors = True
    client.execute()


def errors(cells):
    """(id, what it says) of each cell that ended in an error. As the page is stored, those are the ones on purpose."""
    return [(cell.id, out.evalue) for cell in cells for out in cell.get("outputs", ()) if out.output_type == "error"]


def last_of_each(checks):
    """The cell in which a check is used for the last time: until then a function that grows has some lines red."""
    return {source.split("(")[0]: name for name, source in checks.items()}.values()


@by_name(WITH_EXERCISES)
def test_a_page_with_every_solution_filled_in_runs_whole_with_the_readers_parts(path, tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    page, solved = read(path), {cell.id: cell.source for cell in read(path.parent / "solutions" / path.name).cells}
    meant = dict(errors(page.cells))
    stubs = [cell for cell in page.cells if cell.id.endswith("-stub")]
    assert stubs
    for cell in stubs:
        cell.source = solved[cell.id.replace("-stub", "-solution")]
    run_all(page, tmp_path)
    assert [error for error in errors(page.cells) if error[0] not in meant] == []
    texts = said(page)
    checks = {cell.id: cell.source for cell in page.cells if cell.id.endswith("-check")}
    for name in last_of_each(checks):
        assert ": all " in texts[name].splitlines()[0], texts[name]
    names = [re.match(r"check\.(\w+)\(", source)[1] for source in checks.values()]
    printed = "\n".join(texts.values())
    assert not [name for name in names if f"until check.{name} passes" in printed]


@by_name([path for path in WITH_EXERCISES if path.stem in REWRITTEN | PLACED])
def test_each_section_runs_first_after_the_setup_and_twice_and_before_those_that_come_earlier(
    path, tmp_path, monkeypatch
):
    """In one kernel: what a section leaves outside of its names is met by those before it.

    The agent so far belongs to the set-up: every section may change it. So do the stubs, for the sections that compare
    the reader's answers and run them.
    """
    monkeypatch.setenv("S02_OFFLINE", "1")
    page = read(path)
    setup, sections = [], []
    for cell in page.cells:
        if cell.cell_type == "markdown" and re.match("## (?!The agent so far)", cell.source):
            sections.append([])
        elif cell.cell_type == "code":
            (sections[-1] if sections else setup).append(cell)
    stubs = [cell for cell in page.cells if cell.id.endswith("-stub")]
    notebook, forget = nbformat.v4.new_notebook(metadata=page.metadata), nbformat.v4.new_code_cell("%reset -f")
    rounds = []  # (the cell as it stands on the page, the cell that is run)
    for section in filter(None, reversed(sections)):
        notebook.cells.append(forget)
        own = [] if any(cell in section for cell in stubs) else stubs
        for cell in [*setup, *own, *section, *section]:
            rounds.append((cell, nbformat.v4.new_code_cell(cell.source)))
            notebook.cells.append(rounds[-1][1])
    run_all(notebook, tmp_path)
    meant, raised = dict(errors(page.cells)), [(cell.id, errors([ran])) for cell, ran in rounds]
    assert [(id, why) for id, why in raised if why and id not in meant] == []
    for cell, ran in rounds:
        assert not cell.id.endswith("-check") or "not yet" in said(nbformat.v4.new_notebook(cells=[ran]))[ran.id]


@by_name([path for path in WITH_EXERCISES if path.stem not in REWRITTEN])
def test_after_a_restart_the_checks_work_in_any_order_and_twice(path, tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    setup = [cell for cell in cells if cell.id.startswith("setup")]
    stubs = [cell for cell in cells if cell.id.endswith("-stub")]
    checks = [cell for cell in cells if cell.id.endswith("-check")]
    assert checks
    notebook = nbformat.v4.new_notebook(metadata=read(path).metadata)
    for number, cell in enumerate([*setup, *stubs, *reversed(checks), *checks]):
        notebook.cells.append(nbformat.v4.new_code_cell(cell.source, id=f"cell-{number}"))
    runner(notebook, tmp_path).execute()
    texts = [said(notebook).get(cell.id, "") for cell in notebook.cells[-2 * len(checks) :]]
    assert all("not yet" in text for text in texts)
    assert texts[: len(checks)][::-1] == texts[len(checks) :]


def test_every_check_of_the_solutions_is_green():
    for path in SOLUTIONS:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        checks = {cell["id"]: cell for cell in notebook["cells"] if cell["id"].endswith("-check")}
        assert checks
        for name in last_of_each({name: "".join(cell["source"]) for name, cell in checks.items()}):
            text = "".join(checks[name]["outputs"][0]["data"]["text/plain"])
            assert ": all " in text.splitlines()[0], f"{path.name}, {name}:\n{text}"
