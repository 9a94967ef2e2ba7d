"""What lies in an open folder: a folder entered, a file opened without surprises and replaced in one step.

Left out: ACLs and extended attributes, which a replaced file loses; hard links, whose other name keeps the old bytes;
the draft that a kill in the middle leaves behind; and a power cut, for which each write would wait for the disk.
"""

import contextlib
import errno
import os
import stat
import threading
import time
from collections.abc import Iterator
from secrets import token_hex
from typing import Any

from ..calls.results import ToolError
from ..calls.secrets import is_kept, is_kept_name
from .names import ON_WINDOWS

try:
    import fcntl
except ImportError:  # Windows: no lock between processes
    fcntl = None  # type: ignore[assignment]

# 0 where the system lacks the flag. NONBLOCK: opening a pipe would wait for somebody at its other end.
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW

MAX_OVERWRITTEN_BYTES = 200_000_000  # bytes that are held in memory, to bring them back
SOON = (0.02, 0.05, 0.1, 0.2, 0.4)  # seconds; on Windows a scanner or an indexer holds a new file for a moment
LOCK_SECONDS = 10  # longer than any edit takes; then somebody else holds the folder for ever

# What the system says where a draft cannot be made or take the name: a folder that is read-only or not one's own, a
# file that is a mount point, an owner or group that only root can give.
IN_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.EINVAL}

KEPT = "{!r} is the file that the API key was read from: no tool may read or change it; go on without it"

_one_at_a_time = threading.Lock()


def refusal(error: OSError, p: object) -> ToolError:
    """What to say of the system's error about the path `p`."""
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{p!r} does not exist; glob shows what there is")
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EINVAL):  # a link, no folder, no link where there was one
        return ToolError(f"{p!r} was changed while it was being opened; try again")
    why = error.strerror or error
    if ON_WINDOWS and isinstance(error, PermissionError):  # there it is mostly this
        why = f"{why}, perhaps because another program has it open"
    return ToolError(f"{p!r}: {why}; nothing was changed")


