"""Which names a pattern finds, and that it ends soon and stays in the workspace. More inputs in test_hostile_paths."""

import fnmatch
import os
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ordinary_user import as_ordinary_user

from s02_tool_use import ToolError, find, run_glob
from s02_tool_use.files import patterns
from s02_tool_use.files.patterns import expand_braces
from s02_tool_use.tools import MAX_MATCHES


@pytest.fixture
def tree(workspace):
    for name in (
        "a.py",
        "b.txt",
        "[id].py",
        "{x}.py",
        ".env",
        "sub/c.py",
        "sub/deep/d.py",
        "sub/[id]/e.py",
        ".git/f.py",
    ):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("")
    (workspace / "to_sub").symlink_to("sub")
    (workspace / "sub" / "again").symlink_to("..")
    (workspace / "to_outside").symlink_to("..")
    (workspace / "to_nowhere").symlink_to("nowhere")
    return workspace


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", "[id].py a.py {x}.py"),
        ("**/*.py", "[id].py a.py sub/[id]/e.py sub/c.py sub/deep/d.py {x}.py"),
        ("sub/*.py", "sub/c.py"),
        ("./sub//*.py", "sub/c.py"),
        ("sub/../*.txt", "b.txt"),
        ("sub", "sub"),
        ("su?/", "sub"),
        ("*/", "sub"),
        ("sub/*/", "sub/[id] sub/deep"),
        ("sub/**", "sub/[id] sub/[id]/e.py sub/again sub/c.py sub/deep sub/deep/d.py"),
        ("**/deep/**", "sub/deep/d.py"),
        ("sub/**/**/d.py", "sub/deep/d.py"),
        ("**/sub/**/*.py", "sub/[id]/e.py sub/c.py sub/deep/d.py"),
        ("*/*/*.py", "sub/[id]/e.py sub/deep/d.py"),
        ("*.{py,txt}", "[id].py a.py b.txt {x}.py"),
        ("{a,b,}.{py,txt}", "a.py b.txt"),
        ("{sub/{deep,nope},.}/*.py", "[id].py a.py sub/deep/d.py {x}.py"),
        ("{x}.py", "{x}.py"),
        ("[id].py", "[id].py"),
        ("[ab].*", "a.py b.txt"),
        ("[!ab].*", ""),
        ("sub/[id]/*.py", "sub/[id]/e.py"),
        ("[a", ""),
        (".*", ".env .git"),
        (".git/*", ".git/f.py"),
        ("**/f.py", ""),
        ("to_*", "to_nowhere to_outside to_sub"),
        ("to_sub/*.py", "sub/c.py"),  # a link that is named and stays inside is gone through
        ("to_*/*.py", ""),
        ("sub/again/sub/again/*.txt", "b.txt"),
        ("nope/*.py", ""),
        ("a.py/*", ""),
        ("..", ""),
        ("*/../*", ""),
        ("~/*", ""),
    ],
)
def test_a_pattern_finds_these_names(tree, pattern, names):
    assert find(pattern)[0] == names.split()
    assert find(f"{tree}/{pattern}")[0] == names.split()


@pytest.mark.parametrize(
    "pattern", ["../*", "/", "/etc/*", "sub/../../*", "{a,..}/*", "{/etc,a}/*", "to_outside/*", "a\0/b"]
)
def test_a_pattern_that_leads_outside_is_refused(tree, pattern):
    with pytest.raises(ToolError):
        find(pattern)


@pytest.mark.parametrize("pattern", ["", None, 3, ["*"], "a" * 1001, "{a,b}" * 20, "{" + "a," * 101 + "}"])
def test_what_is_no_pattern_is_refused(tree, pattern):
    with pytest.raises(ToolError, match="pattern"):
        find(pattern)


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("a", ["a"]),
        ("{a,b}c", ["ac", "bc"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a,{b,c}}", ["a", "b", "a", "c"]),
        ("{a}{}", ["{a}{}"]),
        ("}{,", ["}{,"]),
    ],
)
def test_braces_are_expanded(pattern, texts):
    assert sorted(expand_braces(pattern)) == sorted(texts)


