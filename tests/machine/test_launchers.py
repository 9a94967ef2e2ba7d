"""What starts a command, confines it or cleans up after it can't be changed by a command, nor by a variable for it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import s02_tool_use
from s02_tool_use import run_bash
from s02_tool_use.bash import process, sandbox

WORKS, WHY = sandbox.sandbox_status()
needs_bubblewrap = pytest.mark.skipif(not WORKS, reason=WHY)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has neither launcher")
MODES = ["off", pytest.param("require", marks=needs_bubblewrap)]

# What a loader, the C library, Python or a shell reads: file, folder, or a value of its own.
FILES = "LD_PRELOAD LD_AUDIT LD_PROFILE DYLD_INSERT_LIBRARIES PYTHONEXECUTABLE __PYVENV_LAUNCHER__ PYTHONSTARTUP"
FILES += " BASH_ENV ENV PROMPT_COMMAND"
FOLDERS = "LD_DEBUG_OUTPUT LD_ORIGIN_PATH GCONV_PATH LOCPATH NLSPATH HOSTALIASES GETCONF_DIR MALLOC_TRACE TZDIR HOME"
FOLDERS += " TMPDIR TEMP TMP CDPATH BASH_LOADABLES_PATH PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONPYCACHEPREFIX"
FOLDERS += " PYTHONPLATLIBDIR"
VALUES = ["GLIBC_TUNABLES=glibc.malloc.check=3", "PYTHONINSPECT=1", "PYTHONWARNINGS=error::evil.Evil", "IFS=/"]
VALUES += ["PYTHONBREAKPOINT=evil.hook", "SHELLOPTS=xtrace", "BASHOPTS=expand_aliases", "PS4=$({work}/evil)"]
VALUES += ["POSIXLY_CORRECT=1", "BASH_FUNC_echo%%=() {{ {work}/evil; }}", "PATH={work}::."]
VALUES += [f"{name}={{work}}/evil" for name in FILES.split()] + [f"{name}={{work}}" for name in FOLDERS.split()]
LIBRARIES = [
    f"{name}={value}" for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") for value in (":/lib", "{work}", ".")
]
RECORDS = "#!/bin/sh\n/usr/bin/env >'{0}'; pwd >>'{0}'; exit 1\n"


@pytest.mark.parametrize("launcher", ["bubblewrap", "reaper"])
@pytest.mark.parametrize("variable", VALUES + LIBRARIES)
def test_no_variable_reaches_a_launcher(workspace, tmp_path, monkeypatch, launcher, variable):
    name, _, value = variable.partition("=")
    monkeypatch.setenv(name, value.format(work=workspace))
    monkeypatch.chdir(workspace)
    record, recorder = tmp_path / "record", tmp_path / "bwrap"
    recorder.write_text(RECORDS.format(record))
    recorder.chmod(0o755)
    monkeypatch.setattr(sandbox, "PLACES", [str(tmp_path)])
    monkeypatch.setattr(process, "PYTHON", str(recorder))
    monkeypatch.setattr(sys, "platform", "linux")
    if launcher == "bubblewrap":
        sandbox.sandbox_status(workspace)
        assert record.read_text().splitlines() == ["PWD=/", "/"]
    monkeypatch.setenv("S02_SANDBOX", "require" if launcher == "bubblewrap" else "off")
    monkeypatch.setattr(sandbox, "_worked", {(str(workspace), False)})
    record.unlink(missing_ok=True)
    with pytest.raises(s02_tool_use.ToolError, match="could not be started"):
        run_bash("true")
    *said, folder = record.read_text().splitlines()
    if launcher == "reaper" and variable in LIBRARIES:  # some Pythons do not start without
        said = [line for line in said if line != f"{name}={os.path.realpath('/lib')}"]
    assert (said, folder) == (["PWD=/"], "/")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("value", ["", ".", "{work}", ":{work}/sub"])
def test_a_program_of_the_workspace_is_no_launcher(workspace, monkeypatch, mode, value):
    """The command itself may find it on its PATH: then it runs where the command runs."""
    for name in ("bwrap", "env", "sh", "python3"):
        for place in (workspace, workspace / "sub"):
            place.mkdir(exist_ok=True)
            (place / name).write_text("#!/bin/sh\necho evil\n")
            (place / name).chmod(0o755)
    monkeypatch.setenv("S02_SANDBOX", mode)
    monkeypatch.setenv("PATH", f"{value.format(work=workspace)}:{os.environ['PATH']}")
    monkeypatch.chdir(workspace)
    assert run_bash("echo mine") == "mine\n[exit status 0]"


def test_bubblewrap_is_never_taken_from_the_workspace(workspace, monkeypatch):
    (workspace / "bwrap").write_text("#!/bin/sh\necho 42\n")
    (workspace / "bwrap").chmod(0o755)
    (workspace.parent / "bin").symlink_to(workspace)
    monkeypatch.setattr(sandbox, "PLACES", [str(workspace), str(workspace.parent / "bin")])
    assert not sandbox.sandbox_status(workspace)[0]


@needs_bubblewrap
@pytest.mark.skipif(not shutil.which("cc"), reason="needs a compiler")
@pytest.mark.parametrize(
    ("name", "value"),
    [("LD_LIBRARY_PATH", ":/usr/lib"), ("LD_LIBRARY_PATH", "{work}"), ("LD_PRELOAD", "{work}/libcap.so.2")],
)
def test_a_library_in_the_workspace_does_not_get_out_of_the_sandbox(workspace, tmp_path, monkeypatch, name, value):
    code = f'__attribute__((constructor)) static void go(void) {{ creat("{tmp_path}/escaped", 0600); }}\n'
    (workspace / "evil.c").write_text(f"#include <fcntl.h>\n{code}")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "libcap.so.2", "evil.c"], cwd=workspace, check=True)
    for other in ("libselinux.so.1", "libpcre2-8.so.0"):
        shutil.copy(workspace / "libcap.so.2", workspace / other)
    monkeypatch.setenv("S02_SANDBOX", "require")
    monkeypatch.setenv(name, value.format(work=workspace))
    monkeypatch.chdir(workspace)
    run_bash("true")
    run_bash("true")
    assert not (tmp_path / "escaped").exists()


# ---- the package and the Python environment in the workspace

AGENT = """
import sys, s02_tool_use
s02_tool_use.use_workdir(sys.argv[1])
for command in sys.argv[2:]:
    print(s02_tool_use.run_bash(command))
