"""Which bash runs on Windows, and what it is given. Folders and variables are stand-ins, so this runs anywhere."""

import ntpath
import os
import subprocess
import sys
import types

import pytest
from systems import posix

from s02_tool_use import ToolError, run_bash, shell
from s02_tool_use.bash import process, program, sandbox
from s02_tool_use.bash.program import for_windows, windows_bash

CMD = [r"C:\Windows\system32\cmd.exe", "/d", "/s", "/c"]
VARIABLES = {
    "SYSTEMROOT": r"C:\Windows",
    "PROGRAMFILES": r"C:\Program Files",
    "LOCALAPPDATA": r"C:\Users\me\AppData\Local",
    "USERPROFILE": r"C:\Users\me",
}
STUB = r"C:\Windows\System32\bash.exe"
STORE = r"C:\Users\me\AppData\Local\Microsoft\WindowsApps\bash.exe"
GIT = r"C:\Program Files\Git\bin\bash.exe"
OWN = r"C:\Users\me\AppData\Local\Programs\Git\bin\bash.exe"
SCOOP = r"C:\Users\me\scoop\apps\git\current\bin\bash.exe"


def found(path, *files):
    """What is found where these files are, whatever the case of their letters."""
    there = {ntpath.normcase(file) for file in files}
    return windows_bash(VARIABLES | {"PATH": path}, lambda name: ntpath.normcase(name) in there)


@pytest.mark.parametrize(
    ("path", "files", "right"),
    [
        ("", [], None),
        (r"C:\Windows\System32", [STUB], None),
        (
            r"C:\WINDOWS\system32;C:\Windows\SysWOW64\;C:\Windows\Sysnative",
            [STUB, r"C:\Windows\SysWOW64\bash.exe"],
            None,
        ),
        (r"c:/windows/system32/../System32", [STUB], None),
        (r"C:\Users\me\AppData\Local\Microsoft\WindowsApps", [STORE], None),
        (r"C:\Program Files\WindowsApps\Ubuntu", [r"C:\Program Files\WindowsApps\Ubuntu\bash.exe"], None),
        (r"C:\Windows\System32;C:\Program Files\Git\bin", [STUB, GIT], GIT),
        (r"C:\Windows\System32;C:\Program Files\Git\cmd", [STUB, STORE, GIT], GIT),  # as the installer leaves it
        ("", [STUB, GIT], GIT),
        ('"C:\\Program Files\\Git\\bin"', [GIT], GIT),
        (
            r"D:\tools\Git\cmd",
            [r"D:\tools\Git\cmd\git.exe", r"D:\tools\Git\bin\bash.exe"],
            r"D:\tools\Git\bin\bash.exe",
        ),
        (r"C:\msys64\usr\bin", [r"C:\msys64\usr\bin\bash.exe", GIT], r"C:\msys64\usr\bin\bash.exe"),
        ("", [OWN], OWN),
        ("", [SCOOP], SCOOP),
        (r"C:\WindowsTools", [r"C:\WindowsTools\bash.exe"], r"C:\WindowsTools\bash.exe"),
        (".;bin;;" + r"\bin", ["bash.exe", r".\bash.exe", r"bin\bash.exe"], None),  # a model may write there
    ],
)
def test_the_bash_of_git_is_found_and_never_one_of_the_system(path, files, right):
    assert found(path, *files) == right


def test_without_a_system_root_the_usual_one_counts():
    assert windows_bash({"PATH": r"C:\Windows\System32"}, lambda name: True) is None


@pytest.fixture
def on_windows(monkeypatch):
    """A stand-in for a Windows with cmd alone; gives what Popen gets, which then runs `python -c "print(6*7)"`."""
    got = {}

    def popen(arguments, **options):
        got.update(options, arguments=arguments)
        return real([sys.executable, "-c", "print(6*7)"], stdout=subprocess.PIPE, bufsize=0)

    real = subprocess.Popen
    for module in (program, process, sandbox, shell):
        monkeypatch.setattr(module, "ON_WINDOWS", True)
    monkeypatch.setattr(program, "windows_bash", lambda variables: None)
    monkeypatch.setenv("COMSPEC", CMD[0])
    monkeypatch.setattr(process.subprocess, "Popen", popen)
    return got


def test_without_bash_cmd_gets_one_string_with_the_quotes_as_they_are(on_windows, workspace):
    said = run_bash('python -c "print(6*7)"')
    assert on_windows["arguments"] == CMD[0] + ' /d /s /c "python -c "print(6*7)""'
    assert on_windows["cwd"] == str(workspace.resolve())
    assert said == f"42\n[exit status 0; {program.NO_BASH.format(os.path.basename(CMD[0]))}]"


