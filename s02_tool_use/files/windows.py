"""What Windows makes of names that look harmless: drives, devices, streams, short names.

Plain text work on PureWindowsPath, so that it can be tested anywhere; nothing here was ever run on Windows.
"""

import re
from pathlib import PureWindowsPath

from ..calls.results import ToolError

_DIGITS = "0123456789¹²³"  # COM¹ is a device too (CVE-2024-51756)
DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | {f"{d}{n}" for d in ("COM", "LPT") for n in _DIGITS}


def windows_parts(name: str, root) -> list:
    """The steps from `root` to `name`, without '..'; ToolError if they leave the root or a name is not plain."""
    path, steps = PureWindowsPath(name), []
    try:
        if path.anchor:  # C:\x, C:x, \x, \\server\share, \\?\C:\x
            path = path.relative_to(root)
        for part in path.parts:
            steps.append(part) if part != ".." else steps.pop()
    except (ValueError, IndexError):
        raise ToolError(f"{name!r} leads outside the workspace; give a path relative to the workspace") from None
    for part in path.parts:
        if part != ".." and (fault := _fault(part)):
            raise ToolError(f"{name!r}: {part!r} {fault}; use a plain name")
    return steps


def _fault(part):
    if part.split(".")[0].rstrip().upper() in DEVICES:
        return "is the name of a device"
    if part != part.rstrip(". "):
        return "ends in a dot or a space, which Windows drops"
    if re.search(r"~\d", part):
        return "may be the short name of another file"
    if re.search(r'[\x00-\x1f<>:"|?*]', part):  # the colon opens a second stream of the file
        return "holds a character that Windows keeps for itself"
    return None
