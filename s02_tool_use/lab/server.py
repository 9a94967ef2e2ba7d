"""The Messages API on this machine: real HTTP on 127.0.0.1, so that any client can talk to it without a key or a network.

A request is judged as the real API judges it (rules.py), an answerer (understudy.py) says what to reply, and wire.py gives
that its form. It runs no tool, writes no file and asks no other machine. Alone: python -m s02_tool_use.lab.server --port N
"""

import argparse
import collections
import itertools
import json
import re
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

from . import wire
from .rules import FIRST_PARTY, validate
from .understudy import Understudy

HOST = "127.0.0.1"  # loopback only: nobody else on the network can reach it
MAX_BODY = 32 * 1024 * 1024  # the limit of the real API
MAX_DRAIN = 4 * MAX_BODY  # an oversized body is read to here and thrown away, so that its sender can hear the refusal
SILENCE = 300  # seconds until a connection on which nothing happens is closed
KEPT = 50  # exchanges that can be looked at afterwards
KEPT_BODY = 200_000  # bytes of each body that are kept for that

# What a reply of an answerer may say besides content, stop_reason and stop_details. See understudy.Scripted.
FAULTS = {"status", "message", "retry_after", "slow", "break_off", "stream_error"}
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class ApiError(Exception):
    """A request that gets an error body instead of a reply."""

    def __init__(self, status, message, *, error_type=None, headers=()):
        super().__init__(message)
        self.status, self.message, self.error_type, self.headers = status, message, error_type, dict(headers)


class Seat:
    """One client of the server: who answers it, by which rules, and how many requests it has sent."""

    def __init__(self, answerer, profile):
        self.answerer, self.profile = answerer, profile
        self._numbers = itertools.count(1)

    def request_id(self):
        """Counted, not random, so that a notebook prints the same ids each time."""
        return f"req_{next(self._numbers):02}"


