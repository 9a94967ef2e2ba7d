"""A path as text: what can be one, its steps as the system takes them, how it is shown."""

import ast
import contextlib
import ntpath
import os
import re
import unicodedata
from itertools import accumulate
from pathlib import Path, PureWindowsPath

from ..calls.results import ToolError

ON_WINDOWS = os.name == "nt"
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4095  # bytes, not characters: what common file systems take

SEPARATORS = rb"[\\/]" if ON_WINDOWS else rb"/"

# What would break a line of a list in two, or cannot be sent: control characters, and bytes that are not UTF-8.
UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
QUOTED = re.compile(  # as ascii() does
    r"""(['"])(?:(?!\1)[ -[\]-~]|\\(?:[\\'nrt]|x[\da-f]{2}|u[\da-f]{4}|U00(?:0[\da-f]|10)[\da-f]{4}))*\1"""
)

# What Windows makes of names that look harmless.
_DIGITS = "0123456789¹²³"  # COM¹ is a device too (CVE-2024-51756)
DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | {f"{d}{n}" for d in ("COM", "LPT") for n in _DIGITS}


def quoted(name: str) -> str:
    """`name` as it is, or quoted as Python does where it could not stand in one line of a result."""
    return ascii(name) if UNSHOWN.search(name) else name


def meant(p, safe_path):
    """`p`; or, if there is no file of that literal name, the one that glob shows quoted, as `p`."""

    def exists(path):
        try:
            return os.path.lexists(safe_path(path))
        except ToolError:
            return False

    name = ast.literal_eval(p) if isinstance(p, str) and QUOTED.fullmatch(p) else None
    return name if name and quoted(name) == p and exists(name) and not exists(p) else p


def spelled(path: Path) -> Path:
    """`path`; or, if nothing has that name, what is there under the same name in other code points.

    "é" is one code point in what is typed, and two in names that come from a Mac. macOS finds them in either form.
    """
    if path.name.isascii() or os.path.lexists(path):
        return path
    name = unicodedata.normalize("NFC", path.name)
    with contextlib.suppress(OSError):
        same = [found for found in os.listdir(path.parent) if unicodedata.normalize("NFC", found) == name]
        if len(same) == 1:
            return path.with_name(same[0])
    return path


def checked(p) -> str:
    """`p` as text for the file system. Nothing is stripped, decoded or expanded: '~', '%2e' and ' ..' are names."""
    try:
        name = os.fsdecode(p)
        raw = name.encode() if ON_WINDOWS else os.fsencode(name)  # Windows would take half a surrogate pair
    except (TypeError, UnicodeError):
        raise ToolError(f"{p!r} cannot be a path on this machine; give the path as a string") from None
    if not raw or b"\0" in raw:
        raise ToolError(f"the path {name!r} is empty or holds a NUL; give a path relative to the workspace")
    if len(raw) > MAX_PATH_BYTES or max(map(len, re.split(SEPARATORS, raw))) > MAX_NAME_BYTES:
        raise ToolError(f"the path is too long: {MAX_NAME_BYTES} bytes a name and {MAX_PATH_BYTES} in all are the most")
    return name


def steps(name, root, given) -> list:
    """The steps of a path, the last one first, as the kernel takes them; "/" is one if the path is absolute.

    `root` is the workspace, and `given` the same folder as its user named it: /tmp/x on a Mac is a link.
    """
    if ON_WINDOWS:
        return windows_parts(name, root, given)[::-1]
    parts = [part for part in name.split("/") if part]
    if name.endswith("/"):
        parts.append(".")  # 'a.txt/' asks for a folder
    if name.startswith("/"):
        parts.insert(0, "/")
        known = list(given.parts)
        if parts[: len(known)] == known:
            parts[: len(known)] = [str(root)]
    return parts[::-1]


def windows_parts(name: str, root, given=None) -> list:
    """The steps from `root` to `name`, '.' and '..' among them; ToolError if they leave it or a name is not plain.

    Plain work on text, so that it can be tested anywhere.
    """
    _, rest = ntpath.splitdrive(name)
    parts = [part for part in re.split(r"[\\/]", rest) if part]
    inside = True
    if anchor := PureWindowsPath(name).anchor:  # C:\x, C:x, \x, \\server\share, \\?\C:\x
        below = (folder for folder in (given, root) if folder and _lies_in(anchor, parts, folder))
        inside = (folder := next(below, None)) is not None
        parts = parts[len(PureWindowsPath(folder or "").parts) - 1 :]
    if rest.endswith(("\\", "/")):
        parts.append(".")  # 'a.txt/' asks for a folder
    levels = accumulate({".": 0, "..": -1}.get(part, 1) for part in parts)
    if not inside or min(levels, default=0) < 0:
        raise ToolError(f"{name!r} leads outside the workspace; give a path relative to the workspace")
    for part in parts:
        if part not in (".", "..") and (fault := _windows_fault(part)):
            raise ToolError(f"{name!r}: {part!r} {fault}; use a plain name")
    return parts


def _lies_in(anchor, parts, folder):
    folder = PureWindowsPath(folder)
    return PureWindowsPath(anchor, *parts[: len(folder.parts) - 1]) == folder


def _windows_fault(part):
    if part.split(".")[0].rstrip().upper() in DEVICES:
        return "is the name of a device"
    if part != part.rstrip(". "):
        return "ends in a dot or a space, which Windows drops"
    if re.search(r"~\d", part):
        return "may be the short name of another file"
    if re.search(r'[\x00-\x1f<>:"|?*]', part):  # the colon opens a second stream of the file
        return "holds a character that Windows keeps for itself"
    return None
