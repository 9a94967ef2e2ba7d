"""run_bash: what it says, what it leaves behind (nothing), and what a command can see. With bubblewrap and without."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from systems import posix_alone
from waiting import processes, wait_until

from s02_tool_use import ToolError, run_bash, shell, use_workdir
from s02_tool_use.bash.output import MAX_SHOWN_BYTES
from s02_tool_use.bash.sandbox import environment, sandbox_status
from s02_tool_use.calls import secrets
from s02_tool_use.workspace import within

posix_alone("bash with these signals and sessions; what runs there is in tests/bash/test_program.py")
WORKS = sandbox_status()[0]
needs_bubblewrap = pytest.mark.skipif(not WORKS, reason=sandbox_status()[1])
needs_subreaper = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")


@pytest.fixture(params=["off", pytest.param("require", marks=needs_bubblewrap)])
def mode(request, monkeypatch):
    monkeypatch.setenv("S02_SANDBOX", request.param)
    return request.param


@pytest.fixture
def bash(mode, workspace):
    return run_bash


# ---- what it says


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo hi", "hi\n[exit status 0]"),
        ("printf hi", "hi\n[exit status 0]"),
        ("true", "[exit status 0]"),
        ("false", "[exit status 1]"),
        ("echo out; echo err >&2; exit 3", "out\nerr\n[exit status 3]"),
        ("kill -TERM $$", "[exit status 143, as after signal 15 (SIGTERM)]"),
        ("exit 255", "[exit status 255]"),
        ("printf 'a\\0b'", "a\ufffdb\n[exit status 0]"),
        ("printf 'é\\n漢\\n'", "é\n漢\n[exit status 0]"),
        ("yes | head -n 2", "y\ny\n[exit status 0]"),
        ("cat; read x; echo $?", "1\n[exit status 0]"),
        ("tty", "not a tty\n[exit status 1]"),
        ("exec >&- 2>&-; sleep 0.3; exit 4", "[exit status 4]"),
        (
            'basename "$(dirname "$(command -v python)")" && python -c "import sys; print(6 * 7)"',
            "bin\n42\n[exit status 0]",
        ),
        ("[[ a == a ]] && echo {1..3}", "1 2 3\n[exit status 0]"),
        ("cd /; x=1", "[exit status 0]"),
        ("-x 2>/dev/null", "[exit status 127]"),
    ],
)
def test_a_command_gives_its_output_and_how_it_ended(bash, command, said):
    assert bash(command) == said


def test_each_call_is_a_new_shell_in_the_workspace(bash, workspace):
    bash("mkdir below; cd below; x=1; touch here")
    assert bash("echo [$x]; ls; pwd").startswith("[]\nbelow\n" + str(workspace.resolve()))


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="a folder of Linux")
def test_the_workspace_may_lie_in_memory(bash):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, within(folder):
        assert bash("echo x > y; cat y; pwd") == f"x\n{folder}\n[exit status 0]"


def test_an_unclosed_quote_ends_at_once(bash):
    assert "exit status 2" in bash("echo 'it is")


def test_a_long_command_goes_through_a_file(bash):
    assert bash(f"x={'a' * 300_000}; echo ${{#x}}; cat; exit 5") == "300000\n[exit status 5]"


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b", "echo \ud83d", None, ["ls"], b"ls"])
def test_what_is_no_command_is_refused(bash, command):
    with pytest.raises(ToolError, match="command"):
        bash(command)


@pytest.mark.parametrize("timeout", [0, -1, 601, float("inf"), float("nan"), True, "soon", None, [1], "9" * 400])
def test_a_senseless_timeout_is_refused(bash, timeout):
    with pytest.raises(ToolError, match="timeout"):
        bash("true", timeout)


def test_a_workspace_that_is_gone_is_said(bash, workspace):
    workspace.rmdir()
    with pytest.raises(ToolError, match="workspace"):
        bash("true")


def test_of_long_output_head_and_tail_stay_and_the_rest_is_counted(bash):
    said = bash("echo START; head -c 1000000 /dev/zero | tr '\\0' x; echo END")
    assert said.startswith("START\n")
    assert said.endswith("END\n[exit status 0]")
    assert len(said) < MAX_SHOWN_BYTES + 200
    assert "truncated" in said


def test_a_key_that_is_known_is_cut_out_of_the_output(bash):
    secrets.keep(texts=["sk-ant-canary-0123456789"])
    assert bash("echo key: sk-ant-''canary-0123456789") == "key: [key removed]\n[exit status 0]"


# ---- what it leaves behind


SHAPES = {
    "plain": "sleep {n}",
    "not last": "sleep {n}; true",
    "pipeline": "sleep {n} | cat",
    "background": "sleep {n} & sleep 60",
    "nohup": "nohup sleep {n} >/dev/null 2>&1 & sleep 60",
    "deaf": "trap '' TERM HUP INT; sleep {n}",
    "own session": "setsid sleep {n} & sleep 60",
    "daemon": "setsid -f sleep {n}; sleep 60",
    "double fork": "( ( setsid sleep {n} >/dev/null 2>&1 & ) & ); sleep 60",
    "stopped": "sleep {n} & kill -STOP $!; kill -STOP $$",
    "environment emptied": "env -i setsid -f sleep {n}; sleep 60",
}


@needs_subreaper
def test_nothing_is_alive_after_a_timeout_and_the_output_is_kept(bash):
    def outcome(shape, number):
        words = f"sleep 42{os.getpid()}.{number}"
        said = bash("echo before; " + SHAPES[shape].format(n=words.split()[1]), timeout=2)
        return shape, said, processes(words)

    with ThreadPoolExecutor(len(SHAPES)) as threads:
        outcomes = list(threads.map(outcome, SHAPES, range(len(SHAPES))))
    ending = "[timed out after 2 s: everything it had started was ended]"
    assert outcomes == [(shape, f"before\n{ending}", []) for shape in SHAPES]


@needs_subreaper
@pytest.mark.parametrize(
    "command", ["sleep {n} & echo hi", "setsid sleep {n} & echo hi", "setsid -f sleep {n}; echo hi"]
)
def test_the_call_returns_when_the_shell_has_ended_and_nothing_stays(bash, command):
    words = f"sleep 42{os.getpid()}.2"
    assert bash(command.format(n=words.split()[1])) == "hi\n[exit status 0]"
    assert not processes(words)


STOPPED = """
import signal, sys, threading
import s02_tool_use
s02_tool_use.use_workdir(sys.argv[1])
def again(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, again)
print("ready", flush=True)
try:
    s02_tool_use.run_bash("trap '' INT TERM; setsid -f " + sys.argv[2] + "; " + sys.argv[2])
