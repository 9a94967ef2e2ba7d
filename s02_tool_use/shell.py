"""run_bash: one command in a fresh bash, what it said, how it ended, and nothing of it left running.

Where bubblewrap works (bash/sandbox.py) the operating system confines it. Where it does not, bash can do what you can
do, and two promises have a hole: a key in the environment of another process of yours can be read in /proc
(bash-env-ppid in the tests, if PID 1 has it), and a command can kill the reaper that cleans up. Never run on macOS, and
never with Git's bash on Windows. A browser page has no processes: there `python FILE` alone is run (bash/page.py).
"""

import contextlib
import os
import signal
import subprocess

from .bash import sandbox
from .bash.process import run
from .bash.program import NO_BASH, ON_WINDOWS, system_shell, which_bash
from .calls import secrets
from .calls.arguments import fit, utf8
from .calls.results import ToolError
from .workspace import workdir

BASH_EXE = (which_bash() if ON_WINDOWS else None) or "bash"  # for a subprocess.run of your own
MAX_SECONDS = 600
ALL_ENDED = "everything it had started was ended"


def run_bash(command: str, timeout: float = 120) -> str:
    """Run `command` in bash, in the workspace; returns what it said and how it ended.

    stdout and stderr come in their order. After `timeout` seconds it is stopped, and what it said
    so far is returned. Everything that it started has ended when this returns. Each call is a new
    shell: `cd` and variables do not last.
    """
    _refuse_senseless(command)
    bash, notes = _bash()
    try:
        done = run(
            [*bash, command],
            cwd=workdir(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_seconds(timeout),
            notes=notes,
        )
        said, ending = done.stdout, _status(done.returncode)
    except subprocess.TimeoutExpired as error:
        said, ending = error.output or "", f"timed out after {timeout} s: {ALL_ENDED}"
    text = secrets.cut(said)
    if text and not text.endswith("\n"):
        text += "\n"
    return f"{text}[{'; '.join([ending, *notes])}]"


def sandbox_status() -> tuple[bool, str]:
    """(is bash confined to the workspace, in one sentence why or why not). Tries it for real."""
    return sandbox.sandbox_status(workdir())


def _refuse_senseless(command):
    if not utf8("command", command).strip() or "\0" in command:
        raise ToolError("command is empty or holds a NUL character; send a command for bash")


def _seconds(timeout):
    with contextlib.suppress(ValueError):
        if 0 < (seconds := fit(timeout, "number")) <= MAX_SECONDS:
            return seconds
    raise ToolError(f"timeout must be a number of seconds, above 0 and at most {MAX_SECONDS}, not {timeout!r}")


def _bash():
    """(the shell with its options, a note if it is not bash)."""
    if bash := which_bash():
        return [bash if ON_WINDOWS else "bash", "-c", "--"], []  # a command may begin with a dash
    shell = system_shell()
    return shell, [NO_BASH.format(os.path.basename(shell[0]))]


def _status(status):
    with contextlib.suppress(ValueError):
        return f"exit status {status}, as after signal {status - 128} ({signal.Signals(status - 128).name})"
    return f"exit status {status}"
