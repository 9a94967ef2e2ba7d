"""Which names a pattern finds, and that it ends soon and stays in the workspace. More inputs in test_hostile_paths."""

import errno
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from ordinary_user import as_ordinary_user
from systems import LINKS, NO_LINKS, needs_links, posix

from s02_tool_use import ToolError, find, run_glob, run_read, run_tool, run_write
from s02_tool_use.files import opening, patterns
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
    links = {"to_sub": "sub", "sub/again": "..", "to_outside": "..", "to_nowhere": "nowhere"}
    for name, target in links.items() if LINKS else ():
        (workspace / name).symlink_to(target)
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
    if not LINKS and re.search("to_|again", f"{pattern} {names}"):
        pytest.skip(NO_LINKS)
    assert find(pattern)[0] == names.split()
    assert find(f"{tree}/{pattern}")[0] == names.split()


@pytest.mark.parametrize(
    "pattern",
    [
        "../*",
        "/",
        "/etc/*",
        "sub/../../*",
        "{a,..}/*",
        "{/etc,a}/*",
        pytest.param("to_outside/*", marks=needs_links),
        "a\0/b",
    ],
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
    started = time.thread_time()
    assert run_glob(pattern) in (f"No matches for {pattern}", "a" * 200)
    assert time.thread_time() - started < 10


def test_many_globstars_over_a_deep_tree_take_linear_time(workspace):
    (workspace / "/".join("d" * 60)).mkdir(parents=True)
    started = time.thread_time()
    assert run_glob("**/d/" * 15 + "**/zz").startswith("No matches")
    assert time.thread_time() - started < 10


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


def test_what_a_leading_dot_hides_is_counted(workspace):
    for name in (".github/workflows/ci.yml", ".github/b.yml", "sub/.hidden/c.yml", ".d.yml", "sub/x.txt"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("")
    note = "[{} more under names that begin with a dot, such as {}; write the dot too]"
    assert run_glob("**/*.yml") == "No matches for **/*.yml\n" + note.format(4, ".d.yml")
    assert run_glob("*") == "sub\n" + note.format(2, ".d.yml")
    assert run_glob("sub/*/*.yml") == "No matches for sub/*/*.yml\n" + note.format(1, "sub/.hidden/c.yml")
    assert run_glob("{.*/**,**}/*.yml") == ".github/b.yml\n.github/workflows/ci.yml\n" + note.format(2, ".d.yml")
    for pattern in (".github/**/*.yml", "sub/*.txt", "**/*.txt", ".*"):
        assert "begin with a dot" not in run_glob(pattern)


def test_counting_behind_dots_ends_soon_and_says_so(workspace, monkeypatch):
    (workspace / ".d").mkdir()
    (workspace / ".d" / "a.yml").write_text("")
    (workspace / ".b.yml").write_text("")
    monkeypatch.setattr(patterns, "MAX_WIDE_SECONDS", -1)
    assert "[at least 1 more under names that begin with a dot, such as .b.yml" in run_glob("**/*.yml")


def test_a_fault_of_the_system_ends_no_search(workspace, monkeypatch):
    for name in ("a", "b", "c"):
        (workspace / name / "sub").mkdir(parents=True)
        (workspace / name / "sub" / "f.py").write_text("")
    scandir, bad = os.scandir, os.stat(workspace / "b")

    def broken(folder):
        if os.path.samestat(os.stat(folder), bad):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(folder)

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", broken)
        assert run_glob("**/*.py") == "a/sub/f.py\nc/sub/f.py\n[some folders could not be opened]"


FEW = """
import resource, sys, s02_tool_use as s
s.use_workdir(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
print(s.run_tool({"id": "t", "name": "glob", "input": {"pattern": "**/*.py"}})["content"])
"""


def test_too_many_open_files_end_no_search(workspace):
    pytest.importorskip("resource")
    (workspace / "/".join("d" * 30)).mkdir(parents=True)
    (workspace / "a.py").write_text("")
    (workspace / "d" / "b.py").write_text("")
    for files in range(6, 20, 2):
        done = subprocess.run([sys.executable, "-c", FEW, workspace, str(files)], capture_output=True, text=True)
        assert re.search(r"some folders could not be opened|cannot be opened \(Too many open files\)", done.stdout), (
            done
        )


@posix("names of any bytes")
def test_a_name_stays_one_line_that_can_be_sent(workspace):
    (workspace / "x\ny").write_text("")
    (workspace / "é 漢\u3000\u200d\xa0.txt").write_text("")
    with open(os.fsencode(workspace) + b"/bad\xff", "w"):
        pass
    assert run_glob("*") == "'bad\\udcff'\n'x\\ny'\né 漢\u3000\u200d\xa0.txt"


@st.composite
def names(draw):
    """Names of files: any characters, and any bytes, as far as the system takes them."""
    name = draw(
        st.text(max_size=30)
        | st.binary(max_size=60).map(os.fsdecode)
        | st.text("'\"\\\n\r\u2028xé\x85n\xa0u", max_size=9)
    )
    try:
        raw = os.fsencode(name)
    except UnicodeError:
        raw = b""
    assume(0 < len(raw) < 256 and b"/" not in raw and b"\0" not in raw and raw not in (b".", b".."))
    return name


@posix("names of any bytes")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=names(), folder=names() | st.none())
def test_whatever_glob_prints_the_other_tools_take(workspace, name, folder):
    path = workspace / folder / name if folder else workspace / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("old")
    try:
        pattern = "{.*,*}/{.*,*}" if folder else "{.*,*}"
        printed = json.loads(json.dumps(run_tool({"id": "t", "name": "glob", "input": {"pattern": pattern}})))[
            "content"
        ]
        printed.encode()
        assert len(printed.splitlines()) == 1
        for tool, more in (
            ("read_file", {}),
            ("edit_file", {"old_text": "old", "new_text": "new"}),
            ("write_file", {"content": "newer"}),
        ):
            result = run_tool({"id": "t", "name": tool, "input": {"path": printed, **more}})
            assert "is_error" not in result, result
        assert path.read_text() == "newer"
        assert len(list(path.parent.iterdir())) == 1
    finally:
        path.unlink()
        if folder:
            path.parent.rmdir()


@posix("names of any bytes")
def test_a_quoted_name_is_a_name_like_any_other_where_there_is_such_a_file(workspace):
    (workspace / "x\ny").write_text("two lines")
    assert run_read(r"'x\ny'") == "two lines"
    (workspace / r"'x\ny'").write_text("quoted")
    assert run_read(r"'x\ny'") == "quoted"
    run_write("'a.txt'", "1")
    run_write(r"'a\nb'", "1")
    assert {"'a.txt'", r"'a\nb'"} <= set(os.listdir(workspace))
    for name in (r"'\x2e./x'", r"'\x00'", r"'\udc00'", r"'\U00110000'", r"'\q'", "'" * 2000, r"'..\x2f..\n'"):
        with pytest.raises(ToolError):
            run_read(name)


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


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=st.lists(PATHS, max_size=8), parts=st.lists(PARTS, min_size=1, max_size=4))
def test_a_pattern_finds_what_its_meaning_says(workspace, paths, parts):
    for path in paths:
        (workspace / path).mkdir(parents=True, exist_ok=True)
    everything = [
        Path(top, name).relative_to(workspace).as_posix() for top, names, _ in os.walk(workspace) for name in names
    ]
    meant = parts + ["*"] * (parts[-1] == "**")
    assert find("/".join(parts))[0] == sorted(name for name in everything if fits(name.split("/"), meant))
    for top, names, _ in os.walk(workspace, topdown=False):
        for name in names:
            os.rmdir(os.path.join(top, name))


