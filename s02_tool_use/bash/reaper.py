"""Runs one command and outlives all that it started: `python reaper.py command argument ...`, status like a shell's.

Where there is no sandbox, process.py puts this small process between itself and bash. On Linux it is a "subreaper": a
process whose own parent has gone becomes its child, so a daemon cannot slip away, and the kernel that runs the notebook
stays out of it. Elsewhere it ends the session that it gave the command, and a daemon with one of its own gets away.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # from linux/prctl.h
KILL_SECONDS = 5  # whatever is not gone by then cannot be killed by us
AWAITED = (
    (signal.SIGTERM, signal.SIGCHLD) if os.name == "posix" else ()
)  # the time is over or who started us died; a child ended


def prctl(option, value):
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def run(command) -> int:
    """Run the command in a session of its own and wait for it, then end what is left of it."""
    for name in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(name, signal.SIG_DFL)  # Python ignores two, our parent perhaps more; `yes | head` needs them
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a signal that is ignored is not awaited everywhere
    signal.pthread_sigmask(signal.SIG_SETMASK, AWAITED)  # come when we look, and no others are held back
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    child = os.fork()
    if not child:
        become(command)
    status = None
    while status is None and signal.sigwait(AWAITED) != signal.SIGTERM:
        status = reaped().get(child)
    end_all(child)
    return 128 + signal.SIGTERM if status is None else status if status >= 0 else 128 - status


def become(command):
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(command[0], command)
    except BaseException as error:
        os.write(2, f"{command[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def reaped():
    """{pid: status} of the children that have ended; orphans end here too."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = os.waitstatus_to_exitcode(found[1])
    return ended


def end_all(child):
    """Kill whatever is below us, until no child is left."""
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # none left
            break
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        kill_session(child)
        time.sleep(0.001)
    kill_session(child)


def kill_session(child):
    """All that can be done without a subreaper."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def descendants(pid):
    """All processes below `pid`, as /proc shows them at this moment."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            number, _, rest = file.read().partition(b" ")
            parent = int(rest.rpartition(b")")[2].split()[1])  # a name in brackets may hold anything
            children.setdefault(parent, []).append(int(number))
    below, todo = [], [pid]
    while todo:
        found = children.get(todo.pop(), [])
        below += found
        todo += found
    return below


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
