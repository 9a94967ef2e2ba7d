"""The checks under the exercises: `check.NAME(yours)`. Here are their names, and `check.progress()`.

Left out: the exercises (exercises_*.py, one module a notebook) and how a check judges (verdict.py).
"""

import importlib

from . import page
from . import progress as _progress
from .exercises_bash import REPLIES, answer_all, bash, stop_reason, tool_result
from .exercises_dispatch import added_tool, run_tool, schema
from .verdict import EXERCISES

__all__ = [
    "REPLIES",
    "added_tool",
    "answer_all",
    "bash",
    "progress",
    "run_tool",
    "schema",
    "stop_reason",
    "tool_result",
]


def progress(reset=False):
    """Show which exercises are done so far on this machine. `reset=True` forgets them."""
    if reset:
        _progress.reset()
    done = set(_progress.done())
    notebooks = {}
    for exercise in EXERCISES.values():
        notebooks.setdefault(exercise.notebook, []).append(exercise.name)
    text, html = [], []
    for notebook, names in notebooks.items():
        count = f"{notebook}  {len(done & set(names))} of {len(names)}"
        marks = [f"{'✓' if name in done else '○'} {name}" for name in names]
        badges = [page.badge(m, page.GREEN if m.startswith("✓") else page.GREY) for m in marks]
        text.append(f"{count}  {'  '.join(marks)}")
        html.append(f'<div style="margin:4px 0"><b>{count}</b> {" ".join(badges)}</div>')
    last = f"{len(done & set(EXERCISES))} of {len(EXERCISES)} exercises done"
    return page.Page("\n".join([*text, last]), "".join([*html, f"<i>{last}</i>"]))


# ---- 03 to 09: a module for each notebook in checks/, loaded when its first check is used ----

LATER = {
    "files": ["read", "write", "edit"],
    "paths": ["inside", "safe_path", "glob"],
    "histories": ["orphans", "results_first", "merge"],
    "loops": ["loop", "usage", "approve"],
    "inspection": ["fault", "pairs"],
    "sdk": ["beta_tool", "differences"],
    "capstone": ["grep", "grep_tool"],
}
CASES = {"paths": ["PATHS"]}  # what a cell prints for the reader to predict


def __getattr__(name):
    for module, names in LATER.items():
        if name in names or name in CASES.get(module, ()):
            return getattr(importlib.import_module(f"{__package__}.checks.{module}"), name)
    raise AttributeError(f"there is no check {name!r}")
