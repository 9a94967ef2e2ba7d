"""What starts for a learner on the hub, with the learner's rights: copies of the notebooks, then their Jupyter server.

    python -m s02_tool_use.lab.room.seat FOLDER [arguments for the server]

A notebook that a learner has changed is never written again. One that is as it was handed out follows the folder.
"""

import contextlib
import hashlib
import json
import runpy
import sys
from pathlib import Path

from ..start import fast_imports, setup  # noqa: F401  (the slow import is kept out)

RECORD = ".handed-out.json"  # what was handed out: name -> its hash


def hand_out(home: Path, notebooks: Path) -> None:
    """Copy what is in `notebooks` where the home does not have it, or has what was handed out before."""
    record = home / RECORD
    try:
        given = dict(json.loads(record.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        given = {}
    for path in sorted(notebooks.rglob("*")):
        inside = path.relative_to(notebooks)
        if not path.is_file() or any(part.startswith(".") for part in inside.parts):
            continue
        target, name, data = home / "notebooks" / inside, inside.as_posix(), path.read_bytes()
        with contextlib.suppress(OSError):  # such as a folder in its place: the server starts all the same
            if not target.exists() or given.get(name) == digest(target.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
                given[name] = digest(data)
    with contextlib.suppress(OSError):
        record.write_text(json.dumps(given), "utf-8")
        (home / "s02_tool_use").symlink_to(setup.ROOT / "s02_tool_use")  # the notebooks link to the modules beside them


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    hand_out(Path.home(), Path(sys.argv.pop(1)))
    runpy.run_module("jupyterhub.singleuser", run_name="__main__", alter_sys=True)
