"""What every exercise is tested for: right answers pass, wrong ones fail at the sentence that fits, a stub is not yet.

A test file has a table of each kind, exercise -> its answers, and makes tests of them: `test_... = right(TABLE)`. With
`spread` an answer is a tuple: what the check takes as its arguments.
"""

import itertools
import tempfile

import pytest

from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import NOT_YET, RIGHT, WRONG, missing


def right(table, *, spread=False):
    """A test that each answer passes, and the first of an exercise passes again: a check leaves nothing behind."""

    @_named(table)
    def test(name, answer):
        is_judged(name)
        for _ in range(2 if answer is table[name][0] else 1):
            verdict = getattr(check, name)(*(answer if spread else [answer]))
            assert verdict.passed, repr(verdict)

    return test


def wrong(table, *, spread=False):
    """A test of (answer, part of a sentence): that sentence fails first, and no path of this machine is shown."""

    @_named(table)
    def test(name, answer):
        is_judged(name)
        yours, sentence = answer
        verdict = getattr(check, name)(*(yours if spread else [yours]))
        first = next(line for line in verdict.lines if line.verdict != RIGHT)
        assert first.verdict == WRONG, repr(verdict)
        assert sentence in first.sentence, repr(verdict)
        assert not verdict.passed
        assert tempfile.gettempdir() not in repr(verdict)

    return test


def not_yet(names, returned=(None, ...)):
    """A test that a stub, and what a reader may leave in its place, is answered with "not yet" on every line."""

    def raises(*args):
        raise NotImplementedError

    @pytest.mark.parametrize("name", names)
    def test(name):
        is_judged(name)
        for stub in (raises, *(lambda *args, value=value: value for value in returned), None, ...):
            assert {line.verdict for line in getattr(check, name)(stub).lines} == {NOT_YET}

    return test


def is_judged(name):
    """Skips a test of an exercise of which nothing can be judged here."""
    if why := missing(getattr(check, name).needs):
        pytest.skip(why)


def _named(table):
    """One case an answer, named after its exercise."""
    cases = [(name, answer) for name, answers in table.items() for answer in answers]
    ids = itertools.count()
    return pytest.mark.parametrize(("name", "answer"), cases, ids=[f"{name}-{next(ids)}" for name, _ in cases])