"""


def agent(python, path, work, mode, *commands):
    """What the commands said, in a process whose package, Python or both are in the workspace."""
    done = subprocess.run(
        [python, "-c", AGENT, work, *commands],
        env={**os.environ, "PYTHONPATH": str(path), "S02_SANDBOX": mode},
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shape(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture
def course(workspace):
    """The package inside the workspace, two folders down."""
    package = Path(s02_tool_use.__file__).parent
    shutil.copytree(package, workspace / "a" / "course" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return workspace / "a" / "course"


@pytest.fixture
def venv(workspace):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", workspace / "b" / ".venv"], check=True)
    return workspace / "b" / ".venv"


EVIL = "open('{tmp}/escaped', 'w')"


@pytest.mark.parametrize("mode", MODES)
def test_a_command_does_not_change_what_runs_outside_the_next_time(course, workspace, tmp_path, mode):
    line = EVIL.format(tmp=tmp_path)
    evil = f'for n in a/course/s02_tool_use/bash/*.py; do t=$(cat $n); printf "%s\\n" "{line}" "$t" > $n; done'
    assert agent(sys.executable, course, workspace, mode, evil, "echo ran").endswith("ran\n[exit status 0]\n")
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("mode", MODES)
def test_a_command_does_not_become_the_python_that_starts_the_next(venv, workspace, tmp_path, mode):
    evil = (
        f'printf "#!/bin/sh\\n: > {tmp_path}/escaped\\n" > evil; chmod +x evil; mv evil b/.venv/bin/python; '
        f'echo "import os; {EVIL.format(tmp=tmp_path)}" | tee b/.venv/lib/python3*/site-packages/evil.pth; '
        "echo home = /nowhere > b/.venv/pyvenv.cfg"
    )
    said = agent(venv / "bin" / "python", Path(s02_tool_use.__file__).parent.parent, workspace, mode, evil, "echo ran")
    assert said.endswith("ran\n[exit status 0]\n")
    assert not (tmp_path / "escaped").exists()


@needs_bubblewrap
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf {0}",
        "mv {0} x",
        "mv {1} x",
        "mv {2} x",
        "touch {0}/new {0}/bin/new {0}/lib/python3*/site-packages/evil.pth {0}/bash/new",
        "for f in $(find {0} -type f); do echo >> $f; done",
        "ln -sf /bin/sh {0}/bin/python; ln -sf /bin/sh {0}/shell.py",
        "mount -o remount,rw,bind {0}; umount {0}; touch {0}/new",
    ],
)
def test_inside_the_sandbox_the_package_and_the_environment_are_read_only(course, venv, workspace, command):
    agent(venv / "bin" / "python", course, workspace, "require", "true")  # what it compiles is there from here on
    before = shape(course), shape(venv)
    for folder in (course / "s02_tool_use", venv):
        parts = [
            folder.relative_to(workspace),
            folder.parent.relative_to(workspace),
            folder.relative_to(workspace).parts[0],
        ]
        agent(venv / "bin" / "python", course, workspace, "require", command.format(*parts))
    assert (shape(course), shape(venv)) == before
