"""What went over the wire of one client: its requests and the responses, as they were sent and received.

Each client of connect() has a Tap next to the network, below all that the lab does (live.py), so it hears what is
really sent. show_wire draws it. Left out: host names of this machine and headers about it, and who keeps a copy
(recording.py).
"""

import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...calls.secrets import CUT, cut, held
from .recording import WHOLE, decoded, tee
from .settings import host_of, is_local

KEPT_EXCHANGES, KEPT_BYTES = 50, 200_000  # the last ones since somebody looked, and so much of each body

# Headers of a request that say what machine and which SDK sent it, and how: another one for each reader.
_OF_THE_MACHINE = re.compile(
    "x-stainless-|(?:host|accept|accept-encoding|connection|user-agent|content-length|transfer-encoding)$"
)
_SECRET = re.compile("key|token|auth|secret|cookie")
_OF_THE_API = ("content-type", "request-id", "retry-after", "anthropic-version")  # of a response
OPEN = "still open"  # the state of an exchange that has not ended


class Body:
    """The first KEPT_BYTES of a body, as they came."""

    def __init__(self, data: bytes = b"") -> None:
        self.encoding = "identity"
        self._pieces: list[bytes] = []
        self._kept, self._more = 0, 0
        self.add(data)

    def add(self, piece: bytes) -> None:
        kept = piece[: KEPT_BYTES - self._kept]
        self._pieces.append(kept)
        self._kept += len(kept)
        self._more += len(piece) - len(kept)

    @property
    def text(self) -> str:
        """It without keys, and with no piece of one where it was cut off."""
        try:
            text = cut(decoded(self.encoding, self._pieces))
        except Exception:  # what is compressed may be unreadable without its end
            return f"({self._kept + self._more:,} bytes, compressed, that broke off)"
        return f"{text[: len(text) - held(text)]} ... {self._more:,} more bytes" if self._more else text


@dataclass
class Exchange:
    """One request and what came back."""

    line: str  # method and path
    headers: dict[str, str]
    sent: Body
    status: int | None = None
    got_headers: dict[str, str] = field(default_factory=dict)
    got: Body = field(default_factory=Body)
    state: str = OPEN  # or how it ended: see recording.tee, or the exception that came in place of a response


class Tap:
    """Hears what goes through the HTTP client that it stands before."""

    def __init__(self) -> None:
        self._heard: deque[Exchange] = deque()
        self._forgotten, self._lock = 0, threading.Lock()

    def take(self) -> tuple[list[Exchange], int]:
        """(what was heard since the last look, how many more are not kept). What is still open comes again."""
        with self._lock:
            heard, forgotten = list(self._heard), self._forgotten
            self._heard, self._forgotten = deque(one for one in heard if one.state == OPEN), 0
        return heard, forgotten

    def send(self, send: Callable, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Hear what `send`, a method of an httpx2 client, sends and gets. A stream still arrives piece by piece."""
        host = str(request.url)
        target = request.url.raw_path.decode("ascii", "replace")
        headers = {} if is_local(host) else {"host": host_of(host)}
        headers |= {name: _shown(name, value) for name, value in request.headers.items() if _is_told(name, value)}
        one = Exchange(cut(f"{request.method} {target}"), headers, Body(request.read()))
        with self._lock:
            if len(self._heard) == KEPT_EXCHANGES:
                self._heard.popleft()
                self._forgotten += 1
            self._heard.append(one)

        def ended(how):
            one.state = how

        try:
            response = send(request, stream=stream, **options)
        except BaseException as error:
            ended(type(error).__name__)
            raise
        one.got_headers = {name: cut(response.headers[name]) for name in _OF_THE_API if name in response.headers}
        one.status = response.status_code
        if stream:
            one.got.encoding = response.headers.get("content-encoding", "identity")
            response.stream = tee(response.stream, one.got.add, ended)
        else:
            one.got = Body(response.content)
            ended(WHOLE)
        return response


def _is_told(name, value):
    return not _OF_THE_MACHINE.match(name) or (name == "x-stainless-retry-count" and value != "0")


def _shown(name, value):
    return CUT if _SECRET.search(name) else cut(value)