def test_no_program_that_a_command_put_in_its_folder_ends_a_command_on_windows(on_windows, monkeypatch):
    ran = []
    monkeypatch.setenv("SYSTEMROOT", r"C:\Windows")
    monkeypatch.delenv("COMSPEC")
    monkeypatch.setattr(process.subprocess, "run", lambda arguments, **_: ran.append(arguments))
    nothing = dict.fromkeys(("terminate", "kill", "wait"), lambda: None)
    polls = iter([None, 0])
    process._end(types.SimpleNamespace(pid=7, stdin=None, poll=lambda: next(polls), **nothing), boxed=False)
    assert ran == [[r"C:\Windows\System32\taskkill.exe", "/t", "/f", "/pid", "7"]]
    assert program.system_shell()[0] == r"C:\Windows\System32\cmd.exe"


def test_bash_is_started_by_its_full_path_and_the_command_is_on_no_command_line(on_windows, workspace, monkeypatch):
    monkeypatch.setattr(program, "windows_bash", lambda variables: GIT)
    command = r"""printf '%s\\n' "a b" 'C:\x\\' *"""
    assert run_bash(command) == "42\n[exit status 0]"
    assert on_windows["arguments"][0] == GIT
    assert command not in str(on_windows["arguments"])
    assert on_windows["env"][program.COMMAND] == command


@posix("bash to compare with")
@pytest.mark.parametrize(
    "command",
    [r"""printf '%s\n' "a  b" 'C:\x\\' '*'""", "echo one\necho two", "-x; echo $?", "env | grep -c S02_", "(exit 3)"],
)
def test_the_words_that_git_bash_gets_run_the_command_as_any_bash_does(command, workspace):
    arguments, variables = for_windows(["bash", "-c", "--"], command)
    direct = subprocess.run(["bash", "-c", "--", command], capture_output=True)
    done = subprocess.run(arguments, env=os.environ | variables, capture_output=True)
    assert (done.stdout, done.returncode) == (direct.stdout, direct.returncode)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ('echo "a b"', r'C:\Windows\system32\cmd.exe /d /s /c "echo "a b""'),
        ("dir\n", r'C:\Windows\system32\cmd.exe /d /s /c "dir"'),
        ('"C:\\a b\\x.exe" "c"', r'C:\Windows\system32\cmd.exe /d /s /c ""C:\a b\x.exe" "c""'),
    ],
)
def test_cmd_takes_away_the_outermost_quotes_and_nothing_else(command, line):
    assert for_windows(CMD, command) == (line, {})


def test_a_cmd_in_a_folder_with_a_space_is_quoted():
    assert for_windows(["C:\\my windows\\cmd.exe", "/c"], "dir")[0] == r'"C:\my windows\cmd.exe" /c "dir"'


@pytest.mark.parametrize(
    ("begin", "command", "said"),
    [
        (CMD, "echo one\necho two", "cmd takes one line; join the lines with &&"),
        (CMD, "x" * 9000, "9000 characters are too many for Windows"),
        ([GIT, "-c", "--"], "x" * 33_000, "33000 characters are too many for Windows"),
    ],
)
def test_what_windows_would_cut_off_is_refused_before_anything_runs(begin, command, said):
    with pytest.raises(ToolError, match=said):
        for_windows(begin, command)


def test_programs_of_windows_find_the_folders_they_ask_for_and_no_key_comes_along(monkeypatch):
    monkeypatch.setattr(sandbox, "ON_WINDOWS", True)
    for name in (
        "SYSTEMDRIVE",
        "PROGRAMFILES",
        "PROGRAMFILES(X86)",
        "APPDATA",
        "LOCALAPPDATA",
        "WINDIR",
        "SOME_API_KEY",
    ):
        monkeypatch.setenv(name, "x")
    seen = sandbox.environment()
    assert {"SYSTEMDRIVE", "PROGRAMFILES", "PROGRAMFILES(X86)", "APPDATA", "LOCALAPPDATA", "WINDIR"} <= seen.keys()
    assert "SOME_API_KEY" not in seen


@posix("shell that a variable can stop")
def test_elsewhere_a_variable_that_no_shell_can_export_is_left_out(monkeypatch, workspace):
    monkeypatch.setenv("PROGRAMFILES(X86)", "x")
    assert run_bash("echo hi") == "hi\n[exit status 0]"


# ---- what any system runs


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('python -c "print(6*7)"', "42\n[exit status 0"),
        ('python -c "import sys; print(sys.argv[1:])" "a b" c', "['a b', 'c']\n[exit status 0"),
        ("exit 3", "[exit status 3"),
        ("echo one&& echo two", "one\ntwo\n[exit status 0"),
        ('python -c "print(chr(233))"', "\u00e9\n[exit status 0"),
    ],
)
def test_a_command_with_quotes_runs_in_bash_and_in_cmd(command, said, workspace):
    assert run_bash(command).startswith(said)