class Handler(BaseHTTPRequestHandler):
    """One connection. A client may send many requests over it, one after the other."""

    protocol_version = "HTTP/1.1"
    server_version = "s02-offline"
    sys_version = ""
    disable_nagle_algorithm = True  # else a small event can wait 40 ms for the client's acknowledgement
    timeout = SILENCE

    def do_POST(self):
        self._serve()

    do_GET = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_POST

    def _serve(self):
        """Read the request, find out what to say, say it. Whatever goes wrong in the middle becomes an error body."""
        self.raw_body, self.seat, self.answer_id = b"", self.server.seat, None
        self.sent = []
        try:
            try:
                self.raw_body = self._read_body()
                self._find_seat()
                self._route()
            except ApiError as no:
                self._send_error(no)
            except OSError:
                raise
            except Exception as bug:  # an answerer that fails must not take the server with it
                text = f"The answerer failed with {type(bug).__name__}: {bug}"
                self._send_error(ApiError(500, text, headers={"x-should-retry": "false"}))
        except OSError:  # the client hung up, or said nothing for SILENCE seconds
            self.close_connection = True

    # What came in

    def _read_body(self):
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._read_chunks()
        length = self.headers.get("content-length", "0")
        if not length.isdecimal():
            self.close_connection = True
            raise ApiError(400, f"The content-length header is not a number: {length}")
        if int(length) > MAX_BODY:
            self._drain(int(length))
            raise ApiError(413, "Request exceeds the maximum size")
        return self.rfile.read(int(length))

    def _read_chunks(self):
        chunks, total = [], 0
        while True:
            line = self.rfile.readline(100).split(b";")[0].strip()
            try:
                size = int(line, 16)
            except ValueError:
                self.close_connection = True
                raise ApiError(400, "The chunked request body is broken") from None
            total += size
            if total > MAX_BODY:
                self.close_connection = True
                raise ApiError(413, "Request exceeds the maximum size")
            chunks.append(self.rfile.read(size))
            self.rfile.readline(100)
            if size == 0:
                return b"".join(chunks)

    def _drain(self, length):
        """Closing a socket with unread data resets the connection, and the client would never see the error body."""
        self.close_connection = True
        left = min(length, MAX_DRAIN)
        while left > 0 and (piece := self.rfile.read(min(left, 65536))):
            left -= len(piece)

    def _find_seat(self):
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        key = self.headers.get("x-api-key") or (token.strip() if scheme.lower() == "bearer" else "")
        if not key:
            raise ApiError(401, "x-api-key header is required")
        self.seat = self.server.seats.get(key, self.server.seat)

    def _json(self):
        try:
            request = json.loads(self.raw_body)
            if _LONE_SURROGATE.search(text := self.raw_body.decode("utf-8")) or "\\ud" in text.lower():
                json.dumps(request, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            raise ApiError(400, f"The request body is not valid JSON: {error}") from None
        if not isinstance(request, dict):
            raise ApiError(400, "Input should be an object")
        return request

    # What to say

    def _route(self):
        path = self.path.split("?")[0].rstrip("/")  # beta calls add ?beta=true
        known = {"/v1/messages": "POST", "/v1/messages/count_tokens": "POST", "/v1/models": "GET"}
        wanted = "GET" if path.startswith("/v1/models/") else known.get(path)
        if wanted is None:
            raise ApiError(404, "Not Found")
        if self.command != wanted:
            raise ApiError(405, "Method Not Allowed")
        if not self.headers.get("anthropic-version"):
            raise ApiError(400, "anthropic-version: header is required")
        if path.startswith("/v1/models"):
            self._models(path)
        elif path == "/v1/messages":
            self._messages(self._json())
        else:
            request = self._json()
            self._check({"max_tokens": 1, **request})
            self._send_json(200, {"input_tokens": wire.input_tokens(request)})

    def _check(self, request):
        problem = validate(request, self.seat.profile)
        if problem is not None:
            raise ApiError(problem.status, problem.message, error_type=problem.type)

    def _messages(self, request):
        self._check(request)
        for index, message in enumerate(request["messages"]):
            blocks = message["content"] if isinstance(message["content"], list) else []
            for position, block in enumerate(blocks):
                if wire.is_forged(block):
                    place = f"messages.{index}.content.{position}"
                    raise ApiError(400, f"{place}: Invalid `signature` in `thinking` block")
        reply = self.seat.answerer.reply(request)
        unknown = set(reply) - FAULTS - {"content", "stop_reason", "stop_details"}
        if unknown:
            raise ValueError(f"a reply has no key {sorted(unknown)[0]!r}; it may have {', '.join(sorted(FAULTS))}")
        if "status" in reply:
            headers = {"retry-after": str(reply["retry_after"])} if "retry_after" in reply else {}
            raise ApiError(reply["status"], reply.get("message", "A fault that the script asked for"), headers=headers)
        message, rest = wire.message_body(request, reply)
        if request.get("stream"):
            self._send_stream(message, rest, reply)
        elif reply.get("stream_error"):
            raise ApiError(529, "Overloaded", error_type=reply["stream_error"])
        else:
            self._send_json(200, message, break_off=reply.get("break_off"), slow=reply.get("slow", 0))

    def _models(self, path):
        name = getattr(self.seat.answerer, "name", "understudy")
        model = {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
        if path == "/v1/models":
            self._send_json(200, {"data": [model], "has_more": False, "first_id": name, "last_id": name})
        elif path == f"/v1/models/{name}":
            self._send_json(200, model)
        else:
            raise ApiError(404, f"model: {path.removeprefix('/v1/models/')}")

    # What goes out

    def _head(self, status, headers):
        self.answer_id = self.answer_id or self.seat.request_id()
        self.send_response(status)
        for name, value in {"request-id": self.answer_id, **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")

    def _send_json(self, status, body, headers=(), *, break_off=False, slow=0):
        data = json.dumps(body, ensure_ascii=False).encode("utf-8")
        self._head(status, {"content-type": "application/json", "content-length": str(len(data)), **dict(headers)})
        if self.command == "HEAD":
            data = b""
        if slow:
            time.sleep(slow)
        self._headers_buffer.append(b"\r\n" + (data[: len(data) // 2] if break_off else data))
        self.sent.append(data)
        self._record(status)
        self.flush_headers()  # head and body in one piece: one system call, one packet
        if break_off:
            self.close_connection = True

    def _send_error(self, no):
        self.answer_id = self.answer_id or self.seat.request_id()
        headers = {"x-should-retry": "false", **no.headers} if no.status < 500 and no.status != 429 else no.headers
        body = wire.error_body(no.status, no.message, self.answer_id, no.error_type)
        self._send_json(no.status, body, headers)

    def send_error(self, code, message=None, explain=None):
        """What http.server itself refuses (a broken request line, an unknown method) gets the API's error body too."""
        self.close_connection = True
        self.raw_body, self.seat, self.answer_id, self.sent = b"", self.server.seat, None, []
        self._send_error(ApiError(code, message or "Bad request"))

    def _send_stream(self, message, rest, reply):
        """Event by event, each flushed at once. Chunked, so that the client sees a body that breaks off as broken."""
        chunked = self.request_version != "HTTP/1.0"
        self.close_connection = self.close_connection or not chunked
        headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        self._head(200, headers | ({"transfer-encoding": "chunked"} if chunked else {}))
        self.end_headers()
        events = list(wire.stream_events(message, rest))
        if reply.get("stream_error"):
            failure = wire.error_body(529, "Overloaded", self.answer_id, reply["stream_error"])
            events = [*events[: len(events) // 2], ("error", failure)]
        elif reply.get("break_off"):
            events = events[: len(events) // 2]
        try:
            for name, data in events:
                event = wire.sse(name, data)
                self.sent.append(event)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if chunked else event)
                if reply.get("slow"):
                    time.sleep(reply["slow"])
        finally:
            self._record(200)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _record(self, status):
        self.server.exchanges.append(
            {
                "method": getattr(self, "command", None),
                "path": getattr(self, "path", None),
                "request": self.raw_body[:KEPT_BODY].decode("utf-8", "replace"),
                "status": status,
                "request_id": self.answer_id,
                "response": b"".join(self.sent)[:KEPT_BODY].decode("utf-8", "replace"),
            }
        )

    def log_message(self, *args):
        """Say nothing: a line printed by a thread would land in whatever notebook cell is running."""


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = sys.platform != "win32"  # on Windows it would allow two servers on one port
    daemon_threads = True
    request_queue_size = 512  # connections that may wait to be accepted; the default of 5 drops a burst of clients

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that went away is no news
            super().handle_error(request, client_address)


class Server:
    """The offline API, in a thread of this process: `with Server(Understudy()) as server: server.url`.

    `answerer.reply(request)` is asked for each reply. Port 0 takes a free one. `exchanges` holds the last requests and
    responses as they were sent, without the headers, so without the key.
    """

    def __init__(self, answerer, *, port=0, profile=FIRST_PARTY):
        self._listener = _Listener((HOST, port), Handler)
        self._listener.seat = Seat(answerer, profile)
        self._listener.seats = {}
        self._listener.exchanges = self.exchanges = collections.deque(maxlen=KEPT)
        self.url = f"http://{HOST}:{self._listener.server_address[1]}"
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.1,), daemon=True)

    def start(self):
        """Serve from a daemon thread: it ends with the process."""
        self._thread.start()
        return self

    @property
    def alive(self):
        return self._thread.is_alive()

    def add(self, answerer, *, profile=FIRST_PARTY):
        """Give one client an answerer of its own. Returns the API key that this client is to use."""
        key = f"offline-{len(self._listener.seats) + 1}"
        self._listener.seats[key] = Seat(answerer, profile)
        return key

    def close(self):
        """Stop listening. May be called twice."""
        if self.alive:
            self._listener.shutdown()
        self._listener.server_close()

    __enter__ = start

    def __exit__(self, *exc):
        self.close()


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m s02_tool_use.lab.server", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    port = parser.parse_args(argv).port
    try:
        server = Server(Understudy(), port=port)
    except (OSError, OverflowError) as error:
        sys.exit(f"Cannot listen on port {port}: {error}. Give another --port, or 0 for a free one.")
    with server:
        print(server.url, flush=True)
        print("No language model answers here, rules do. Ctrl-C ends it.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
