"""What bubblewrap leaves out and how it is found out whether it works; what is said when it does not."""

import os
import subprocess
import sys

import pytest
from systems import needs_bash, posix

from s02_tool_use import ToolError, run_bash
from s02_tool_use.bash import sandbox
from s02_tool_use.calls import secrets

WORKS, WHY = sandbox.sandbox_status()
needs_bubblewrap = pytest.mark.skipif(not WORKS, reason=WHY)
KEY = "sk-ant-canary-0123456789"


@pytest.fixture
def confined(workspace, monkeypatch):
    monkeypatch.setenv("S02_SANDBOX", "require")
    monkeypatch.setattr(secrets, "_files", set())
    return workspace


def key_in(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"ANTHROPIC_API_KEY={KEY}\n")
    return path


@needs_bubblewrap
@pytest.mark.parametrize("file", ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"])
def test_a_command_of_root_changes_no_setting_of_the_kernel(confined, file):
    said = run_bash(f"python -c \"open('{file}', 'r+'); print('it may')\"")  # opened, and nothing written
    assert "it may" not in said


# ---- the file with the key

READS = [
    "cat .env sub/.env sub/deep/.env other",
    "grep -r canary .",
    "cp -r . /tmp/copy; grep -r canary /tmp/copy",
    "mv sub moved; cat moved/.env moved/deep/.env",
    "mv .env x; mv sub/.env y; mv sub/deep/.env z; cat x y z",
    "ln .env x; ln sub/.env y; ln other z; cat x y z",
    "umount .env; umount sub/.env; umount sub/deep/.env; umount other; grep -r canary .",
    "python -c 'import os; [print(open(f).read()) for f in os.listdir() if os.path.isfile(f)]'",
    "cat /proc/1/root{work}/.env /proc/self/root{work}/other /proc/self/mountinfo; grep -r canary /proc/self/cwd",
]


@needs_bubblewrap
@pytest.mark.parametrize("command", READS)
@pytest.mark.parametrize("place", [".env", "sub/.env", "sub/deep/.env", "hard link", "link", "named by a link"])
def test_the_file_with_the_key_is_not_there(confined, tmp_path, place, command):
    (confined / "sub" / "deep").mkdir(parents=True)
    if place == "hard link":
        named = key_in(tmp_path / "elsewhere" / ".env")
        (confined / "other").hardlink_to(named)
        (confined / "sub" / "deep" / ".env").hardlink_to(named)
    elif place == "link":
        named = key_in(tmp_path / "elsewhere" / ".env")
        (confined / ".env").symlink_to(named)
    elif place == "named by a link":
        named = tmp_path / ".env"
        named.symlink_to(key_in(confined / "sub" / ".env"))
    else:
        named = key_in(confined / place)
    secrets.keep(named)
    said = run_bash(command.format(work=confined)) + run_bash("grep -r canary .")  # and not the next time
    assert "canary" not in said
    assert named.read_text() == f"ANTHROPIC_API_KEY={KEY}\n"


@needs_bubblewrap
def test_the_file_with_the_key_in_a_folder_above_or_in_the_course_is_not_there(confined, tmp_path, monkeypatch):
    course = confined / "course"
    monkeypatch.setattr(sandbox, "PACKAGE", str(course))
    for file in (tmp_path / ".env", course / ".env", course / "deep" / ".env"):
        secrets.keep(key_in(file))
    assert run_bash("cat ../.env; grep -r canary . ..; touch course/x course/deep/x").endswith("[exit status 1]")
    assert not (course / "x").exists()
    assert not (course / "deep" / "x").exists()


@needs_bubblewrap
def test_hard_links_are_looked_for_within_bounds(confined, tmp_path, monkeypatch):
    (confined / "other").hardlink_to(key_in(tmp_path / ".env"))
    monkeypatch.setattr(sandbox, "MAX_ENTRIES", 3)
    secrets.keep(tmp_path / ".env")
    assert "canary" not in run_bash("cat *")
    for name in "abc":
        (confined / name).touch()
    for mode in ("auto", "require"):
        monkeypatch.setenv("S02_SANDBOX", mode)
        with pytest.raises(ToolError, match="hard links"):
            run_bash("cat *")


@needs_bash
@pytest.mark.parametrize("mode", ["off", pytest.param("require", marks=needs_bubblewrap)])
def test_what_run_bash_returns_holds_no_key(workspace, monkeypatch, mode):
    monkeypatch.setenv("S02_SANDBOX", mode)
    monkeypatch.setattr(secrets, "_forms", ())
    secrets.keep(texts=[KEY])
    (workspace / "other").write_text(KEY)
    assert run_bash("cat other").splitlines() == [secrets.CUT, "[exit status 0]"]


# ---- a Python in the workspace


@needs_bubblewrap
def test_a_package_installed_in_an_environment_in_the_workspace_stays_read_only(confined, monkeypatch):
    """One thing that is read-only lies in another: holding the inner one in its place opens no outer one."""
    package = confined / "a" / ".venv" / "lib" / "python3" / "site-packages" / "s02_tool_use"
    package.mkdir(parents=True)
    monkeypatch.setattr(sandbox, "PACKAGE", str(package))
    monkeypatch.setattr(sandbox, "_prefixes", lambda: {sys.prefix, sys.base_prefix, str(confined / "a" / ".venv")})
    folders = [package, *(folder for folder in package.parents if folder.is_relative_to(confined / "a" / ".venv"))]
    run_bash("; ".join(f"touch {folder}/new; mv {folder} {confined}/moved" for folder in folders))
    assert all(folder.is_dir() and not (folder / "new").exists() for folder in folders)


# ---- whether it works


@pytest.fixture
def bwrap(tmp_path, monkeypatch):
    """A function that puts a shell script in the place of bubblewrap, which is installed then."""
    monkeypatch.setattr(sandbox, "PLACES", [str(tmp_path)])
    monkeypatch.setattr(sandbox, "_worked", set())
    monkeypatch.setattr(sys, "platform", "linux")

    def put(script):
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)

    return put


