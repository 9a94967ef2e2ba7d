"""A file that cannot be replaced is written in place; the file that a key was read from is no file for a tool."""

import errno
import os
import stat
import subprocess
import sys
from functools import partial

import pytest
from ordinary_user import NOBODY, as_ordinary_user
from systems import LINKS, NO_LINKS

from s02_tool_use import ToolError, run_edit, run_glob, run_read, run_tool, run_write
from s02_tool_use.calls import secrets
from s02_tool_use.files import opening

IN_PLACE = "written into the file itself"


def call(tool, **arguments):
    return run_tool({"id": "t", "name": tool, "input": arguments})


def test_folders_are_made_where_few_functions_take_an_open_folder(workspace, monkeypatch):
    """As in a browser page."""
    for name in ("access", "link", "symlink", "mkfifo", "mknod"):
        if function := getattr(os, name, None):
            monkeypatch.setattr(os, name, partial(_without_folder, function))
    assert "Wrote" in run_write("new/folder/file.txt", "x")
    assert "Wrote" in run_write("new/other/file.txt", "x")
    assert run_read("new/folder/file.txt") == "x"


def _without_folder(function, *arguments, dir_fd=None, **named):
    if dir_fd is not None:
        raise NotImplementedError("dir_fd unavailable on this platform")
    return function(*arguments, **named)


# ---- in place


def refusing(number):
    def refused(*_, **__):
        raise OSError(number, os.strerror(number))

    return refused


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM, errno.EXDEV])
def test_where_a_draft_cannot_take_the_name_the_file_itself_is_written(workspace, monkeypatch, number):
    path = workspace / "f"
    path.write_text("old and long")
    path.chmod(0o640)
    before = path.stat()
    monkeypatch.setattr("os.replace", refusing(number))
    for said in (run_write("f", "new"), run_edit("f", "new", "newer"), run_write("f", "")):
        assert said.endswith(f"[{IN_PLACE}, because a new one could not replace it: {os.strerror(number)}]")
    assert (path.stat().st_ino, path.stat().st_mode) == (before.st_ino, before.st_mode)
    assert {entry.name: entry.read_text() for entry in workspace.iterdir()} == {"f": ""}
    assert call("write_file", path="missing", content="x")["is_error"]


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_goes_wrong_in_place_brings_the_old_bytes_back(workspace, monkeypatch, fault):
    write, faults = opening._write_all, [fault]

    def broken(file, data):
        if faults:
            file.write(b"??")
            raise faults.pop()
        write(file, data)

    (workspace / "f").write_text("old")
    monkeypatch.setattr("os.replace", refusing(errno.EBUSY))
    monkeypatch.setattr(opening, "_write_all", broken)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        run_write("f", "new and long")
    assert (workspace / "f").read_text() == "old"


def test_a_big_file_is_not_held_in_memory_to_be_written_in_place(workspace, monkeypatch):
    (workspace / "f").write_text("old")
    monkeypatch.setattr("os.replace", refusing(errno.EBUSY))
    monkeypatch.setattr(opening, "MAX_OVERWRITTEN_BYTES", 2)
    assert "too big" in call("write_file", path="f", content="new")["content"]
    assert (workspace / "f").read_text() == "old"


def test_a_writable_file_in_a_read_only_folder_is_written():
    def written(workspace):
        (workspace / "d").mkdir()
        (workspace / "d" / "f").write_text("old")
        (workspace / "d").chmod(0o555)
        said = run_write("d/f", "new"), run_edit("d/f", "new", "newer")
        (workspace / "d").chmod(0o755)
        return said, (workspace / "d" / "f").read_text(), os.listdir(workspace / "d")

    said, text, names = as_ordinary_user(written)
    assert all(IN_PLACE in one for one in said)
    assert (text, names) == ("newer", ["f"])


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize(("owner", "group"), [(0, 0), (NOBODY, 0)])
def test_the_owner_and_the_group_stay_where_only_root_could_give_them(owner, group):
    def root_made(workspace):
        (workspace / "f").write_text("old")
        os.chown(workspace / "f", owner, group)
        (workspace / "f").chmod(0o6777)

    def edited(workspace):
        said = run_edit("f", "old", "new")
        return said, run_read("f"), os.stat(workspace / "f")

    said, text, found = as_ordinary_user(edited, root_made)
    assert IN_PLACE in said
    assert (text, found.st_uid, found.st_gid) == ("new", owner, group)
    assert stat.S_IMODE(found.st_mode) & 0o6000 == 0  # as write(2) does, for who is not root


