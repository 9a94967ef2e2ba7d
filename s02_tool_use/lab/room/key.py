"""One real key for the room: it goes to the endpoint from here, and learners get a seat each in its place.

A seat is sent where a key would be. Each request goes to the one endpoint that .env names, with the room's key; what
comes back goes to the learner without it. The tokens of each seat are counted, and end at a budget. Left out:
encryption, prices, and what an endpoint's own tools cost (web search, code execution): those are refused.
"""

import argparse
import contextlib
import json
import math
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from ...calls.secrets import cut, keep
from ..api import wire
from ..api.server import ApiError, Response
from ..client import settings
from ..client.prices import tokens_of
from ..client.recording import KEPT_HEADERS, LAST_EVENTS, PIECES, Recorder, bounded, events_in, keyless, parsed
from . import door

RUN_THERE = re.compile('"type": "((?:advisor|code_execution|web)_[^"]*)"')  # tools that cost more than tokens
DATA = re.compile('"data": "[^"]*"')  # of pictures: how many tokens they have, their endpoint says
SILENCE_SECONDS = 600  # of the endpoint


# What a seat pays


class Meter:
    """What one request costs: what its endpoint says, and where that says nothing, about what is seen of it.

    reads: how many tokens are sent, about. most: how many may come back. left: for how many the seat could pay.
    """

    def __init__(self, reads: int, most: int, left: float) -> None:
        self.reads, self.most, self.left = reads, most, left
        self.written = 0
        self._said: dict[str, Any] = {}

    def hear(self, event: Any) -> Any:
        """Count an event of a stream, or a whole message, and give it back."""
        match event:
            case {"type": "message_start", "message": {"usage": dict(said)}}:
                self._said |= {**said, "output_tokens": 0}  # a reply that begins has 1
            case {"usage": dict(said)}:
                self._said |= {name: value for name, value in said.items() if value}
        match event:
            case {"delta": dict(delta)}:
                self.written += sum(wire.count_tokens(delta[key]) for key in PIECES & delta.keys())
            case {"content": list(content)}:
                self.written += wire.count_tokens(content)
        return event

    @property
    def tokens(self) -> int:
        said = tokens_of(self._said)
        writes = said.pop("output_tokens") or self.written
        return (said.total() or (self.reads if writes else 0)) + writes


class Seats:
    """What each seat has spent, by the word that a learner has in place of a key. `budget`: for each; 0 is no limit.

    A request is charged with what it may cost, and when it is over with what it did cost: so requests that run at once
    cannot pass a budget together. With a file, seats and counts outlive the process; a crash makes nothing free.
    """

    def __init__(self, count: int, budget: int = 0, file: Path | None = None) -> None:
        self.over = f"This seat has used its {budget:,} tokens: ask your teacher"
        self.budget, self.file, self._lock = budget or math.inf, file, threading.RLock()
        self.spent = _read(file) if file else {}
        self.spent |= {door.word(3): 0 for _ in range(len(self.spent), count)}
        if file:
            door.save(file, {"seats": self.spent})

    @contextlib.contextmanager
    def paying(self, seat: str, request: dict[str, Any]) -> Iterator[Meter]:
        """The Meter of a request that `seat` pays. Raises ApiError if it has too little for any reply."""
        most, thinking = request.get("max_tokens"), request.get("thinking")
        if type(most) is not int or most < 1:
            raise ApiError(400, "max_tokens: a whole number, 1 or more, is needed")
        thinks = thinking.get("budget_tokens") if isinstance(thinking, dict) else 0
        reads = wire.count_tokens(DATA.sub("", json.dumps(request, ensure_ascii=False)))
        with self._lock:
            free = self.budget - self.spent[seat]
            if free - reads <= (max(thinks, 0) if isinstance(thinks, int) else 0):
                said = f"This seat has {max(free, 0):,} of its {self.budget:,} tokens free, and this needs more"
                raise ApiError(402, f"{said}: let its other requests end, or ask your teacher")
            meter = Meter(reads, int(min(most, free - reads)), free - reads)
            self._charge(seat, reads + meter.most)
        try:
            yield meter
        finally:
            self._charge(seat, meter.tokens - reads - meter.most)

    def _charge(self, seat, tokens):
        with self._lock, contextlib.suppress(OSError):  # a full disk stops nobody: the counts go on in memory
            self.spent[seat] += tokens
            if self.file:
                door.save(self.file, {"seats": self.spent})