needs_a_shell = pytest.mark.skipif(os.name != "posix", reason="a shell script stands in for bwrap")


@needs_a_shell
def test_a_trial_that_took_too_long_is_said_and_tried_again(bwrap, workspace, monkeypatch):
    bwrap("exec sleep 60")
    monkeypatch.setattr(sandbox, "TRIAL_SECONDS", 0.05)
    assert run_bash("echo ran") == (
        "ran\n[exit status 0; not confined: no bubblewrap (a test run took more than 0.05 s): "
        "bash can reach whatever you can reach]"
    )
    monkeypatch.setattr(sandbox, "TRIAL_SECONDS", 30)
    bwrap("echo 42")
    assert sandbox.sandbox_status(workspace)[0]


@needs_a_shell
@pytest.mark.parametrize("setting", ["auto", "off"])
def test_only_a_sandbox_that_was_expected_is_missed(bwrap, workspace, monkeypatch, setting):
    monkeypatch.setenv("S02_SANDBOX", setting)
    assert run_bash("true") == "[exit status 0]"  # nothing is installed
    bwrap("echo it does not work >&2; exit 1")
    assert ("not confined: no bubblewrap (it does not work)" in run_bash("true")) is (setting == "auto")


@needs_a_shell
def test_a_sandbox_that_worked_once_and_does_not_start_runs_nothing(bwrap, workspace):
    bwrap("echo 42")
    assert sandbox.sandbox_status(workspace)[0]
    bwrap("echo No space left on device; exit 1")
    with pytest.raises(ToolError, match="could not be started: No space left on device"):
        run_bash("touch ran")
    assert not (workspace / "ran").exists()


@posix("places of the system that bubblewrap knows")
def test_a_workspace_in_a_place_of_the_system_is_writable_and_the_rest_is_not():
    words = sandbox._bubblewrap("/usr/src/app", False)
    assert words.index("/usr/src/app") > words.index("/usr")
    assert subprocess.list2cmdline(words).count("--bind /usr/src/app /usr/src/app") == 1
