"""One command from its start to its end, in a thread that no Stop reaches, so that none comes between the two.

What starts it (bubblewrap, or the reaper where there is none) and what cleans up gets a clean environment and "/" as
its folder, and reads no file that a command could have written; the command's variables are for the command alone.

A kernel can be killed at any moment. Its death is a signal to bwrap, and by bwrap's death to what is inside, or to the
reaper (PR_SET_PDEATHSIG), but not before each has asked for it. So the last to be started says that all is in place and
waits for an answer. Only the thread that started the first gives one, and the signal comes at the end of that thread.
"""

import _thread
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import s02_tool_use

from ..calls.results import ToolError
from . import page, reaper
from .output import BEGAN, Output
from .program import ON_WINDOWS, for_windows, of_windows
from .sandbox import KEPT, confined, environment, lies_in

T = TypeVar("T")

MAX_ARGUMENT_BYTES = 100_000  # bytes; Linux takes 131,071 in one argument, a longer command goes through a file
SLICE_SECONDS = 0.05  # between two looks whether it is still wanted; Windows holds Ctrl-C back while it waits

# The environment that we are in may be a folder in the workspace; the program that it links to needs none of it.
PYTHON = os.path.realpath(sys.executable or "python3")
REAPER = Path(reaper.__file__).read_text(encoding="utf-8")  # once: the file may be in the workspace

# sh -c SCRIPT folder NAME=VALUE ... -- command argument ...
SCRIPT = rf"""cd "$0" && printf '\{BEGAN[0]:03o}' && read go || exit 1
while [ "$1" != -- ]; do export "$1"; shift; done; shift
# Our parent may ignore signals, and this thread may hold some back. Not every env can do it.
/usr/bin/env --default-signal --help >/dev/null 2>&1 && set -- /usr/bin/env --default-signal "$@"
exec "$@" </dev/null
"""


def shielded(function: Callable[[Callable[[], bool]], T]) -> T:
    """What function(wanted) returns or raises. It runs in a thread of its own, where no Stop comes between its steps.

    `wanted()` turns False when the caller gets an interrupt, which then passes on. A lock says so, since the end of its
    `with` is not Python code, in which the next interrupt could come. Not threading.Thread: its start() waits for ever
    if an interrupt reaches the new thread, as it may in CPython.
    """
    caller, ended = threading.Lock(), threading.Lock()
    outcome: dict[str, Any] = {}

    def work():
        try:
            outcome["value"] = function(caller.locked)
        except BaseException as error:
            outcome["error"] = error
        finally:
            ended.release()

    ended.acquire()
    started = False
    try:
        with caller:
            _thread.start_new_thread(work, ())
            started = True
            while not ended.acquire(timeout=0.2):
                pass
    except KeyboardInterrupt:
        if started:  # a second interrupt passes at once; the work ends all the same
            ended.acquire(timeout=reaper.KILL_SECONDS + 2)
        raise
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def run(
    arguments: list[str],
    *,
    cwd: Path,
    stdin: int,
    stdout: int,
    stderr: int,
    timeout: float,
    notes: list[str],
) -> "subprocess.CompletedProcess[str]":
    """subprocess.run as a tool needs it: all that was started has ended when this returns or raises.

    `stdin` is DEVNULL, `stdout` PIPE. What was said comes as text, without the middle if it is long. The last of
    `arguments` is the command, of any length. `notes` gets what the user should know of the sandbox.

    subprocess.TimeoutExpired holds in `output` what was said until then. ToolError: it could not be started, and
    nothing was run. In a browser page this Python takes bash's place, and no time limit holds (page.py).
    """
    if s02_tool_use.IN_A_PAGE:
        said, status = page.run(arguments[-1], str(cwd))
        return subprocess.CompletedProcess(arguments, status, said)
    streams = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    # Stop may come at any moment, so another thread starts it and ends it.
    return shielded(lambda wanted: _run(arguments, str(cwd), streams, timeout, notes, wanted))


