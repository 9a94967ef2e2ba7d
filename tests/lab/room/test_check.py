"""A code for a machine: what goes in comes out, a mistake is seen, and nothing of the machine's owner is in it."""

import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s02_tool_use.lab.room import check
from s02_tool_use.lab.start import doctor

reports = st.builds(
    check.Report,
    st.fixed_dictionaries(dict.fromkeys(check.MEANINGS, st.sampled_from(check.STATES))),
    st.sampled_from(check.SYSTEMS),
    st.integers(check.OLDEST, check.NEWEST),
)
WELL = dict.fromkeys(check.MEANINGS, doctor.OK)


def looks(monkeypatch, *found):
    monkeypatch.setattr(doctor, "looked_at", lambda: iter(found))


def test_each_check_of_the_doctor_has_its_place_in_a_code():
    checks = re.search(r"for check in \(([^)]*)\)", inspect.getsource(doctor.looked_at))[1]
    assert [name.strip() for name in checks.split(",") if name.strip()] == list(check.MEANINGS)


@given(reports)
def test_what_goes_into_a_code_comes_out_of_it(report):
    code = check.encode(report)
    assert re.fullmatch(f"[{check.LETTERS}]{{3}}-[{check.LETTERS}]{{3}}", code)
    for said in (
        code,
        code.lower(),
        code.replace("-", " "),
        f"{report.word} {code}",
        f" {report.word.lower()}  {code}.",
    ):
        assert check.decode(said) == report


@given(reports, st.integers(0, 5), st.sampled_from(check.LETTERS))
def test_one_letter_misheard_is_noticed(report, at, letter):
    letters = check.encode(report).replace("-", "")
    wrong = letters[:at] + letter + letters[at + 1 :]
    if wrong != letters:
        with pytest.raises(ValueError, match=r"is not a code of `room check`: ask for it once more"):
            check.decode(wrong)


@given(reports, st.integers(0, 4))
def test_two_letters_swapped_are_noticed(report, at):
    letters = check.encode(report).replace("-", "")
    wrong = letters[:at] + letters[at + 1] + letters[at] + letters[at + 2 :]
    if wrong != letters:
        with pytest.raises(ValueError, match="is not a code"):
            check.decode(wrong)


@pytest.mark.parametrize("pair", ["0O", "0Q", "OQ", "1I", "1L", "IL", "IJ", "2Z", "5S", "8B", "UV", "DO", "DQ"])
def test_of_two_letters_that_look_alike_a_code_has_at_most_one(pair):
    assert sum(letter in check.LETTERS for letter in pair) <= 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("KKK", "A code has 6 letters and digits, this has 3."),
        ("", "A code has 6 letters and digits, this has 0."),
        ("KKK-KKKK", "this has 7."),
        ("K0K-KKK", "There is no 0 in a code. These are: A C D "),
        ("999-999", "999-999 is not a code of `room check`"),
    ],
)
def test_what_is_no_code_is_told_in_a_sentence(said, told):
    assert told in check.main([said])


def test_a_machine_that_is_ready_says_so_and_its_code_tells_system_and_python(monkeypatch, capsys):
    looks(monkeypatch, ("python", doctor.OK, "all"), ("shell", doctor.NOTE, "not confined"))
    assert check.main([]) == 0
    word, code = capsys.readouterr().out.split()[:2]
    assert word == "READY"
    assert check.main([word, code]) == 0
    said = capsys.readouterr().out
    assert re.match(r"READY: (Linux|macOS|Windows), Python 3\.\d+\n", said)
    assert said.splitlines()[1:] == [" note  shell: bash is not confined, or there is none"]


def test_before_the_first_start_it_says_to_start(monkeypatch, capsys):
    looks(
        monkeypatch, ("environment", doctor.NOTE, ""), ("packages", doctor.UNKNOWN, ""), ("kernel", doctor.UNKNOWN, "")
    )
    assert check.main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("START  ")
    assert check.main([said.split()[1]]) == 0
    assert "environment: nothing is installed yet" in capsys.readouterr().out


@pytest.mark.parametrize("name", check.MEANINGS)
def test_what_is_wrong_is_named_by_the_code(name, monkeypatch, capsys):
    looks(monkeypatch, (name, doctor.OK, ""), (name, doctor.WRONG, "in a folder of mine"), (name, doctor.NOTE, ""))
    assert check.main([]) == 1
    said = capsys.readouterr().out
    assert said.startswith("STOP  ")
    assert "doctor" in said
    assert "folder of mine" not in said
    check.main([said.split()[1]])
    assert f"WRONG  {name}: {check.MEANINGS[name][1]}" in capsys.readouterr().out


def test_a_system_and_a_python_that_the_table_has_not_are_taken_for_the_nearest(monkeypatch):
    looks(monkeypatch)
    monkeypatch.setattr(check.sys, "platform", "freebsd15")
    monkeypatch.setattr(check.sys, "version_info", (3, 19, 0))
    assert check.decode(check.encode(check.look())) == check.Report(WELL, "linux", 15)


def test_here_it_looks_for_real(capsys):
    check.main([])
    word, code = capsys.readouterr().out.split()[:2]
    assert check.decode(code).word == word
