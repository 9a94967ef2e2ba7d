"""Who answers is said by every connect() outside of a page; tests/machine/test_notebooks.py looks at pages."""

from s02_tool_use.lab import connect, fresh_workspace


def test_outside_of_a_page_each_line_is_said_each_time(capsys):
    for _ in range(2):
        connect()
        fresh_workspace()
    said = capsys.readouterr().out
    assert said.count("Offline: no language model answers here, rules do.") == 2
    assert said.count("Workspace: a fresh copy of the sample project:\n") == 2
