"""Writes the minutes of the plans in notebooks/TEACHING.md, from the Time lines of the pages: python tests/teaching.py

A row of a plan says in its third column what is done: `03: sections 1, 2`, `00: all`, `01: the rest`, or `talk: 5` and
`break: 10`, whose minutes are the teacher's. The first two columns, the clock and the minutes, are written here.
"""

import re
import sys

from refresh import ROOT, notebooks, read

GUIDE = ROOT / "notebooks" / "TEACHING.md"
ROW = r"(?m)^\| [\d:]* \| \d* \| (\S[^|]*) \|"
TIME = r"\*\*Time\*\* (\d+) minutes(?: \(sections: ([\d +]+)(?:; the rest: (\d+))?\))?"


def minutes_of(path):
    """(all, those of each section, the rest) of a page, as its frame says."""
    frame = next(cell.source for cell in read(path).cells if cell.id == "frame")
    total, sections, rest = re.search(TIME, frame).groups()
    return int(total), [int(part) for part in (sections or "").split("+") if part.strip()], int(rest or 0)


def pages():
    """number -> its minutes."""
    return {path.stem[:2]: minutes_of(path) for path in notebooks() if path.parent.name == "notebooks"}


def minutes(done, times):
    """How long one row of a plan takes. ValueError says what is wrong with the row."""
    what, _, part = done.partition(": ")
    if what in ("talk", "break"):
        return int(part)
    if what not in times:
        raise ValueError(f"{done!r}: there is no page {what!r}")
    total, sections, rest = times[what]
    if part in ("all", "the rest"):
        return total if part == "all" else rest
    numbers = [int(number) for number in re.findall(r"\d+", part)]
    if not re.fullmatch(r"sections? \d(, \d)*", part) or not numbers or max(numbers) > len(sections):
        raise ValueError(f"{done!r}: name sections of the page, `all` or `the rest`")
    return sum(sections[number - 1] for number in numbers)


def written(guide, times):
    """The guide with the clock and the minutes in its plans."""
    parts = re.split(r"(?m)^(?=### \d+ minutes$)", guide)
    return "".join([parts[0], *(_plan(part, times) for part in parts[1:])])


def _plan(part, times):
    clock = 0

    def row(found):
        nonlocal clock
        took, before = minutes(found[1].strip(), times), clock
        clock += took
        return f"| {before // 60}:{before % 60:02} | {took} | {found[1]} |"

    return re.sub(ROW, row, part)


if __name__ == "__main__":
    try:
        GUIDE.write_text(written(GUIDE.read_text(encoding="utf-8"), pages()), encoding="utf-8")
    except ValueError as error:
        sys.exit(str(error))
