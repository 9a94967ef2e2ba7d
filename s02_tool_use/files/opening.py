"""One file in an open folder: opened without surprises, replaced in one step.

Left out: ACLs and extended attributes, which a replaced file loses; hard links, whose other name keeps the old bytes;
and the draft that a kill in the middle leaves behind.
"""

import contextlib
import errno
import os
import secrets
import stat
import threading
import time

from ..calls.results import ToolError

try:
    import fcntl
except ImportError:  # Windows: no lock between processes
    fcntl = None

# 0 where the system lacks the flag. NONBLOCK: opening a pipe would wait for somebody at its other end.
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW

LOCK_SECONDS = 10  # longer than any edit takes; then somebody else holds the folder for ever

_one_at_a_time = threading.Lock()


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


def open_file(folder, name, p, flags=os.O_RDONLY) -> int:
    """A descriptor of the regular file `name`. Looks before it opens, because opening a device can set it off."""
    _plain(os.stat(name, dir_fd=folder, follow_symlinks=False), p)
    descriptor = os.open(name, flags | NOFOLLOW, dir_fd=folder)
    try:
        _plain(os.fstat(descriptor), p)  # and again: it may have been swapped
    except ToolError:
        os.close(descriptor)
        raise
    return descriptor


def _plain(found, p):
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
    kind = kinds.get(stat.S_IFMT(found.st_mode), "a device")
    raise ToolError(f"{p!r} is {kind}, not a file" + ("; glob lists what is in it" * (kind == "a directory")))


@contextlib.contextmanager
def locked(folder):
    """One change at a time in this process, and in this folder across processes, so that no edit is lost."""
    with _one_at_a_time:
        deadline = time.monotonic() + LOCK_SECONDS
        while fcntl and folder is not None:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends when folder_of closes the descriptor
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ToolError("another process keeps the folder locked; nothing was changed") from None
                time.sleep(0.005)
            except OSError:  # a file system without locks
                break
        yield


def replace(folder, name, data, p, seen=None):
    """Put `data` in the place of the file at once, or leave the old one whole: a draft beside it takes its name.

    Mode and owner stay. `seen` is the os.stat_result of what the data was made from: if the file is another one by
    now, ToolError.
    """
    old = None
    with contextlib.suppress(FileNotFoundError):
        descriptor = open_file(folder, name, p, os.O_WRONLY)  # a read-only file refuses here
        old = os.fstat(descriptor)
        os.close(descriptor)
    draft = os.path.join(os.path.dirname(name), f".draft-{secrets.token_hex(8)}")
    mode = 0o600 if old else 0o666  # nobody else reads it before it has the mode of the old file
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, mode, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)  # else a power cut may leave the new name on an empty file
            if old:
                _take_after(descriptor, old)
        if seen and _identity(seen) != _identity(os.stat(name, dir_fd=folder, follow_symlinks=False)):
            raise ToolError(f"{p!r} was changed by somebody else meanwhile; read it again")
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def _take_after(descriptor, old):
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):  # only root may give files away
            os.fchown(descriptor, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod") and os.fstat(descriptor).st_mode != old.st_mode:  # some disks know one mode only
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _identity(found):
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