@pytest.mark.parametrize(
    "pattern",
    ["a*a*a*a*b", "a*" * 40 + "b", "*" * 60 + "z", "?" * 100 + "*" * 100, "[a-z]*" * 50 + "!", "[" * 900, "{" * 900],
)
def test_matching_takes_linear_time(workspace, pattern):
    (workspace / ("a" * 200)).write_text("")
    started = time.monotonic()
    assert run_glob(pattern) in (f"No matches for {pattern}", "a" * 200)
    assert time.monotonic() - started < 2


def test_many_globstars_over_a_deep_tree_take_linear_time(workspace):
    (workspace / "/".join("d" * 60)).mkdir(parents=True)
    started = time.monotonic()
    assert run_glob("**/d/" * 15 + "**/zz").startswith("No matches")
    assert time.monotonic() - started < 5


def test_what_was_not_searched_is_said(workspace, monkeypatch):
    (workspace / "a" / "b" / "c").mkdir(parents=True)
    monkeypatch.setattr(patterns, "MAX_DEPTH", 1)
    assert run_glob("**/c") == "No matches for **/c\n[folders more than 1 levels down were not searched]"
    monkeypatch.setattr(patterns, "MAX_SECONDS", -1)
    assert "stopped after" in run_glob("**/c")


def test_a_folder_that_may_not_be_opened_is_said():
    def closed(workspace):
        (workspace / "closed").mkdir(mode=0)
        return run_glob("**/c"), run_glob("closed/*")

    note = "[some folders could not be opened]"
    assert as_ordinary_user(closed) == (f"No matches for **/c\n{note}", f"No matches for closed/*\n{note}")


def test_the_list_is_capped_and_counted(workspace):
    for n in range(MAX_MATCHES + 7):
        (workspace / f"{n:04}").write_text("")
    *names, note = run_glob("*").splitlines()
    assert names == [f"{n:04}" for n in range(MAX_MATCHES)]
    assert note == f"[truncated: {MAX_MATCHES} of {MAX_MATCHES + 7} matches are shown; narrow the pattern]"


def test_a_name_stays_one_line_that_can_be_sent(workspace):
    (workspace / "x\ny").write_text("")
    (workspace / "é 漢.txt").write_text("")
    with open(os.fsencode(workspace) + b"/bad\xff", "w"):
        pass
    assert run_glob("*") == "'bad\\udcff'\n'x\\ny'\né 漢.txt"


NAMES = st.sampled_from(["a", "b", "ab", ".a", "[a]"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PARTS = st.sampled_from(["**", "*", "a", "?", "a*", "*b", ".*", "[a]", "[!a]", "[[]a]"])


def fits(names, parts):
    """What a pattern means, said once more and slowly."""
    if not parts:
        return not names
    if parts[0] == "**":
        return fits(names, parts[1:]) or bool(names and names[0][0] != "." and fits(names[1:], parts))
    if not names or (names[0][0] == "." and parts[0][0] != "."):
        return names[:1] == parts[:1] and fits(names[1:], parts[1:])
    return (fnmatch.fnmatchcase(names[0], parts[0]) or names[0] == parts[0]) and fits(names[1:], parts[1:])


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=st.lists(PATHS, max_size=8), parts=st.lists(PARTS, min_size=1, max_size=4))
def test_a_pattern_finds_what_its_meaning_says(workspace, paths, parts):
    for path in paths:
        (workspace / path).mkdir(parents=True, exist_ok=True)
    everything = [
        os.path.relpath(os.path.join(top, name), workspace) for top, names, _ in os.walk(workspace) for name in names
    ]
    meant = parts + ["*"] * (parts[-1] == "**")
    assert find("/".join(parts))[0] == sorted(name for name in everything if fits(name.split("/"), meant))
    for top, names, _ in os.walk(workspace, topdown=False):
        for name in names:
            os.rmdir(os.path.join(top, name))
