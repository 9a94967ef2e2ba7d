"""The small file of what is done: beside the reader's notebooks, shared by two of them, ignored under pytest."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from s02_tool_use.lab import check
from s02_tool_use.lab.check import record


@pytest.fixture
def as_a_reader(monkeypatch, tmp_path):
    monkeypatch.delenv("PYTEST_VERSION")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record, "_here", [])
    return tmp_path


def test_a_name_is_written_once_and_order_is_kept(as_a_reader):
    for name in ("b", "a", "b"):
        record.record(name)
    assert (as_a_reader / ".progress").read_text() == "b\na\n"
    assert record.done() == ["b", "a"]


def test_what_another_notebook_wrote_counts(as_a_reader):
    record.record("a")
    (as_a_reader / ".progress").write_text("a\nfrom_another\n\n")
    assert record.done() == ["a", "from_another"]


def test_reset_forgets_all_and_may_come_first(as_a_reader):
    record.reset()
    record.record("a")
    record.reset()
    assert record.done() == []
    assert not (as_a_reader / ".progress").exists()


def test_a_broken_file_costs_nothing(as_a_reader):
    (as_a_reader / ".progress").write_bytes(b"\xff\xfe\x00a b\n\n\nc")
    assert "c" in record.done()
    record.record("d")
    assert "d" in record.done()


def test_a_folder_that_cannot_be_written_costs_the_file_and_not_the_check(as_a_reader):
    (as_a_reader / ".progress").mkdir()
    record.record("a")
    assert record.done() == ["a"]
    record.reset()
    assert record.done() == []


def test_tries_are_counted_until_it_is_done_and_an_old_file_stays_as_it_is(as_a_reader, monkeypatch):
    (as_a_reader / ".progress").write_text("a\n")
    for now, name, passed in ((100, "b", False), (160, "c", False), (220, "b", False), (280, "b", True)):
        monkeypatch.setattr(record.time, "time", lambda now=now: now + 0.7)
        record.record(name, passed)
    for passed in (False, True):
        record.record("a", passed)
        record.record("b", passed)
    assert (as_a_reader / ".progress").read_text() == "a\n?b 100\n?c 160\n?b 220\nb\n"
    assert record.tried() == {
        "a": record.Tried(True),
        "b": record.Tried(True, 2, 100, 220),
        "c": record.Tried(False, 1, 160, 160),
    }
    assert [*record.tried()] == ["a", "c", "b"]  # the last one at the end
    assert record.done() == ["a", "b"]


def test_a_line_that_was_cut_off_takes_the_next_one_not_along(as_a_reader):
    (as_a_reader / ".progress").write_text("a\n?b 1")
    record.record("c")
    assert record.done() == ["a", "c"]


@pytest.mark.parametrize("text", ["?", "9" * 5000, "12 ?a 13 14", "?a ?a 5", "\0? 7", "?a " + "7" * 30, "² ٣ ?a ٣"])
def test_a_strange_file_raises_nothing(text):
    assert not any(one.done for name, one in record.read(text).items() if name == "a")


def test_notebooks_that_write_at_once_lose_no_line(as_a_reader):
    code = "from s02_tool_use.lab.check import record\nfor n in range(200): record.record(f'{sys.argv[1]}{n}', n % 2)"
    started = [subprocess.Popen([sys.executable, "-c", f"import sys; {code}", name]) for name in "abc"]
    assert [one.wait(120) for one in started] == [0, 0, 0]
    expected = {f"{name}{n}": bool(n % 2) for name in "abc" for n in range(200)}
    assert {name: one.done for name, one in record.tried().items()} == expected
    assert all(one.tries == (not one.done) for one in record.tried().values())


def test_a_stub_is_no_try_and_a_wrong_answer_is_one(as_a_reader):
    check.stop_reason([None, None, None])
    assert record.tried() == {}
    check.stop_reason(["tool_use", "tool_use", "max_tokens"])
    check.stop_reason(["end_turn", "tool_use", 3])
    assert (record.tried()["stop_reason"].tries, record.done()) == (2, [])
    check.stop_reason(["tool_use", "end_turn", "max_tokens"])
    assert record.done() == ["stop_reason"]


def test_under_pytest_nothing_is_read_or_written(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record, "_here", [])
    (tmp_path / ".progress").write_text("a\n")
    assert "PYTEST_VERSION" in os.environ
    record.record("b")
    assert record.done() == ["b"]
    assert (tmp_path / ".progress").read_text() == "a\n"


# ---- a browser page without a drive


@pytest.fixture
def database(monkeypatch):
    """What stands in for the browser's database: the lines of the file. `waits` says whether Python may wait for it."""
    lines, waits = [], [True]

    def ask(line, gone):
        lines[:] = [] if gone else [*lines, *([line] if line else [])]
        return "\n".join(lines)

    ffi = SimpleNamespace(can_run_sync=lambda: waits[0], run_sync=lambda promise: promise)
    monkeypatch.setitem(sys.modules, "js", SimpleNamespace(indexedDB=True))
    monkeypatch.setitem(sys.modules, "pyodide.ffi", ffi)
    monkeypatch.setitem(sys.modules, "pyodide.code", SimpleNamespace(run_js=lambda code: ask))
    monkeypatch.setattr("s02_tool_use.IN_A_PAGE", True)
    monkeypatch.setattr(record, "_here", [])
    return SimpleNamespace(lines=lines, waits=waits)


def test_without_a_drive_the_browser_keeps_the_lines_for_the_next_notebook(database):
    record.record("bash", passed=False)
    record.record("bash")
    record.record("dispatch")
    assert [line.split()[0] for line in database.lines] == ["?bash", "bash", "dispatch"]
    assert record._here == []
    assert record.done() == ["bash", "dispatch"]
    record.reset()
    assert record.done() == database.lines == []


def test_where_python_cannot_wait_for_the_browser_this_kernel_remembers_too(database):
    database.waits[:] = [False]
    record.record("bash")
    assert database.lines == ["bash"]
    assert record.done() == ["bash"]


@pytest.mark.parametrize("lacks", ["a page", "a browser", "js"])
def test_the_browser_is_asked_nowhere_else(lacks, database, monkeypatch):
    if lacks == "a page":
        monkeypatch.setattr("s02_tool_use.IN_A_PAGE", False)
    monkeypatch.setitem(
        sys.modules, "js", None if lacks == "js" else SimpleNamespace(**{"indexedDB": 1} if lacks == "a page" else {})
    )
    record.record("bash")
    assert database.lines == []
    assert record.done() == ["bash"]
