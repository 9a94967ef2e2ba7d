"""The teacher's board: who has solved what, and who is stuck, as one page that refreshes itself.

It reads the progress files in a folder of homes (--homes, as `room hub` makes one), and takes what learners send who
ran `check.share(ADDRESS, "their name")`. Nothing is stored or sent on. Left out: who a learner really is.
The page is board.html: it asks for the rows and draws them.
"""

import base64
import contextlib
import dataclasses
import hashlib
import hmac
import os
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs

from ...calls.results import ToolError
from ...workspace import opened, within
from ..api.server import ApiError, Response, in_one_piece
from ..check import COUNTED
from ..check.record import FILE, Tried, read
from ..client.faults import printable
from . import door

STUCK_TRIES, STUCK_SECONDS = 3, 180  # who tried so often, and began so long ago, without success, is stuck,
AWAY_SECONDS = 3600  # unless nothing was tried for so long
MOST_LEARNERS, LONGEST_NAME, MOST_TRIES = 200, 40, 999
MOST_OF_A_FILE = 200_000  # bytes
NAMES = [name for names in COUNTED.values() for name in names]
PAGE = (Path(__file__).parent / "board.html").read_text(encoding="utf-8")


def _own(tag: str) -> str:
    """The page's own style or script, as a policy names it."""
    text = PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = f"default-src 'none'; style-src {_own('style')}; script-src {_own('script')}; connect-src 'self'; "
POLICY += "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {"content-security-policy": POLICY, "cache-control": "no-store", "referrer-policy": "no-referrer"}


@dataclasses.dataclass(frozen=True)
class Row:
    """What is known of one learner. The exercise that they worked on last is the last one."""

    name: str
    heard: float  # when the last thing was heard
    exercises: dict[str, Tried]

    def stuck(self, now: float) -> tuple[str, float]:
        """The exercise at which this learner is stuck, and for how many seconds. Else ("", 0)."""
        name, one = next(reversed(self.exercises.items()), ("", Tried(done=True)))
        is_stuck = not one.done and one.tries >= STUCK_TRIES and now - one.first >= STUCK_SECONDS
        return (name, now - one.first) if is_stuck and now - one.last <= AWAY_SECONDS else ("", 0)


class Handler(door.Handler):
    server: "Board"
    most_bytes = 20_000

    def _answer(self):
        path, _, query = self.path.partition("?")
        self.body = self._read_body()
        if self.command == "POST":
            if not hmac.compare_digest(path.strip("/").encode(), self.server.word.encode()):
                raise ApiError(403, "The address does not end in the room's word.")
            return in_one_piece(200, {"said": self.server.take(self._json())}, {})
        if self.command not in ("GET", "HEAD"):
            raise ApiError(405, "Method Not Allowed")
        token = parse_qs(query).get("token", [""])[0]
        if path not in ("/", "/rows") or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise ApiError(403, "The board is opened by the address that was printed where it was started.")
        if path == "/rows":
            return in_one_piece(200, self.server.told(), HEADERS)
        return Response(200, HEADERS | {"content-type": "text/html; charset=utf-8"}, [PAGE.encode()])


class Board(door.server.Server):
    """The board in a thread of this process."""

    handler = Handler

    def __init__(self, ip: str = door.server.HOST, port: int = 0, homes: Path | None = None) -> None:
        super().__init__(None, host=ip, port=port)
        self.word, self.token, self.homes = door.word(), door.word(6), homes
        self.at = door.address(ip, self.server_address[1])
        self.line = f'check.share("{self.at}/{self.word}", name="YOUR NAME")'  # what a learner runs to be on it
        self.posted: dict[str, Row] = {}

    def take(self, told: dict) -> str:
        """Take what a learner sends. Returns the answer."""
        name, exercises = told.get("name"), told.get("exercises")
        if not isinstance(name, str) or not (name := printable(" ".join(name.split()))[:LONGEST_NAME]):
            raise ApiError(400, "name: a string of 1 to 40 characters is needed")
        if not isinstance(exercises, dict):
            raise ApiError(400, "exercises: an object with the names of exercises is needed")
        if name not in self.posted and len(self.posted) >= MOST_LEARNERS:
            raise ApiError(429, "The board is full.", headers={"x-should-retry": "false"})
        now, ours = time.time(), {}
        for key, one in exercises.items():
            if key in NAMES and isinstance(one, dict):
                first, last = (int(now) - _number(one.get(at), 10**9) for at in ("first", "last"))
                ours[key] = Tried(one.get("done") is True, _number(one.get("tries"), MOST_TRIES), first, last)
        self.posted[name] = Row(name, now, ours)
        return f"The board knows {name}: {sum(one.done for one in ours.values())} solved."

    def told(self) -> dict:
        """What the page draws. Who is stuck comes first, the longest at the top, then all by name."""
        now, rows = time.time(), [*self.posted.copy().values(), *_at_home(self.homes)]
        rows.sort(key=lambda row: (-row.stuck(now)[1], row.name.casefold()))
        drawn = [{**dataclasses.asdict(row), "stuck": row.stuck(now)} for row in rows]
        return {"now": now, "line": self.line, "books": [*COUNTED.items()], "rows": drawn}


def _at_home(homes: Path | None) -> list[Row]:
    """A row for each folder in `homes` with a progress file. Its owner may have made it anything: a link, a pipe."""
    rows = []
    for home in homes.glob("*") if homes else ():
        with contextlib.suppress(ToolError), within(home), opened(f"notebooks/{FILE}") as file:
            tried = read(file.read(MOST_OF_A_FILE).decode("utf-8", "replace"))
            known = {name: one for name, one in tried.items() if name in NAMES}
            rows.append(Row(printable(home.name)[:LONGEST_NAME], os.fstat(file.fileno()).st_mtime, known))
    return rows


def _number(value: object, most: int) -> int:
    return min(max(value, 0), most) if type(value) is int else 0


def main(argv: Sequence[str] | None = None) -> int | str:
    """Serve until Ctrl-C. Returns an exit status, or a sentence about what stands in the way."""
    parser = door.parser("board", __doc__, 8123)
    parser.add_argument("--homes", type=Path, metavar="DIR", help="the homes of a hub, such as .hub/homes")
    given = parser.parse_args(argv)
    if given.homes and not given.homes.is_dir():
        return f"--homes names no folder: {given.homes}. Give the folder with the homes, such as .hub/homes."
    try:
        board = Board(given.ip, given.port, given.homes)
    except (OSError, OverflowError) as error:
        return door.cannot_listen(given, error)
    closed = [home for home in given.homes.glob("*") if not os.access(home, os.X_OK)] if given.homes else []
    lines = [
        f"Your page, for you alone:  {board.at}/?token={board.token}",
        f"Who wants to be on it runs in a notebook:  {board.line}",
        f"or writes into .env:  BOARD={board.at}/{board.word}  and  NAME=YOUR NAME",
        *[f"{len(closed)} homes cannot be read: start the board as the user who runs the hub."] * bool(closed),
        f"{door.who_can_come(given.ip)} Ctrl-C ends it.",
    ]
    door.serve(board, lines)
    return 0
