"""What a browser page lacks is one sentence below the cell, and any other exception is shown as ever."""

import errno
import socket
import subprocess
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from systems import posix_alone
from traitlets.config import Config

from s02_tool_use.lab.client import missing

posix_alone("errors with the numbers that a page gives them")

POOL = "from concurrent.futures import ThreadPoolExecutor as Pool; list(Pool().map(abs, [1]))"
COMMAND = "import subprocess; subprocess.run(['ls'])"
SOCKET = "import socket; socket.create_connection(('localhost', 80))"
PAGE = "import urllib.request; urllib.request.urlopen('http://localhost')"
CLOSED = "import http.client as h, io; from unittest.mock import Mock\nempty = Mock(return_value=io.BytesIO())"
CLOSED += "\nh.HTTPResponse(Mock(makefile=empty)).begin()"  # what a page says when nobody answers
DONE = "import subprocess\ndone = subprocess.run(['ls'])\nsaid = done.stdout"


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """IPython, which leaves this process and the home folder alone."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config({"HistoryManager": {"enabled": False}})
    made = InteractiveShell(config=config, user_module=ModuleType("cells"), user_ns={})
    monkeypatch.setattr("IPython.get_ipython", lambda: made)
    return made


@pytest.fixture
def cell(shell, in_a_page, monkeypatch):
    """A function that runs a cell in a page and gives what stands below it."""

    def no_processes(*_, **__):
        raise OSError(errno.EOPNOTSUPP, "emscripten does not support processes.")

    def no_sockets(*_, **__):
        raise OSError(23, "Host is unreachable")

    monkeypatch.setattr(subprocess, "Popen", no_processes)
    monkeypatch.setattr(socket, "getaddrinfo", no_sockets)
    monkeypatch.setattr(missing, "_unset", {})
    missing.watch()

    def run(source):
        shown = []
        monkeypatch.setattr(shell, "_showtraceback", lambda *error: shown.append(error))
        with capture_output() as said:
            shell.run_cell(source, store_history=True)
        return said.stdout, shown

    return run


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        (POOL, "only one thread"),
        (COMMAND, "no processes"),
        ("import os\nos.popen('ls')", "no processes"),
        ("raise ModuleNotFoundError(\"No module named '_multiprocessing'\")", "no processes"),
        ("raise OSError('Not available')  # as a line with ! does", "no processes"),
        ("raise OSError(52, 'Function not implemented')  # os.fork", "no processes"),
        (SOCKET, "no sockets"),
        (PAGE, "no sockets"),
        (CLOSED, "no sockets"),
    ],
)
def test_a_cell_that_needs_what_a_page_lacks_says_so_in_a_sentence_and_is_no_error(cell, source, lacks):
    said, shown = cell(source)
    assert shown == []
    assert said.startswith(f"This cell ends here: a browser page has {lacks}")
    assert said.count("\n") == 1


def test_a_cell_that_needs_what_such_a_cell_was_to_set_says_so_too(cell):
    cell(DONE)
    for source, name in (("count = len(done.stdout)", "done"), ("print(said)", "said"), ("print(count)", "count")):
        said, shown = cell(source)
        assert shown == []
        assert said.startswith(f"This cell ends here: `{name}` is set in a cell that ended early, because")


@pytest.mark.parametrize("source", ["nobody_set_this", "x = subprocess", "del count", "def f(): return count\nf()"])
def test_any_other_name_that_is_not_there_is_an_error_as_ever(cell, source):
    cell("done = 1\n" + COMMAND)
    said, ((kind, _, lines),) = cell(f"del done, subprocess\n{source}")
    assert kind is NameError
    assert said == ""


@pytest.mark.parametrize(
    "source",
    [
        "open('no_such_file')",
        "raise RuntimeError('mine')",
        "raise OSError('Not available yet')",
        "import nothing_here",
        "raise NotImplementedError",
        "1/0",
    ],
)
def test_any_other_exception_is_shown_as_ever(cell, source):
    said, ((kind, _, lines),) = cell(source)
    assert said == ""
    assert kind.__name__ in "\n".join(lines)


def test_elsewhere_nothing_changes(shell):
    missing.watch()
    assert shell.custom_exceptions == ()
