"""The checks under the exercises: `check.NAME(yours)`. Here are their names, `check.yours()` and `check.progress()`.

`check.solution(name)` shows a solution (pages.py), `check.share(address, name)` tells a teacher's board (board.py).

Left out: the exercises themselves (exercises/, a module for each notebook) and how a check judges (exercise.py).
"""

import importlib
from typing import Any

from ..show import page
from . import record as _record
from .board import share as share

# notebook -> (its module in exercises/, its exercises in their order). It is loaded when one of its checks is used.
NOTEBOOKS = {
    "01": ("bash", ["stop_reason", "tool_result", "answer_all", "bash", "bash_tool"]),
    "02": ("dispatch", ["handlers", "run_tool", "schema", "count_lines", "added_tool"]),
    "03": ("files", ["write", "read", "edit", "names"]),
    "04": ("paths", ["inside", "safe_path", "walk", "glob"]),
    "05": ("histories", ["orphans", "merge", "results_first", "answers", "plain", "normalize"]),
    "06": ("loops", ["limit", "loop", "approve", "stop", "together", "usage"]),
    "07": ("inspection", ["fault", "pairs"]),
    "08": ("sdk", ["beta_tool", "picture", "differences"]),
    "09": ("beyond", ["blocks", "structured", "cached", "chosen", "gate"]),
    "10": ("capstone", ["grep", "grep_tool"]),
}
# What `progress` and the board count: the exercises, and one project of the reader's own.
COUNTED = {number: [*names, "project"] if number == "10" else names for number, (_, names) in NOTEBOOKS.items()}
# What a cell prints for the reader to predict -> its module.
CASES = {"REPLIES": "bash", "PATHS": "paths", "BROKEN": "inspection", "DUTIES": "sdk", "CATALOGUE": "beyond"}

_HOMES = CASES | {name: module for module, names in NOTEBOOKS.values() for name in names}
_HOMES = {name: f"exercises.{module}" for name, module in _HOMES.items()} | {
    "my_tool": "lint",
    "project": "scripted",
    "solution": "pages",
}


class NoSuchCheck(AttributeError):
    """A name that no check has, as one sentence: a cell shows it without a traceback."""

    def __init__(self, name: object) -> None:
        names = [*(name for _, names in NOTEBOOKS.values() for name in names), "my_tool", "project"]
        super().__init__(f"There is no check {name!r}. The checks are: {', '.join(names)}.")

    def _render_traceback_(self) -> list[str]:  # asked by IPython
        return [str(self)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise NoSuchCheck(name)
    return getattr(importlib.import_module(f"{__package__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return ["progress", "share", "yours", *_HOMES]  # what the Tab key offers


def yours(name: str, otherwise: Any) -> Any:
    """Return what passed `check.<name>(...)` in this kernel, or `otherwise`; and print which of the two it is.

    `otherwise` is the package's part, or None: then nothing stands in for the reader's.
    The last verdict counts. Of a check that was given several values it is the tuple of them.
    """
    if name not in [name for _, names in NOTEBOOKS.values() for name in names]:
        raise NoSuchCheck(name)
    if name in _record.kept:
        print(f"{name}: yours, it passed its check")
        return _record.kept[name]
    is_ours = str(getattr(otherwise, "__module__", "")).startswith("s02_tool_use")
    stand_in = "left out" if otherwise is None else "the package's" if is_ours else "a stand-in"
    print(f"{name}: {stand_in}, until check.{name} passes")
    return otherwise


def progress(reset: bool = False) -> page.Page:
    """Show which exercises are done so far on this machine. `reset=True` forgets them."""
    if reset:
        _record.reset()
    done = set(_record.done())
    text, html, total = [], [], [name for names in COUNTED.values() for name in names]
    for notebook, names in COUNTED.items():
        count = f"{notebook}  {len(done & set(names))} of {len(names)}"
        marks = [f"{'✓' if name in done else '○'} {name}" for name in names]
        badges = [page.badge(mark, page.GREEN if mark.startswith("✓") else page.GREY) for mark in marks]
        text.append(f"{count}  {'  '.join(marks)}")
        html.append(f'<div style="margin:4px 0"><b>{count}</b> {" ".join(badges)}</div>')
    last = f"{len(done & set(total))} of {len(total)} exercises done"
    return page.Page("\n".join([*text, last]), "".join([*html, f"<i>{last}</i>"]))
