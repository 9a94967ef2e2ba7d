"""Paths and patterns that got out of a workspace somewhere, or hung a tool; and swaps in the middle of a call."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from systems import ON_WINDOWS

import s02_tool_use
from s02_tool_use.files.names import windows_parts

DATA = json.loads((Path(__file__).parents[1] / "data" / "hostile_paths.json").read_text(encoding="utf-8"))
ON_POSIX = [case for case in DATA["cases"] if case["platform"] == "posix"]
WINDOWS_CASES = [case for case in DATA["cases"] if case["platform"] == "windows"]
SECRET = "TOP-SECRET"


def cases(chosen):
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def build(base, layout):
    for kind, where, *rest in layout:
        if ON_WINDOWS and kind in ("rawfile", "fifo", "sock", "chardev", "pathmax"):
            pytest.skip(f"Windows has no such thing: {kind}")
        if kind == "rawfile":
            where = os.fsdecode(base64.b64decode(where["b64"]))
        path = base / where
        if kind == "dir":
            path.mkdir(exist_ok=True)
        elif kind in ("file", "rawfile"):
            path.write_text(rest[0])
        elif kind == "link":
            path.symlink_to(rest[0].format(BASE=base, WORK=base / "work"))
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "sock":
            with socket.socket(socket.AF_UNIX) as endpoint:
                endpoint.bind(os.path.relpath(path))
        elif kind == "chardev":
            try:
                os.mknod(path, 0o20666, os.makedev(*rest[0]))
            except PermissionError:
                pytest.skip("only root makes device nodes")
        elif kind == "deep":
            path.joinpath(*["d"] * rest[0]).mkdir(parents=True)
        elif kind == "pathmax":
            build_pathmax(path)
        else:
            raise AssertionError(f"unknown layout {kind}")


def build_pathmax(work):
    """16 long folders in one another, each behind a one-letter link; in the last a link that goes all the way up."""
    here = os.open(work, os.O_RDONLY)
    for letter in "abcdefghijklmnop":
        os.mkdir("d" * 247, dir_fd=here)
        os.symlink("d" * 247, letter, dir_fd=here)
        above, here = here, os.open("d" * 247, os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.symlink("../" * 16, "l" * 254, dir_fd=here)
    os.close(here)


def picture(base):
    """All that lies outside the workspace, by name and content."""
    outside = {}
    for folder, folders, files in os.walk(base):
        if Path(folder) == base:
            folders.remove("work")
        for name in files:
            path = os.path.join(folder, name)
            outside[path] = os.path.islink(path) or Path(path).read_bytes()
    return outside


def call(case, base):
    text = case["arg"].replace("{BASE}", str(base)).replace("{WORK}", str(base / "work"))
    arguments = {
        "read_file": {"path": text},
        "write_file": {"path": text, "content": "w"},
        "edit_file": {"path": text, "old_text": case.get("old"), "new_text": case.get("new")},
        "glob": {"pattern": text},
    }[case["tool"]]
    return s02_tool_use.run_tool({"type": "tool_use", "id": "t", "name": case["tool"], "input": arguments})


def names(content):
    return [] if content.startswith("No matches") else [line for line in content.splitlines() if line[0] != "["]


@pytest.fixture
def base(tmp_path, monkeypatch):
    base = tmp_path.resolve()
    build(base, DATA["std_layout"])
    monkeypatch.chdir(base / "work")  # so that a relative path to the socket is short enough
    return base


@cases(ON_POSIX)
def test_a_hostile_path_reaches_nothing_outside_and_ends_soon(case, base):
    build(base, case["layout"])
    s02_tool_use.use_workdir(base / case["workdir"] if case.get("workdir", ".") != "." else Path("."))
    before = picture(base)
    started = time.thread_time()  # not what others do on this machine
    result = call(case, base)
    seconds = time.thread_time() - started
    report = f"{case['id']}: {case['why']}\n{case.get('ref', '')}\n{result}"
    content, failed = result["content"], result.get("is_error", False)
    assert SECRET not in content, report
    assert picture(base) == before, report
    assert seconds < case.get("max_seconds", 10), report
    content.encode()  # can be sent
    expect, kind = case["expect"], case["expect"]["kind"]
    if kind in ("refuse", "error"):
        assert failed, report
    if kind in ("ok", "list", "list_contains", "list_or_doc"):
        assert not failed, report
    if failed:
        return
    if kind in ("ok", "ok_or_refuse"):
        assert content == expect["value"], report
    elif kind == "ok_or_error":
        assert not expect.get("file") or (base / expect["file"]).exists(), report
    elif kind.startswith("list"):
        listed = names(content)
        assert all(os.path.lexists(base / "work" / name) and ".." not in name for name in listed), report
        if kind in ("list", "list_or_refuse"):
            assert listed == expect["value"], report
        assert len(listed) <= expect.get("max", len(listed)), report
        if kind in ("list_contains", "list_or_doc"):
            assert set(expect["value"]) <= set(listed), report


@cases(WINDOWS_CASES)
def test_windows_own_path_is_refused_by_the_decision_function(case):
    with pytest.raises(ValueError, match="."):
        windows_parts(case["arg"], r"C:\Users\me\work")


@cases(WINDOWS_CASES)
def test_windows_own_path_is_a_missing_name_elsewhere(case, base):
    s02_tool_use.use_workdir(base / "work")
    assert call(case, base)["is_error"], case["why"]


RACER = """
import ctypes, os, sys
swap = ctypes.CDLL(None, use_errno=True).renameat2
one, two = (os.fsencode(name) for name in sys.argv[1:])
print("now", flush=True)
while not swap(-100, one, -100, two, 2):  # RENAME_EXCHANGE
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="names are exchanged with renameat2")
@pytest.mark.parametrize("race", DATA["races"], ids=[race["id"] for race in DATA["races"]])
def test_a_folder_swapped_for_a_link_during_the_call_leaks_nothing(race, base, part):
    build(base, race["layout"])
    work = s02_tool_use.use_workdir(base / "work")
    (tool, path), results = race["op"], {False: 0, True: 0}
    with subprocess.Popen([sys.executable, "-c", RACER, work / "d1", work / "d2"], stdout=subprocess.PIPE) as racer:
        racer.stdout.readline()
        end = time.monotonic() + 60
        while sum(results.values()) < part * race["iterations"] or (
            not all(results.values()) and time.monotonic() < end
        ):
            result = call({"tool": tool, "arg": path}, base)
            assert SECRET not in result["content"], race["ref"]
            results[result.get("is_error", False)] += 1
        assert racer.poll() is None
        racer.kill()
    assert not (base / "out" / "p.txt").exists(), race["ref"]
    assert all(results.values()), "the names were never swapped at the right moment: nothing was tested"
