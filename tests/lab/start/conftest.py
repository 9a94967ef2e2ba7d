"""The fixtures of clones.py, for the tests in this folder."""

from clones import clone, course, hermetic  # noqa: F401
