"""The four file tools: read, write, edit, glob. Each takes what a model sent and returns text, or raises ToolError."""

import fnmatch
import os
import secrets
import stat

from s02_tool_use.workspace import ToolError, open_file, open_folder, safe_path, told, workdir

MAX_SHOWN = 50_000  # bytes of a file that a model gets to see at once
MAX_MATCHES = 500


def run_read(path: str, limit: int | None = None, offset: int | None = None) -> str:
    """The text of a file: at most `limit` lines, from byte `offset` on. Says so when it cut."""
    start = offset or 0
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ToolError("limit must be a whole number, 1 or more")
    target = safe_path(path)
    with told(path), open_folder(target) as (folder, name):
        with open(open_file(folder, name, path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(start)
            raw = file.read(MAX_SHOWN)
    if limit is not None:
        raw = (
            b"".join(raw.splitlines(keepends=True)[:limit])
            if b"\r" not in raw
            else b"\n".join(raw.split(b"\n")[:limit]) + b"\n"
        )
    if b"\0" in raw:
        raise ToolError(f"{path!r} is binary")
    text = raw.decode(errors="backslashreplace").removeprefix("\ufeff")
    end = start + len(raw)
    if end < size:
        text += f"\n[bytes {start} to {end} of {size} shown; read on with offset={end}]"
    return text


def run_write(path: str, content: str) -> str:
    """Write `content` to a file, replacing what was there; missing folders are made. Says how many bytes."""
    data = _encoded(content, "content")
    target = safe_path(path)
    with told(path), open_folder(target, create=True) as (folder, name):
        _replace(folder, name, data, path)
    return f"Wrote {len(data)} bytes to {path}"


def run_edit(path: str, old_text: str, new_text: str, replace_all: bool = False) -> str:
    """Replace old_text, which must occur exactly once (or with replace_all: everywhere), by new_text."""
    old, new = _encoded(old_text, "old_text"), _encoded(new_text, "new_text")
    if not old or old == new:
        raise ToolError("old_text is empty" if not old else "old_text and new_text are equal: nothing to do")
    target = safe_path(path)
    with told(path), open_folder(target) as (folder, name):
        with open(open_file(folder, name, path), "rb") as file:
            raw = file.read()
        found = raw.count(old)
        if not found:
            raise ToolError(f"old_text is not in {path!r}; read the file and copy the text exactly")
        if found > 1 and not replace_all:
            raise ToolError(f"old_text is {found} times in {path!r}; add lines around it, or use replace_all")
        _replace(folder, name, raw.replace(old, new), path)
    return f"Edited {path}: {found} place{'s' * (found > 1)}"


def run_glob(pattern: str) -> str:
    """The names that match `pattern`, one a line, sorted, relative to the workspace; ** means any folders."""
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ToolError("the pattern leads outside the workspace; make it relative, without '..'")
    root, found = workdir(), []
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(".") and not os.path.islink(os.path.join(folder, f))]
        for name in files + folders:
            relative = os.path.relpath(os.path.join(folder, name), root)
            if _matches(relative.split("/"), [p for p in pattern.split("/") if p]):
                found.append(relative)
    found.sort()
    if not found:
        return f"No matches for {pattern}"
    more = f"\n[{MAX_MATCHES} of {len(found)} shown]" if len(found) > MAX_MATCHES else ""
    return "\n".join(found[:MAX_MATCHES]) + more


def _matches(parts, pattern):
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or bool(parts and _matches(parts[1:], pattern))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _encoded(text, name):
    if not isinstance(text, str):
        raise ToolError(f"{name} must be text")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{name} holds half of a surrogate pair, which cannot be written; send it again") from None


def _replace(folder, name, data, path):
    """Put `data` in the place of the file in one step, so that the old one stays whole if anything goes wrong."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            raise ToolError(f"{path!r} is not a regular file")
    except FileNotFoundError:
        mode = None
    draft = os.path.join(os.path.dirname(name), f".{secrets.token_hex(8)}.tmp")
    with open(draft, "xb", opener=lambda p, flags: os.open(p, flags, 0o666, dir_fd=folder)) as file:
        try:
            file.write(data)
            file.flush()
            if mode is not None:
                os.chmod(file.fileno() if folder is not None else draft, stat.S_IMODE(mode))
        except BaseException:
            os.unlink(draft, dir_fd=folder)
            raise
    os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
