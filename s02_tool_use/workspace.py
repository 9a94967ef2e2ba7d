"""The workspace: the one folder that the file tools may touch.

Two steps keep them in it. safe_path decides where a path really leads. open_folder then goes there folder by folder
and follows no link, so that nothing swapped in between is followed; Windows cannot, and has the first step alone.
Left out: hard links, which no path shows, and bash, which only the operating system can confine (sandbox.py).
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from .calls.results import ToolError
from .files.windows import windows_parts

ON_WINDOWS = os.name == "nt"

# 0 where the system lacks the flag. NONBLOCK: opening a pipe would wait for somebody at its other end.
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW

MAX_LINKS = 40  # Linux's own number: whoever needs more links on one way goes in circles
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4095  # bytes, not characters: what common file systems take


class _Workspace(NamedTuple):
    given: Path  # as whoever chose it named it
    root: Path  # without links


_default: _Workspace | None = None  # of the process
_own: ContextVar[_Workspace | None] = ContextVar("workspace", default=None)  # of one context: see within


def use_workdir(path) -> Path:
    """Make the folder `path` the workspace of this process; returns it, absolute and without links.

    Inside `within` it is chosen for what is inside alone. A turn of a chat, a check or a widget's tool is always inside
    one of its own, so neither of the two moves the other's workspace.
    """
    global _default
    chosen = _chosen(path)
    if _own.get() is None:
        _default = chosen
    else:
        _own.set(chosen)
    return chosen.root


@contextlib.contextmanager
def within(path=None) -> Iterator[Path]:
    """`with within(path):` has the folder `path` as its workspace, until it ends, and in this context alone.

    Without a path it keeps the workspace of now, whatever is chosen elsewhere. A thread that is started inside sees the
    default unless it runs in a copy of the context: `Thread(target=contextvars.copy_context().run, args=(function,))`.
    """
    before = _own.get()
    inside = _chosen(path) if path is not None else before or _default or _chosen(workdir())
    _own.set(inside)
    try:
        yield inside.root
    finally:
        _own.set(before)


def _chosen(path):
    try:
        root = Path(path).resolve(strict=True)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise ToolError(f"cannot use {path!r} as the workspace ({error}); name a folder that exists") from None
    if not root.is_dir():
        raise ToolError(f"cannot use {path!r} as the workspace: it is not a folder")
    return _Workspace(Path(os.path.abspath(path)), root)


def workdir() -> Path:
    """The workspace, absolute and without links; until one is chosen it is the current directory."""
    here = _own.get() or _default
    try:
        return here.root if here else Path.cwd().resolve()
    except OSError as error:
        raise ToolError(f"the current directory is gone ({error.strerror}); call use_workdir with a folder") from None


def safe_path(p) -> Path:
    """Where `p` really leads: an absolute path without links in it, inside the workspace; its end need not exist.

    `p` is relative to the workspace, or absolute. Raises ToolError if it leads outside or nowhere. Each link is
    followed by hand: Path.resolve() gives up at a loop and leaves the rest unchecked (python/cpython#117546).
    """
    name = _checked(p)
    root = workdir()
    todo = _parts(name, root)[::-1]
    here, kind, links = root, "folder", 0
    while todo:
        part = todo.pop()
        if kind == "file":
            raise ToolError(f"{name!r}: {here.name!r} is a file, not a folder")
        if kind == "missing" and part in (".", ".."):  # only text would know where 'missing/..' is
            raise ToolError(f"{name!r}: there is no folder {here.name!r}")
        if part == ".":
            continue
        if part == "..":
            here = here.parent
            continue
        here = here / part
        if not here.is_relative_to(root):
            if root.is_relative_to(here):
                continue  # the way back in is the only one that is looked at outside: /proc/self/cwd is no door
            break
        if kind == "missing":
            continue
        kind, target = _look(here, name)
        if kind == "link":
            links += 1
            if links > MAX_LINKS or ON_WINDOWS:
                raise ToolError(f"{name!r} goes through links that cannot be followed; use the path of the real file")
            todo += _parts(target, root)[::-1]
            here, kind = here.parent, "folder"
    if not here.is_relative_to(root):
        raise ToolError(f"{name!r} leads outside the workspace; give a path relative to the workspace")
    return here


def _checked(p):
    """`p` as text for the file system. Nothing is stripped, decoded or expanded: '~', '%2e' and ' ..' are names."""
    try:
        name = os.fsdecode(p)
        raw = os.fsencode(name)
    except (TypeError, UnicodeError):
        raise ToolError(f"{p!r} cannot be a path on this machine; give the path as plain text") from None
    if not raw or b"\0" in raw:
        raise ToolError(f"the path {name!r} is empty or holds a NUL; give a path relative to the workspace")
    if len(raw) > MAX_PATH_BYTES or max(map(len, raw.split(b"/"))) > MAX_NAME_BYTES:
        raise ToolError(f"the path is too long: {MAX_NAME_BYTES} bytes a name and {MAX_PATH_BYTES} in all are the most")
    return name


def _parts(name, root):
    """The steps of a path, as the kernel takes them; the first is absolute if the path is."""
    if ON_WINDOWS:
        try:
            return windows_parts(name, root)
        except ValueError as error:
            raise ToolError(str(error)) from None
    parts = [part for part in name.split("/") if part]
    if name.endswith("/"):
        parts.append(".")  # 'a.txt/' asks for a folder
    if name.startswith("/"):
        parts.insert(0, "/")
        here = _own.get() or _default
        known = list(here.given.parts) if here else []
        if known and parts[: len(known)] == known:
            parts[: len(known)] = [str(root)]  # the workspace by the name its user gave: /tmp/x on a Mac is a link
    return parts


def _look(path, name):
    """(what is there: file, folder, link or missing; where a link points to)."""
    try:
        found = os.lstat(path)
        reparsed = getattr(found, "st_reparse_tag", 0) & 0x20000000  # Windows: a link or junction, not a cloud file
        if stat.S_ISLNK(found.st_mode) or reparsed:
            return "link", os.readlink(path)
    except FileNotFoundError:
        return "missing", None
    except OSError as error:
        raise ToolError(f"{name!r}: {error.strerror}; try again, or use another path") from None
    return "folder" if stat.S_ISDIR(found.st_mode) else "file", None


def open_folder(parts, create=False):
    """A descriptor of the folder below the workspace to which `parts` lead, opened one by one without following links.

    On Windows its path.
    """
    root = workdir()
    if ON_WINDOWS:
        folder = root.joinpath(*parts)
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        return str(folder)
    try:
        here = os.open(root, FOLDER)
    except OSError as error:
        raise ToolError(f"the workspace itself cannot be opened ({error.strerror}); call use_workdir again") from None
    try:
        for part in parts:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            above, here = here, os.open(part, FOLDER, dir_fd=here)
            os.close(above)
    except OSError:
        os.close(here)
        raise
    return here
