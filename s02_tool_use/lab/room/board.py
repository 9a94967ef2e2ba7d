"""The teacher's board: who has solved what, and who is stuck, as one page that refreshes itself.

It reads the progress files in a folder of homes (--homes, as `room hub` makes one), and takes what learners send who
ran `check.share(ADDRESS, "their name")`. Nothing is stored or sent on. Left out: who a learner really is.
"""

import contextlib
import hmac
import html
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs

from ...files.opening import NOFOLLOW
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
PAGE = PAGE.replace("STUCK_TRIES", str(STUCK_TRIES)).replace("STUCK_MINUTES", str(STUCK_SECONDS // 60))
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": f"{POLICY}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
}


class Row(NamedTuple):
    """What is known of one learner. The exercise that they worked on last is the last one."""

    name: str
    heard: float  # when the last thing was heard
    exercises: Mapping[str, Tried]

    def stuck(self, now: float) -> str:
        """The exercise at which this learner is stuck, or ""."""
        name, one = next(reversed([*self.exercises.items()]), ("", Tried(done=True)))
        is_stuck = not one.done and one.tries >= STUCK_TRIES and now - one.first >= STUCK_SECONDS
        return name if is_stuck and now - one.last <= AWAY_SECONDS else ""


class Handler(door.Handler):
    server: "Board"
    most_bytes = 20_000

    def _answer(self):
        path, _, query = self.path.partition("?")
        self.body = self._read_body()
        if self.command == "POST":
            if not hmac.compare_digest(path.strip("/").encode(), self.server.word.encode()):
                raise ApiError(403, "The address does not end in the room's word: copy it again.")
            return in_one_piece(200, {"said": self.server.take(self._json())}, {})
        if self.command not in ("GET", "HEAD"):
            raise ApiError(405, "Method Not Allowed")
        token = parse_qs(query).get("token", [""])[0]
        if path != "/" or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise ApiError(403, "The board is opened by the address that was printed where it was started.")
        data = PAGE.replace("<main></main>", self.server.drawn()).encode()
        return Response(200, {**HEADERS, "content-length": len(data)}, [data])


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

    def rows(self, now: float) -> list[Row]:
        """All learners: who is stuck first, the longest at the top, then by name."""

        def place(row):
            stuck = row.stuck(now)
            return not stuck, row.exercises[stuck].first if stuck else 0, row.name.casefold()

        return sorted([*self.posted.copy().values(), *_at_home(self.homes)], key=place)

    def drawn(self) -> str:
        """The part of the page that changes."""
        now = time.time()
        rows = self.rows(now)
        seen = {name for row in rows for name in row.exercises}
        books = {book: names for book, names in COUNTED.items() if seen & set(names)}
        stuck = [
            f"<li><b>{_escaped(row.name)}</b> at {name}: {row.exercises[name].tries} tries, "
            f"{_minutes(now - row.exercises[name].first)}</li>"
            for row in rows
            if (name := row.stuck(now))
        ]
        said = f"<h2>Stuck: {len(stuck)}</h2><ul>{''.join(stuck)}</ul>" if stuck else "<h2>Nobody is stuck</h2>"
        heads = "".join(f'<th scope="colgroup" colspan="{len(names)}">{book}</th>' for book, names in books.items())
        columns = [(name, number == 0) for names in books.values() for number, name in enumerate(names)]
        names = "".join(f'<th scope="col" class="{"new" * new}"><span>{name}</span></th>' for name, new in columns)
        lines = "".join(
            f'<tr><th scope="row">{_escaped(row.name)}</th>{"".join(_cell(row, *column, now) for column in columns)}'
            f"<td>{sum(one.done for one in row.exercises.values())} of {len(NAMES)}</td>"
            f"<td>{_minutes(now - row.heard)} ago</td></tr>"
            for row in rows
        )
        who = f"{len(rows)} learner{'s' * (len(rows) != 1)}"
        table = (
            f'<div class="wide" tabindex="0" role="region" aria-label="Learners and exercises"><table>'
            f'<thead><tr><th rowspan="2" scope="col">{who}</th>{heads}<th rowspan="2" scope="col">solved'
            f'</th><th rowspan="2" scope="col">last check</th></tr><tr>{names}</tr></thead>'
            f"<tbody>{lines}</tbody></table></div>"
        )
        clock = time.strftime("%H:%M:%S", time.localtime(now))
        empty = "<p>Nobody has solved or tried an exercise yet.</p>"
        line = html.escape(self.line)
        last = f"<p>As of <time>{clock}</time>. Who wants to be on it runs <code>{line}</code></p>"
        return f"<main>{said}{table if rows else empty}{last}</main>"


def _at_home(homes: Path | None) -> Iterator[Row]:
    """A row for each folder in `homes` that holds a progress file."""
    for home in sorted(homes.glob("*")) if homes else ():
        with contextlib.suppress(OSError), open(home / "notebooks" / FILE, "rb", opener=_opened) as file:
            about = os.fstat(file.fileno())
            if stat.S_ISREG(about.st_mode):
                lines = file.read(MOST_OF_A_FILE).decode("utf-8", "replace")
                found = {name: one for name, one in read(lines).items() if name in NAMES}
                yield Row(printable(home.name)[:LONGEST_NAME], about.st_mtime, found)


def _opened(path: str, flags: int) -> int:
    """Its owner may have made it anything: a link, a pipe."""
    return os.open(path, flags | NOFOLLOW)


def _number(value: object, most: int) -> int:
    return min(max(value, 0), most) if type(value) is int else 0


def _cell(row: Row, name: str, new: bool, now: float) -> str:
    one = row.exercises.get(name)
    kind, sign, said = "none", "", "not tried"
    if one and one.done:
        kind, sign, said = "done", "✓", "solved" + (f", tried {_times(one.tries)} before" if one.tries else "")
    elif one and one.tries:
        is_stuck = row.stuck(now) == name
        kind, sign = ("stuck", "!") if is_stuck else ("tried", "")
        said = f"{'stuck, ' * is_stuck}tried {_times(one.tries)}"
    shown = f"{sign} {one.tries if one and one.tries else ''}".strip()
    title = f' title="{said}"' if sign or shown else ""
    return (
        f'<td class="{kind}{" new" * new}"{title}><span aria-hidden="true">{shown}</span>'
        f'<span class="said">{said}</span></td>'
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _minutes(seconds: float) -> str:
    minutes = max(int(seconds // 60), 0)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h"


def _escaped(name: str) -> str:
    return f"<bdi>{html.escape(name)}</bdi>"


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