def look(path, p) -> tuple:
    """(what is there: file, folder, link or missing; where a link points to). `p` is for the error."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or is_junction(found):
            return "link", os.readlink(path)
    except FileNotFoundError:
        return "missing", None
    except OSError as error:
        raise refusal(error, p) from None
    return "folder" if stat.S_ISDIR(found.st_mode) else "file", None


def is_junction(found: os.stat_result) -> bool:
    """Whether Windows goes on elsewhere from here: a link, a junction or a mounted disk, but not a file in a cloud."""
    return bool(getattr(found, "st_reparse_tag", 0) & 0x20000000)


def enter(folder: Any, name: str, create: bool = False) -> Any:
    """Open the folder `name` in an open one, following no link; with create it is made if it is missing.

    Gives a descriptor. Windows has none of folders: there an open folder is its path, and was no link a moment ago.
    """
    here, name = (None, os.path.join(folder or "", name)) if ON_WINDOWS else (folder, name)
    if create and not _is_there(name, here):
        _refuse_kept_place(here, name, name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=here)
    return os.open(name, FOLDER, dir_fd=here) if not ON_WINDOWS else _looked_into(name, folder)


def _is_there(name, folder):
    with contextlib.suppress(OSError):
        return bool(os.stat(name, dir_fd=folder))  # os.access takes no dir_fd in a browser page
    return False


def _looked_into(name, above):
    """`name`, if it is a folder: what opening it says elsewhere."""
    found = os.lstat(name)
    if not stat.S_ISDIR(found.st_mode) or (above and is_junction(found)):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
    return name


@contextlib.contextmanager
def leaving(folder: Any) -> Iterator[Any]:
    """`with leaving(folder):` closes the open folder in the end."""
    try:
        yield folder
    finally:
        if not ON_WINDOWS:
            os.close(folder)


def open_file(folder: int | None, name: str, p: object, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the regular file `name`. Looks before it opens, because opening a device can set it off."""
    _plain(os.stat(name, dir_fd=folder, follow_symlinks=False), p)
    descriptor = os.open(name, flags | NOFOLLOW, dir_fd=folder)
    try:
        _plain(os.fstat(descriptor), p)  # and again: it may have been swapped
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _plain(found, p):
    if not stat.S_ISREG(found.st_mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
        kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
        raise ToolError(f"{p!r} is {kind}, not a file" + "; glob lists what is in it" * (kind == "a directory"))
    if is_kept(found):
        raise ToolError(KEPT.format(p))


def locked(folder) -> contextlib.AbstractContextManager:
    """One change at a time in this folder, so that no edit is lost: of threads and processes, if they lock it too.

    Where there is no such lock (Windows, a browser page, some network disks) it is one of the threads of this process
    alone.
    """
    deadline = time.monotonic() + LOCK_SECONDS
    while hasattr(fcntl, "flock"):  # a browser page has the module without it
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return contextlib.nullcontext()  # the lock ends when the descriptor is closed
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ToolError("another program keeps the folder locked; nothing was changed, try again") from None
            time.sleep(0.005)
        except OSError:  # a file system without locks
            break
    return _one_at_a_time


def replace(folder, name, data, p, seen=None) -> list[str]:
    """Put `data` in the place of the file at once, or leave the old one whole: a draft beside it takes its name.

    Mode and owner stay. Where a draft cannot take the name, or cannot get the owner, the file itself is written; the
    notes that are returned say so. `seen` is the os.stat_result of what the data was made from: if the file is another
    one by now, ToolError.
    """
    try:
        descriptor = open_file(folder, name, p, os.O_WRONLY)  # a read-only file refuses here
        old = os.fstat(descriptor)
        os.close(descriptor)
    except FileNotFoundError:
        old = None
        _refuse_kept_place(folder, name, p)
    try:
        _rename_draft(folder, name, data, p, old, seen)
    except OSError as error:
        if old is None or error.errno not in IN_PLACE:
            raise
        _overwrite(folder, name, data, p, seen or old)
        return [f"written into the file itself, because a new one could not replace it: {error.strerror}"]
    return []


def _refuse_kept_place(folder, name, p):
    """ToolError if the file of a key, which is missing, belongs here."""
    if is_kept_name(os.stat(os.path.dirname(name) or ".", dir_fd=folder), os.path.basename(name)):
        raise ToolError(KEPT.format(p))


def _rename_draft(folder, name, data, p, old, seen):
    draft = os.path.join(os.path.dirname(name), f".draft-{token_hex(8)}")
    mode = 0o600 if old else 0o666  # nobody else reads it before it has the mode of the old file
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            new = os.fstat(descriptor)
            if old and not ON_WINDOWS and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
                os.fchown(descriptor, old.st_uid, old.st_gid)  # only root may give files away
            if old and not ON_WINDOWS and new.st_mode != old.st_mode:  # some disks know one mode only
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        if seen:
            _refuse_changed(seen, os.stat(name, dir_fd=folder, follow_symlinks=False), p)
        _take_name(draft, name, folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def _take_name(draft, name, folder):
    for seconds in SOON if ON_WINDOWS else ():
        with contextlib.suppress(PermissionError):
            os.replace(draft, name)
            return
        time.sleep(seconds)
    os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def _overwrite(folder, name, data, p, expected):
    """Write into the file itself, which keeps all that it is but its bytes. Whatever goes wrong, the old bytes return.

    Only a kill in the middle leaves a mixture. The system takes set-uid and set-gid away, as from each file that
    somebody else than root writes to.
    """
    with open(open_file(folder, name, p, os.O_RDWR), "r+b", buffering=0) as file:
        _refuse_changed(expected, os.fstat(file.fileno()), p)
        if expected.st_size > MAX_OVERWRITTEN_BYTES:
            raise ToolError(f"{p!r} cannot be replaced, and is too big to be written in place; use bash")
        before = file.read()
        try:
            _write_all(file, data)
        except BaseException:
            _write_all(file, before)
            raise


def _write_all(file, data):
    file.seek(0)
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate(len(data))


def _refuse_changed(before, now, p):
    before, now = ((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) for found in (before, now))
    if before != now:
        raise ToolError(f"{p!r} was changed by another program in the meantime; read it again")
