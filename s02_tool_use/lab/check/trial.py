"""Runs a learner's function so that it cannot hurt the check: a deadline, a captured stdout, a temporary workspace.

It is no sandbox: the code is the reader's own and runs in the reader's own process.
"""

import contextlib
import contextvars
import ctypes
import functools
import inspect
import io
import linecache
import os
import re
import sys
import sysconfig
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import s02_tool_use

from ... import workspace
from ..client import banner
from ..sessions.job import PAUSE_SECONDS, STEP_SECONDS, Job, Stopped, ctrl_c_kept

DEADLINE_SECONDS = 1.5  # for one call; an answer takes milliseconds
CPU_SECONDS = 0.8  # of which this much may be spent computing; an exercise with a long deadline gives an eighth
DISK = 10  # times what our own work with files took, an answer gets more: it tells how slow the disk is today
GRACE_SECONDS = 0.6  # in which a call that is over its deadline has to end; then nobody waits for it any more
MEMORY_BYTES = 2**30  # by which the process may grow: an endless loop that collects fills a laptop before the deadline
PREFIX = "check-"  # of the temporary folder, whose path no output may show
PACKAGE = Path(__file__).resolve().parents[2]
CLONE_FS = 0x200  # unshare(2): a current folder of its own for the thread that asks


SAID_IN_A_PAGE = (
    "In this page a check cannot stop an answer that never ends: restart the kernel then; what you wrote is kept."
)


class Enough(BaseException):
    """Raised inside a call that is over its deadline. Not an Exception, so that `except Exception` lets it pass."""


@dataclass
class Outcome:
    """What one call did: `value`, or `error` (an exception), or `late` (why it was stopped)."""

    value: object = None
    error: BaseException | None = None
    late: str = ""
    printed: str = ""