def _read(file: Path) -> dict[str, int]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))["seats"] if file.exists() else {}
        return {word: int(tokens) for word, tokens in kept.items()}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise settings.SettingsError(f"{file} was not written by 'room key': name another file.") from None


# The proxy


class Handler(door.Handler):
    server: "Proxy"
    called = "The room's proxy"

    def _answer(self):
        self.body = self._read_body()
        seat, path = self._key(), self.path.removesuffix("?beta=true")
        if seat not in self.server.seats.spent:
            raise ApiError(401, "this is no seat of the room: copy yours again from the teacher's list")
        if path not in ("/v1/messages", "/v1/messages/count_tokens"):
            raise ApiError(404, "Not Found")
        if self.command != "POST":
            raise ApiError(405, "Method Not Allowed")
        request = bounded(self._json(), self.server.most)
        if request.get("model") != self.server.model:
            raise ApiError(404, f"the room's model is {self.server.model}, and this request names another")
        if kind := RUN_THERE.search(json.dumps(request.get("tools"))):
            raise ApiError(403, f"{kind[1]} runs at the endpoint and costs extra: the room's key does not pay for it")
        if path.endswith("count_tokens"):
            return self._pass_on(seat, request, Meter(0, 0, 0))
        meter = self.ends.enter_context(self.server.seats.paying(seat, request))
        return self._pass_on(seat, {**request, "max_tokens": meter.most}, meter)

    def _pass_on(self, seat, request, meter):
        kept = [item for item in self.headers.items() if item[0].lower().startswith("anthropic-")]
        asked = self.server.client.build_request("POST", self.path, headers=kept, json=request)
        try:
            response = self.server.sends[seat](asked, stream=True)
            self.ends.callback(response.close)
            is_stream = "text/event-stream" in response.headers.get("content-type", "")
            text = "" if is_stream else response.read().decode("utf-8", "replace")
        except httpx2.HTTPError as error:
            raise ApiError(502, f"the room's endpoint does not answer: {type(error).__name__}") from None
        if response.status_code in (401, 403):
            text = f"the endpoint does not accept the room's key ({response.status_code}): tell your teacher"
            raise ApiError(502, text, headers={"x-should-retry": "false"})
        headers = {name: cut(response.headers[name]) for name in KEPT_HEADERS if name in response.headers}
        if is_stream:
            return Response(response.status_code, headers, self._events(response, meter), slow=0)
        meter.hear(parsed(text))
        data = cut(text).encode()
        return Response(response.status_code, {**headers, "content-length": len(data)}, [data])

    def _events(self, response, meter) -> Iterator[bytes]:
        """The pieces of a stream. Its status has been sent: what goes wrong now can only be an event."""
        kind, said = "api_error", "the endpoint behind the room's key broke off"
        with contextlib.suppress(httpx2.HTTPError, RecursionError):
            for event in keyless(map(meter.hear, events_in(response.iter_text()))):
                yield wire.sse(event["type"], event)
                if event["type"] in LAST_EVENTS:
                    return
                if meter.written // 2 > meter.left:  # it goes on beyond max_tokens, and not only by our estimate
                    kind, said = "billing_error", self.server.seats.over
                    break
        yield wire.sse("error", wire.error_body(200, said, self._id(), kind))


