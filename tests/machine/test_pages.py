"""The pages as readers work through them: solved, in any order, a section twice, the checks again after a restart."""

import json
import re
import shutil

import pytest
from refresh import nbformat, read, runner, said
from systems import needs_bash
from test_structure import NOTEBOOKS, REWRITTEN, SOLUTIONS

from s02_tool_use.lab import check

pytestmark = needs_bash  # as the pages do
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


@by_name(WITH_EXERCISES)
def test_each_section_runs_first_and_twice_and_before_those_that_come_earlier(path, tmp_path, monkeypatch):
    """In one kernel: what a section leaves outside of its names is met by those before it.

    Nothing is run before it. Its first cell runs the set-up and the stubs, once, and says so.
    """
    monkeypatch.setenv("S02_OFFLINE", "1")
    shutil.copy(path, tmp_path)  # what the reader has on disk
    page, sections = read(path), []
    for cell in page.cells:
        if cell.cell_type == "markdown" and re.match("## (?!The agent so far)", cell.source):
            sections.append([])
        elif cell.cell_type == "code" and sections:
            sections[-1].append(cell)
    notebook, forget = nbformat.v4.new_notebook(metadata=page.metadata), nbformat.v4.new_code_cell("%reset -f")
    rounds = []  # (the cell as it stands on the page, the cell that is run)
    sections = [section for section in sections if section]
    for section in reversed(sections):
        notebook.cells.append(forget)
        for cell in [*section, *section]:
            rounds.append((cell, nbformat.v4.new_code_cell(cell.source)))
            notebook.cells.append(rounds[-1][1])
    run_all(notebook, tmp_path)
    meant, raised = dict(errors(page.cells)), [(cell.id, errors([ran])) for cell, ran in rounds]
    assert [(id, why) for id, why in raised if why and id not in meant] == []
    started = [said(nbformat.v4.new_notebook(cells=[ran])) for cell, ran in rounds if cell.id.endswith("-start")]
    line = f"First the set-up of {path.name} was run. Offline: no language model answers here"
    assert [text[: len(line)] for texts in started for text in texts.values()] == [line] * len(sections)
    for cell, ran in rounds:
        assert not cell.id.endswith("-check") or "not yet" in said(nbformat.v4.new_notebook(cells=[ran]))[ran.id]


def late(folder, *sources):
    """Run these cells in a kernel in this folder, whatever they raise. Returns what each said, or its error."""
    notebook = nbformat.v4.new_notebook(metadata=read(NOTEBOOKS[0]).metadata)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in sources]
    run_all(notebook, folder)
    return [dict(errors([cell])).get(cell.id) or said(notebook).get(cell.id, "") for cell in notebook.cells]


def edited(number, folder, changes):
    """The notebook with this number in a folder, with other sources in the cells that `changes` names."""
    path = next(path for path in NOTEBOOKS if path.stem.startswith(number))
    page = read(path)
    for cell in page.cells:
        cell.source = changes.get(cell.id, cell.source)
    nbformat.write(page, folder / path.name)


START = 'from s02_tool_use.lab import start_here\nstart_here("03")'


def test_who_comes_late_gets_the_set_up_and_the_answers_that_stand_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    changes = {
        "setup-where": "from s02_tool_use import workdir\n\nwhere = 'edited'\nprint('noise')\nfresh_workspace()",
        "ex1-stub": "def my_write(path, content):\n    return 'my answer'",
        "ex2-stub": "def my_read(path  # half written",
        "ex3-stub": "raise SystemExit('half thought')",
    }
    edited("03", tmp_path, changes)
    first, where, answer, again = late(tmp_path, START, "print(where)", "print(my_write(1, 2))", START)
    assert first.startswith("First the set-up of 03_file_tools.ipynb was run. Offline: ")
    assert first.count("\n") == 1
    assert (where, answer, again) == ("edited\n", "my answer\n", "")


def test_only_the_set_up_cells_that_were_not_run_are_run(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    changes = {
        "setup": "calls = 1\n",
        "loop": "",
        "setup-where": "print('no name')",
        "so-far-agent": "agent = calls + 1",
    }
    edited("03", tmp_path, changes)
    assert late(tmp_path, "calls = 5", START, "print(agent)", "del agent; calls = 7", START, "print(agent)") == [
        "",
        "First the set-up of 03_file_tools.ipynb was run.\n",
        "6\n",
        "",
        "First the set-up of 03_file_tools.ipynb was run.\n",
        "8\n",
    ]


def test_a_set_up_that_fails_is_named_in_one_sentence_and_the_section_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    edited("03", tmp_path, {"setup-where": "where = no_such_name"})
    assert late(tmp_path, START) == [
        "The set-up of 03_file_tools.ipynb stopped in the cell that begins with 'where = no_such_name': NameError: "
        "name 'no_such_name' is not defined. Run the cells above section 1 one by one."
    ]


def test_the_file_that_the_kernel_was_started_for_comes_first_and_a_foreign_one_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    other = tmp_path / "other"
    other.mkdir()
    edited("03", tmp_path, {"so-far-agent": "agent = 'of the folder'"})
    edited("03", other, {"so-far-agent": "agent = 'of the kernel'"})
    own = (other / "03_file_tools.ipynb").rename(other / "03_my_copy (1).ipynb")
    edited("04", other, {"so-far-agent": "agent = 'of another page'"})
    for told, whose in ((own, "kernel"), (other / "04_safe_path.ipynb", "folder"), (other / "03_gone.ipynb", "folder")):
        monkeypatch.setenv("JPY_SESSION_NAME", str(told))
        assert late(tmp_path, START, "print(agent)")[1] == f"of the {whose}\n"
    monkeypatch.delenv("JPY_SESSION_NAME")
    in_vs_code = f"__vsc_ipynb_file__ = {str(own)!r}"
    assert late(tmp_path, in_vs_code, START, "print(agent)")[2] == "of the kernel\n"


def test_without_the_notebook_beside_it_the_course_has_one_and_without_any_a_sentence_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    assert late(tmp_path, START)[0].startswith("First the set-up of 03_file_tools.ipynb was run.")
    assert late(tmp_path, START.replace("03", "77")) == [
        "There is no notebook 77 beside this kernel: run the cells above section 1 yourself.\n"
    ]


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


def test_what_one_notebook_solved_is_seen_in_00_and_by_who_comes_back(tmp_path, monkeypatch):
    """As readers have it: with a file beside the notebooks, which tests do not touch."""
    monkeypatch.setenv("S02_OFFLINE", "1")
    monkeypatch.delenv("PYTEST_VERSION")
    solution = next(cell.source for cell in read(SOLUTIONS[2]).cells if cell.id == "ex4-solution")
    show = next(cell.source for cell in read(NOTEBOOKS[0]).cells if cell.id == "far-progress")
    assert late(tmp_path, START, solution, "check.names(my_glob)")[2].startswith("names: all 5 right")
    shown = late(tmp_path, show)[0]
    assert "03  1 of 4  ○ write  ○ read  ○ edit  ✓ names\n" in shown
    assert shown.endswith("1 of 43 exercises done")
