"""The Messages API on this machine: real HTTP on 127.0.0.1, so that any client can talk to it, without key or network.

A request is judged as the real API judges it (rules.py), an answerer (understudy/) says what to reply, wire.py gives
that its form. It runs no tool, writes no file, keeps no conversation. A browser page has no sockets: there the same
bytes go in and out in the same process, and only clients of connect() find it.
"""

import contextlib
import dataclasses
import io
import itertools
import json
import socket
import socketserver
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

import s02_tool_use

from ...calls.secrets import cut
from . import wire
from .rules import FIRST_PARTY, Profile, validate

HOST = "127.0.0.1"  # loopback only: no other machine can reach it
MAX_BODY_BYTES = 32 * 1024 * 1024  # the limit of the real API
MAX_DRAINED_BYTES = 4 * MAX_BODY_BYTES  # so much of a body that is too large is read and thrown away
LIMITS = {"requests": 1000, "input-tokens": 1_000_000, "output-tokens": 200_000, "tokens": 1_200_000}  # a minute
SILENCE_SECONDS = 300  # after which a connection that says nothing is closed
KEPT_EXCHANGES = 50  # can be looked at afterwards,
KEPT_BYTES = 200_000  # and so much of each body

# What a reply may hold. The second line are faults that a scenario asks for: understudy.Scripted explains them.
REPLY_KEYS = {"content", "stop_reason", "stop_details"}
REPLY_KEYS |= {"status", "message", "retry_after", "slow", "break_off", "hang_up", "stream_error"}


class ApiError(Exception):
    """A request that gets an error body: HTTP status, message, and what else its body or its headers hold."""

    def __init__(self, status, message, *, error_type=None, details=None, headers=()):
        super().__init__(message)
        self.status, self.message = status, message
        self.error_type, self.details, self.headers = error_type, details, dict(headers)


class Response(NamedTuple):
    """What is sent: the pieces of a body. `whole` is False if the connection breaks after them."""

    status: int | None  # None: the connection breaks at once
    headers: dict
    pieces: Iterable[bytes]
    whole: bool = True
    slow: float | None = None  # seconds to wait after each piece, which leaves at once; None: they may leave together


