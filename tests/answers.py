"""Right and wrong answers to the exercises, as the parameters of a test."""

import itertools

import pytest


def named(table):
    """Parametrize a test over `table`, exercise -> its answers: one case an answer, named after its exercise."""
    cases = [(name, answer) for name, answers in table.items() for answer in answers]
    ids = itertools.count()
    return pytest.mark.parametrize(("name", "answer"), cases, ids=[f"{name}-{next(ids)}" for name, _ in cases])