except KeyboardInterrupt:
    print("passed on", flush=True)
"""


@needs_subreaper
@pytest.mark.parametrize(("sign", "said"), [(signal.SIGINT, "passed on"), (signal.SIGKILL, "")])
def test_stop_and_the_death_of_the_kernel_end_the_command_too(mode, workspace, sign, said):
    words = f"sleep 42{os.getpid()}.3"
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, workspace, words], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as kernel:
        kernel.stdout.readline()
        wait_until(lambda: len(processes(words)) == 2)
        kernel.send_signal(sign)
        assert kernel.communicate(timeout=20)[0].strip() == said
    wait_until(lambda: not processes(words))


def test_signals_that_a_thread_holds_back_still_reach_the_command(bash):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        assert "SIGUSR1" in bash("kill -USR1 $$; echo alive")
        assert "SIGTERM" in bash("kill -TERM $$; echo alive")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_the_users_next_line_of_input_is_not_taken(mode, workspace):
    code = "import sys, s02_tool_use as s; s.use_workdir(sys.argv[1]); print(s.run_bash('cat; read x')); print(input())"
    done = subprocess.run(
        [sys.executable, "-c", code, workspace], input="mine\n", capture_output=True, text=True, check=True
    )
    assert done.stdout == "[exit status 1]\nmine\n"


def test_ctrl_c_in_a_terminal_reaches_the_kernel_alone(workspace, monkeypatch):
    monkeypatch.setenv("S02_SANDBOX", "off")  # where $PPID is the reaper
    sessions = run_bash("ps -o sid= -p $PPID; ps -o sid= -p $$").split()[:2]
    assert len({os.getsid(0), *map(int, sessions)}) == 3


def test_calls_from_threads_do_not_mix(bash):
    said = {}
    threads = [
        threading.Thread(target=lambda n=n: said.update({n: bash(f"sleep 0.2; echo {n}; exit {n}")})) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert said == {n: f"{n}\n[exit status {n}]" for n in range(8)}


def test_other_children_of_the_kernel_are_left_alone(bash):
    with subprocess.Popen(["sleep", "60"]) as other:
        bash("sleep 5", timeout=0.3)
        assert other.poll() is None
        other.kill()


@needs_subreaper
def test_signals_that_the_kernel_ignores_work_in_the_command(mode, workspace):
    """A server that a script starts in the background ignores Ctrl-C, and so would all that it starts."""
    code = "import os, signal, sys; [signal.signal(name, signal.SIG_IGN) for name in (signal.SIGINT, signal.SIGHUP)]; "
    code += "import s02_tool_use as s; s.use_workdir(sys.argv[1]); print(s.run_bash('kill -INT $$; echo alive'))"
    done = subprocess.run([sys.executable, "-c", code, workspace], capture_output=True, text=True, check=True)
    assert done.stdout == "[exit status 130, as after signal 2 (SIGINT)]\n"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counted in /proc")
def test_no_descriptor_thread_or_zombie_is_left(bash):
    def left():
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), children

    bash("true")
    before = left()
    for command in ("true", "sleep 9", f": {'x' * 200_000}"):
        bash(command, timeout=0.3)
    # Those of other tests may end meanwhile, and a thread of theirs may open a file for a moment.
    wait_until(lambda: all(now <= then for now, then in zip(left()[:2], before[:2], strict=True)))
    assert left()[2] == before[2]


# ---- what a command can see


def test_the_environment_is_an_allow_list(bash, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("GITHUB_TOKEN", "sk-secret")
    said = bash("env; tr '\\0' '\\n' </proc/$PPID/environ; cat /proc/self/environ | tr '\\0' '\\n'")
    assert "sk-secret" not in said
    assert "PAGER=cat" in said


def test_the_python_of_the_course_comes_first_on_the_path():
    assert environment()["PATH"].split(os.pathsep)[0] == os.path.dirname(sys.executable)


def test_python_leaves_no_cache_in_the_workspace(bash, workspace):
    (workspace / "module.py").write_text("print('é')")
    assert bash("python -c 'import module'") == "é\n[exit status 0]"
    assert [path.name for path in workspace.iterdir()] == ["module.py"]


@pytest.fixture
def confined(workspace, monkeypatch):
    monkeypatch.setenv("S02_SANDBOX", "require")
    return workspace


@needs_bubblewrap
@pytest.mark.parametrize(
    "command",
    [
        "echo x > ../escaped",
        "echo x > /usr/s02; echo x > /etc/s02; echo x > ~/s02",
        "mount -o remount,rw,bind /usr && echo x > /usr/s02",
        "kill -9 -1",
        "kill -9 $PPID",
        "cat {secret}",
        "cat {env_file}",
        "for f in /proc/[0-9]*/environ; do tr '\\0' '\\n' <$f; done",
        "python -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 3)\"",
    ],
)
def test_inside_the_sandbox_there_is_no_way_out(confined, command, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        secret, env_file = tmp_path / "secret.txt", Path(__file__).parent / "data" / "tool_cases.json"
        secret.write_text("TOP-SECRET")
        before = sorted(tmp_path.iterdir())
        server.settimeout(0.01)
        said = run_bash(command.format(secret=secret, env_file=env_file, port=server.getsockname()[1]))
        with pytest.raises(TimeoutError):
            server.accept()
    assert "[exit status " in said
    assert "TOP-SECRET" not in said
    assert '"about"' not in said
    assert "PYTEST" not in said  # in our own environment
    assert sorted(tmp_path.iterdir()) == before
    assert not any(os.path.exists(f"{folder}/s02") for folder in ("/usr", "/etc", os.path.expanduser("~")))


@needs_bubblewrap
def test_inside_the_sandbox_the_workspace_is_writable_and_python_runs(confined):
    said = run_bash(
        "echo hello > new.txt; python -c \"print(open('new.txt').read().strip()); import sys, ssl, pytest\""
    )
    assert said == "hello\n[exit status 0]"
    assert (confined / "new.txt").read_text() == "hello\n"


@needs_bubblewrap
def test_the_network_is_there_only_when_asked_for(confined, monkeypatch):
    count = "python -c 'import socket; print(len(socket.if_nameindex()))'"
    assert run_bash(count).startswith("1\n")
    monkeypatch.setenv("S02_SANDBOX_NETWORK", "on")
    assert not run_bash(count).startswith("1\n")
    assert "the network" in sandbox_status()[1]


@needs_bubblewrap
@pytest.mark.parametrize("where", ["work/.venv-like", "with space/é"])
def test_odd_places_of_the_workspace_work(tmp_path, monkeypatch, where):
    monkeypatch.setenv("S02_SANDBOX", "require")
    (tmp_path / where).mkdir(parents=True)
    use_workdir(tmp_path / where)
    assert run_bash("touch x; ls; pwd") == f"x\n{(tmp_path / where).resolve()}\n[exit status 0]"
    use_workdir(os.curdir)


def test_the_sandbox_is_refused_or_missed_as_the_setting_says(workspace, monkeypatch, tmp_path):
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho No permissions to create a new namespace >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    code = (
        "import sys, s02_tool_use as s; from s02_tool_use.bash import sandbox; sandbox.PLACES = sys.argv[1:]; "
        "print(s.sandbox_status()); print(s.run_bash('echo ran'))"
    )
    results = {}
    for setting in ("auto", "require", "off", "nonsense"):
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path],
            env={**os.environ, "S02_SANDBOX": setting},
            cwd=workspace,
            capture_output=True,
            text=True,
            check=False,
        )
        results[setting] = done.stdout + done.stderr
    assert "No permissions to create a new namespace" in results["auto"]
    assert "can reach whatever you can" in results["auto"]
    assert "ran\n" in results["auto"]
    assert "ToolError: nothing was run" in results["require"]
    assert "ran\n" in results["off"]
    assert "S02_SANDBOX is 'nonsense'" in results["nonsense"]
    assert "ran\n" not in results["nonsense"]


def test_without_bash_the_shell_is_named(workspace, monkeypatch):
    monkeypatch.setenv("S02_SANDBOX", "off")
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert run_bash("echo hi") == "hi\n[exit status 0; there is no bash here, so this ran in sh]"


def test_the_status_of_the_sandbox_is_that_of_the_workspace(workspace, monkeypatch):
    asked = []
    monkeypatch.setattr("s02_tool_use.bash.sandbox.sandbox_status", lambda work=None: asked.append(work))
    shell.sandbox_status()
    assert asked == [workspace.resolve()]
