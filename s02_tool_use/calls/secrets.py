"""What no tool may give away: the file that a key was read from, and the key itself.

Who reads a key registers both here (lab/client/settings.py). The file tools refuse the file under any name, the sandbox
leaves it out, and run_tool cuts the key out of every result. Left out: what another process of the user's knows.
"""

import os
from pathlib import Path

CUT = "[the API key was cut out]"

_files: set[Path] = set()
_texts: set[str] = set()


def keep(file=None, texts=()) -> None:
    """From now on nothing is read from `file` or written to it by a tool, and no result holds one of `texts`."""
    if file is not None:
        _files.add(Path(os.path.abspath(file)))
    _texts.update(text for text in texts if text)


def files() -> list[Path]:
    """The files that are kept, as they were named; whether they still exist is not asked."""
    return sorted(_files)


def is_kept(found: os.stat_result) -> bool:
    """Whether this is a kept file, whatever name led to it: a link or a hard link is the same file."""
    for file in _files:
        try:
            if os.path.samestat(os.stat(file), found):
                return True
        except OSError:  # not there any more
            continue
    return False


def cut(text: str) -> str:
    """`text` with CUT in the place of each key."""
    for secret in sorted(_texts, key=len, reverse=True):  # a key may contain another
        text = text.replace(secret, CUT)
    return text
