"""A test that needs a POSIX system is skipped with its reason elsewhere, and nothing else is."""

import os
import signal

import pytest
import systems

from s02_tool_use.bash import sandbox


def test_a_name_that_only_posix_has_skips_the_test_that_asks_for_it():
    with pytest.raises(pytest.skip.Exception, match=r"Windows has no os\.nothing_of_the_kind"), systems.without_posix():
        os.nothing_of_the_kind(1)


def test_a_fault_of_another_module_or_of_the_course_skips_nothing(monkeypatch):
    with pytest.raises(AttributeError), systems.without_posix():
        pytest.nothing_of_the_kind()
    monkeypatch.setattr(sandbox, "os", signal)  # an os that lacks a name, in a line of the course
    with pytest.raises(AttributeError), systems.without_posix():
        sandbox.environment()


def test_where_no_links_are_made_the_course_hears_so_and_a_test_is_skipped():
    with pytest.raises(pytest.skip.Exception, match="developer mode"):
        systems.no_link("a", "b")
    with pytest.raises(OSError, match="privilege"):
        exec(compile("link('a', 'b')", sandbox.__file__, "exec"), {"link": systems.no_link})
