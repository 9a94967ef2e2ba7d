"""What stands at the head of a page, who answers and what the workspace is: said once, and again when it has changed.

A cell that said a line says it again when it is run again: else it would vanish from the page. Left out: every other
place than a notebook, such as a terminal or output that is caught. There each line is said.
"""

import sys

_last: dict[str, str] = {}  # what it is about -> the line that was said last
_told: dict[tuple[str, str], str] = {}  # (cell, line) -> the run of the cell in which it said that


def say(about: str, line: str) -> None:
    """Print the line, unless this page has said it of `about` and nothing else since then."""
    cell, run = _place()
    if _last.get(about) == line and _told.get((cell, line), run) == run != "":
        return
    _last[about] = line
    _told[cell, line] = run
    print(line)


def forget(about: str) -> None:
    """What was said is no longer true: the next line is said, whatever it is."""
    _last.pop(about, None)


def _place():
    """(the cell that runs, this run of it) if what is printed goes to a page, else two empty strings."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    kernel = getattr(shell, "kernel", None)
    is_page = type(sys.stdout).__module__.startswith(("ipykernel.", "pyodide_kernel."))
    request = getattr(shell, "get_parent", getattr(kernel, "get_parent", dict))() if is_page else {}
    code = request.get("content", {}).get("code")  # only a cell has some: a button of a widget has none
    if not code:
        return "", ""
    return request.get("metadata", {}).get("cellId") or code, request["header"]["msg_id"]
