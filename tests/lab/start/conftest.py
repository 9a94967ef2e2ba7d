"""The fixtures of small_course.py, for the tests in this folder."""

from small_course import clone, course, hermetic  # noqa: F401
