"""A command ends with who asked for it, at whatever moment that is: killed, stopped, while it is being started."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from waiting import processes, wait_until

from s02_tool_use import run_bash
from s02_tool_use.bash.sandbox import sandbox_status

WORKS, WHY = sandbox_status()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looked for in /proc")


@pytest.fixture(params=["off", pytest.param("require", marks=pytest.mark.skipif(not WORKS, reason=WHY))])
def mode(request, monkeypatch, workspace):
    monkeypatch.setenv("S02_SANDBOX", request.param)
    run_bash("true")  # the sandbox is known to work from here on
    return request.param


KERNEL = """
import sys, s02_tool_use
from s02_tool_use.bash import sandbox
s02_tool_use.use_workdir(sys.argv[1])
sandbox._worked.add((str(s02_tool_use.workdir()), False))  # no trial: the command itself is to be met
print("now", flush=True)
s02_tool_use.run_bash(sys.argv[2])
"""


def test_a_kernel_killed_at_any_moment_of_a_call_leaves_nothing(mode, workspace):
    words = f"sleep 43{os.getpid()}.1"
    tries = int(os.environ.get("TRIES", "20"))
    for number in range(tries):
        with subprocess.Popen(
            [sys.executable, "-c", KERNEL, workspace, f"setsid -f {words}; {words}"], stdout=subprocess.PIPE
        ) as kernel:
            kernel.stdout.readline()
            time.sleep(0.002 + 0.238 * number / tries)
            kernel.kill()
    wait_until(lambda: not processes(words))
    wait_until(lambda: not started_in(workspace))


def started_in(workspace):
    """Processes that were told of this workspace: bwrap, the reaper and the sh that begins."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(workspace).encode() in words and path.parent.name != str(os.getpid()):
            found.append(words[0])
    return found


def callers(frame):
    while frame:
        yield frame.f_code.co_name
        frame = frame.f_back


def stopped_at(step, function):
    """Call `function` and raise KeyboardInterrupt at its step'th line of Python; whether it got that far."""
    left = step

    def trace(frame, event, _):
        nonlocal left
        # What the collector calls meanwhile, such as Hypothesis; and in a __del__ Python itself loses the interrupt.
        if "site-packages" in frame.f_code.co_filename or "__del__" in callers(frame):
            return None
        if event in ("line", "call"):
            left -= 1
            if not left:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    def apart():
        """Where a trace raises at the last line of an `except`, Python 3.11 goes on as if it were in there still. A
        generator takes that with it."""
        function()
        yield

    sys.settrace(trace)
    try:
        list(apart())
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_a_stop_at_any_line_of_a_call_leaves_nothing(mode, workspace):
    words = f"sleep 43{os.getpid()}.2"
    kept = []  # as a notebook does: the frames of the last traceback are alive

    def call():
        try:
            run_bash(f"setsid -f {words}; {words}", timeout=0.05)
        except KeyboardInterrupt as error:
            kept.append(error)
            raise

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step = 1
        while stopped_at(step, call):
            step += 1
        assert step > 30
        wait_until(lambda: not processes(words))
        wait_until(lambda: not started_in(workspace))
        kept.clear()
    assert sys.exc_info() == (None, None, None)
    assert not [str(one.message) for one in caught if "subprocess" in str(one.message)]
    wait_until(lambda: not Path(f"/proc/self/task/{os.getpid()}/children").read_text())
