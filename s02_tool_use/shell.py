"""run_bash: one command in a fresh bash, with what it said, how it ended, and nothing of it left behind."""

import os
import signal
import subprocess
import sys
import tempfile

from s02_tool_use.workspace import ToolError, workdir

MAX_SHOWN = 30_000  # bytes that a model gets to see; the middle is cut
KEEP = ("HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP")


def run_bash(command: str, timeout: float = 120) -> str:
    """Run `command` with bash in the workspace; returns its output (stdout and stderr in order) and exit status.

    Stops after `timeout` seconds. Each call is a new shell: cd and variables do not last.
    """
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise ToolError("command must be text for bash, not empty and without NUL")
    with tempfile.TemporaryFile() as out:
        shell = subprocess.Popen(
            ["bash", "-c", command],
            cwd=workdir(),
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            shell.wait(timeout)
            end = f"[exit status {shell.returncode}]"
        except subprocess.TimeoutExpired:
            end = f"[timed out after {timeout} s and was stopped]"
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            shell.wait()
        size = out.tell()
        out.seek(0)
        text = out.read(MAX_SHOWN).decode(errors="replace")
        if size > MAX_SHOWN:
            text += f"\n[{MAX_SHOWN} of {size} bytes shown]"
    return f"{text}\n{end}" if text and not text.endswith("\n") else text + end


def environment() -> dict:
    """What a command sees: an allow-list, so that no key gets in. `python` is the Python of this course."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    kept = {name: os.environ[name] for name in KEEP if name in os.environ}
    return kept | {"PATH": path, "LC_ALL": "C.UTF-8", "PAGER": "cat", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
