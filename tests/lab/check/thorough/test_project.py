"""check.project: any tool, judged by a scripted agent. Right tools of each style pass, each fault has its own line."""

import contextlib
import csv
import itertools
import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import anthropic
import pytest
from systems import ON_WINDOWS

from s02_tool_use import ToolError, agent_loop, run_read, safe_path, tool_of
from s02_tool_use.lab import check, connect
from s02_tool_use.lab.check import scripted, trial
from s02_tool_use.lab.check.exercise import NOT_TRIED, NOT_YET, WRONG

GOOD = [{"path": "notes.txt", "number": 2}, {"path": "notes.txt", "number": 1}]
BAD = [
    {"path": "no_such_file.txt", "number": 1},
    {"path": "../secret.txt", "number": 1},
    {"path": "notes.txt", "number": 9},
]


@pytest.fixture(autouse=True)
def notes(workspace):
    (workspace / "notes.txt").write_text("green tea\nblack tea\n", encoding="utf-8")


def line_of(path: str, number: int) -> str:
    """Show one line of a text file. Use it when the number of the line is known. Returns the line.

    Args:
        path: A file of the workspace, such as notes.txt.
        number: The line, from 1 on.
    """
    lines = run_read(path).split("\n")
    if not 1 <= number <= len(lines):
        raise ToolError(f"{path} has {len(lines)} lines: number must be one of them")
    return lines[number - 1] or "(an empty line)"


class Shelf:
    def line_of(self, path: str, number: int) -> str:
        return line_of(path, number)


Shelf.line_of.__doc__ = line_of.__doc__


async def line_later(path: str, number: int) -> str:
    return line_of(path, number)


line_later.__doc__ = line_of.__doc__
STYLES = {
    "a function": (line_of, None),
    "a bound method": (Shelf().line_of, None),
    "an async function": (line_later, None),
    "a tool of the SDK": (anthropic.beta_tool(line_of), None),
    "a dict and its handler": (tool_of(line_of).to_dict(), lambda path, number: line_of(path, number)),
}


@pytest.mark.parametrize("style", STYLES)
def test_a_right_tool_of_each_style_passes_and_what_came_back_is_said(style):
    tool, handler = STYLES[style]
    verdict = check.project(tool, GOOD, BAD, handler=handler)
    assert verdict.passed, repr(verdict)
    assert "gave  'black tea'" in repr(verdict)
    assert "gave  an error: \"'no_such_file.txt' does not exist" in repr(verdict)
    assert tempfile.gettempdir() not in repr(verdict)


def changed(function):
    """`function(path, number)` in the place of line_of, described alike."""

    def tool(path: str, number: int):
        return function(path, number)

    tool.__name__, tool.__doc__ = "line_of", line_of.__doc__
    return tool


