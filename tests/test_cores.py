"""What notebooks 03 and 04 build is the core of the package's tools; each guard has an input that the core fails.

The rows are those of the tables under "The same, tested". What takes a race, a kill or a full disk to show, or Windows,
is tested where the package's tools are: test_tools, test_workspace, files/.
"""

import json
import linecache
import os
import sys
from pathlib import Path

import pytest
from systems import ON_WINDOWS

import s02_tool_use
from s02_tool_use.lab import show_diff

SOLUTIONS = Path(__file__).parents[1] / "notebooks" / "solutions"
OUTSIDE = "TOP-SECRET"


def solved(name):
    """The names that a notebook of solutions defines."""
    cells = json.loads((SOLUTIONS / name).read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    code = "\n".join(source for source in sources if not source.startswith("check."))
    path = SOLUTIONS / f"{name}.py"  # a name for inspect, which reads the source from linecache
    linecache.cache[str(path)] = (len(code), None, code.splitlines(keepends=True), str(path))
    names = {}
    exec(compile(code, str(path), "exec"), names)
    return names


MINE = solved("03_file_tools.ipynb") | solved("04_safe_path.ipynb")
PAIRS = [
    ("my_write", "run_write", 3),
    ("my_read", "run_read", 2),
    ("my_edit", "run_edit", 5),
    ("my_glob", "run_glob", 2),
    ("my_walk", "safe_path", 12),
]


@pytest.mark.parametrize(("mine", "theirs", "steps"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_the_package_takes_the_steps_of_the_page_in_their_order(mine, theirs, steps):
    lines = repr(show_diff(MINE[mine], getattr(s02_tool_use, theirs))).split("\n")
    beside = sum(one.startswith("-") and other.startswith("+") for one, other in zip(lines, lines[1:], strict=False))
    assert beside + sum(line.startswith("  ") for line in lines) >= steps


def said(function, *arguments):
    """What a call gave, or the kind of its error."""
    try:
        return str(function(*arguments))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture
def shop(workspace):
    (workspace.parent / "secret.txt").write_text(OUTSIDE)
    (workspace / "folder").mkdir()
    files = {
        "orders.py": b"SHIPPING = 4.90\n",
        "long.txt": b"x" * 200_000,
        "picture": b"\x89PNG\0\0",
        "red": b"\x1b[31mred\n",
        "win.txt": b"one\r\ntwo\r\n",
        "twice": b"tea and tea\n",
        ".env": b"KEY=1\n",
        "two\nlines": b"",
    }
    for name, raw in files.items():
        if ON_WINDOWS and "\n" in name:
            continue
        (workspace / name).write_bytes(raw)
    (workspace / "many").mkdir()
    for number in range(510):
        (workspace / "many" / f"{number:03}.log").touch()
    return workspace


GUARDS = {  # the row -> (tool, arguments, is what it said guarded?)
    "only regular files": ("read", ["folder"], lambda text: "ToolError: 'folder' is a directory" in text),
    "the size, and how to read on": ("read", ["win.txt", 1], lambda text: "of 10" in text and "offset=2" in text),
    "at most 50,000 bytes": ("read", ["long.txt"], lambda text: len(text) < 51_000),
    "no binary files": ("read", ["picture"], lambda text: "binary" in text),
    "escape characters": ("read", ["red"], lambda text: "\x1b" not in text),
    "LF fits CRLF": ("edit", ["win.txt", "one\ntwo", "1\n2"], lambda text: text.startswith("Edited")),
    "the nearest lines": ("edit", ["orders.py", "SHIPPING=4.90", "x"], lambda text: "1: 'SHIPPING = 4.90'" in text),
    "replace_all": ("edit", ["twice", "tea", "coffee", True], lambda text: "2 places" in text),
    "a search that never leaves": ("glob", ["../*"], lambda text: "secret.txt" not in text),
    "a name that would break a line": ("glob", ["two*"], lambda text: "\n" not in text and "two" in text),
    "at most 500 names": ("glob", ["many/*"], lambda text: "500 of 510" in text),
    "names with a dot are counted": ("glob", ["*"], lambda text: "1 more under names that begin with a dot" in text),
}
CORES = {
    "read": (MINE["my_read"], s02_tool_use.run_read),
    "edit": (MINE["my_edit"], s02_tool_use.run_edit),
    "glob": (solved("03_file_tools.ipynb")["my_glob"], s02_tool_use.run_glob),
}


@pytest.mark.parametrize(("tool", "arguments", "guarded"), GUARDS.values(), ids=GUARDS)
def test_a_guard_of_a_tool_has_an_input_that_the_core_of_the_page_fails(shop, tool, arguments, guarded):
    if ON_WINDOWS and arguments == ["two*"]:
        pytest.skip("Windows has no names with a line end")
    mine, theirs = CORES[tool]
    assert not guarded(said(mine, *arguments))
    assert guarded(said(theirs, *arguments))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "n" * 300,
        "orders.py/..",
        "missing/../orders.py",
        pytest.param(
            "/proc/self/cwd/orders.py", marks=pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
        ),
    ],
)
def test_a_guard_of_safe_path_has_an_input_that_the_walk_of_the_page_does_not_refuse(shop, monkeypatch, path):
    monkeypatch.chdir(shop)
    assert not said(MINE["my_walk"], path).startswith("ValueError")
    assert said(s02_tool_use.safe_path, path).startswith("ToolError")


def test_the_glob_of_the_page_looks_outside_and_the_packages_does_not(shop, monkeypatch):
    looked, scan = [], os.scandir
    monkeypatch.setattr("os.scandir", lambda path: looked.append(path) or scan(path))
    for find in (MINE["my_glob"], s02_tool_use.run_glob):
        assert OUTSIDE not in said(find, "../*")
        looked.append(None)
    assert looked.index(None) > 0  # the page's looked into a folder
    assert looked[-1] is looked[-2] is None  # the package's into none
