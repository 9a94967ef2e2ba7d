"""Where a path leads, and how a file is opened and replaced there. More inputs stand in test_hostile_paths."""

import contextvars
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from systems import LINKS, ON_WINDOWS, posix

from s02_tool_use import ToolError, run_edit, run_read, run_write, safe_path, use_workdir, within
from s02_tool_use.files.names import windows_parts
from s02_tool_use.files.opening import open_file
from s02_tool_use.workspace import opened_parent, workdir


def test_the_workspace_is_the_current_directory_until_it_is_set(tmp_path):
    code = "import s02_tool_use as s; print(s.safe_path('a.txt'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path.resolve() / "a.txt")


def test_use_workdir_returns_the_real_folder(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    assert use_workdir("link") == workdir() == tmp_path.resolve() / "real"


@pytest.mark.parametrize("path", ["missing", "file", "loop", "nul\0", None, 3])
def test_use_workdir_refuses_what_is_no_folder_and_keeps_the_old_one(workspace, path):
    (workspace / "file").write_text("")
    if path == "loop":
        (workspace / "loop").symlink_to("loop")
    before = workdir()
    with pytest.raises(ToolError, match="workspace"):
        use_workdir(workspace / path if isinstance(path, str) else path)
    assert workdir() == before


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("a.txt", "a.txt"),
        (Path("sub") / "b.txt", "sub/b.txt"),
        (b"a.txt", "a.txt"),
        (".", "."),
        ("sub/", "sub"),
        ("sub/.", "sub"),
        ("./sub//b.txt", "sub/b.txt"),
        ("sub/../a.txt", "a.txt"),
        pytest.param("../work/a.txt", "a.txt", marks=posix("way out and in again: no path may leave")),
        ("new/deep/file", "new/deep/file"),
        ("to_a", "a.txt"),
        ("to_to_a", "a.txt"),
        ("to_sub/b.txt", "sub/b.txt"),
        ("sub/up/a.txt", "a.txt"),
        ("to_new", "new.txt"),
        ("to_a_absolute", "a.txt"),
        ("~", "~"),
        ("..a", "..a"),
        pytest.param("...", "...", marks=posix("names that end in a dot")),
    ],
)
def test_a_path_leads_where_the_system_would_go(workspace, path, leads_to):
    (workspace / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (workspace / name).write_text("")
    links = {"to_a": "a.txt", "to_to_a": "to_a", "to_sub": "sub/.", "sub/up": "..", "to_new": "./new.txt"}
    for name, target in {**links, "to_a_absolute": workspace / "a.txt"}.items():
        if LINKS or str(path).startswith(name):
            (workspace / name).symlink_to(target)
    assert safe_path(path) == workspace.resolve() / leads_to
    if isinstance(path, str):
        assert safe_path(f"{workspace}/{path}") == workspace.resolve() / leads_to


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../other",
        "../work-evil/x",
        "../work-evil/../work/a.txt",  # only a look could tell where that '..' leads
        "/",
        "/etc/passwd",
        "out/x",
        "out/../work/a.txt/../../x",
        "/proc/self/cwd/a.txt",
        "/proc/self/root",
        "a.txt/",
        "a.txt/.",
        "a.txt/..",
        "a.txt/b",
        "missing/..",
        "missing/.",
        "missing/",
        "loop",
        "loop/../a.txt",
        "",
        "nul\0",
        "\ud800",
        "x" * 256,
        "é" * 128,
        "d/" * 2048,
        None,
        3,
        ["a.txt"],
    ],
)
def test_a_path_that_leads_outside_or_nowhere_is_refused(workspace, path):
    (workspace / "a.txt").write_text("")
    (workspace.parent / "work-evil").mkdir()
    for name, target in {"out": workspace.parent, "loop": "pool", "pool": "loop"}.items():
        if LINKS or str(path).startswith(name):
            (workspace / name).symlink_to(target)
    with pytest.raises(ToolError):
        safe_path(path)


def test_forty_links_on_one_way_are_followed_and_more_are_a_loop(workspace):
    (workspace / "0").write_text("end")
    for n in range(41):
        (workspace / str(n + 1)).symlink_to(str(n))
    assert run_read("40") == "end"
    with pytest.raises(ToolError, match="links"):
        safe_path("41")


