"""`room check`: what the doctor finds, as a short code to read out. No key, name or path is in it.

`room check CODE` says what a code means. It is the system, the second number of Python's version, and a letter for each
check of the doctor that found something wrong: L12 is a Linux with Python 3.12 that is ready, L12-K one that is not.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence

from . import doctor

SYSTEMS = {"L": "Linux", "M": "macOS", "W": "Windows"}
# The checks of the doctor, and what to do where one finds something wrong. In a code each is a letter: of those that
# look or sound alike there is one.
MEANINGS = {
    "python": "Python itself cannot be looked at",
    "environment": "nothing is installed yet: start the course once",
    "packages": "a package is missing or of another version: remove .venv and start again",
    "kernel": "a notebook's kernel does not start: remove .venv and start again",
    "settings": "a file with settings has a wrong name, or a key is in .env.example",
    "endpoint": "the model's server cannot be reached, or refuses",
    "shell": "there is no bash: on Windows install Git for Windows",
    "text": "the terminal's letters cannot be looked at",
    "folders": "the disk is full, or a folder cannot be written: take another, or make room",
    "paths": "the folder's name is too long for Windows: move the course to a short one",
    "network": "PyPI cannot be reached: connect, or copy a folder of wheels into the course",
}
LETTERS = dict(zip("ACFHKQRUXYZ", MEANINGS, strict=True))


def main(argv: Sequence[str]) -> int | str:
    """Print the code of this machine, or what a code means. Returns 1 where something is wrong."""
    does = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use room check", description=does)
    parser.add_argument("code", nargs="*", help="what a learner read out; without it: the code of this machine")
    given = parser.parse_args(argv)
    if given.code:
        return explain("".join(given.code))
    print("Looking at this machine ...", file=sys.stderr, flush=True)  # half a minute on a slow one
    wrong = look()
    word = word_of(wrong)
    letters = "".join(letter for letter, name in LETTERS.items() if name in wrong)
    system = {"darwin": "M", "win32": "W"}.get(sys.platform, "L")
    print(f"{word}  {system}{sys.version_info[1]}{f'-{letters}' if letters else ''}\n")
    if word == "STOP":
        print(f"Something is wrong on this machine. What it is, in words: {doctor.START} doctor")
    elif word == "START":
        print(f"Nothing is installed yet. Start the course once, then ask again: {doctor.START}")
    print("Send your teacher the code. It holds no key, no name and no path.")
    return int(word == "STOP")


def look() -> set[str]:
    """The checks of the doctor that find something wrong here, or nothing installed yet."""
    found = list(doctor.looked_at())
    return {name for name, mark, _ in found if mark == doctor.WRONG or (name, mark) == ("environment", doctor.NOTE)}


def word_of(wrong: Iterable[str]) -> str:
    """What a machine is with these checks wrong."""
    return "STOP" if {*wrong} - {"environment"} else "START" if {*wrong} else "READY"


def explain(said: str) -> int | str:
    """Print what a code means, however it was written down. Returns a sentence if it is none."""
    code = re.sub("[^A-Z0-9]", "", said.upper())
    found = re.fullmatch(f"(?:READY|START|STOP)?([{''.join(SYSTEMS)}])(1[0-9])([{''.join(LETTERS)}]*)", code)
    if not found:
        return f"{said} is not a code of `room check`: ask for it once more, letter by letter."
    wrong = [LETTERS[letter] for letter in found[3]]
    print(f"{word_of(wrong)}: {SYSTEMS[found[1]]}, Python 3.{found[2]}")
    print("\n".join(f"{name}: {MEANINGS[name]}" for name in wrong) or "Nothing is wrong.")
    return 0
