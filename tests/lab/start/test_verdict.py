"""A code for a machine: what goes in comes out, and nothing of the machine's owner is in it."""

import inspect
import re
import sys

import pytest

from s02_tool_use.lab.start import doctor, verdict


def looks(monkeypatch, *found):
    monkeypatch.setattr(doctor, "looked_at", lambda: iter(found))


def shown(capsys):
    """(the word, the code) that a machine says."""
    return re.match(r"(READY|START|STOP)  (\S+)\n", capsys.readouterr().out).groups()


def test_each_check_of_the_doctor_has_its_letter_in_a_code():
    checks = re.search(r"for check in \(([^)]*)\)", inspect.getsource(doctor.looked_at))[1]
    assert [name.strip() for name in checks.split(",") if name.strip()] == list(verdict.MEANINGS)
    assert not set(verdict.LETTERS) & set(verdict.SYSTEMS)


@pytest.mark.parametrize("pair", ["0O", "0Q", "OQ", "1I", "1L", "IL", "IJ", "2Z", "5S", "8B", "UV", "DO", "DQ", "MN"])
def test_of_two_letters_that_are_taken_for_each_other_a_code_has_at_most_one(pair):
    assert sum(letter in verdict.LETTERS for letter in pair) <= 1


@pytest.mark.parametrize("said", ["", "K", "L", "L12-O", "L9", "L120", "12L", "X12", "STOP", "LL12", "L12 K K?K1"])
def test_what_is_no_code_is_told_in_a_sentence(said):
    assert verdict.explain(said) == f"{said} is not a code of `room check`: ask for it once more, letter by letter."


@pytest.mark.parametrize("said", ["w13-kz", "W13KZ", "stop  W13-KZ", "STOP w 1 3 k z", "W13 - K, Z."])
def test_a_code_may_be_written_down_in_any_way(said, capsys):
    assert verdict.main(said.split()) == 0
    said = [f"{name}: {verdict.MEANINGS[name]}\n" for name in ("settings", "network")]
    assert capsys.readouterr().out == "".join(["STOP: Windows, Python 3.13\n", *said])


@pytest.mark.parametrize(
    ("platform", "version", "code", "told"),
    [
        ("linux", 12, "L12", "READY: Linux, Python 3.12\nNothing is wrong.\n"),
        ("darwin", 10, "M10", "READY: macOS, Python 3.10\nNothing is wrong.\n"),
        ("win32", 19, "W19", "READY: Windows, Python 3.19\nNothing is wrong.\n"),
    ],
)
def test_a_machine_that_is_ready_says_so_and_its_code_tells_system_and_python(
    platform, version, code, told, monkeypatch, capsys
):
    looks(monkeypatch, ("python", doctor.OK, "all"), ("shell", doctor.NOTE, "not confined"))
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys, "version_info", (3, version, 0))
    assert verdict.main([]) == 0
    assert shown(capsys) == ("READY", code)
    assert verdict.main(["READY", code]) == 0
    assert capsys.readouterr().out == told


def test_before_the_first_start_it_says_to_start(monkeypatch, capsys):
    looks(
        monkeypatch, ("environment", doctor.NOTE, ""), ("packages", doctor.UNKNOWN, ""), ("kernel", doctor.UNKNOWN, "")
    )
    assert verdict.main([]) == 0
    word, code = shown(capsys)
    assert word == "START"
    assert verdict.main([code]) == 0
    assert re.search(r"^START: .*\nenvironment: nothing is installed yet", capsys.readouterr().out)


@pytest.mark.parametrize("name", verdict.MEANINGS)
def test_what_is_wrong_is_named_by_the_code(name, monkeypatch, capsys):
    looks(monkeypatch, (name, doctor.OK, ""), (name, doctor.WRONG, "in a folder of mine"), (name, doctor.NOTE, ""))
    assert verdict.main([]) == (name != "environment")
    said = capsys.readouterr().out
    assert "folder of mine" not in said
    assert "doctor" in said or name == "environment"
    verdict.main([said.split()[1]])
    assert f"{name}: {verdict.MEANINGS[name]}" in capsys.readouterr().out


def test_here_it_looks_for_real(capsys):
    verdict.main([])
    word, code = shown(capsys)
    assert verdict.explain(code) == 0
    assert capsys.readouterr().out.startswith(f"{word}: ")
