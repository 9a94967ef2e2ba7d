"""One real key for the room: it goes to the endpoint from here, and learners get a seat each in its place.

A seat is sent where a key would be. Each request goes to the one endpoint that .env names, with the room's key; what
comes back goes to the learner without it. The tokens of each seat are counted (budget.py), and end at a budget. Left
out: encryption, prices, and what an endpoint's own tools cost (web search, code execution): those are refused.
"""

import argparse
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import httpx2

from ...calls.secrets import cut, keep
from ..api import wire
from ..api.server import ApiError, Response
from ..client import settings
from ..client.recording import LAST_EVENTS, Recorder, bounded, keyless, parsed
from . import door
from .budget import Meter, Seats

PATHS = ("/v1/messages", "/v1/messages/count_tokens")
COUNTED = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
READ = ("system", "tools", "messages")
RUN_THERE = ("advisor_", "code_execution_", "container", "mcp_", "web_")  # tools that cost more than tokens
KEPT_HEADERS = re.compile(r"(?i)content-type|request-id|retry-after|x-should-retry|anthropic-ratelimit-.*")
SILENCE_SECONDS = 600  # of the endpoint
BROKE_OFF = "the endpoint behind the room's key broke off"


class Handler(door.Handler):
    server: "Proxy"
    called = "The room's proxy"

    def _begin(self):
        super()._begin()
        self.ends = contextlib.ExitStack()

    def _send(self, response):
        with self.ends:  # also when the learner has gone in the middle: what came so far is counted
            super()._send(response)

    def _refuse(self, no):
        no.message = cut(no.message)  # it may quote anything
        super()._refuse(no)

    def _answer(self):
        self.body = self._read_body()
        seat = self.server.seats.seats.get(self._key())
        if seat is None:
            raise ApiError(401, "this is no seat of the room: copy yours again from the teacher's list")
        path = self.path.removesuffix("?beta=true")
        if path not in PATHS:
            raise ApiError(404, "Not Found")
        if self.command != "POST":
            raise ApiError(405, "Method Not Allowed")
        request = bounded(self._json(), self.server.most)
        self._check(request)
        if path == PATHS[1]:
            return self._whole(self._ask(request), Meter(0))
        most, thinking = request.get("max_tokens"), request.get("thinking")
        if type(most) is not int or most < 1:
            raise ApiError(400, "max_tokens: a whole number, 1 or more, is needed")
        thinks = thinking.get("budget_tokens") if isinstance(thinking, dict) else 0
        meter = Meter(self._reads(request))
        most = self.server.seats.set_aside(seat, meter.reads, thinks + 1 if type(thinks) is int else 1, most)
        self.ends.callback(self.server.seats.settle, seat, meter.reads + most, meter)
        response = self._ask({**request, "max_tokens": most}, recorder=self.server.recorders.get(seat.number))
        if response.is_success and "text/event-stream" in response.headers.get("content-type", ""):
            return Response(200, _headers(response), self._events(response, seat, meter), slow=0)
        return self._whole(response, meter)

    def _check(self, request):
        if request.get("model") != self.server.model:
            raise ApiError(404, f"the room's model is {self.server.model}, and this request names another")
        tools = request.get("tools") if isinstance(request.get("tools"), list) else []
        kinds = [str(tool.get("type")) for tool in tools if isinstance(tool, dict)]
        for kind in [*kinds, *(key for key in ("container", "mcp_servers") if request.get(key))]:
            if kind.startswith(RUN_THERE):
                raise ApiError(403, f"{kind} runs at the endpoint and costs extra: the room's key does not pay for it")

    def _reads(self, request):
        """How many tokens a request reads, about. What a picture or a document has, its endpoint says."""
        text = json.dumps([request[key] for key in READ if key in request], ensure_ascii=False)
        if not self.server.seats.budget or not re.search('"type": "(image|document)"', text):
            return wire.count_tokens(text)
        counted = self._ask({key: request[key] for key in COUNTED & request.keys()}, PATHS[1])
        told = parsed(_text(counted))
        if not isinstance(told, dict) or type(tokens := told.get("input_tokens")) is not int:
            text = "the endpoint does not say how many tokens this picture or document has"
            raise ApiError(403, f"{text}: the room's key does not pay for it")
        return tokens

    def _ask(self, request, path=None, recorder=None):
        """The endpoint's response, whose body is still to be read. Raises ApiError if there is none."""
        asked = self.server.client.build_request(
            "POST",
            path or self.path,
            headers=[item for item in self.headers.items() if item[0].lower().startswith("anthropic-")],
            content=json.dumps(request),
        )
        send = self.server.client.send
        try:
            response = (partial(recorder.send, send) if recorder else send)(asked, stream=True)
        except httpx2.HTTPError as error:
            raise ApiError(502, f"the room's endpoint does not answer: {type(error).__name__}") from None
        self.ends.callback(response.close)
        if response.status_code in (401, 403):
            text = f"the endpoint does not accept the room's key ({response.status_code}): tell your teacher"
            raise ApiError(502, text, headers={"x-should-retry": "false"})
        return response

    def _whole(self, response, meter):
        text = _text(response)
        if response.is_success and isinstance(body := parsed(text), dict):
            meter.hear(body)
        data = cut(text).encode()
        return Response(response.status_code, _headers(response) | {"content-length": len(data)}, [data])

    def _events(self, response, seat, meter) -> Iterator[bytes]:
        """The pieces of a stream. The status 200 has been sent: what goes wrong now can only be an event."""
        kind, said = "api_error", BROKE_OFF
        with contextlib.suppress(httpx2.HTTPError):
            for event in keyless(_heard(response, meter)):
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode("ascii", "replace")
                if event["type"] in LAST_EVENTS:
                    return
                if self.server.seats.is_over(seat, meter):
                    kind, said = "billing_error", self.server.seats.over
                    break
        yield wire.sse("error", wire.error_body(200, said, self._id(), kind))


