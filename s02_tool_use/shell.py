"""run_bash: one command in a fresh bash, what it said, how it ended, and nothing of it left running.

Where bubblewrap works (sandbox.py) the operating system confines it. Where it does not, bash can do what you can do:
read every file and process of yours (a key in /proc/1/environ too), use the network, kill the reaper that cleans up.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from s02_tool_use import reaper
from s02_tool_use.sandbox import confined, environment
from s02_tool_use.workspace import ON_WINDOWS, ToolError, workdir

MAX_SHOWN = 30_000  # bytes for the model: half from the head, half from the tail, where the error stands
MAX_SECONDS = 600
MAX_ARGUMENT = 100_000  # bytes; Linux takes 131,071 in one argument, a longer command goes through a file


def run_bash(command: str, timeout: float = 120) -> str:
    """Run `command` in bash, in the workspace; returns stdout and stderr in their order, and the exit status.

    After `timeout` seconds it is stopped, and what it said so far is returned. Everything that it started has ended
    when this returns. Each call is a new shell: `cd` and variables do not last.
    """
    seconds = _seconds(timeout)
    with _command_line(command) as (arguments, files, note):
        process = _start(arguments, files)
        output = Output(process.stdout)
        try:
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
    shell, note = ["bash", "-c"], ""
    if not shutil.which("bash"):
        shell = [os.environ.get("COMSPEC", "cmd.exe"), "/d", "/s", "/c"] if ON_WINDOWS else ["sh", "-c"]
        note = f"; there is no bash here, so this ran in {os.path.basename(shell[0])}"
    with tempfile.TemporaryFile() as script:
        if len(raw) <= MAX_ARGUMENT or ON_WINDOWS:
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


class Output(threading.Thread):
    """Reads a pipe to its end and keeps the first and the last bytes: `yes` for an hour takes no more memory."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.size, self.head, self.tail = pipe, 0, b"", b""
        self.start()

    def run(self):
        with self.pipe:
            while piece := os.read(self.pipe.fileno(), 65536):
                self.size += len(piece)
                room = MAX_SHOWN // 2 - len(self.head)
                self.head += piece[:room]
                self.tail = (self.tail + piece[room:])[-MAX_SHOWN // 2 :]

    def text(self):
        between = self.size - len(self.head) - len(self.tail)
        if not between:
            return printable(self.head + self.tail)
        tail = self.tail.lstrip(bytes(range(0x80, 0xC0)))  # not from the middle of a character
        between += len(self.tail) - len(tail)
        return f"{printable(self.head)}\n[... truncated: {between} of {self.size} bytes omitted ...]\n{printable(tail)}"


def printable(raw) -> str:
    """Output as text: no escape sequences, which would command the terminal, and a mark for what is not text."""
    text = raw.decode(errors="replace").replace("\r\n", "\n")
    text = re.sub(
        r"\x1b\][^\x07\x1b\n]{0,1000}(?:\x07|\x1b\\)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]?", "", text
    )
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", text)


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