MOUNT = """
import subprocess, sys, s02_tool_use as s
s.use_workdir(sys.argv[1])
subprocess.run(["mount", "--bind", sys.argv[1] + "/real", sys.argv[1] + "/f"], check=True)
print("mounted", flush=True)
print(s.run_write("f", "new"), s.run_edit("f", "new", "newer"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bind mounts are Linux's")
def test_a_file_that_is_a_mount_point_is_written(workspace):
    for name in ("real", "f"):
        (workspace / name).write_text("old")
    command = ["unshare", "--mount", "--map-root-user", sys.executable, "-c", MOUNT, workspace]
    done = subprocess.run(command, capture_output=True, text=True)
    if "mounted" not in done.stdout:
        pytest.skip(f"nothing can be mounted here: {done.stderr[-200:]}")
    assert done.stdout.count(IN_PLACE) == 2, done
    assert (workspace / "real").read_text() == "newer"


def test_edits_in_two_folders_do_not_wait_for_each_other(workspace, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setattr(opening, "LOCK_SECONDS", 0)
    for name in ("a", "b"):
        (workspace / name).mkdir()
    real = opening._rename_draft

    def meanwhile(*arguments):
        monkeypatch.setattr(opening, "_rename_draft", real)
        run_write("b/f", "2")
        real(*arguments)

    monkeypatch.setattr(opening, "_rename_draft", meanwhile)
    run_write("a/f", "1")
    assert [(workspace / name / "f").read_text() for name in ("a", "b")] == ["1", "2"]


# ---- as on Windows, where another program can hold a file


@pytest.fixture
def held(workspace, windows_paths, monkeypatch):
    """A function: the next `times` that a new file is to take the name of "f", another program holds it."""
    monkeypatch.setattr(opening, "SOON", (0, 0, 0))
    (workspace / "f").write_text("old")
    real, left = os.replace, []

    def replace(*names, **more):
        if left:
            raise left.pop()
        return real(*names, **more)

    monkeypatch.setattr(os, "replace", replace)
    return lambda times: left.extend(PermissionError(13, "Access is denied") for _ in range(times))


@pytest.mark.parametrize("times", [1, 3])
def test_a_file_that_is_held_for_a_moment_is_replaced_after_it(workspace, held, times):
    held(times)
    assert run_write("f", "new") == "Wrote 3 bytes to f"
    assert (workspace / "f").read_text() == "new"


def test_a_file_that_stays_held_is_written_in_place_or_said(workspace, held, monkeypatch):
    held(4)
    assert IN_PLACE in run_write("f", "new")
    held(5)
    monkeypatch.setattr(opening, "_overwrite", lambda *_: os.replace("f", "f"))
    with pytest.raises(ToolError, match=r"'f': Access is denied, perhaps because another program has it open; nothing"):
        run_write("f", "newer")
    assert (workspace / "f").read_text() == "new"
    assert [path.name for path in workspace.iterdir()] == ["f"]


# ---- the file of the key

NAMES = [".env", "link", "hard", "./.env", "sub/../.env", "sub/link", "{WORK}/.env", "linked/.env"]


@pytest.fixture
def kept(workspace, request):
    """The workspace with a file that a key was read from, and other names for it."""
    if not LINKS and "link" in request.node.name.partition("[")[2]:
        pytest.skip(NO_LINKS)
    path = workspace / ".env"
    path.write_text("ANTHROPIC_API_KEY=sk-ant-test-0123456789\n")
    os.link(path, workspace / "hard")
    (workspace / "sub").mkdir()
    for name, target in {"link": ".env", "sub/link": "../link", "linked": "."}.items() if LINKS else ():
        (workspace / name).symlink_to(target)
    secrets.keep(file=path)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_the_file_of_the_key_is_refused_under_any_name(workspace, kept, name):
    before = kept.stat()
    name = name.format(WORK=workspace)
    for result in (
        call("read_file", path=name),
        call("read_file", path=name, limit=1),
        call("edit_file", path=name, old_text="sk-ant", new_text="x"),
        call("edit_file", path=name, old_text="nothing like it", new_text="x"),
        call("write_file", path=name, content="x"),
    ):
        assert result["is_error"]
        assert "the API key was read from" in result["content"]
        assert "0123456789" not in result["content"]
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert ".env" in run_glob(".*")


def test_its_neighbours_are_files_like_any_other(workspace, kept):
    assert run_write(".env.example", "KEY=\n")
    assert run_edit(".env.example", "KEY", "NAME")
    assert run_read(".env.example") == "NAME=\n"
    assert run_write("sub/.env", "x")


@pytest.mark.parametrize("name", [".env", ".ENV", "link", "linked/.env", "sub/../.env", "conf/.env"])
def test_a_file_of_the_key_that_is_not_there_is_not_made(workspace, kept, name):
    secrets.keep(file=workspace / "conf" / ".env")
    kept.unlink()
    result = call("write_file", path=name, content="ANTHROPIC_BASE_URL=http://elsewhere")
    assert "the API key was read from" in result["content"]
    assert not kept.exists()
    assert not (workspace / "conf" / ".env").exists()


@pytest.mark.parametrize("name", [".env/x", ".env/sub/x", ".ENV/x", "link/x", "linked/.env/x", "conf/.env/x"])
def test_no_folder_is_made_where_a_file_of_the_key_belongs(workspace, kept, name):
    secrets.keep(file=workspace / "conf" / ".env")
    kept.unlink()
    assert "the API key was read from" in call("write_file", path=name, content="x")["content"]
    assert not [path for path in workspace.rglob("*") if path.name in (".env", ".ENV")]


def test_a_folder_that_stands_there_already_is_a_folder_like_any_other(workspace, kept):
    kept.unlink()
    kept.mkdir()
    assert "Wrote" in run_write(".env/x", "x")


def test_a_file_of_the_key_that_is_a_link_is_kept_at_its_end(workspace):
    (workspace / ".env").symlink_to("real")
    secrets.keep(file=workspace / ".env")
    for name in (".env", "real"):
        assert "the API key was read from" in call("write_file", path=name, content="x")["content"]
    (workspace / "real").write_text("KEY=1")
    for name in (".env", "real"):
        assert "the API key was read from" in call("read_file", path=name)["content"]
    assert (workspace / "real").read_text() == "KEY=1"
