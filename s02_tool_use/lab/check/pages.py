"""The learner's own notebooks, read: `start_here("04")` for who comes late, `solution("safe_path")` for who is stuck.

`start_here` runs the cells before the first section, as they stand in the learner's file, unless this kernel knows what
they define; and after them what the learner wrote in the exercises. Left out: what was typed and not saved, and any
other cell of a section.
"""

import ast
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from . import NOTEBOOKS, NoSuchCheck, record

COURSE = Path(__file__).resolve().parents[3] / "notebooks"


class SetupFailed(Exception):
    """A set-up cell that ended in an error, as one sentence: a cell shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:  # asked by IPython
        return [str(self)]


def start_here(number: str) -> None:
    """Run the set-up cells of this page, if they were not run in this kernel. `number` is the page's, such as "04"."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:  # a script has the cells in their order
        return
    path = page(shell, number)
    if path is None:
        print(f"There is no notebook {number} beside this kernel: run the cells above section 1 yourself.")
        return
    setup = list(before_the_sections(path))
    waiting = setup[first_to_run([names_of(source, shell.transform_cell) for source in setup], shell.user_ns) :]
    if not waiting:
        return
    banner = ""
    for source in waiting:
        error, said = run(shell, source)
        if error is not None:
            begins = source.strip().splitlines()[0]
            raise SetupFailed(
                f"The set-up of {path.name} stopped in the cell that begins with {begins!r}: "
                f"{type(error).__name__}: {error}. Run the cells above section 1 one by one."
            )
        if "connect()" in source:
            banner = said.partition("\n")[0]
    for source in exercises(path):
        run(shell, source)  # it may be half written: then its own cell will say so
    print(f"First the set-up of {path.name} was run. {banner}".strip())


def run(shell: Any, source: str) -> tuple[BaseException | None, str]:
    """Run a cell without a trace on the page. Returns what it raised, or None, and what it printed.

    Not by shell.run_cell: that would show the error as if it were the cell's own.
    """
    from IPython.utils.capture import capture_output

    with capture_output() as said:
        try:
            code = shell.transform_cell(source)
            name = shell.compile.cache(code)  # so that inspect.getsource finds it
            exec(compile(code, name, "exec", dont_inherit=True), shell.user_ns)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: a cell that says exit() does not end the kernel either
            return error, said.stdout
    return None, said.stdout


def page(shell: Any, number: str) -> Path | None:
    """The file of this notebook: the one that the kernel was started for, or else the one in its folder."""
    # VS Code and JupyterLab tell the kernel. But a kernel that somebody starts from a notebook inherits it.
    for told in (shell.user_ns.get("__vsc_ipynb_file__"), os.environ.get("JPY_SESSION_NAME")):
        if told and Path(told).name.startswith(number) and Path(told).suffix == ".ipynb" and Path(told).is_file():
            return Path(told)
    here = Path(getattr(shell, "starting_dir", None) or Path.cwd())
    return next(find(number, here, here / "notebooks", COURSE), None)


def find(number: str, *folders: Path) -> Iterator[Path]:
    """The notebooks of the course with this number in these folders, copies beside them left out."""
    for folder in folders:
        yield from (path for path in sorted(folder.glob(f"{number}_*.ipynb")) if re.fullmatch(r"\w+", path.stem))


_given: Counter[str] = Counter()  # how often the solution of an exercise was asked for in this kernel


def solution(name: str) -> None:
    """Put a solution into a new cell below, or print it where there are no cells. The exercise must have been tried.

    name: what stands after `check.`, such as "safe_path"; for a project the name of its function. Where one check
    belongs to two exercises the first call shows the first, and the next call the next.
    """
    name = str(getattr(name, "name", name))
    number = next((number for number, (_, names) in NOTEBOOKS.items() if name in names), "10")
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    here = Path(getattr(shell, "starting_dir", None) or Path.cwd())
    path = next(find(number, *(folder / "solutions" for folder in (here, here / "notebooks", COURSE))), None)
    if path is None:
        print(f"The solutions of notebook {number} are not here. In the course they lie in notebooks/solutions.")
        return
    solutions = list(solutions_in(path))
    projects = {one.given: one for one in solutions if one.check == "project"}
    found = [projects[name]] if name in projects else [one for one in solutions if one.check == name]
    if not found:
        raise NoSuchCheck(name)
    if name == "project":
        print("Which project?", ", ".join(f'check.solution("{given}")' for given in projects))
        return
    tried = record.tried().get(found[0].check)
    if tried is None:
        print(
            f"Try it first: write something into the exercise, run its check, and read a hint. Then this shows {name}."
        )
        return
    one = found[min(_given[name], len(found) - 1)]
    _given[name] += 1
    text = f"# {one.title}: one solution. Why it is so stands in solutions/{path.name}\n{one.source}"
    if shell is None or not hasattr(shell, "kernel") or "__vsc_ipynb_file__" in shell.user_ns:  # a terminal, or VS Code
        print(text)
        return
    # By hand, as ipykernel does it: the kernel of a browser page only hands it on.
    shell.payload_manager.write_payload({"source": "set_next_input", "text": text, "replace": False})
    print("A solution stands in a new cell below." + " Ask again for the next." * (_given[name] < len(found)))


class Solution(NamedTuple):
    title: str  # "Exercise 2"
    check: str  # "safe_path"
    given: str  # what the check is given first: "my_safe_path"
    source: str


def solutions_in(path: Path) -> Iterator[Solution]:
    """The exercises of a notebook with solutions, in their order."""
    title = source = ""
    for cell in cells(path):
        if cell["cell_type"] == "markdown" and (found := re.match(r"#+ (Exercise \d+)", cell["source"])):
            title = found[1]
        elif re.fullmatch(r"ex\d-solution", cell.get("id", "")):
            source = cell["source"]
        elif found := re.match(r"check\.(\w+)\((\w+)", cell["source"]):
            yield Solution(title, found[1], found[2], source)


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook, each source as one string. None of a file that is no notebook.

    The one that fetches the course in Colab is left out: whoever reads this has the course.
    """
    try:
        found = json.loads(path.read_bytes())["cells"]
        return [{**cell, "source": "".join(cell["source"])} for cell in found if cell.get("id") != "elsewhere"]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def before_the_sections(path: Path) -> Iterator[str]:
    """The code cells before `## 1.`."""
    for cell in cells(path):
        if cell["cell_type"] == "markdown" and re.search(r"(?m)^## 1\.", cell["source"]):
            return
        if cell["cell_type"] == "code":
            yield cell["source"]


def exercises(path: Path) -> Iterator[str]:
    """The cells in which the learner writes."""
    return (cell["source"] for cell in cells(path) if re.fullmatch(r"ex\d-stub", cell.get("id", "")))


def names_of(source: str, transform: Callable[[str], str]) -> set[str]:
    """What a cell surely defines: its statements that stand under no condition."""
    names: set[str] = set()
    try:
        body = ast.parse(transform(source)).body
    except SyntaxError:
        return names
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            stored = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
            names |= {name.id for name in stored if isinstance(name.ctx, ast.Store)}
        elif isinstance(node, ast.Delete):
            names -= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names - {"*"}


def first_to_run(defined: list[set[str]], known: dict[str, Any]) -> int:
    """The first cell that has to be run: the first whose names are not all known, with those before it that have none.

    Cells are run from top to bottom; so what stands before a cell that was run has been run as well.
    """
    missing = next((number for number, names in enumerate(defined) if not names <= known.keys()), len(defined))
    if missing == len(defined):
        return missing
    while missing and not defined[missing - 1]:
        missing -= 1
    return missing
