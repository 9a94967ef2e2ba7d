"""What Windows makes of names that look harmless: drives, devices, streams, short names.

Plain text work on PureWindowsPath, so that it can be tested anywhere; nothing here was ever run on Windows.
"""

import re
from pathlib import PureWindowsPath

_DIGITS = "0123456789¹²³"  # COM¹ is a device too (CVE-2024-51756)
DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"} | {f"{d}{n}" for d in ("COM", "LPT") for n in _DIGITS}


def windows_parts(name: str, root) -> list:
    """The steps from `root` to `name`, without '..'; ValueError if they leave the root or a name is not plain."""
    path = PureWindowsPath(name)
    if path.drive or path.root:  # C:\x, C:x, \x, \\server\share, \\?\C:\x
        try:
            path = path.relative_to(PureWindowsPath(root))
        except ValueError:
            raise ValueError(f"{name!r} leads outside the workspace; give a path relative to the workspace") from None
    steps = []
    for part in path.parts:
        if part != "..":
            if fault := _fault(part):
                raise ValueError(f"{name!r}: {part!r} {fault}; use a plain name")
            steps.append(part)
        elif steps:
            steps.pop()
        else:
            raise ValueError(f"{name!r} leads outside the workspace; give a path relative to the workspace")
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
