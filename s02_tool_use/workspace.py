"""The workspace: the one folder that the file tools may touch.

Two steps keep them in it. safe_path decides where a path really leads; open_folder then goes there one folder at a
time and follows no link, so that nothing swapped in between is followed. Windows has only the first step.
Left out: hard links, which no path shows, and bash, which only the operating system can confine.
"""

import contextlib
import errno
import os
import stat
from pathlib import Path

_root: Path | None = None

# Absent on Windows, hence 0 there. O_NONBLOCK: opening a pipe must not wait for somebody at its other end.
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
FOLDER = getattr(os, "O_DIRECTORY", 0) | NOFOLLOW
HAS_FOLDER_DESCRIPTORS = os.open in os.supports_dir_fd

MAX_LINKS = 40  # as in Linux: more links than this on one way are a loop
MAX_NAME = 255  # bytes, not characters: the longest name that common file systems take


class ToolError(ValueError):
    """The one way in which a tool says no. Its text is for the model: what is wrong, and what to do instead."""


def use_workdir(path) -> Path:
    """Make the folder `path` the workspace of this process and return it, absolute and free of links."""
    global _root
    try:
        root = Path(path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"the workspace {str(path)!r} cannot be used: {error}; name an existing folder") from None
    if not root.is_dir():
        raise ToolError(f"the workspace {str(path)!r} is not a folder")
    _root = root
    return root


def workdir() -> Path:
    """The workspace; until use_workdir is called, the current directory."""
    return _root or Path.cwd().resolve()


def safe_path(p) -> Path:
    """Where `p` (relative to the workspace, or absolute) really leads: an absolute path without links, inside.

    The last parts need not exist. Raises ToolError for everything that leads outside or nowhere. Outside the
    workspace nothing is looked up: the only way allowed there is the one back in, so /proc/self/cwd is no door.
    """
    name = _checked(p)
    root = workdir()
    todo = _parts(name)[::-1]
    here, kind, links = root, "folder", 0
    while todo:
        part = todo.pop()
        if part == os.sep:
            here, kind = Path(root.anchor), "folder"
            continue
        if kind == "file" or (kind == "missing" and part in (".", "..")):
            fault = "is not a folder" if kind == "file" else "does not exist"
            raise ToolError(f"{name!r}: {here.name!r} {fault}")
        if part == ".":
            continue
        if part == "..":
            here = here.parent
            continue
        here = here / part
        if not here.is_relative_to(root):
            if not root.is_relative_to(here):
                break
            continue
        kind = kind if kind == "missing" else _kind(here, name)
        if kind == "link":
            links += 1
            if links > MAX_LINKS:
                raise ToolError(f"{name!r} is a loop of links")
            todo += _parts(os.readlink(here))[::-1]
            here, kind = here.parent, "folder"
    if not here.is_relative_to(root):
        raise ToolError(f"{name!r} is outside the workspace; use a path relative to the workspace, without '..'")
    return here


def _checked(p):
    """`p` as text that a file system can take; nothing is stripped, decoded or expanded: names are literal."""
    try:
        name = os.fsdecode(p)
        raw = os.fsencode(name)
    except (TypeError, UnicodeError):
        raise ToolError(f"not a path: {p!r}; give the path as text") from None
    if not name:
        raise ToolError("the path is empty; give a path relative to the workspace")
    if "\0" in name:
        raise ToolError(f"{name!r} holds a NUL character, which no file name can")
    if any(len(part) > MAX_NAME for part in raw.split(b"/")):
        raise ToolError(f"a name in the path is longer than {MAX_NAME} bytes; use a shorter one")
    return name


def _parts(name):
    parts = [part for part in name.split(os.sep) if part]
    if name.endswith(os.sep):
        parts.append(".")  # 'a.txt/' asks for a folder, as 'a.txt/.' does
    return [os.sep, *parts] if name.startswith(os.sep) else parts


def _kind(path, name):
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        raise ToolError(f"{name!r}: {error.strerror}") from None
    return "link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else "file"


@contextlib.contextmanager
def open_folder(path, create=False):
    """Open the folder that holds `path` (from safe_path); gives (descriptor, name) for the os functions' dir_fd.

    With create=True missing folders are made. Where there are no folder descriptors it gives (None, whole path).
    """
    root = workdir()
    *folders, name = path.relative_to(root).parts or (".",)
    if not HAS_FOLDER_DESCRIPTORS:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield None, str(path)
        return
    here = os.open(root, FOLDER)
    try:
        for folder in folders:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(folder, dir_fd=here)
            below = os.open(folder, FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


@contextlib.contextmanager
def told(p):
    """Turn the system's own errors about the path `p` into ToolErrors that a model can act on."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"{p!r} does not exist; see what is there with glob") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolError(f"{p!r} changed while it was being opened; try again") from None
        raise ToolError(f"{p!r}: {error.strerror or error}") from None


def open_file(folder, name, p) -> int:
    """A descriptor to read the regular file `name` in `folder`; folders, pipes, devices, sockets are refused."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISREG(mode):
        raise ToolError(f"{p!r} is {what(mode)}, not a file")
    return os.open(name, os.O_RDONLY | NOFOLLOW, dir_fd=folder)


def what(mode) -> str:
    """A word for the kind of thing that a mode names."""
    if stat.S_ISDIR(mode):
        return "a folder (directory)"
    return "a link" if stat.S_ISLNK(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
