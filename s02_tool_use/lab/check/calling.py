"""One call of a tool, as the loop would make it, and what was wrong with it: what check.my_tool is made of.

The call goes through run_tool, the offline API judges the request that follows, and each call finds the same files.
"""

import contextlib
import copy
import dis
import functools
import inspect
import io
import json
import operator
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from ... import dispatch, workspace
from ...calls.results import MAX_RESULT_CHARACTERS
from ...calls.tool import Tool
from . import trial
from .exercise import clean, shown
from .exercises.parts import user
from .exercises.tables import problem_with

MOST_FILES, MOST_BYTES, MOST_LOOKED_AT = 200, 5_000_000, 5_000  # of the workspace, in the copy
LONG_AGO = 946_684_800  # when all files were changed, so that a call that writes one is seen
EXTRA = {
    "tea list.txt": b"green tea\nblack tea\nwater\n",
    "long.txt": b"".join(b"line %d: green tea, black tea, water\n" % n for n in range(1, 4001)),
    "binary.dat": b"\x00\xff\xfe\x80" * 64,
    "empty.txt": b"",
    "prices.csv": b"tea,price\ngreen,4.50\nblack,3\n",
    "prices.json": b'{"green": 4.5, "black": 3}\n',
    "a folder/notes.txt": "Grüße aus dem Teehaus\n".encode(),
}


@dataclass
class Tried:
    """One call and what it came to. `faults` has what is wrong with it: kind -> what came back, in words."""

    call: dict[str, Any]
    result: dict[str, Any] = field(default_factory=dict)  # of run_tool
    reached: bool = False  # whether the function was called
    value: Any = None  # what it gave
    raised: BaseException | None = None
    printed: str = ""
    seconds: float = 0.0  # that the function took; what is ours around it is not counted
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.reached and self.raised is None and not self.faults


class Caller:
    """Calls a tool, and knows what came of each call: `tried`, by the key of a call. After one without end it stops."""

    def __init__(self, tool: Tool, function: Callable, room: "Room", deadline: float, stdin: IO[bytes] | None) -> None:
        self.tool, self.function, self.room, self.deadline, self.stdin = tool, function, room, deadline, stdin
        self.tried: dict[str, Tried] = {}
        self.late: Tried | None = None
        self.count, self.seconds = 0, 0.0  # of all calls

    def once(self, call: dict[str, Any]) -> Tried:
        """What a call came to. It is made once, so that nothing depends on how often it is asked for."""
        key = key_of(call)
        if key not in self.tried:
            self.tried[key] = self.again(call)
        return self.tried[key]

    def again(self, call: dict[str, Any]) -> Tried:
        """Make a call, whether it was made before or not."""
        tried = Tried(call)
        if self.late is not None:
            return tried
        self.count += 1
        self.room.restore()
        block = {"type": "tool_use", "id": "toolu_01", "name": self.tool.name, "input": copy.deepcopy(call)}
        tool = replace(self.tool, handler=watched(self.tool.handler, lambda: tried))
        outcome = trial.call(dispatch.run_tool, block, {}, [tool], deadline=self.deadline, stdin=self.stdin)
        tried.printed = outcome.printed
        self.seconds += tried.seconds
        if isinstance(outcome.value, dict):
            tried.result = outcome.value
        if outcome.late:
            self.late = tried
            tried.faults = {
                "late": f"{outcome.late}. Is it an endless loop, or does it wait for something that never comes?"
            }
        else:
            tried.faults.update(self.faults_of(tried, outcome))
        return tried

    def faults_of(self, tried: Tried, outcome: trial.Outcome) -> Iterator[tuple[str, str]]:
        if not tried.reached:
            yield "taken", clean(str(outcome.error or text_of(tried.result)))
        elif tried.raised is not None:
            if not _is_planned(tried.raised):
                yield "raised", ""  # its words come later, and only if they are shown: a deep traceback takes a while
        elif outcome.error is not None:  # from run_tool
            yield "unsendable", f"{shown(tried.value)}: {type(outcome.error).__name__}"
        elif tried.result.get("is_error"):
            yield "unsendable", f"{shown(tried.value)}. run_tool says: {clean(text_of(tried.result))}"
        elif refusal := self._refusal(tried):
            yield "unsendable", f"{shown(tried.value)}. The API says: {clean(refusal)}"
        elif tried.value is None and not _promises_nothing(self.function):
            yield "empty", f"None ({'printed, and not returned?' if tried.printed else 'is a return missing?'})"
        elif _is_blank(tried.value) and not _has_blank(tried.call):  # nothing may come of nothing
            yield "empty", shown(tried.value)
        elif (length := _length(tried.value)) > MAX_RESULT_CHARACTERS:
            yield "long", f"{length:,} characters, beginning with {shown(tried.value)[:60]}"

    def _refusal(self, tried):
        """What the API says to the request that follows, or an empty string."""
        call = {"type": "tool_use", "id": tried.result["tool_use_id"], "name": self.tool.name, "input": tried.call}
        messages = [user("Hi"), {"role": "assistant", "content": [call]}, user([tried.result])]
        problem = problem_with([self.tool.schema], messages)
        return problem.message if problem else ""

    def words_of(self, error: BaseException) -> str:
        """An exception that was not planned, and where in the reader's code it came up."""
        line, said = trial.own_line(error, self.function), ""
        with contextlib.suppress(Exception):  # a class may have a broken __str__
            said = clean(str(error))
        return f"{type(error).__name__}: {said or 'without a word'}" + (f" ({line})" if line else "")


