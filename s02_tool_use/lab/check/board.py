"""The teacher's board: which exercises are done and tried goes there, if the reader asks for it. Else nothing is sent.

`check.share(address, name)` asks for it, or BOARD and NAME in .env. What goes: the name, and for each exercise whether
it is done, how often it was tried, and how long ago. It goes in a thread: a board that does not answer costs a check
no time, and is mentioned once. Left out: a course that runs in a browser page, which reaches no board.
"""

import contextlib
import http.client
import json
import os
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import s02_tool_use

from ..client import settings
from ..client.faults import printable
from . import record

FILE = ".board"  # beside the notebooks, so that all of them tell; git ignores it
LONGEST_NAME = 40
WAIT_SECONDS = 5.0
TOLD = "your name, and for each exercise: whether it is solved, how often you tried, and since when"


class Board:
    """Where the board is, and as whom it is told."""

    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.host = settings.host_of(address)
        self.failed = ""  # what was wrong the last time
        self._said = self._busy = False
        self._next: bytes | None = None
        self._lock = threading.Lock()

    def tell(self) -> None:
        """Send what is recorded now, in a thread. Says once that it did not work the last time."""
        if self.failed and not self._said:
            self._said = True
            print(f"The board does not know: {self.failed} Your checks work without it; check.share(None) ends it.")
        with self._lock:
            self._next = _body(self.name)
            if self._busy:
                return
            self._busy = True
        threading.Thread(target=self._work, name="board", daemon=True).start()

    def _work(self):
        while True:
            with self._lock:
                body, self._next = self._next, None
                if body is None:
                    self._busy = False
                    return
            self.send(body)

    def send(self, body: bytes) -> str:
        """Send this and wait. Returns what the board says, or "" with the reason in `failed`. Raises nothing."""
        try:
            parts = urlsplit(self.address)
            kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
            connection = kind(parts.netloc.rpartition("@")[2], timeout=WAIT_SECONDS)  # by no proxy, and no redirect
            with contextlib.closing(connection):
                connection.request("POST", parts.path or "/", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                told = json.loads(answer.read(10_000))
                said = str(told.get("said") or told["error"]["message"])
        except (OSError, http.client.HTTPException):
            self.failed = f"nothing answers at {self.host}."
        except Exception:  # not the board: another server, with a page of its own
            self.failed = f"what answers at {self.host} is not a board."
        else:
            self.failed = "" if answer.status == 200 else printable(said)[:300]
            return printable(said)[:300] if answer.status == 200 else ""
        return ""


_board: Board | None = None
_looked = False  # whether the files were looked at


def share(address: str | None, name: str | None = None) -> None:
    """Tell the board at this address from now on, as `name`: all notebooks of this folder do. `share(None)` ends it."""
    global _board, _looked
    if s02_tool_use.IN_A_PAGE:
        print("Nothing is shared: a browser page reaches no board. Your progress stays in this browser.")
        return
    path = _path()
    if address is None:
        _board, _looked = None, True
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        print("Nothing is sent to a board any more.")
        return
    board = _made(address, name, "The address", "The name")
    said = board.send(_body(board.name))
    if not said:
        print(f"Nothing is shared: {board.failed} Copy the address again, or ask who gave it to you.")
        return
    _board, _looked = board, True
    if path is not None:
        with contextlib.suppress(OSError):  # then this notebook alone tells
            path.write_text(json.dumps({"BOARD": board.address, "NAME": board.name}), encoding="utf-8")
    print(f"{said} It is told {TOLD}. Nothing of your answers. check.share(None) ends it.")


def tell() -> None:
    """Tell the board what is recorded, if the reader asked for that in this notebook, another one, or .env."""
    global _board, _looked
    if not _looked:
        _looked = True
        try:
            _board = _asked_for()
        except settings.SettingsError as error:
            print(f"{error} Until then nothing is shared.")
    if _board is not None:
        _board.tell()


def _asked_for():
    path = _path()
    if path is None or s02_tool_use.IN_A_PAGE:
        return None
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        found = json.loads(path.read_text(encoding="utf-8"))
        return _made(found["BOARD"], found["NAME"], f"BOARD in {FILE}", f"NAME in {FILE}")
    if os.environ.get(settings.STAY_OFFLINE):
        return None
    try:
        found = settings.dotenv()
    except settings.SettingsError:  # connect() says it
        return None
    if not found.get("BOARD"):
        return None
    return _made(found["BOARD"], found.get("NAME"), "BOARD in .env", "NAME in .env")


def _made(address, name, address_is, name_is):
    if not isinstance(address, str) or not address.strip():
        raise settings.SettingsError(f"{address_is} is missing: it is a string, such as http://teacher:8123/word.")
    address = address.strip()
    if wrong := settings.wrong_address(address):
        raise settings.SettingsError(f"{address_is} {wrong}")
    if not isinstance(name, str) or not name.strip():
        raise settings.SettingsError(f'{name_is} is missing: say as whom the board is to know you, such as "Ada".')
    if len(name.strip()) > LONGEST_NAME:
        raise settings.SettingsError(f"{name_is} is too long: {LONGEST_NAME} characters are the most.")
    return Board(address, name.strip())


def _path():
    progress = record.where()
    return progress and Path(progress).with_name(FILE)


def _body(name):
    from . import COUNTED

    ours = {name for names in COUNTED.values() for name in names}
    now = time.time()
    told = {
        name: {"done": one.done, "tries": one.tries}
        | ({"first": max(int(now - one.first), 0), "last": max(int(now - one.last), 0)} if one.first else {})
        for name, one in record.tried().items()
        if name in ours
    }
    return json.dumps({"name": name, "exercises": told}).encode()
