"""run_bash: one command in a fresh bash, what it said, how it ended, and nothing of it left running.

Where bubblewrap works (sandbox.py) the operating system confines it. Where it does not, bash can do what you can do,
and two promises have a hole: a key in the environment of another process of yours can be read in /proc (bash-env-ppid
in the tests, if PID 1 has it), and a command can kill the reaper that cleans up. Never run on Windows or macOS.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from .bash import reaper
from .bash.output import Output
from .bash.sandbox import confined, environment
from .calls.results import ToolError
from .workspace import ON_WINDOWS, workdir

MAX_SECONDS = 600
MAX_ARGUMENT_BYTES = 100_000  # bytes; Linux takes 131,071 in one argument, a longer command goes through a file


def run_bash(command: str, timeout: float = 120) -> str:
    """Run `command` in bash, in the workspace; returns stdout and stderr in their order, and the exit status.

    After `timeout` seconds it is stopped, and what it said so far is returned. Everything that it started has ended
    when this returns. Each call is a new shell: `cd` and variables do not last.
    """
    seconds = _seconds(timeout)
    with _command_line(command) as (arguments, files, note):
        process = _start(arguments, files)
        try:
            output = Output(process.stdout)
            late = not _ended(process, output, time.monotonic() + seconds)
        finally:  # Ctrl-C and the notebook's Stop button too
            _end(process)
    output.join(1)  # what is in the pipe is read; somebody who could not be killed may hold it open for ever
    ending = f"timed out after {timeout} s: everything it had started was ended" if late else _status(process)
    text = output.text()
    return text + "\n" * bool(text and not text.endswith("\n")) + f"[{ending}{note}]"


def _seconds(timeout):
    try:
        seconds = float(timeout)
    except (TypeError, ValueError, OverflowError):
        seconds = 0
    if isinstance(timeout, bool) or not 0 < seconds <= MAX_SECONDS:
        raise ToolError(f"timeout must be a number of seconds, above 0 and at most {MAX_SECONDS}, not {timeout!r}")
    return seconds


@contextlib.contextmanager
def _command_line(command):
    """(arguments, descriptors that they need, a note if this is not bash)."""
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise ToolError("command must be text for bash: not empty, and without NUL characters")
    try:
        raw = command.encode()
    except UnicodeEncodeError:
        raise ToolError("command holds half of a character (a lone surrogate); send it whole") from None
    shell, note = ["bash", "-c", "--"], ""  # a command may begin with a dash
    if not shutil.which("bash"):
        shell = [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c"] if ON_WINDOWS else ["sh", "-c", "--"]
        note = f"; there is no bash here, so this ran in {os.path.basename(shell[0])}"
    with tempfile.TemporaryFile() as script:
        if len(raw) <= MAX_ARGUMENT_BYTES or ON_WINDOWS:
            yield [*shell, command if ON_WINDOWS else raw], (), note
        else:
            script.write(raw)
            script.seek(0)
            yield [shell[0], f"/dev/fd/{script.fileno()}"], (script.fileno(),), note


def _start(arguments, files):
    if not ON_WINDOWS:
        arguments = [sys.executable, "-I", "-S", reaper.__file__, *confined(arguments)]
    try:
        return subprocess.Popen(
            arguments,
            cwd=workdir(),
            env=environment(),
            stdin=subprocess.DEVNULL,  # a command that reads would take the user's next line
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # the same pipe, so that the order stays
            pass_fds=files,
            start_new_session=True,  # no terminal, and Ctrl-C reaches us alone
        )
    except (OSError, ValueError) as error:
        raise ToolError(f"bash could not be started: {error}; is the workspace still there?") from None


def _ended(process, output, deadline):
    """Wait; False when time ran out. In slices, since Windows holds Ctrl-C back while it waits."""
    while process.poll() is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if output.is_alive():
            output.join(min(left, 0.2))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(min(left, 0.2))
    return True


def _end(process):
    """The reaper ends the rest by itself when the shell ends, and all of it when it is told to terminate."""
    if process.poll() is None:
        if ON_WINDOWS:
            subprocess.run(["taskkill", "/t", "/f", "/pid", str(process.pid)], capture_output=True, check=False)
        process.terminate()
        try:
            process.wait(reaper.KILL_SECONDS + 1)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            process.wait()


def _status(process):
    code = process.returncode
    with contextlib.suppress(ValueError):
        return f"exit status {code}, as after signal {code - 128} ({signal.Signals(code - 128).name})"
    return f"exit status {code}"
