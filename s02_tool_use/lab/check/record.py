"""Which exercises are done or were tried: a line for each in a small file beside the notebooks.

`bash` says that bash is done, `?bash 1764604800` that it was tried then, without success. After it is done nothing is
added. Nothing is sent anywhere, unless the reader asks for it (share.py). And what passed, for as long as this kernel
lives: the pages run it in the agent. Under pytest no file is read or written, so that outputs do not depend on what the
reader has done.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from . import browser

FILE = ".progress"  # git ignores it
TRIED = "?"  # begins the line of a try
LOCKED = 2**30  # where the byte would be that is locked on Windows
LOCK_SECONDS = 10.0  # a writer takes milliseconds

_here: list[str] = []  # what the file does not hold: all lines under pytest, or in a folder that cannot be written


@dataclass
class Tried:
    """What is known of one exercise: whether it is done, how often it was tried without success, and when."""

    done: bool = False
    tries: int = 0
    first: int = 0  # in seconds since 1970, as time.time() has them; 0 if there was no try
    last: int = 0


class Lines(Protocol):
    """Where the lines are kept from one kernel to the next."""

    def read(self) -> str: ...

    def add(self, line: str) -> bool:
        """Returns whether `read` will find it."""

    def remove(self) -> object: ...


@contextlib.contextmanager
def _alone(file: IO[bytes]) -> Iterator[None]:
    """Windows adds to a file in two steps, a seek and a write: there two notebooks take turns. Raises OSError."""
    if sys.platform != "win32":
        yield
        return
    import msvcrt

    end = time.monotonic() + LOCK_SECONDS
    while True:
        file.seek(LOCKED)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            break
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)
    try:
        yield
    finally:
        file.seek(LOCKED)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)


class OnDisk:
    """Lines in a file. Without a file, or a right to it, there are none, and none is added."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        with contextlib.suppress(OSError):
            return self.path.read_text(encoding="utf-8", errors="replace")
        return ""

    def add(self, line: str) -> bool:
        with contextlib.suppress(OSError), self.path.open("a+b", buffering=0) as file, _alone(file):
            is_cut = file.seek(0, os.SEEK_END) and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
            # In one piece and at the end: two notebooks may do it at once.
            file.write(f"{chr(10) * bool(is_cut)}{line}\n".encode())
            return True
        return False

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


kept: dict[str, Any] = {}  # name -> what passed its check, unless something else has failed it since


def where() -> Path | None:
    """The file, beside the notebook. None under pytest, and where a page has no drive."""
    # PYTEST_VERSION is set by pytest, and inherited by the kernels that nbval starts.
    if "PYTEST_VERSION" in os.environ or browser.is_needed():
        return None
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return Path(getattr(shell, "starting_dir", None) or Path.cwd()) / FILE  # a cell may have changed the folder since


def _lines() -> Lines | None:
    path = where()
    return OnDisk(path) if path else browser if browser.is_needed() else None


def read(text: str) -> dict[str, Tried]:
    """What the lines of a file say. The exercise that was worked on last is the last one."""
    found: dict[str, Tried] = {}
    name = ""
    for word in text.split():
        is_try, when = word.startswith(TRIED), int(word) if word.isdecimal() and len(word) < 12 else None
        if when is None:
            name = word.removeprefix(TRIED)
        if found.get(name, Tried()).done:
            continue
        one = found[name] = found.pop(name, Tried())
        if when is not None:
            one.first, one.last = one.first or when, max(one.last, when)
        elif is_try:
            one.tries += 1
        else:
            one.done = True
    return found


def tried() -> dict[str, Tried]:
    """What is recorded so far, as `read` has it."""
    lines = _lines()
    return read("\n".join([lines.read() if lines else "", *_here]))


def done() -> list[str]:
    """The names of what is done, in the order in which it was done."""
    return [name for name, one in tried().items() if one.done]


def record(name: str, passed: bool = True) -> None:
    """Remember that this exercise is done, or was tried. If the folder cannot be written, this kernel remembers it."""
    if name in done():
        return
    line = name if passed else f"{TRIED}{name} {int(time.time())}"
    lines = _lines()
    if not lines or not lines.add(line):
        _here.append(line)


def reset() -> None:
    """Forget everything."""
    _here.clear()
    if lines := _lines():
        lines.remove()