# ---- as on Windows, where folders have no descriptors, and names from a Mac


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("nope/*.py", ""),
        ("a.py/*", ""),
        ("~/*", ""),
        ("{sub/{deep,nope},.}/c*", ""),
        ("{sub/{deep,nope},.}/d*", "sub/deep/d.py"),
        (r"sub\*.py", "sub/c.py"),
        (r"**\d*.py", "sub/deep/d.py"),
        (r"sub\deep\..\*.py", "sub/c.py"),
        (r".\sub\\c.py", "sub/c.py"),
        ("sub\\", "sub"),
    ],
)
def test_on_windows_a_backslash_is_a_slash_and_what_is_not_there_is_no_match(tree, windows_paths, pattern, found):
    assert run_glob(pattern) == (found or f"No matches for {pattern}")


@pytest.mark.parametrize("pattern", [r"..\*", r"C:\Windows\*", r"sub\..\..\*", r"\\server\share\*", "D:/*"])
def test_on_windows_a_pattern_that_leaves_is_refused(tree, windows_paths, pattern):
    with pytest.raises(ToolError, match="outside"):
        run_glob(pattern)


def test_on_windows_a_folder_that_may_not_be_listed_is_passed_over(workspace, windows_paths, monkeypatch):
    for name in ("a", "System Volume Information", "z"):
        (workspace / name).mkdir()
        (workspace / name / "f.py").touch()
    real = os.scandir

    def scandir(folder):
        if "System" in str(folder):
            raise PermissionError(13, "Access is denied", str(folder), 5)
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    note = "[some folders could not be opened]"
    assert run_glob("**/*.py") == f"a/f.py\nz/f.py\n{note}"
    assert run_glob("System Volume Information/*") == f"No matches for System Volume Information/*\n{note}"


def test_on_windows_a_junction_is_listed_and_not_followed(workspace, windows_paths, monkeypatch):
    for name in ("junction", "real"):
        (workspace / name).mkdir()
        (workspace / name / "f.py").touch()
    os.utime(workspace / "junction", (1e9, 1e9))
    monkeypatch.setattr(patterns, "is_junction", lambda found: found.st_mtime == 1e9)
    assert run_glob("**/*") == "junction\nreal\nreal/f.py"
    assert run_glob("*/") == "real"


@pytest.mark.parametrize(
    ("tag", "leads_away"),
    [(0xA0000003, True), (0xA000000C, True), (0x9000001A, False), (0x8000001B, False), (0, False)],
    ids=["junction", "link", "file in a cloud", "program of the store", "none"],
)
def test_a_junction_is_told_by_its_tag(tag, leads_away):
    assert opening.is_junction(types.SimpleNamespace(st_reparse_tag=tag)) is leads_away


NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(("there", "asked"), [(NFC, NFD), (NFD, NFC), (NFD, NFD), (NFC, NFC)])
@pytest.mark.parametrize("pattern", ["{}*", "{}.txt", "**/{}.txt", "?af?.txt", "{{{},tea}}.txt", "{}s/{}.*", "*s/{}.*"])
def test_a_name_is_found_in_whatever_code_points_it_is_written(workspace, pattern, there, asked):
    (workspace / f"{there}s").mkdir()
    for folder in (workspace, workspace / f"{there}s"):
        (folder / f"{there}.txt").write_text("tea\n")
    found = run_glob(pattern.format(asked, asked)).split("\n")
    assert f"{there}s/{there}.txt" in found or f"{there}.txt" in found
    assert all(run_read(name) == "tea\n" for name in found if name.endswith(".txt"))


def test_a_letter_with_its_accent_is_another_letter(workspace):
    (workspace / f"{NFD}.txt").touch()
    assert run_glob("cafe*") == "No matches for cafe*"
