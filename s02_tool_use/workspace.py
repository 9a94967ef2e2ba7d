"""The workspace: the one folder that the file tools may touch.

Two steps keep them in it, as notebook 04 builds them. safe_path decides where a path really leads. open_folder then
goes there folder by folder and follows no link, whatever was swapped in between; Windows cannot, and has the first step
alone. Left out: hard links, which no path shows, and bash, which only the operating system can confine (sandbox.py).
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, NamedTuple

from .calls.results import ToolError
from .files.names import ON_WINDOWS, checked, meant, spelled, steps
from .files.opening import enter, leaving, look, open_file, refusal

MAX_LINKS = 40  # Linux's own number: whoever needs more links on one way goes in circles


class _Workspace(NamedTuple):
    given: Path  # as whoever chose it named it
    root: Path  # without links


_default: _Workspace | None = None  # of the process
_own: ContextVar[_Workspace | None] = ContextVar("workspace", default=None)  # of one context: see within


def use_workdir(path: str | os.PathLike[str]) -> Path:
    """Make the folder `path` the workspace of this process; returns it, absolute and without links.

    Inside `within` it is chosen for what is inside alone: a turn of a chat, a check, a widget's tool have their own.
    """
    global _default
    chosen = _chosen(path)
    if _own.get() is None:
        _default = chosen
    else:
        _own.set(chosen)
    return chosen.root


@contextlib.contextmanager
def within(path: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """`with within(path):` has the folder `path` as its workspace, until it ends, and in this context alone.

    Without a path it keeps the workspace of now, whatever is chosen elsewhere. A thread that is started inside sees the
    default unless it runs in a copy of the context: `Thread(target=contextvars.copy_context().run, args=(function,))`.
    """
    before, inside = _own.get(), _current() if path is None else _chosen(path)
    _own.set(inside)
    try:
        yield inside.root
    finally:
        _own.set(before)


def _chosen(path) -> _Workspace:
    try:
        root = Path(path).resolve(strict=True)
        if not root.is_dir():
            raise NotADirectoryError("it is not a folder")
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise ToolError(f"cannot use {path!r} as the workspace ({error}); name a folder that exists") from None
    return _Workspace(Path(os.path.abspath(path)), root)


def workdir() -> Path:
    """The workspace, absolute and without links."""
    return _current().root


def _current():
    """The one of this context, or of the process; until one is chosen it is the current directory."""
    try:
        return _own.get() or _default or _Workspace(Path.cwd(), Path.cwd().resolve())
    except OSError as error:
        raise ToolError(f"the current directory is gone ({error.strerror}); call use_workdir with a folder") from None


def safe_path(p: str | bytes | os.PathLike[str]) -> Path:
    """Where `p` really leads: an absolute path without links in it, inside the workspace; its end need not exist.

    `p` is relative to the workspace, or absolute. Raises ToolError if it leads outside or nowhere. Each link is
    followed by hand: Path.resolve() gives up at a loop and leaves the rest unchecked (python/cpython#117546).
    """
    name, (given, root) = checked(p), _current()
    here, links = root, 0
    todo, kind = steps(name, root, given), "folder"
    while todo:
        part = todo.pop()
        if kind == "file":
            raise ToolError(f"{name!r}: {here.name!r} is a file, not a folder")
        if kind == "missing" and part in (".", ".."):  # only the string would know where 'missing/..' is
            raise ToolError(f"{name!r}: there is no folder {here.name!r}")
        here = here.parent if part == ".." else here / part
        if not here.is_relative_to(root):
            if root.is_relative_to(here):
                continue  # the way back in is the only one that is looked at outside: /proc/self/cwd is no door
            break
        if kind != "missing":
            here = spelled(here)
            kind, target = look(here, name)
        if kind == "link":
            links += 1
            if links > MAX_LINKS or ON_WINDOWS:
                raise ToolError(f"{name!r} goes through links that cannot be followed; use the path of the real file")
            todo += steps(target, root, given)
            here = here.parent
            kind = "folder"
    if not here.is_relative_to(root):
        raise ToolError(f"{name!r} leads outside the workspace; give a path relative to the workspace")
    return here


def parts_of(p: str | bytes | os.PathLike[str]) -> tuple[str, ...]:
    """The names on the way from the workspace to where `p` really leads; none for the workspace itself."""
    return safe_path(p).relative_to(workdir()).parts


@contextlib.contextmanager
def opened_parent(p: str | bytes | os.PathLike[str], create: bool = False) -> Iterator[tuple[int | None, str]]:
    """Open the folder that `p` lies in, for the `dir_fd` of the os functions: gives (descriptor, name in it).

    With create, missing folders are created. Errors of the system, inside the with block too, come out as ToolErrors.
    A name that glob shows quoted is taken so. On Windows, without folder descriptors, it gives (None, the whole path).
    """
    *parents, name = parts_of(meant(p, safe_path)) or (".",)
    try:
        with leaving(open_folder(parents, create)) as folder:
            yield (None, os.path.join(folder, name)) if ON_WINDOWS else (folder, name)
    except OSError as error:
        raise refusal(error, p) from None


@contextlib.contextmanager
def opened(p: str | bytes | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open the file at `p` to read its bytes; errors of the system come out as ToolErrors."""
    with opened_parent(p) as (folder, name), open(open_file(folder, name, p), "rb", buffering=0) as file:
        yield file


def open_folder(parts: Iterable[str], create: bool = False) -> Any:
    """A descriptor of the folder that `parts`, names below the workspace, lead to; on Windows its path.

    Each is opened in the one before, following no link; with create, those that are missing are made.
    """
    try:
        here = enter(None, str(workdir()))
    except OSError as error:
        raise ToolError(f"the workspace itself cannot be opened ({error.strerror}); call use_workdir again") from None
    for part in parts:
        with leaving(here):
            here = enter(here, part, create)
    return here
