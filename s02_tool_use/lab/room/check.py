"""`room check`: what the doctor finds, as a code of six letters to read out. No key, name or path is in it.

`room check CODE` says what a code means. The letters are a number: for each check whether it is well, noted or wrong,
then the system and the version of Python, and at the end what shows that a letter was misheard.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from ..start import doctor

LETTERS = (
    "ACDEFGHKMNPRTUWXY34679"  # of letters that look alike at most one: no 0 and O, 1 and I, 2 and Z, 5 and S, 8 and B
)
PRIME, REST = 23, 7  # a code divided by 23 leaves 7: not after one wrong letter, nor after two that were swapped
LENGTH = 6
STATES = (doctor.OK, doctor.NOTE, doctor.WRONG)
SYSTEMS = ("linux", "darwin", "win32")
NAMES = ("Linux", "macOS", "Windows")
OLDEST, NEWEST = 10, 15  # of Python 3; one that is newer counts as the newest

# The checks of the doctor, in the order in which a code holds them: (what a note means, what to do where it is wrong).
MEANINGS = {
    "python": ("a variable such as PYTHONPATH is set", "Python itself cannot be looked at"),
    "environment": ("nothing is installed yet: start the course once", "the environment cannot be looked at"),
    "packages": ("not looked at yet", "a package is missing or of another version: remove .venv and start again"),
    "kernel": ("not looked at yet", "a notebook's kernel does not start: remove .venv and start again"),
    "settings": (
        "something is unusual with .env",
        "a file with settings has a wrong name, or a key is in .env.example",
    ),
    "endpoint": (
        "not looked at yet, or .env still holds the placeholder",
        "the model's server cannot be reached, or refuses",
    ),
    "shell": ("bash is not confined, or there is none", "there is no bash: on Windows install Git for Windows"),
    "text": ("the terminal is not UTF-8: some letters show as ?", "the terminal's letters cannot be looked at"),
    "folders": (
        "there is no display here",
        "the disk is full, or a folder cannot be written: take another, or make room",
    ),
    "paths": ("the folder's name is long", "the folder's name is too long for Windows: move the course to a short one"),
    "network": ("a proxy is set", "PyPI cannot be reached: connect, or copy a folder of wheels into the course"),
}


@dataclass(frozen=True)
class Report:
    """What a code holds: the worst mark of each check, the system, the second number of Python's version."""

    marks: dict[str, str]
    system: str
    python: int

    @property
    def word(self) -> str:
        if doctor.WRONG in self.marks.values():
            return "STOP"
        return "READY" if self.marks["environment"] == doctor.OK else "START"


def main(argv: Sequence[str]) -> int | str:
    """Print the code of this machine, or what a code means. Returns 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        prog="python3 -m s02_tool_use room check", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("code", nargs="*", help="what a learner read out; without it: the code of this machine")
    given = parser.parse_args(argv)
    if given.code:
        try:
            print(explain(decode("".join(given.code))))
        except ValueError as error:
            return str(error)
        return 0
    report = look()
    print(f"{report.word}  {encode(report)}\n")
    if report.word == "STOP":
        print(f"Something is wrong on this machine. What it is, in words: {doctor.START} doctor")
    elif report.word == "START":
        print(f"Nothing is installed yet. Start the course once, then ask again: {doctor.START}")
    print("Send your teacher the code. It holds no key, no name and no path.")
    return int(report.word == "STOP")


def look() -> Report:
    """Let the doctor look at this machine."""
    marks = dict.fromkeys(MEANINGS, doctor.OK)
    for name, mark, _ in doctor.looked_at():
        seen = doctor.NOTE if mark == doctor.UNKNOWN else mark
        marks[name] = max(marks[name], seen, key=STATES.index)
    system = sys.platform if sys.platform in SYSTEMS else SYSTEMS[0]
    return Report(marks, system, min(max(sys.version_info[1], OLDEST), NEWEST))


def encode(report: Report) -> str:
    """The code of a report."""
    number = 0
    for name in MEANINGS:
        number = number * len(STATES) + STATES.index(report.marks[name])
    number = number * len(SYSTEMS) + SYSTEMS.index(report.system)
    number = number * (NEWEST - OLDEST + 1) + report.python - OLDEST
    number = number * PRIME + REST
    code = ""
    for _ in range(LENGTH):
        number, letter = divmod(number, len(LETTERS))
        code = LETTERS[letter] + code
    return f"{code[:3]}-{code[3:]}"


def decode(said: str) -> Report:
    """The report in a code, however it was written down. ValueError with a sentence if it is none."""
    code = re.sub("[^A-Z0-9]", "", said.upper())
    code = re.sub("^(?:READY|START|STOP)(?=.{6}$)", "", code)
    if strange := [letter for letter in code if letter not in LETTERS]:
        raise ValueError(f"There is no {strange[0]} in a code. These are: {' '.join(LETTERS)}")
    if len(code) != LENGTH:
        raise ValueError(f"A code has {LENGTH} letters and digits, this has {len(code)}.")
    number = 0
    for letter in code:
        number = number * len(LETTERS) + LETTERS.index(letter)
    number, rest = divmod(number, PRIME)
    number, python = divmod(number, NEWEST - OLDEST + 1)
    number, system = divmod(number, len(SYSTEMS))
    marks = {}
    for name in reversed(MEANINGS):
        number, state = divmod(number, len(STATES))
        marks[name] = STATES[state]
    if rest != REST or number:
        raise ValueError(f"{said} is not a code of `room check`: ask for it once more, letter by letter.")
    return Report(marks, SYSTEMS[system], python + OLDEST)


def explain(report: Report) -> str:
    """What a teacher should know of that machine."""
    lines = [f"{report.word}: {NAMES[SYSTEMS.index(report.system)]}, Python 3.{report.python}"]
    for name, (noted, wrong) in MEANINGS.items():
        mark = report.marks[name]
        if mark != doctor.OK:
            lines.append(f"{mark:>5}  {name}: {wrong if mark == doctor.WRONG else noted}")
    return "\n".join(lines if lines[1:] else [*lines, "Nothing is wrong."])