def in_one_piece(status: int, body: dict, headers: dict, *, half: bool = False) -> Response:
    """A body as JSON, or its first half after a length that promises more."""
    data = json.dumps(body, ensure_ascii=False).encode()
    headers = {"content-type": "application/json", "content-length": len(data), **headers}
    return Response(status, headers, [data[: len(data) // 2] if half else data], whole=not half)


def limits() -> dict:
    """The headers that tell a client how much it may still ask for. Nothing is limited here: all is left, now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {
        f"anthropic-ratelimit-{of}-{name}": value
        for of, most in LIMITS.items()
        for name, value in (("limit", most), ("remaining", most), ("reset", now))
    }


@dataclasses.dataclass
class Caller:
    """What the server knows of one client: who answers it, and what was said last."""

    answerer: Any
    cache: set[str] = dataclasses.field(default_factory=set)  # prefixes that were marked: wire.cache_usage
    exchanges: deque[dict] = dataclasses.field(default_factory=lambda: deque(maxlen=KEPT_EXCHANGES))
    numbers: Iterator[int] = dataclasses.field(default_factory=lambda: itertools.count(1))


class Handler(BaseHTTPRequestHandler):
    """One connection. A client sends its requests over it one after the other."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "s02-offline", ""
    disable_nagle_algorithm = True  # a small event would wait 40 ms for the acknowledgement of the one before it
    wbufsize = -1  # what is written leaves when it is flushed: head and body in one piece
    timeout = SILENCE_SECONDS
    called = "The offline server"
    most_bytes = MAX_BODY_BYTES

    def do_POST(self):
        """Read the request, judge it, answer it. Whatever goes wrong on the way becomes an error body."""
        self._begin()
        try:
            with contextlib.ExitStack() as self.ends:  # what an answer needs until it has left, or cannot leave
                self._send(self._answer())
        except ApiError as no:
            self._refuse(no)
        except OSError:  # the client hung up, or said nothing for SILENCE_SECONDS
            self.close_connection = True
        except Exception as bug:
            self._refuse(ApiError(500, f"{self.called} failed with {type(bug).__name__}: {bug}"))
        if self.unread:
            self._drain()

    do_GET = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_POST

    def _begin(self):
        self.caller, self.request_id, self.body, self.unread = self.server.caller, None, b"", 0

    def _answer(self):
        self.body = self._read_body()
        self._check_key()
        path = self.path.partition("?")[0].rstrip("/")  # beta calls add ?beta=true
        methods = {"/v1/messages": "POST", "/v1/messages/count_tokens": "POST", "/v1/models": "GET"}
        method = "GET" if path.startswith("/v1/models/") else methods.get(path)
        if method is None:
            raise ApiError(404, "Not Found")
        if self.command != method:
            raise ApiError(405, "Method Not Allowed")
        if not self.headers.get("anthropic-version"):
            raise ApiError(400, "anthropic-version: header is required")
        answerer = self.caller.answerer
        if hasattr(answerer, "respond"):  # a replay knows whole responses: they are sent as they were recorded
            return answerer.respond(self.command, path, self._json() if self.body else None, self._judge)
        if path == "/v1/messages":
            return self._message(self._json())
        if method == "POST":
            request = self._json()
            self._judge({"max_tokens": 1, **request})
            return in_one_piece(200, {"input_tokens": wire.input_tokens(request)}, {})
        return in_one_piece(200, self._models(path.removeprefix("/v1/models").removeprefix("/")), {})

    # What came in

    def _read_body(self):
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._read_chunks()
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise self._unreadable(400, f"content-length: not a number: {length}")
        if int(length) > self.most_bytes:
            raise self._unreadable(413, "Request exceeds the maximum size", int(length))
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise ConnectionError("the client hung up in the middle of its request")
        return body

    def _read_chunks(self):
        body = bytearray()
        while True:
            try:
                size = int(self.rfile.readline(100).partition(b";")[0].strip(), 16)
            except ValueError:
                raise self._unreadable(400, "transfer-encoding: the chunked body is broken") from None
            if size < 0 or len(body) + size > self.most_bytes:
                raise self._unreadable(413, "Request exceeds the maximum size", MAX_DRAINED_BYTES)
            body += self.rfile.read(size)
            self.rfile.readline(100)  # the line break after a chunk
            if size == 0:
                return bytes(body)

    def _unreadable(self, status, message, unread=0):
        """Where the next request would begin is not known."""
        self.close_connection, self.unread = True, min(unread, MAX_DRAINED_BYTES)
        return ApiError(status, message)

    def _drain(self):
        """Read on after the refusal: closing a socket with unread data would break the connection too early."""
        self.wfile.flush()
        self.connection.settimeout(2)
        while self.unread > 0 and (piece := self.rfile.read1(min(self.unread, 65536))):
            self.unread -= len(piece)

    def _check_key(self):
        """Any key will do, but there must be one. It also tells the clients of one process apart."""
        self.caller = self.server.callers.get(self._key(), self.server.caller)

    def _key(self):
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        key = (token.strip() if scheme.lower() == "bearer" else "") or self.headers.get("x-api-key")
        if not key:
            raise ApiError(401, "x-api-key header is required")
        return key

    def _json(self):
        from pydantic_core import from_json  # no NaN and no half of a surrogate pair, as Python's would let pass

        try:
            request = from_json(self.body, allow_inf_nan=False)
        except ValueError as error:
            raise ApiError(400, f"The request body is not valid JSON: {error}") from None
        if not isinstance(request, dict):
            raise ApiError(400, "Input should be an object")
        return request

    # What to say

    def _judge(self, request):
        if "thread" in request:  # the SDK's tool runner asks for it, and goes on without it after this answer
            text = "This server keeps no conversations: send the whole history with each request."
            details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
            raise ApiError(400, text, details=details)
        sent, query = self.headers.get_all("anthropic-beta"), self.path.partition("?")[2]
        betas = frozenset(filter(None, (beta.strip() for beta in ",".join(sent or ()).split(","))))
        # Recorded requests come without their headers: that it was a beta call is all that is left.
        profile = dataclasses.replace(
            self.server.profile,
            version=self.headers["anthropic-version"],
            betas=None if sent is None and "beta=true" in query else betas,
            models=self.server.models,
            forged=wire.is_forged,
        )
        problem = validate(request, profile)
        if problem is not None:
            raise ApiError(problem.status, problem.message, error_type=problem.type)

    def _message(self, request):
        self._judge(request)
        try:
            reply = self.caller.answerer.reply(request)
            if unknown := set(reply) - REPLY_KEYS:
                raise ValueError(f"a reply has no key {min(unknown)!r}; the keys are {', '.join(sorted(REPLY_KEYS))}")
            message, rest = (None, None) if "status" in reply else wire.message_body(request, reply, self.caller.cache)
        except Exception as bug:  # the answerer may be a function in a notebook
            text = f"The answerer failed with {type(bug).__name__}: {bug}"
            raise ApiError(500, text, headers={"x-should-retry": "false"}) from bug
        if message is None:
            headers = {"retry-after": reply["retry_after"]} if "retry_after" in reply else {}
            raise ApiError(reply["status"], reply.get("message", "The script asked for this fault"), headers=headers)
        error, said, slow = reply.get("stream_error"), reply.get("message", "Overloaded"), reply.get("slow") or None
        breaks = bool(reply.get("break_off") or reply.get("hang_up"))
        if not request.get("stream"):
            if "stream_error" in reply:
                status = {kind: status for status, kind in wire.ERROR_TYPES.items()}.get(error, 500)
                raise ApiError(status, said, error_type=error)
            if slow:  # sleeping for no time takes 50 microseconds
                time.sleep(slow)
            return in_one_piece(200, message, limits(), half=breaks)
        events = [wire.sse(name, data) for name, data in wire.stream_events(message, rest)]
        if breaks or error:  # in the middle of the events
            events = events[: len(events) // 2]
        if "stream_error" in reply:  # the status 200 has been sent: the error can only be an event
            events.append(wire.sse("error", wire.error_body(200, said, self._id(), error)))
        headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        return Response(200, headers | limits(), events, not reply.get("hang_up"), slow)

    def _models(self, wanted):
        names = self.server.models or [getattr(self.caller.answerer, "name", "offline")]
        about = {"type": "model", "created_at": "1970-01-01T00:00:00Z"}
        models = {name: about | {"id": name, "display_name": name} for name in names}
        if wanted:
            if wanted not in models:
                raise ApiError(404, f"model: {wanted}")
            return models[wanted]
        return {"data": [*models.values()], "has_more": False, "first_id": names[0], "last_id": names[-1]}

    # What goes out

    def _id(self):
        """The id of this request. Counted, not random: a notebook that runs again prints the same."""
        self.request_id = self.request_id or f"req_{next(self.caller.numbers):02}"
        return self.request_id

    def _refuse(self, no):
        once = 400 <= no.status < 500 and no.status not in (409, 429)
        body = wire.error_body(no.status, cut(no.message), self._id(), no.error_type, no.details)
        self._send(in_one_piece(no.status, body, ({"x-should-retry": "false"} if once else {}) | no.headers))

    def send_error(self, code, message=None, explain=None):
        """What http.server refuses on its own (a broken request line, too many headers) gets an error body too."""
        self._begin()
        self.close_connection = True
        self._refuse(ApiError(int(code), message or "Bad Request"))

    def _send(self, response):
        """Without a length, each piece is a chunk: so a client can tell a body that ended from one that broke."""
        status, headers, pieces, whole, _ = response
        if status is None:
            self.close_connection = True
            return
        chunked = "content-length" not in headers and self.request_version != "HTTP/1.0"
        if not whole or not (chunked or "content-length" in headers):
            self.close_connection = True
        self.request_id = headers.get("request-id") or self._id()
        self.send_response(status)
        more = {"transfer-encoding": "chunked"} if chunked else {}
        more |= {"connection": "close"} if self.close_connection else {}
        for name, value in {"request-id": self.request_id, **headers, **more}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self._record(status, pieces)  # before it leaves: whoever has the answer finds it recorded
        self._deliver(self._parts_of(response, chunked))

    def _parts_of(self, response, chunked):
        """The body as it is sent. Whoever takes a part waits for the next one as long as the reply is slow."""
        pieces = response.pieces if self.command != "HEAD" else ()
        for piece in filter(None, pieces):  # an empty chunk would be the last
            yield b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece
            if response.slow is not None:
                self.wfile.flush()
                time.sleep(response.slow)
        if chunked and response.whole:
            yield b"0\r\n\r\n"

    def _deliver(self, parts):
        for part in parts:
            self.wfile.write(part)

    def _record(self, status, pieces):
        sent, got = (data[:KEPT_BYTES].decode(errors="replace") for data in (self.body, b"".join(pieces)))
        request = {"method": self.command, "path": getattr(self, "path", None), "request": sent}
        self.caller.exchanges.append({**request, "status": status, "request_id": self.request_id, "response": got})

    def log_message(self, *args):
        """Silent: what a thread prints would land in whichever notebook cell is running."""


class Exchange(Handler):
    """One request that comes as bytes. `response` makes the bytes of the answer, each piece when it is asked for."""

    def __init__(self, request: bytes, server: "Server") -> None:
        super().__init__(request, (HOST, 0), server)  # type: ignore[arg-type]  # where a connection would stand

    def setup(self):
        self.rfile, self.wfile, self._parts = io.BytesIO(self.request), io.BytesIO(), ()

    handle = Handler.handle_one_request

    def finish(self):
        """Nothing is open."""

    _drain = finish

    def _deliver(self, parts):
        self._parts = parts

    def response(self):
        yield self.wfile.getvalue()
        yield from self._parts


in_this_page: dict[str, "Server"] = {}  # the servers of a browser page that serve, by their URL
_ports = itertools.count(1)  # of those: they only tell them apart


class Server(socketserver.ThreadingTCPServer):
    """The offline API in a thread of this process: `with Server(Understudy()) as server:` and `server.url`.

    In a browser page it opens no socket and starts no thread: an Exchange is made for each request.

    `answerer.reply(request)` is asked for each reply; `port` 0 takes a free one; `models` are the names that a request
    may ask for, others get a 404, and without any all names will do. `exchanges` holds the last requests
    and responses, as dicts with their bodies as they were sent. No header is in them, so no key.
    """

    daemon_threads = True  # one for each connection: all of them end with the process, or with `close`
    request_queue_size = 512  # connections that wait to be accepted; with the default of 5 a burst of clients fails
    allow_reuse_address = sys.platform != "win32"  # there it would let two servers share a port

    handler: type[BaseHTTPRequestHandler] = Handler

    def __init__(
        self,
        answerer: Any,
        *,
        port: int = 0,
        models: Sequence[str] = (),
        profile: Profile = FIRST_PARTY,
        host: str = HOST,
    ) -> None:
        self.models, self.profile = tuple(models), profile
        self.caller = Caller(answerer)
        self.callers: dict[str, Caller] = {}
        self.exchanges = self.caller.exchanges
        self._open: set[Any] = set()
        self._thread: threading.Thread | None = None
        if s02_tool_use.IN_A_PAGE:
            self.url = f"http://{host}:{port or next(_ports)}"
            return
        super().__init__((host, port), self.handler)
        self.url = f"http://{host}:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="offline server", daemon=True)

    def start(self) -> "Server":
        """Begin to serve. Returns the server itself."""
        if self._thread:
            self._thread.start()
        else:
            in_this_page[self.url] = self
        return self

    @property
    def alive(self) -> bool:
        """True while it serves. False in a forked child, which has a copy of this object, but not the thread."""
        return self._thread.is_alive() if self._thread else in_this_page.get(self.url) is self

    def add(self, answerer: Any) -> str:
        """Take one more client, with an answerer of its own. Returns the API key which that client is to use."""
        key = f"offline-{len(self.callers) + 1}"
        self.callers[key] = Caller(answerer)
        return key

    def close(self) -> None:
        """Stop listening and end the connections. May be called twice."""
        if not self._thread:
            if self.alive:
                del in_this_page[self.url]
            return
        if self.alive:
            self.shutdown()
            self._thread.join()  # it ends a moment later, and until then the server would pass for alive
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    __enter__ = start

    def __exit__(self, *exc):
        self.close()

    def process_request(self, request, client_address):
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away is no news
            super().handle_error(request, client_address)