def watched(handler: Any, now: Callable[[], Tried]) -> Callable:
    """The handler; the Tried that `now` gives notes what it was given, gave and raised, also where that comes later."""

    @contextlib.contextmanager
    def noting(tried):
        start = time.monotonic()
        try:
            yield
        except GeneratorExit:  # run_tool has enough
            tried.faults["long"] = f"{len(tried.value):,} items, and there are more"
            raise
        except BaseException as error:
            tried.raised = error
            raise
        finally:
            tried.seconds += time.monotonic() - start

    async def awaited(value, tried):
        with noting(tried):
            tried.value = await value
        return tried.value

    def yielded(value, tried):
        with noting(tried):
            for item in value:
                tried.value.append(item)
                yield item

    async def yielded_later(value, tried):
        with noting(tried):
            async for item in value:
                tried.value.append(item)
                yield item

    @functools.wraps(handler)
    def call(*args, **given):
        tried = now()
        tried.reached, before = True, key_of(given)
        try:
            with noting(tried):
                value = tried.value = handler(*args, **given)
        finally:
            if key_of(given) != before:
                tried.faults["intact"] = f"afterwards they were {clean(key_of(given))}"
        if inspect.isawaitable(value):
            return awaited(value, tried)
        if isinstance(value, (Iterator, AsyncIterator)) and not isinstance(value, io.IOBase):
            tried.value = []
            return yielded(value, tried) if isinstance(value, Iterator) else yielded_later(value, tried)
        return value

    return call


# ---- calls and results


def key_of(call: dict[str, Any]) -> str:
    """A call as a string: equal calls have the same. 1, 1.0 and True differ."""
    return json.dumps(call, sort_keys=True, default=repr)


def size_of(call: dict[str, Any]) -> tuple[int, str]:
    """By this, calls are sorted."""
    key = key_of(call)
    return len(key), key


def text_of(result: dict[str, Any]) -> str:
    """The words of a tool_result."""
    content = result.get("content", "")
    return content if isinstance(content, str) else "".join(str(block.get("text", "")) for block in content)


def _promises_nothing(function):
    """Whether it says `-> None`: then run_tool says for it that it is done."""
    return getattr(function, "__annotations__", {}).get("return", ...) in (None, "None")


def _is_blank(value):
    """Whether there is nothing to be seen in it: an empty string, or blocks of such."""
    if isinstance(value, list) and value:
        return all(isinstance(one, dict) and one.get("type") == "text" and _is_blank(one.get("text")) for one in value)
    return isinstance(value, str) and not value.strip()


def _has_blank(value):
    """Whether an argument, or a part of one, is an empty string."""
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_has_blank, value)) if isinstance(value, list) else _is_blank(value)


def _length(value):
    """The characters of what a function gave; the bytes of a picture are not text."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) and "type" in one for one in value):
        return sum(len(str(one.get("text", ""))) for one in value)
    return len(json.dumps(value, default=str, skipkeys=True))


def _is_planned(error):
    """Whether it is a tool's no: a ToolError, ours or the SDK's, or a ValueError that its own code raises."""
    said = ""
    with contextlib.suppress(Exception):
        said = str(error).strip()
    if any(kind.__name__ == "ToolError" for kind in type(error).__mro__):
        return bool(said)
    return bool(said) and isinstance(error, ValueError) and _is_raised_on_purpose(error)


def _is_raised_on_purpose(error):
    """Whether a `raise` in the reader's code raised it, and not a call that went wrong."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not trial.is_learners(at.tb_frame.f_code.co_filename):
        return False
    steps = dis.get_instructions(at.tb_frame.f_code)
    return any(step.offset == at.tb_lasti and step.opname == "RAISE_VARARGS" for step in steps)


# ---- the folder that it works in


class Room:
    """A temporary copy of the workspace, with files of several kinds. `names` are some of its paths."""

    def __init__(self) -> None:
        own = _files_of(workspace.workdir())
        first = sorted(own, key=lambda name: (name.count("/"), name))[:4]
        folders = [name.split("/")[0] for name in own if "/" in name][:1]
        self.files = EXTRA | own
        self.names = tuple(dict.fromkeys(["tea list.txt", *first, *folders, *EXTRA, "a folder"]))

    @contextlib.contextmanager
    def opened(self) -> Iterator["Room"]:
        with trial.temporary_workspace() as self.root:
            self.seen: object = None
            with trial.off_the_clock():
                self.restore()
            yield self

    def restore(self) -> None:
        """Put everything back, if anything was changed."""
        if self.seen is not None and self.state() == self.seen:
            return
        for path in self.root.iterdir():
            with contextlib.suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for name, content in self.files.items():
            path = self.root / name
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                os.utime(path, (LONG_AGO, LONG_AGO))
        self.seen = self.state()

    def state(self):
        state, folders = [], [self.root]
        for folder in folders:  # grows meanwhile
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        state.append((entry.path, entry.name, None))
                    else:
                        info = os.lstat(entry.path)  # on Windows an entry's own may be old
                        state.append((entry.path, entry.name, (info.st_size, info.st_mtime_ns, info.st_mode)))
        return sorted(state, key=operator.itemgetter(0))


def _files_of(root: Path) -> dict[str, bytes]:
    """The files beneath a folder, name -> bytes: none that is hidden or a link, and not more than fit."""
    files: dict[str, bytes] = {}
    left, looked_at = MOST_BYTES, 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        looked_at += len(folders) + len(names)
        for name in sorted(names):
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                size = path.lstat().st_size
                if not name.startswith(".") and path.is_file() and not path.is_symlink() and size <= left:
                    files[path.relative_to(root).as_posix()] = path.read_bytes()
                    left -= size
            if len(files) >= MOST_FILES:
                return files
        if looked_at > MOST_LOOKED_AT:
            break
    return files