def in_a_shell(path, number):
    place = safe_path(".")
    cat = "type" if ON_WINDOWS else "cat"
    done = subprocess.run(f"{cat} {path}", shell=True, cwd=place, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode or ".." in path:
        raise ToolError("cat failed")
    lines = done.stdout.decode(errors="replace").split("\n")
    if not 1 <= number < len(lines):
        raise ToolError("no such line")
    return lines[number - 1][:1000] or "(empty)"


def anywhere(path, number):
    try:
        lines = Path(path).read_text(errors="replace").split("\n")
    except (OSError, ValueError):
        raise ToolError("cannot be read") from None
    if not 1 <= number < len(lines):
        raise ToolError("no such line")
    return lines[number - 1] or "(empty)"


def refuses_and_writes(path, number):
    try:
        return line_of(path, number)
    except ToolError:
        safe_path("log.txt").write_text("refused\n")
        raise


def writes_beside(path, number):
    (safe_path(".").parent / "log.txt").write_text(path[:10])
    return line_of(path, number)


def once_broken_always_broken():
    broken = []

    def tool(path, number):
        if broken:
            raise ToolError("the connection is closed")
        try:
            return line_of(path, number)
        except ToolError:
            broken.append(1)
            raise

    return tool


def waits(path, number):
    while number == 10**9:
        pass
    return line_of(path, number)


def falls(path, number):
    return {1: "green", 2: "black"}[number] if path == "notes.txt" else line_of(path, number)


def floods(path, number):
    return line_of(path, number) if len(path) < 1000 else path * 3


def refuses_with_an_exception_of_another(path, number):
    return run_read(path).split("\n")[number - 1] if number > 0 else line_of(path, number)


WRONG_TOOLS = [
    (lambda path, number: "a line", "a call that must not work"),
    (lambda path, number: "Error: there is no such line", "a call that must not work"),
    (lambda path, number: run_read(path), "a call that must not work"),
    (lambda path, number: line_of(path, number).encode(), "a call that should work"),
    (lambda path, number: object(), "a call that should work"),
    (lambda path, number: line_of(path, number + 2), "a call that should work"),
    (in_a_shell, "becomes part of a command"),
    (anywhere, "a call that must not work"),
    (refuses_and_writes, "leaves the workspace as it was"),
    (writes_beside, "outside of the workspace"),
    (once_broken_always_broken(), "the agent goes on"),
    (waits, "whatever a call holds"),
    (falls, "whatever a call holds"),
    (floods, "whatever a call holds"),
    (refuses_with_an_exception_of_another, "whatever a call holds"),
]


@pytest.mark.parametrize(("function", "sentence"), WRONG_TOOLS)
def test_a_wrong_tool_fails_first_at_the_line_that_fits_it(function, sentence, monkeypatch):
    monkeypatch.setattr(trial, "CPU_SECONDS", 0.3)
    monkeypatch.setattr(scripted, "SECONDS", 2.0)
    if function.__qualname__.startswith("once_broken"):  # its state is of one run
        function = once_broken_always_broken()
        verdict = check.project(changed(function), GOOD)
    else:
        verdict = check.project(changed(function), GOOD, BAD)
    first = next(line for line in verdict.lines if line.verdict == WRONG)
    assert sentence in first.sentence, repr(verdict)
    assert "Traceback" not in repr(verdict)
    assert tempfile.gettempdir() not in repr(verdict)


def test_what_a_tool_shows_of_a_file_outside_is_seen_though_nobody_named_it():
    verdict = check.project(changed(anywhere), GOOD, BAD[:1])
    line = next(line for line in verdict.lines if line.verdict == WRONG)
    assert "outside of the workspace" in line.sentence
    assert "secret.txt" in dict(line.details)["call"]


def test_a_tool_that_never_ends_is_stopped_and_the_call_is_shown(monkeypatch):
    monkeypatch.setattr(trial, "CPU_SECONDS", 0.3)
    monkeypatch.setattr(scripted, "SECONDS", 2.0)
    verdict = check.project(changed(waits), GOOD, BAD)
    lines = {line.sentence: line for line in verdict.lines}
    late = lines[scripted.LINES["fine"]]
    assert "1000000000" in dict(late.details)["call"]
    assert "stopped" in dict(late.details)["yours"]
    assert lines[scripted.LINES["lint"]].verdict == NOT_TRIED


def test_a_tool_that_says_little_of_itself_fails_at_the_line_of_my_tool():
    def line(path: str, number: int) -> str:
        """Line."""
        return line_of(path, number)

    last = check.project(line, GOOD, BAD).lines[-1]
    assert last.verdict == WRONG
    assert "each argument has a type and a description" in dict(last.details)["it says"]


def stub(path: str) -> str:
    raise NotImplementedError


def empty(path: str) -> str:
    """Nothing yet."""


@pytest.mark.parametrize("given", [(stub, GOOD), (empty, [{"path": "a"}]), (None, GOOD), (..., GOOD), (line_of, [])])
def test_what_is_not_written_yet_is_not_yet(given):
    given = (given[0], [{"path": "notes.txt"}]) if given[0] is stub else given
    assert {line.verdict for line in check.project(*given).lines} == {NOT_YET}


NONSENSE = [
    (4, GOOD),
    (line_of, "notes.txt"),
    (line_of, ["notes.txt"]),
    (line_of, GOOD, [4]),
    ([line_of], GOOD),
    ({}, GOOD),
]


@pytest.mark.parametrize("given", NONSENSE)
def test_nonsense_is_one_sentence(given):
    (line,) = check.project(*given).lines
    assert line.verdict == WRONG
    assert len(line.details) == 1


# ---- the four projects of the notebook

CELLS = json.loads(
    (Path(__file__).resolve().parents[4] / "notebooks/solutions/10_your_own_tool.ipynb").read_text(encoding="utf-8")
)["cells"]


def solved(number):
    """The names that the solution of this exercise, and the cells from the page before it, define."""
    names = {"ToolError": ToolError, "safe_path": safe_path, "fresh_workspace": lambda: None}
    for cell in CELLS:
        if (
            cell["id"].startswith((f"ex{number}-", "setup-"))
            and cell["cell_type"] == "code"
            and not cell["id"].endswith("-check")
        ):
            source = "".join(cell["source"]).replace("\nmake_database()", "").replace("\nmake_files()", "")
            exec(compile(source, cell["id"], "exec"), names)
    return names


def database(workspace, names):
    (workspace / "data").mkdir()
    (workspace / "data/orders.csv").write_text("customer,tea,grams,price\nZoë,Sencha,200,7.5\n", encoding="utf-8")
    names["make_database"]()


PROJECTS = [
    (3, "query_orders", "QUERIES", "NEVER"),
    (4, "bar_chart", "CHARTS", "NO_CHARTS"),
    (5, "price_order", "ORDERS", "NO_ORDERS"),
    (6, "check_syntax", "SOURCES", "NO_SOURCES"),
]


@pytest.mark.parametrize(("number", "tool", "good", "bad"), PROJECTS, ids=[row[1] for row in PROJECTS])
def test_the_solution_of_each_project_passes(number, tool, good, bad, workspace):
    names = solved(number)
    if number == 3:
        database(workspace, names)
    (workspace / "orders.py").write_text("x = 1\n")
    (workspace / "broken.py").write_text("x = (\n")
    verdict = check.project(names[tool], names[good], names[bad])
    assert verdict.passed, repr(verdict)


def test_the_query_tool_reads_and_does_nothing_else(workspace):
    names = solved(3)
    database(workspace, names)
    before = sorted(path.name for path in workspace.iterdir()), (workspace / "shop.db").read_bytes()
    for sql in (
        "VACUUM INTO 'copy.db'",
        "VACUUM",
        "BEGIN",
        "CREATE TEMP TABLE t(a)",
        "WITH a AS (SELECT 1) DELETE FROM orders",
        "SELECT * FROM pragma_table_info('orders')",
        "SELECT load_extension('x')",
        "ATTACH ':memory:' AS m",
        "DETACH main",
        "DROP TABLE orders",
        "-- nothing\nDELETE FROM orders",
        "SELECT \0",
    ):
        with pytest.raises(ToolError):
            names["query_orders"](sql)
    assert (sorted(path.name for path in workspace.iterdir()), (workspace / "shop.db").read_bytes()) == before


def only_read(guard, over):
    """The query tool with some of its guards. When `over` is set, no query goes on."""

    def query_orders(sql: str) -> str:
        """Run a query over the orders. Use it for sums. Returns the rows."""
        uri = safe_path("shop.db").as_uri() + ("?mode=ro" if "ro" in guard else "")
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as shop, shop:
            calls = iter(range(10_000)) if "steps" in guard else itertools.repeat(1)
            shop.set_progress_handler(lambda: over.is_set() or next(calls, None) is None, 1_000)
            try:
                return str(shop.execute(sql).fetchmany(50))
            except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
                raise ToolError(str(error)) from None

    return query_orders


@pytest.mark.parametrize("guard", [(), ("ro",), ("ro", "steps"), ("steps",)])
def test_a_query_tool_without_one_of_the_guards_fails(guard, workspace, monkeypatch):
    monkeypatch.setattr(trial, "CPU_SECONDS", 0.3)
    monkeypatch.setattr(scripted, "SECONDS", 2.0)
    names = solved(3)
    database(workspace, names)
    over = threading.Event()
    try:
        assert not check.project(only_read(guard, over), names["QUERIES"], names["NEVER"]).passed
    finally:
        over.set()  # a query without an end would take the time of all later tests


def test_a_program_asked_through_a_shell_fails_at_the_line_about_commands(workspace):
    (workspace / "orders.py").write_text("x = 1\n")

    def check_syntax(path: str) -> str:
        """Say whether a Python file has a syntax error. Use it after an edit. Returns one line."""
        if not safe_path(path.split(";")[0].split("&")[0].strip()).is_file():
            raise ToolError("not a file")
        command = f'"{sys.executable}" -m ast {path}'
        done = subprocess.run(command, shell=True, cwd=safe_path("."), capture_output=True, stdin=subprocess.DEVNULL)
        return "wrong" if done.returncode else "right"

    lines = {line.sentence: line for line in check.project(check_syntax, [{"path": "orders.py"}]).lines}
    line = lines[scripted.LINES["command"]]
    assert line.verdict == WRONG
    assert "echo" in dict(line.details)["call"]


def test_a_picture_goes_through_the_agent_as_an_image_that_the_api_takes():
    tool = solved(4)["bar_chart"]
    client, model = connect(
        script=[{"type": "tool_use", "name": "bar_chart", "input": {"labels": ["a"], "values": [1]}}, "Done."]
    )
    messages = [{"role": "user", "content": "Draw."}]
    agent_loop(client, model, messages, tools=[tool])
    assert [block["type"] for block in messages[2]["content"][0]["content"]] == ["image", "text"]


def test_the_orders_of_the_shop_are_what_the_database_holds(workspace):
    names = solved(3)
    database(workspace, names)
    with open(workspace / "data/orders.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert names["query_orders"]("SELECT * FROM orders") == " | ".join(rows[0])
