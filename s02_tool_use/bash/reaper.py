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
# The time is over or who started us died; a child ended.
AWAITED = (signal.SIGTERM, signal.SIGCHLD) if os.name == "posix" else ()


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
        status = (reaped() or {}).get(child)
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
    """{pid: status} of the children that have ended; orphans end here too. None if there are no children."""
    ended = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = os.waitstatus_to_exitcode(found[1])
    except ChildProcessError:
        return ended or None
    return ended


def end_all(child):
    """Kill whatever is below us, until no child is left."""
    deadline, children_left = time.monotonic() + KILL_SECONDS, True
    while children_left and time.monotonic() < deadline:
        children_left = reaped() is not None
        kill_below(os.getpid())
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # all that can be done without a subreaper
        time.sleep(0.001)


def kill_below(pid):
    """Kill all processes below `pid`, as /proc shows them at this moment."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            number, _, rest = file.read().partition(b" ")
            parent = int(rest.rpartition(b")")[2].split()[1])  # a name in brackets may hold anything
            children.setdefault(parent, []).append(int(number))
    below = children.get(pid, [])
    for found in below:  # it grows
        below += children.get(found, [])
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(found, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
