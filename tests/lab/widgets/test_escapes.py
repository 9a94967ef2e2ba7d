"""What each way to check a path or a pattern makes of the ways out of a workspace. The PathLab draws it."""

import os

import pytest
from systems import needs_links

from s02_tool_use.lab.widgets.escapes import GLOBS, PATHS, EscapeRoom
from s02_tool_use.workspace import workdir

pytestmark = needs_links


@pytest.fixture(scope="module")
def room():
    room = EscapeRoom()
    yield room
    room.close()


def verdicts(findings):
    return {finding.version: finding.verdict for finding in findings}


# For each input: the first version, of these in order, that does not let it out.
FIRST_THAT_HOLDS = {
    "../secret.txt": '".." in p',
    "BASE/secret.txt": "normpath, startswith",
    "../work-evil/loot.txt": '".." in p',
    "link.txt": "resolve, is_relative_to",
    "door/secret.txt": "resolve, is_relative_to",
}


@pytest.mark.parametrize(("path", "first"), FIRST_THAT_HOLDS.items(), ids=FIRST_THAT_HOLDS)
def test_each_way_out_is_closed_by_a_version_and_by_ours(room, path, first):
    found = verdicts(room.findings("path", path))
    escaped = [version for version in PATHS if found[version] == "ESCAPED"]
    assert escaped
    assert first not in escaped
    assert found["safe_path"] == "refused"


def test_the_neighbour_gets_through_a_comparison_of_texts(room):
    assert verdicts(room.findings("path", "../work-evil/loot.txt"))["normpath, startswith"] == "ESCAPED"


def test_what_is_inside_is_inside_for_every_version(room):
    assert set(verdicts(room.findings("path", "notes.txt")).values()) == {"inside"}


def test_two_dots_in_a_name_are_refused_by_the_check_of_the_text_alone(room):
    refused = [
        version for version, verdict in verdicts(room.findings("path", "v1..v2.diff")).items() if verdict == "refused"
    ]
    assert refused == ['".." in p']


@pytest.mark.parametrize("pattern", ["../*.txt", "door/*.txt", "BASE/*.txt"])
def test_a_pattern_gets_out_of_a_plain_glob_and_not_out_of_ours(room, pattern):
    found = verdicts(room.findings("pattern", pattern))
    assert found["glob(pattern)"] == "ESCAPED"
    assert found["run_glob"] != "ESCAPED"


def test_a_link_inside_is_listed_and_that_is_no_escape(room):
    assert set(verdicts(room.findings("pattern", "*.txt")).values()) == {"inside"}


def test_a_search_without_end_is_cut(room):
    found = {finding.version: finding for finding in room.findings("pattern", "**/*.txt")}
    assert "and more" in found["glob(pattern, recursive=True)"].gives
    assert len(found["glob(pattern, recursive=True)"].gives) < 1000


@pytest.mark.parametrize("odd", ["", "a\0b", "x" * 5000, "notes.txt/x", "\ud800", "~", "."])
def test_odd_input_has_a_verdict_from_every_version(room, odd):
    assert len(room.findings("path", odd)) == len(PATHS)
    assert len(room.findings("pattern", odd)) == len(GLOBS)


def test_no_path_of_this_machine_is_shown(room):
    for finding in [
        *room.findings("path", "../secret.txt"),
        *room.findings("path", "BASE/x"),
        *room.findings("pattern", "BASE/*"),
    ]:
        assert str(room.base) not in repr(finding)


def test_the_workspace_of_the_process_is_the_same_afterwards(room, workspace):
    room.findings("path", "../x")
    assert workdir() == workspace.resolve()


def test_a_layout_can_be_left_out(workspace):
    room = EscapeRoom()
    room.build(())
    assert room.contents() == ["BASE/secret.txt", "BASE/work/notes.txt", "BASE/work/sub/deep.txt"]
    room.close()
    assert not os.path.exists(room.base)