class _Files:
    """The seconds that our own work with files took, of which some may still go on."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.since = seconds, 0.0

    def so_far(self) -> float:
        since = self.since  # the thread at work may change it meanwhile
        return self.seconds + (time.perf_counter() - since if since else 0.0)


_files: contextvars.ContextVar[_Files] = contextvars.ContextVar("_files")


@contextlib.contextmanager
def off_the_clock() -> Iterator[None]:
    """Around our own work with files inside a call: the time is not the answer's, which gets DISK times as much more.

    On a slow laptop, where a virus scanner looks at each file, right code needs seconds for some hundred of them.
    """
    files = _files.get(_Files())
    files.since = time.perf_counter()  # monotonic goes on in steps of 16 ms on Windows
    try:
        yield
    finally:
        files.seconds, files.since = files.so_far(), 0.0


def call(function: Callable, *args, deadline: float = DEADLINE_SECONDS, stdin: IO[bytes] | None = None) -> Outcome:
    """Call `function(*args)` in a thread of its own and return its Outcome. Raises nothing of what the function raises.

    Ctrl-C, or the notebook's Stop, ends the call as the deadline does, and is raised as Stopped.
    A thread, because only somebody who waits can say "enough", on every system: signals work on POSIX alone, and a
    trace function that raises is switched off by the first `except:` around it. `stdin`, what `silence` gives, is
    closed at the deadline, which ends a call that waits for input. A browser page has no thread, so no deadline.
    """

    def work():
        _files.set(files)
        _go_to(workspace.workdir())
        return function(*args)

    files = _Files(_files.get(_Files()).seconds)  # what the workspace took, and from here on what this call does
    printed, late = io.StringIO(), ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        with ctrl_c_kept() as pressed:
            job = Job(work)
            late = _wait(job, deadline, pressed, files)
            if pressed():
                raise Stopped(_end(job, stdin))
        if late:
            return Outcome(late=f"{late}: {_end(job, stdin)}")
    return Outcome(job.value, job.error, printed=printed.getvalue())


def _end(job: Job, stdin: IO[bytes] | None) -> str:
    """End the job, and say whether it did."""
    if stdin is not None:
        stdin.close()
        job.wait(PAUSE_SECONDS)  # what waited for input alone now ends by itself
    # Often, because a bare `except:` swallows it, but on the way from one round of a loop to the next there is a place
    # that it does not cover. (Not in Python 3.10, if all of the loop is in the `try`.)
    if stopping := job.stop(exception=Enough, pause=0.01):
        stopping.join(GRACE_SECONDS)
    return "stopped" if job.done else "it could not be stopped, and runs until the kernel is restarted"


def _wait(job: Job, seconds: float, pressed: Callable[[], bool], files: _Files) -> str:
    """Wait until the job ends, or Ctrl-C is pressed: "", or why it must be stopped."""
    end, full, start = time.monotonic() + seconds, _memory() + MEMORY_BYTES, time.process_time()
    # Before its first use the SDK has to be imported, which takes a second or two.
    most = min(seconds, max(CPU_SECONDS, seconds / 8)) if "anthropic" in sys.modules else seconds
    while not job.wait(STEP_SECONDS) and not pressed():
        ran, starved = _times(job.thread)
        more = min(DISK * files.so_far(), 9 * seconds)
        if (time.process_time() - start if ran is None else ran) > most + more:
            return f"no answer after {_seconds(most + more)}"
        if time.monotonic() > end + more + min(starved, 9 * seconds):
            return f"no answer after {_seconds(seconds + more)}"
        if _memory() > full:
            return "no answer, and a gigabyte of memory used"
    return ""


def _seconds(number):
    return f"{number:.0f} second{'' if round(number) == 1 else 's'}"


def _times(thread):
    """(seconds in which the thread ran, seconds in which it could have but the machine was busy with others).

    As far as Linux tells; else (None, 0.0). Other threads of the process may be at work, such as an endless loop that
    was left behind.
    """
    try:
        ran, starved = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()[:2]
        return int(ran) / 1e9, int(starved) / 1e9
    except (OSError, ValueError):
        return None, 0.0


def _memory():
    try:
        import psutil  # every Jupyter kernel brings it
    except ImportError:
        return 0
    return psutil.Process().memory_info().rss


def own_line(error: BaseException, function: Callable) -> str:
    """Where in the learner's code an exception came up: `line 3: return block["id"]`, or "" if nowhere.

    A call that does not fit the function's parameters has no line of its own: then it is the line of `def`.
    """
    places = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    code = getattr(function, "__code__", None)
    if code is not None:
        places.insert(0, (code.co_filename, code.co_firstlineno))
    file, number = next((place for place in reversed(places) if is_learners(place[0])), ("", 0))
    return f"line {number}: {linecache.getline(file, number).strip()}".removesuffix(": ") if number else ""


@functools.cache
def is_learners(file: str) -> bool:
    """Whether a file belongs neither to Python nor to what is installed, the package among it."""
    others = (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    # In a browser page they begin with two slashes, and Python's own modules lie in an archive.
    others = (re.sub("^//", "/", path) for path in (os.path.dirname(os.__file__), *others))
    return not file.startswith(("<frozen", str(PACKAGE), *others))


def used(function: Callable, wanted: Iterable[Callable]) -> list[str]:
    """The names of those functions that a learner's function refers to, itself or through what it calls.

    The code is read and not watched: in Python 3.11 a profile function hangs as long as an interrupt waits for a thread
    that was left behind. Read are the reader's own functions and the package's, but for lab.
    """
    names = {id(one): one.__name__ for one in wanted}
    todo, seen, found = [function], set[int](), list[str]()
    while todo:
        thing = todo.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if id(thing) in names:
            found.append(names[id(thing)])
        elif isinstance(thing, (dict, list, tuple, set)):
            todo += [part for part in (thing.values() if isinstance(thing, dict) else thing) if callable(part)]
        elif isinstance(thing, functools.partial):
            todo += [thing.func, *thing.args, *thing.keywords.values()]
        elif callable(thing):
            todo += _referred_to(thing)
    return found


def _referred_to(thing):
    """What the code of a function, of a method or of a class can reach by its names."""
    thing = inspect.unwrap(getattr(thing, "__func__", thing))
    code = getattr(thing, "__code__", None)
    if code is None:
        kind = thing if isinstance(thing, type) else type(thing)
        return [part for part in vars(kind).values() if inspect.isfunction(part)]
    if not is_learners(code.co_filename) and not _is_lessons(code.co_filename):
        return []
    codes, words = [code], set()
    for one in codes:  # nested functions too
        codes += filter(inspect.iscode, one.co_consts)
        words.update(one.co_names)
    reached = [thing.__globals__[word] for word in words if word in thing.__globals__]
    if "s02_tool_use" in words:  # it imports in its body
        reached.append(sys.modules["s02_tool_use"])
    modules = [one for one in reached if inspect.ismodule(one) and one.__name__.startswith("s02_tool_use")]
    reached += [vars(module)[word] for module in modules for word in words if word in vars(module)]
    for cell in thing.__closure__ or ():
        with contextlib.suppress(ValueError):  # not filled yet
            reached.append(cell.cell_contents)
    return [*reached, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]


def _is_lessons(file):
    return file.startswith(str(PACKAGE)) and not file.startswith(str(PACKAGE / "lab"))


@contextlib.contextmanager
def silence() -> Iterator[IO[bytes]]:
    """A standard input that never says anything: what a command meets when nobody closed its stdin.

    Descriptor 0 of the whole process, since that is what a child inherits; the old one comes back afterwards. The file
    that it gives is the other end: `close()` is the end of input, and whoever still reads wakes up.
    """
    try:
        saved = os.dup(0)
    except OSError:  # a process without stdin
        saved = None
    reader, writer = os.pipe()
    if reader != 0:
        os.dup2(reader, 0)
        os.close(reader)
    os.set_inheritable(0, True)
    try:
        with open(writer, "wb", buffering=0) as other_end:
            yield other_end
    finally:
        if saved is None:
            os.close(0)
        else:
            os.dup2(saved, 0)
            os.close(saved)


@contextlib.contextmanager
def temporary_workspace(files: Mapping[str, str] | Iterable[tuple[str, str]] = ()) -> Iterator[Path]:
    """A fresh folder with `files` (name -> text) as workspace, and as current folder of what `call` calls.

    Each check begins with one, so here is said what cannot be done in a browser page.
    """
    if s02_tool_use.IN_A_PAGE:
        banner.say("checks in a page", SAID_IN_A_PAGE)
    with contextlib.ExitStack() as ends:
        ends.callback(_files.reset, _files.set(_Files()))
        with off_the_clock():
            name = ends.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True))
            root = ends.enter_context(workspace.within(name))
            for path, text in dict(files).items():
                target = root / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="\n")
        ends.callback(os.chdir, os.getcwd())
        yield root


def _go_to(folder: Path) -> None:
    """Make `folder` the current one: a learner's open("notes.txt") goes there, as does a command without `cwd`.

    On Linux of this thread alone, unless a container forbids that. Elsewhere there is one for the whole process: then
    other threads have it too until the check ends. Their workspace stays where it is.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).unshare(CLONE_FS)
    os.chdir(folder)
