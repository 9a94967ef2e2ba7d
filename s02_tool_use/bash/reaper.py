"""Runs one command and outlives all that it started: `python reaper.py command argument ...`, status like a shell's.

shell.py puts this small process between itself and bash. On Linux it is a "subreaper": a process whose own parent has
gone becomes its child, so a daemon cannot slip away, and the kernel that runs the notebook stays out of it. Elsewhere
it ends the session that it gave the command, and a daemon with a session of its own gets away.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # from linux/prctl.h
KILL_SECONDS = 5  # whatever is not gone by then cannot be killed by us


class Stop(BaseException):
    """SIGTERM came: the time is over, or whoever started us has died."""


def stop(*_):
    raise Stop


def prctl(option, value):
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def run(command) -> int:
    """Run the command in a session of its own and wait for it, then end what is left of it."""
    for name in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(name, signal.SIG_DFL)  # Python ignores two, our parent perhaps more; `yes | head` needs them
    signal.signal(signal.SIGTERM, stop)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a thread of the kernel may have blocked some
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    child = None
    status = 128 + signal.SIGTERM
    try:
        child = os.fork()
        if not child:
            become(command)
        ended = None
        while ended != child:  # orphans end here too
            ended, how = os.wait()
        code = os.waitstatus_to_exitcode(how)
        status = code if code >= 0 else 128 - code
    except Stop:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_all(child)
    return status


def become(command):
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.execvp(command[0], command)
    except BaseException as error:
        os.write(2, f"{command[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def end_all(child):
    """Kill whatever is below us, until no child is left."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # none left
            break
        for pid in descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        kill_session(child)
        time.sleep(0.001)
    kill_session(child)


def kill_session(child):
    """All that can be done without a subreaper."""
    if child:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)


def descendants():
    """All processes below this one, as /proc shows them at this moment."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            pid, _, rest = file.read().partition(b" ")
            parent = int(rest.rpartition(b")")[2].split()[1])  # a name in brackets may hold anything
            children.setdefault(parent, []).append(int(pid))
    below, todo = [], [os.getpid()]
    while todo:
        found = children.get(todo.pop(), [])
        below += found
        todo += found
    return below


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