def _run(arguments, work, streams, seconds, notes, wanted):
    *shell, command = arguments
    raw = command.encode()
    with tempfile.TemporaryFile() as script:
        whole, files, own = [*shell, raw], (), {}
        if ON_WINDOWS:
            whole, own = for_windows(shell, command)
        if len(raw) > MAX_ARGUMENT_BYTES and not ON_WINDOWS:
            script.write(raw)
            script.seek(0)
            whole, files = [shell[0], f"/dev/fd/{script.fileno()}"], (script.fileno(),)
        process, boxed = _start(whole, files, work, streams, notes, own)
        output = Output(process.stdout, awaited=b"" if ON_WINDOWS else BEGAN)
        try:
            late = not _ended(process, output, time.monotonic() + seconds, wanted)
        finally:
            _end(process, boxed)
    output.join(reaper.KILL_SECONDS)  # who could not be killed may hold the pipe open for ever
    if late:
        raise subprocess.TimeoutExpired(command, seconds, output.text())
    if not output.began.is_set():
        raise ToolError(f"bash could not be started: {output.text().strip()}; is the workspace still there?")
    return subprocess.CompletedProcess(arguments, process.returncode, output.text())


def _start(arguments, files, work, streams, notes, own):
    """(process, is it bubblewrap). `own` are variables for the shell alone."""
    variables, boxed = environment() | own, False
    if not ON_WINDOWS:
        pairs = (f"{name}={value}" for name, value in variables.items())
        begin = ["/bin/sh", "-c", SCRIPT, work, *pairs, "--", *arguments]
        arguments, note = confined(begin, work)
        notes += [note] * bool(note)
        boxed = bool(arguments)
        arguments = arguments or [PYTHON, "-I", "-S", "-c", REAPER, *begin]
        variables = {} if boxed else _libraries(work)
        streams = streams | {"stdin": subprocess.PIPE}  # for the answer that SCRIPT waits for; the command has none
    try:
        process = subprocess.Popen(
            arguments,
            cwd=work if ON_WINDOWS else "/",
            env=variables,
            bufsize=0,
            **streams,
            pass_fds=files,
            start_new_session=True,  # no terminal, and Ctrl-C reaches us alone
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),  # the same on Windows
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"bash could not be started: {error}; is the workspace still there?") from None
    return process, boxed


def _libraries(work):
    """Where the reaper's Python may look for its libraries: nowhere in the workspace, as an empty part would say."""
    found = {}
    for name in (name for name in KEPT if name.endswith("_LIBRARY_PATH")):
        parts = map(os.path.realpath, filter(os.path.isabs, os.environ.get(name, "").split(":")))
        found[name] = ":".join(part for part in parts if not lies_in(part, work))
    return {name: path for name, path in found.items() if path}


def _ended(process, output, deadline, wanted):
    """Let it begin, and wait; False when time ran out or nobody waits any more."""
    while process.poll() is None:
        left = min(deadline - time.monotonic(), SLICE_SECONDS)
        if left <= 0 or not wanted():
            return False
        if process.stdin and not process.stdin.closed:
            if output.began.wait(left):
                with contextlib.suppress(BrokenPipeError), process.stdin:
                    process.stdin.write(b"\n")
        elif output.is_alive():
            output.join(left)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(left)
    return True


def _end(process, boxed):
    """The shell's end is the end of all that it started; before that it is brought about from here."""
    deadline = time.monotonic() + reaper.KILL_SECONDS + 1
    if process.stdin:
        process.stdin.close()
    if process.poll() is None and ON_WINDOWS:
        kill = [of_windows("taskkill.exe"), "/t", "/f", "/pid", str(process.pid)]
        subprocess.run(kill, capture_output=True, check=False)
    if not boxed:
        process.terminate()  # the reaper ends the rest
    while process.poll() is None and time.monotonic() < deadline:
        if boxed:  # not bwrap itself, which waits for the others: one of them is PID 1 in there, and takes all with it
            reaper.kill_below(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SLICE_SECONDS / 10)
    process.kill()
    process.wait()