def _heard(response, meter) -> Iterator[dict]:
    for line in response.iter_lines():
        event = parsed(line[5:]) if line.startswith("data:") else None
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            meter.hear(event)
            yield event


def _text(response):
    try:
        return response.read().decode("utf-8", "replace")
    except httpx2.HTTPError:
        raise ApiError(502, BROKE_OFF) from None


def _headers(response):
    return {name: cut(value) for name, value in response.headers.items() if KEPT_HEADERS.fullmatch(name)}


class Proxy(door.server.Server):
    """The proxy in a thread of this process. `options` are what settings.in_force gives: base_url, model, a secret."""

    handler = Handler

    def __init__(
        self,
        options: Mapping[str, str],
        seats: Seats,
        *,
        ip: str = door.server.HOST,
        port: int = 0,
        record: Path | None = None,
    ) -> None:
        self.seats, self.model, self.most = seats, options["model"], int(options.get("max_tokens", 0))
        self.url_there, token = options["base_url"].rstrip("/"), options.get("auth_token")
        keep(texts=[token or options["api_key"]])
        self.client = httpx2.Client(
            base_url=self.url_there,
            headers={"content-type": "application/json"}
            | ({"authorization": f"Bearer {token}"} if token else {"x-api-key": options["api_key"]}),
            timeout=httpx2.Timeout(SILENCE_SECONDS, connect=20),
            trust_env=not settings.is_local(self.url_there),
        )
        self.recorders: dict[int, Recorder] = {}
        if record:
            try:
                record.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                text = f"{record} cannot be made: {error.strerror}. Name another folder."
                raise settings.SettingsError(text) from None
            for seat in seats.seats.values():
                path = record / f"seat-{seat.number:02}.jsonl"
                self.recorders[seat.number] = Recorder(path, self.model, "endpoint", self.most)
        super().__init__(None, host=ip, port=port)

    def close(self) -> None:
        super().close()
        self.client.close()


def main(argv: Sequence[str] | None = None) -> int | str:
    """Serve until Ctrl-C. Returns an exit status, or a sentence about what stands in the way."""
    given = _parser().parse_args(argv)
    try:
        options, origin = settings.in_force()
        if not options:
            return f"There is no key to share: write API_KEY, MODEL_ID and perhaps BASE_URL into .env. {origin}".strip()
        seats = Seats(given.seats, given.budget, given.state)
        proxy = Proxy(options, seats, ip=given.ip, port=given.port, record=given.record)
    except settings.SettingsError as error:
        return str(error)
    except (OSError, OverflowError) as error:
        return door.cannot_listen(given, error)
    if settings.host_of(proxy.url_there) == settings.host_of(proxy.url):
        proxy.server_close()
        return "BASE_URL in .env is the address of this proxy itself: name the endpoint behind it, or another --port."
    door.serve(proxy, _lines(proxy, given))
    print("\n".join(f"seat {one.number:2}  {one.spent:>9,} tokens" for one in seats.seats.values() if one.spent))
    print(f"all      {seats.spent():>9,} tokens")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = door.parser("key", __doc__, 8124)
    parser.add_argument("--seats", type=_number, default=30, metavar="N", help="how many seats; 30 unless given")
    each = "for each seat, read and written together; 500000 unless given, 0 is no limit"
    parser.add_argument("--budget", type=_number, default=500_000, metavar="TOKENS", help=each)
    parser.add_argument("--state", type=Path, metavar="FILE", help="where the counts and the seats outlive a restart")
    kept = "write down what each seat asks and gets, without keys"
    parser.add_argument("--record", type=Path, metavar="DIR", help=kept)
    return parser


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number is needed, and this is {text!r}")
    return int(text)


def _lines(proxy: Proxy, given: argparse.Namespace) -> Iterator[str]:
    seats, at = proxy.seats.seats, door.address(given.ip, proxy.server_address[1])
    limit = f"{given.budget:,} tokens each" if given.budget else "without a limit"
    where = settings.host_of(proxy.url_there)
    yield f"{proxy.model} at {where} answers {len(seats)} seats, {limit}. The key stays here."
    yield f"Learners write into .env:\n  BASE_URL={at}\n  MODEL_ID={proxy.model}\n  API_KEY=their seat"
    yield "The seats, one for each learner:"
    yield from (f"  {seat.number:2}  {word}" for word, seat in seats.items())
    if proxy.seats.spent():
        yield f"They are those of {given.state}: {proxy.seats.spent():,} tokens are spent."
    yield f"{door.who_can_come(given.ip)} Ctrl-C ends it and shows who used how much."
