"""What a plan is. The plans themselves: looking.py, changing.py, fixing.py.

A plan is a generator. It yields a pair, what it says and the calls that it wants, gets their results back, and returns
its final answer, which is made from the results that really came.
"""

import re

from .toolbox import output

SHOWN_LINES = 40  # of a file or of an output, in an answer


def answer(text):
    """A plan without calls."""
    return text
    yield


def together(plans):
    """Plans that only look can run side by side: the calls of all of them go into one turn."""
    answers, waiting = {}, {}

    def advance(index, results):
        try:
            waiting[index] = plans[index].send(results)
        except StopIteration as end:
            answers[index] = end.value
            waiting.pop(index, None)

    for index in range(len(plans)):
        advance(index, None)
    while waiting:
        turn = dict(waiting)
        results = yield (
            " ".join(say for say, _ in turn.values() if say),
            [c for _, calls in turn.values() for c in calls],
        )
        for index, (_, calls) in turn.items():
            advance(index, results[: len(calls)])
            results = results[len(calls) :]
    return "\n\n".join(answers[index] for index in range(len(plans)))


# What plans share


def shown(text):
    """A text for an answer, cut to SHOWN_LINES."""
    lines = str(text).rstrip("\n").split("\n")
    return "\n".join([*lines[:SHOWN_LINES], *(["..."] if len(lines) > SHOWN_LINES else [])])


def file_names(result):
    """The files in the result of glob, ls or find: no folders, no hidden files, nothing that is a remark."""
    lines = [line.strip().removeprefix("./").rstrip("/") for line in output(result).splitlines()]
    remark = re.compile(r"[(\[]|\.\.\.|total \d|No (?:matches|files|such)\b", re.I)
    names = [line for line in lines if line and not remark.match(line)]
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    return [name for name in names if name not in folders and not re.search(r"(^|/)(\.|__pycache__/)", name)]


def count_lines(text):
    return len(str(text).splitlines())