def test_absolute_paths_may_use_the_name_that_the_user_gave_the_workspace(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    use_workdir(tmp_path / "link")
    assert safe_path(tmp_path / "link" / "a.txt") == tmp_path.resolve() / "real" / "a.txt"
    assert safe_path(tmp_path / "real" / "a.txt") == tmp_path.resolve() / "real" / "a.txt"
    with pytest.raises(ToolError, match="outside"):
        safe_path(tmp_path / "link" / ".." / "a.txt")


def test_the_root_of_the_file_system_can_be_the_workspace(workspace):
    (workspace / "a.txt").write_text("x")
    root = Path(workspace.anchor)
    use_workdir(root)
    assert run_read(f"{workspace}/a.txt") == "x"
    if not ON_WINDOWS:  # there a path that leaves is refused
        assert safe_path("..") == root


def test_nothing_outside_is_even_looked_at(workspace, monkeypatch):
    (workspace / "out").symlink_to(workspace.parent / "secret")
    (workspace.parent / "secret").mkdir()
    looked, real = [], os.lstat
    with monkeypatch.context() as patch:
        patch.setattr("os.lstat", lambda path: looked.append(path) or real(path))
        for path in ("../secret/x", "/etc/passwd", "out/x"):
            with pytest.raises(ToolError, match="outside"):
                safe_path(path)
    assert looked == [workspace.resolve() / "out"]


def test_a_link_put_there_after_the_decision_is_not_followed(workspace, monkeypatch):
    (workspace.parent / "out").mkdir()
    (workspace.parent / "out" / "a.txt").write_text("TOP-SECRET")
    (workspace / "sub").symlink_to(workspace.parent / "out")
    monkeypatch.setattr("s02_tool_use.workspace.safe_path", lambda p: workdir() / p)
    for call in (
        lambda: run_read("sub/a.txt"),
        lambda: run_write("sub/a.txt", "x"),
        lambda: run_edit("sub/a.txt", "TOP", "x"),
        lambda: run_write("sub/new/a.txt", "x"),
    ):
        with pytest.raises(ToolError, match="changed"):
            call()
    assert (workspace.parent / "out" / "a.txt").read_text() == "TOP-SECRET"


def test_a_link_swapped_for_a_folder_during_the_look_is_told_with_what_to_do(workspace, monkeypatch):
    (workspace / "sub").mkdir()
    (workspace / "link").symlink_to("sub")
    read = os.readlink
    monkeypatch.setattr("os.readlink", lambda path: read(workspace / "sub"))
    with pytest.raises(ToolError, match="'link'.*; try again"):
        safe_path("link")


def test_a_file_swapped_for_a_pipe_or_a_link_after_the_look_is_refused(workspace, monkeypatch):
    (workspace / "a.txt").write_text("x")
    os.mkfifo(workspace / "pipe")
    (workspace / "link").symlink_to("a.txt")
    looked = os.stat(workspace / "a.txt")
    with monkeypatch.context() as patch, opened_parent("a.txt") as (folder, _):
        patch.setattr("os.stat", lambda *_, **__: looked)
        with pytest.raises(ToolError, match="pipe"):
            open_file(folder, "pipe", "a.txt")
        with pytest.raises(OSError, match="symbolic links"):
            open_file(folder, "link", "a.txt")


def test_what_is_no_file_is_not_even_opened(workspace, monkeypatch):
    os.mkfifo(workspace / "pipe")
    opened, real = [], os.open
    with monkeypatch.context() as patch, opened_parent("pipe") as (folder, name):
        patch.setattr("os.open", lambda path, *rest, **more: opened.append(path) or real(path, *rest, **more))
        with pytest.raises(ToolError, match="pipe"):
            open_file(folder, name, "pipe")
    assert opened == []


def test_missing_folders_are_made_only_for_writing(workspace):
    with pytest.raises(ToolError, match="does not exist"), opened_parent("a/b/c.txt"):
        raise AssertionError("never opened")
    assert not (workspace / "a").exists()
    with opened_parent("a/b/c.txt", create=True) as (_, name):
        assert os.path.basename(name) == "c.txt"
    assert (workspace / "a" / "b").is_dir()


@pytest.mark.parametrize(
    "path", ["new/" + "é" * 128, "new/" + "d/" * 2100 + "f", "new/\0", "new/\ud800", "new/a/.", "new/../f"]
)
def test_a_path_that_cannot_be_written_leaves_no_folders_behind(workspace, path):
    with pytest.raises(ToolError):
        run_write(path, "x")
    assert not list(workspace.iterdir())


def test_no_descriptor_is_left_open(workspace):
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a.txt").write_text("x")
    (workspace / "sub" / "link").symlink_to("a.txt")
    os.mkfifo(workspace / "sub" / "pipe")
    before = os.listdir("/dev/fd")
    for path in ("sub/a.txt", "sub/link", "sub/pipe", "sub", "sub/missing", "missing/x"):
        for call in (lambda p: run_read(p), lambda p: run_edit(p, "x", "y"), lambda p: run_write(f"{p}/", "y")):
            try:
                call(path)
            except ToolError:
                continue
    assert os.listdir("/dev/fd") == before


def test_a_workspace_that_is_gone_is_said(workspace):
    workspace.rmdir()
    with pytest.raises(ToolError, match="use_workdir"):
        run_read("a.txt")


@posix("current folder that can be removed")
def test_a_current_directory_that_is_gone_is_said(tmp_path):
    code = (
        "import os, s02_tool_use as s; os.rmdir(os.getcwd()); "
        "print(s.run_tool({'name': 'read_file', 'input': {'path': 'f'}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "call use_workdir" in done.stdout


def in_a_thread(function):
    """What `function()` returns in a thread."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(function()))
    thread.start()
    thread.join()
    return seen[0]


def test_threads_see_one_workspace(workspace):
    assert in_a_thread(workdir) == workspace.resolve()


def test_a_workspace_for_a_while_is_that_of_its_context_alone(workspace, tmp_path):
    with within(tmp_path) as root:
        assert root == workdir() == tmp_path.resolve()
        assert safe_path(tmp_path / "a.txt") == tmp_path.resolve() / "a.txt"
        assert in_a_thread(workdir) == workspace.resolve()
        context = contextvars.copy_context()
        assert in_a_thread(lambda: context.run(workdir)) == tmp_path.resolve()
        with within(workspace):
            assert workdir() == workspace.resolve()
        assert workdir() == tmp_path.resolve()
    assert workdir() == workspace.resolve()


def test_a_workspace_for_a_while_ends_with_an_exception_too(workspace, tmp_path):
    with pytest.raises(ZeroDivisionError), within(tmp_path):
        1 / 0  # noqa: B018
    assert workdir() == workspace.resolve()


def test_use_workdir_inside_a_workspace_for_a_while_moves_nobody_else(workspace, tmp_path):
    with within(workspace):
        use_workdir(tmp_path)
        assert workdir() == tmp_path.resolve()
        assert in_a_thread(workdir) == workspace.resolve()
    assert workdir() == workspace.resolve()


def test_a_workspace_can_be_kept_as_it_is_by_the_name_that_it_was_given(workspace, tmp_path):
    (tmp_path / "alias").symlink_to("work")
    use_workdir(tmp_path / "alias")
    with within():
        in_a_thread(lambda: use_workdir(tmp_path))
        assert safe_path(tmp_path / "alias" / "a.txt") == workspace.resolve() / "a.txt"
    assert workdir() == tmp_path.resolve()


def test_a_current_directory_can_be_kept_as_the_workspace(tmp_path):
    code = (
        "import os, s02_tool_use as s\n"
        "with s.within() as root:\n    os.chdir('..'); print(s.workdir() == root)\n"
        "print(s.workdir() == root.parent)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_a_folder_that_is_not_there_is_no_workspace_for_a_while(workspace):
    with pytest.raises(ToolError, match="name a folder that exists"), within("missing"):
        pass
    assert workdir() == workspace.resolve()


@pytest.mark.parametrize(
    "name",
    [
        r"C:\Windows\win.ini",
        r"C:a.txt",
        r"C:",
        r"\a.txt",
        r"\\?\C:\Users\me\work\a.txt",
        r"\\.\PhysicalDrive0",
        r"\\server\share\x",
        r"C:\Users\me\work2\a.txt",
        r"C:\Users\me\work\..\x",
        r"sub\..\..\x",
        "NUL",
        "nul.txt",
        "con .txt",
        "sub/LPT9.log",
        "COM¹",
        "CONIN$",
        "a.txt.",
        "a.txt ",
        ". .",
        "..\\",
        ".. ",
        "LONGNA~1.TXT",
        "a:b",
        "a|b",
        "a*",
        "a\x1f",
    ],
)
def test_windows_names_that_are_not_plain_are_refused(name):
    with pytest.raises(ValueError, match="outside|plain"):
        windows_parts(name, r"C:\Users\me\work")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.txt", ["a.txt"]),
        (r"sub\a.txt", ["sub", "a.txt"]),
        ("sub/./a.txt", ["sub", ".", "a.txt"]),
        (r"sub\..\a.txt", ["sub", "..", "a.txt"]),
        ("a.txt/", ["a.txt", "."]),
        ("a.txt\\", ["a.txt", "."]),
        ("a.txt/.", ["a.txt", "."]),
        ("C:\\Users\\me\\work", []),
        (r"D:\short\a.txt", ["a.txt"]),
        (r"c:\users\ME\work\sub\a.txt", ["sub", "a.txt"]),
        ("C:/Users/me/work/é 漢.txt", ["é 漢.txt"]),
        ("console.txt", ["console.txt"]),
        ("~a", ["~a"]),
        (".env", [".env"]),
    ],
)
def test_plain_windows_names_are_taken(name, parts):
    assert windows_parts(name, r"C:\Users\me\work", given="D:\\short") == parts


@pytest.mark.parametrize(
    "name",
    [
        "a.txt/",
        "a.txt\\",
        "a.txt/.",
        "a.txt/..",
        "missing/..",
        "missing/.",
        r"new\..\a.txt",
        "loop/../a.txt",
        "a.txt/b",
    ],
)
def test_on_windows_a_path_is_walked_as_elsewhere(name, workspace, windows_paths):
    (workspace / "a.txt").touch()
    if "loop" in name:
        (workspace / "loop").symlink_to("loop")
    with pytest.raises(ToolError, match="is a file|no folder|links"):
        safe_path(name)


def test_on_windows_a_way_back_that_exists_is_taken(workspace, windows_paths):
    (workspace / "sub").mkdir()
    assert safe_path(r"sub\..\a.txt") == workspace.resolve() / "a.txt"
    assert safe_path("sub/") == workspace.resolve() / "sub"


# ---- names from a Mac

NFC, NFD = "caf\u00e9", "cafe\u0301"


@pytest.mark.parametrize(("there", "asked"), [(NFC, NFD), (NFD, NFC)])
def test_a_name_in_other_code_points_is_the_file_that_is_there(there, asked, workspace):
    (workspace / f"{there}s").mkdir()
    (workspace / f"{there}s" / f"{there}.txt").write_text("tea\n", encoding="utf-8")
    path = f"{asked}s/{asked}.txt"
    assert run_read(path) == "tea\n"
    run_edit(path, "tea", "coffee")
    run_write(path, run_read(path) + "2\n")
    assert os.listdir(workspace / f"{there}s") == [f"{there}.txt"]
    assert run_read(f"{there}s/{there}.txt") == "coffee\n2\n"


def test_where_both_forms_are_there_each_name_means_its_own(workspace):
    for name in (NFC, NFD):
        (workspace / name).write_text(ascii(name), encoding="utf-8")
    if len(os.listdir(workspace)) == 1:
        pytest.skip("this file system holds only one of them")
    assert [run_read(name) for name in (NFC, NFD)] == [ascii(NFC), ascii(NFD)]


def test_where_it_is_not_clear_which_file_is_meant_none_is_taken(workspace):
    one, two, asked = "a\u0323\u0307", "a\u0307\u0323", "\u1ea1\u0307"
    for name in (one, two):
        (workspace / name).write_text(ascii(name), encoding="utf-8")
    if len(os.listdir(workspace)) == 1:
        pytest.skip("this file system holds only one of them")
    with pytest.raises(ToolError, match="does not exist"):
        run_read(asked)
