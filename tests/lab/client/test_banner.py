"""Who answers is said by every connect() outside of a page; tests/machine/test_notebooks.py looks at pages."""

import io
import sys
from types import SimpleNamespace

import pytest

from s02_tool_use.lab import connect, fresh_workspace
from s02_tool_use.lab.client import banner


def test_outside_of_a_page_each_line_is_said_each_time(capsys):
    for _ in range(2):
        connect()
        fresh_workspace()
    said = capsys.readouterr().out
    assert said.count("Offline: no language model answers here, rules do.") == 2
    assert said.count("Workspace: a fresh copy of the sample project:\n") == 2


class Stream(io.StringIO):
    """What a kernel's standard output is, told by its module alone."""


@pytest.mark.parametrize(
    ("module", "asked"), [("ipykernel.iostream", "shell"), ("pyodide_kernel.display", "kernel")], ids=str
)
def test_in_a_page_a_line_is_said_once_and_again_by_the_cell_that_said_it(module, asked, monkeypatch):
    cells = []

    def get_parent():
        cell, run = cells[-1]
        return {"header": {"msg_id": run}, "content": {"code": "1"}, "metadata": {"cellId": cell}}

    stream = type("Stream", (Stream,), {"__module__": module})()
    shell = SimpleNamespace(kernel=SimpleNamespace(get_parent=get_parent))
    if asked == "shell":
        shell = SimpleNamespace(get_parent=get_parent, kernel=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(banner, "_last", {})
    monkeypatch.setattr(banner, "_told", {})
    counts = []
    for cell, run in [("a", "1"), ("a", "1"), ("b", "2"), ("a", "3")]:
        cells.append((cell, run))
        banner.say("who answers", "rules do")
        counts.append(stream.getvalue().count("rules do"))
    assert counts == [1, 1, 1, 2]
