"""The small file of what is done: beside the reader's notebooks, shared by two of them, ignored under pytest."""

import os

import pytest

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


def test_under_pytest_nothing_is_read_or_written(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(record, "_here", [])
    (tmp_path / ".progress").write_text("a\n")
    assert "PYTEST_VERSION" in os.environ
    record.record("b")
    assert record.done() == ["b"]
    assert (tmp_path / ".progress").read_text() == "a\n"
