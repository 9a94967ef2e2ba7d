"""One file in an open folder: opened without surprises, replaced in one step.

Left out: ACLs and extended attributes, which a replaced file loses; hard links, whose other name keeps the old bytes;
the draft that a kill in the middle leaves behind; and a power cut, for which each write would wait for the disk.
"""

import contextlib
import errno
import os
import stat
import threading
import time
from secrets import token_hex

from ..calls.results import ToolError
from ..calls.secrets import is_kept, is_kept_name

try:
    import fcntl
except ImportError:  # Windows: no lock between processes
    fcntl = None  # type: ignore[assignment]

# 0 where the system lacks the flag. NONBLOCK: opening a pipe would wait for somebody at its other end.
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW

MAX_OVERWRITTEN_BYTES = 200_000_000  # bytes that are held in memory, to bring them back
LOCK_SECONDS = 10  # longer than any edit takes; then somebody else holds the folder for ever

# What the system says where a draft cannot be made or take the name: a folder that is read-only or not one's own, a
# file that is a mount point, an owner or group that only root can give.
IN_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.EINVAL}

KEPT = "{!r} is the file that the API key was read from: no tool may read or change it; go on without it"
CHANGED = "{!r} was changed by somebody else meanwhile; read it again"

_one_at_a_time = threading.Lock()


def windows_folder(folder, create) -> str:
    """The folder as a path: Windows has no descriptors of folders."""
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


@contextlib.contextmanager
def tool_errors_for(p):
    """Turns the system's errors about the path `p` into ToolErrors that say what to do."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"{p!r} does not exist; glob shows what there is") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ToolError(f"{p!r} was changed while it was being opened; try again") from None
        raise ToolError(f"{p!r}: {error.strerror or error}; nothing was changed") from None


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
    if stat.S_ISREG(found.st_mode):
        if is_kept(found):
            raise ToolError(KEPT.format(p))
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
    kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
    raise ToolError(f"{p!r} is {kind}, not a file" + ("; glob lists what is in it" * (kind == "a directory")))


@contextlib.contextmanager
def locked(folder):
    """One change at a time in this folder, so that no edit is lost: of threads and processes, if they lock it too.

    Where there is no such lock (Windows, some network disks) it is one of the threads of this process alone.
    """
    deadline = time.monotonic() + LOCK_SECONDS
    while not (among_all := _try_lock(folder)) and among_all is not None:
        if time.monotonic() > deadline:
            raise ToolError("somebody else keeps the folder locked; nothing was changed, try again")
        time.sleep(0.005)
    with contextlib.nullcontext() if among_all else _one_at_a_time:
        yield


def _try_lock(folder):
    """Whether the folder is locked now; None if it cannot be. It ends when opened_parent closes the descriptor."""
    if fcntl is None or folder is None:
        return None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def replace(folder, name, data, p, seen=None) -> list[str]:
    """Put `data` in the place of the file at once, or leave the old one whole: a draft beside it takes its name.

    Mode and owner stay. Where a draft cannot take the name, or cannot get the owner, the file itself is written; the
    notes that are returned say so. `seen` is the os.stat_result of what the data was made from: if the file is another
    one by now, ToolError.
    """
    old = None
    try:
        descriptor = open_file(folder, name, p, os.O_WRONLY)  # a read-only file refuses here
        old = os.fstat(descriptor)
        os.close(descriptor)
    except FileNotFoundError:
        parent = os.stat(os.path.dirname(name)) if folder is None else os.fstat(folder)
        if is_kept_name(parent, os.path.basename(name)):
            raise ToolError(KEPT.format(p)) from None
    try:
        _rename_draft(folder, name, data, p, old, seen)
    except OSError as error:
        if old is None or error.errno not in IN_PLACE:
            raise
        _overwrite(folder, name, data, p, seen or old)
        return [f"written into the file itself, for a new one could not take its place: {error.strerror}"]
    return []


def _rename_draft(folder, name, data, p, old, seen):
    draft = os.path.join(os.path.dirname(name), f".draft-{token_hex(8)}")
    mode = 0o600 if old else 0o666  # nobody else reads it before it has the mode of the old file
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if old:
                _take_after(descriptor, old)
        if seen and _identity(seen) != _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)):
            raise ToolError(CHANGED.format(p))
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def _take_after(descriptor, old):
    new = os.fstat(descriptor)
    if hasattr(os, "fchown") and (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(descriptor, old.st_uid, old.st_gid)  # only root may give files away
    if hasattr(os, "fchmod") and os.fstat(descriptor).st_mode != old.st_mode:  # some disks know one mode only
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _overwrite(folder, name, data, p, expected):
    """Write into the file itself, which keeps all that it is but its bytes. Whatever goes wrong, the old bytes return.

    Only a kill in the middle leaves a mixture. The system takes set-uid and set-gid away, as from each file that
    somebody else than root writes to.
    """
    with open(open_file(folder, name, p, os.O_RDWR), "r+b", buffering=0) as file:
        if _identity(os.fstat(file.fileno())) != _identity(expected):
            raise ToolError(CHANGED.format(p))
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


def _identity(found):
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
