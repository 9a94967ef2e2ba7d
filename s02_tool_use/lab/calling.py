"""Runs a learner's function so that it cannot hurt the check: a deadline, a captured stdout, a temporary workspace.

It is no sandbox: the code is the reader's own and runs in the reader's own process.
"""

import contextlib
import contextvars
import ctypes
import io
import linecache
import os
import re
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from .. import workspace

DEADLINE = 5.0  # seconds for one call; an answer takes milliseconds, a slow laptop's subprocess under a second
GRACE = 2.0  # seconds in which a stopped call may end, before it is left behind


class Stopped(BaseException):
    """Raised inside a call that is over its deadline. Not an Exception, so that `except Exception` lets it pass."""


@dataclass
class Outcome:
    """What one call did: `value`, or `error` (an exception), or `late` (stopped at the deadline)."""

    value: object = None
    error: BaseException | None = None
    late: bool = False
    where: str = ""  # the learner's own line, for an error


def call(function, *args, code=None, deadline=DEADLINE, stdin=None):
    """Call `function(*args)` in a thread of its own and return its Outcome. Never raises what the function raises.

    A thread, because only the waiting side can say "enough": a signal works on POSIX alone, and a trace function
    that raises is switched off by the first `except:` around it. `code` is the learner's function when `function` is
    ours around it: its file tells which line of a traceback is the learner's. `stdin` (a Silence) is closed at the
    deadline, which ends a call that waits for input.
    """
    outcome = Outcome(late=True)

    def work():
        try:
            value = function(*args)
        except Stopped:
            return
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the learner's code are answers as well
            outcome.error, outcome.where = error, own_line(error, code or function)
        else:
            outcome.value = value
        outcome.late = False

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        thread.start()
        try:
            _wait(thread, deadline)
        finally:
            if thread.is_alive():
                outcome = Outcome(late=True)
                if stdin is not None:
                    stdin.close()
                _stop(thread)
    return outcome


def _wait(thread, seconds):
    # In short steps: on Windows Ctrl-C does not interrupt a long join.
    end = time.monotonic() + seconds
    while thread.is_alive() and time.monotonic() < end:
        thread.join(0.1)


def _stop(thread):
    # Again and again: a bare `except:` may swallow the exception some times, but not for ever.
    end = time.monotonic() + GRACE
    while thread.is_alive() and time.monotonic() < end:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stopped))
        thread.join(0.01)


def own_line(error, function):
    """The last line of the error's traceback that lies in the learner's file: `line 3: return block["id"]`, or ""."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    line, frame = None, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == code.co_filename:
            line = frame.tb_lineno
        frame = frame.tb_next
    if line is None:
        line = code.co_firstlineno  # the call itself did not fit the signature
    text = linecache.getline(code.co_filename, line).strip()
    return f"line {line}: {text}" if text else f"line {line}"


class Silence:
    """A standard input that never says anything: what a command meets when nobody closed its stdin."""

    def __enter__(self):
        self._saved, (reader, self._writer) = os.dup(0), os.pipe()
        os.dup2(reader, 0)
        os.close(reader)
        return self

    def close(self):
        """End of input: whoever still reads wakes up."""
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None

    def __exit__(self, *error):
        self.close()
        os.dup2(self._saved, 0)
        os.close(self._saved)


@contextlib.contextmanager
def temporary_workspace(files=()):
    """A fresh folder as workspace and current folder, holding `files` (name -> text). Afterwards the old ones are back."""
    before, folder = workspace._root, Path.cwd()  # None, if none was chosen yet, and so it must be afterwards
    with tempfile.TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as name:
        for path, text in dict(files).items():
            target = Path(name, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        workspace.use_workdir(name)
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(folder)
            workspace._root = before


def shown(value, limit=300):
    """`value` as one short text that repeats exactly: functions by name, no addresses, no path of this machine."""
    return clean(_plain(value), limit)


def clean(text, limit=300):
    """`text` without the temporary folder and without addresses, cut at `limit` characters."""
    text = re.sub(r"[^\s'\"]*check-[a-z0-9_]{8}", "WORKSPACE", text)  # before the cut, which could halve it
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    return text if len(text) <= limit else text[:limit] + f" ... ({len(text) - limit} characters more)"


def _plain(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_plain(k)}: {_plain(v)}" for k, v in value.items()) + "}"
    if type(value) in (list, tuple):
        inside = ", ".join(map(_plain, value)) + ("," if type(value) is tuple and len(value) == 1 else "")
        return f"[{inside}]" if type(value) is list else f"({inside})"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    try:
        return repr(value)
    except Exception:  # a learner's class may have a broken __repr__
        return f"<{type(value).__name__}>"