class Proxy(door.server.Server):
    """The proxy in a thread of this process. `options` are what settings.in_force gives: base_url, model, a secret."""

    handler = Handler

    def __init__(self, options: Mapping[str, str], seats: Seats, record: Path | None = None, **listens: Any) -> None:
        self.seats, self.model, self.most = seats, options["model"], int(options.get("max_tokens", 0))
        self.host_there, token = settings.host_of(options["base_url"]), options.get("auth_token")
        keep(texts=[token or options["api_key"]])
        self.client = httpx2.Client(
            base_url=options["base_url"],
            headers={"authorization": f"Bearer {token}"} if token else {"x-api-key": options["api_key"]},
            timeout=httpx2.Timeout(SILENCE_SECONDS, connect=20),
            trust_env=not settings.is_local(options["base_url"]),
        )
        self.sends = dict.fromkeys(seats.spent, self.client.send)
        if record:
            record.mkdir(parents=True, exist_ok=True)
            for number, (seat, send) in enumerate(self.sends.items(), 1):
                recorder = Recorder(record / f"seat-{number:02}.jsonl", self.model, "endpoint", self.most)
                self.sends[seat] = partial(recorder.send, send)
        super().__init__(None, **listens)

    def close(self) -> None:
        super().close()
        self.client.close()


# The command


def main(argv: Sequence[str] | None = None) -> int | str:
    """Serve until Ctrl-C. Returns an exit status, or a sentence about what stands in the way."""
    parser = door.parser("key", __doc__, 8124)
    parser.add_argument("--seats", type=int, default=30, metavar="N", help="how many seats; 30 unless given")
    each = "for each seat, read and written together; 500000 unless given, 0 is no limit"
    parser.add_argument("--budget", type=int, default=500_000, metavar="TOKENS", help=each)
    parser.add_argument("--state", type=Path, metavar="FILE", help="where the counts and the seats outlive a restart")
    parser.add_argument("--record", type=Path, metavar="DIR", help="keep what each seat asks and gets, without keys")
    given = parser.parse_args(argv)
    try:
        options, origin = settings.in_force()
        if not options:
            return f"There is no key to share: write API_KEY, MODEL_ID and perhaps BASE_URL into .env. {origin}".strip()
        if options["base_url"] == door.address(given.ip, given.port):
            return "BASE_URL in .env is the address of this proxy itself: name the endpoint behind it there."
        if given.seats < 1 or given.budget < 0:
            return "--seats takes a whole number from 1 on, --budget one from 0 on."
        seats = Seats(given.seats, given.budget, given.state)
        proxy = Proxy(options, seats, given.record, host=given.ip, port=given.port)
    except settings.SettingsError as error:
        return str(error)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.filename:
            return f"{error.filename} cannot be used: {error.strerror}. Name another."
        return door.cannot_listen(given, error)
    door.serve(proxy, _lines(proxy, given))
    print("\n".join(f"seat {n:2}  {used:>9,} tokens" for n, used in enumerate(seats.spent.values(), 1) if used))
    print(f"all      {sum(seats.spent.values()):>9,} tokens")
    return 0


def _lines(proxy: Proxy, given: argparse.Namespace) -> Iterator[str]:
    seats, at = proxy.seats.spent, door.address(given.ip, proxy.server_address[1])
    limit = f"{given.budget:,} tokens each" if given.budget else "without a limit"
    yield f"{proxy.model} at {proxy.host_there} answers {len(seats)} seats, {limit}. The key stays here."
    yield f"Learners write into .env:\n  BASE_URL={at}\n  MODEL_ID={proxy.model}\n  API_KEY=their seat\nThe seats:"
    yield from (f"  {number:2}  {word}" for number, word in enumerate(seats, 1))
    if spent := sum(seats.values()):
        yield f"They are those of {given.state}: {spent:,} tokens are spent."
    yield f"{door.who_can_come(given.ip)} Ctrl-C ends it and shows who used how much."
