"""One real key for the room: it goes to the endpoint from here, and learners get a seat each in its place.

A seat is sent where a key would be. Each request goes to the one endpoint that .env names, with the room's key; what
comes back goes to the learner without it. The tokens of each seat are counted (budget.py), and end at a budget. Left
out: encryption, prices, and what an endpoint's own tools cost (web search, code execution): those are refused.
"""

import argparse
import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...calls.secrets import CUT, SHORTEST_CHARACTERS, cut, held, keep
from ..api import wire
from ..api.server import ApiError, Response
from ..client import settings
from ..client.recording import LAST_EVENTS, PIECES, Recorder, RecordingError, bounded, parsed
from . import door
from .budget import Account, Meter, Seats, StateError

PATHS = ("/v1/messages", "/v1/messages/count_tokens")
COUNTED = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
RUN_THERE = ("advisor_", "code_execution_", "mcp_", "web_")  # tools that cost more than what a budget can hold
KEPT_HEADERS = re.compile(r"(?i)content-type|request-id|retry-after|x-should-retry|anthropic-ratelimit-.*")
IMAGE_TOKENS = 1600  # where the endpoint does not count
SILENCE_SECONDS = 600  # of the endpoint
BROKE_OFF = "the endpoint behind the room's key broke off"


class Handler(door.Handler):
    server: "Proxy"
    called = "The room's proxy"

    def _answer(self):
        self.ends = contextlib.ExitStack()
        try:
            return self._forwarded()
        except BaseException as error:
            self.ends.close()
            if getattr(error, "status", None) == 402:
                self.server.say(f"Refused: {error}.")
            raise

    def _send(self, response):
        try:
            super()._send(response)
        finally:  # also when the learner has gone in the middle: what came so far is counted
            if hasattr(self, "ends"):
                self.ends.close()

    def _refuse(self, no):
        no.message = cut(no.message)  # it may quote anything
        super()._refuse(no)

    def _forwarded(self):
        path, _, query = self.path.partition("?")
        account = self._account()
        if path not in PATHS:
            raise self._not_read(404, "Not Found")
        if self.command != "POST":
            raise self._not_read(405, "Method Not Allowed")
        self.body = self._read_body()
        request = bounded(self._json(), self.server.most)
        self._check(request)
        path += "?beta=true" if query == "beta=true" else ""
        if "count_tokens" in path:
            response = self.ends.enter_context(self._asked(path, request))
            return self._whole(response, Meter(0, wire.count_tokens))
        reads, promise = self._promise(account, request)
        meter = Meter(reads, wire.count_tokens)
        self.ends.callback(lambda: self.server.seats.settle(promise, meter.tokens))
        response = self.ends.enter_context(self._asked(path, {**request, "max_tokens": promise.most}, account))
        if response.is_success and "text/event-stream" in response.headers.get("content-type", ""):
            return Response(200, _headers(response), self._events(response, meter), slow=0)
        return self._whole(response, meter)

    # What comes in

    def _account(self) -> Account:
        try:
            account = self.server.seats.account(self._key())
        except ApiError:
            account = None
        if account is None:
            raise self._not_read(401, "this is no seat of the room: copy yours again from the teacher's list")
        return account

    def _not_read(self, status, message):
        length = self.headers.get("content-length", "")
        return self._unreadable(status, message, int(length[:9]) if length.isdecimal() else 0)

    def _check(self, request):
        if request.get("model") not in self.server.models:
            ours = " or ".join(self.server.models)
            raise ApiError(404, f"the room's model is {ours}, and this request names another")
        tools = request.get("tools") if isinstance(request.get("tools"), list) else []
        kinds = [str(tool.get("type")) for tool in tools if isinstance(tool, dict)]
        kinds += [key for key in ("mcp_servers", "container") if request.get(key)]
        for kind in kinds:
            if kind.startswith((*RUN_THERE, "container")):
                raise ApiError(403, f"{kind} runs at the endpoint and costs extra: the room's key does not pay for it")

    def _promise(self, account, request):
        """(tokens that the request reads, the Promise). Counted roughly where much is left, else by the endpoint."""
        import httpx2

        seats, most, exact = self.server.seats, request.get("max_tokens"), None
        if type(most) is not int or most < 1:
            raise ApiError(400, "max_tokens: a whole number, 1 or more, is needed")
        text, images = re.subn(r'("data": ")[\w+/=-]{200,}', r"\1", json.dumps(request, ensure_ascii=False))
        reads = wire.count_tokens(text) + images * IMAGE_TOKENS
        if images or '"source"' in text or '"file_id"' in text or seats.left(account) < 2 * reads + most:
            asked = {key: request[key] for key in COUNTED & request.keys()}
            with contextlib.suppress(ApiError, httpx2.HTTPError), self._asked(PATHS[1], asked) as response:
                told = parsed(response.read())
                exact = told.get("input_tokens") if response.is_success and isinstance(told, dict) else None
        if type(exact) is int and exact >= reads // 8:
            reads = exact
            promise = seats.promise(account, reads, most)
        else:
            promise = seats.promise(account, min(2 * reads, max(seats.left(account) - most, reads)), most)
        thinks = request["thinking"].get("budget_tokens") if isinstance(request.get("thinking"), dict) else None
        if promise.most < most and type(thinks) is int and thinks >= promise.most:
            seats.settle(promise, 0)
            raise ApiError(402, f"this seat has {promise.most:,} tokens left, too few to think: ask your teacher")
        return reads, promise

    # What goes on, and what comes back

    @contextlib.contextmanager
    def _asked(self, path, request, account=None) -> Iterator[Any]:
        """The endpoint's response, still to be read. Raises ApiError if there is none."""
        import httpx2

        given = {name.lower() for name in self.headers if name.lower().startswith("anthropic-")}
        headers = {name: ",".join(self.headers.get_all(name) or ()) for name in given}
        headers = {name: value for name, value in headers.items() if value.isascii() and value.isprintable()}
        headers |= {"content-type": "application/json", "accept-encoding": "identity", "user-agent": "s02-room"}
        headers |= self.server.key
        client, recorder = self.server.client, account and self.server.recorder(account)
        asked = client.build_request("POST", self.server.url_there + path, headers=headers, content=json.dumps(request))
        try:
            response = recorder.send(client.send, asked, stream=True) if recorder else client.send(asked, stream=True)
        except httpx2.TimeoutException:
            raise ApiError(504, "the endpoint behind the room's key does not answer in time") from None
        except httpx2.HTTPError as error:
            self.server.say(f"The endpoint cannot be reached: {type(error).__name__}.")
            raise ApiError(502, "the endpoint behind the room's key cannot be reached") from None
        with contextlib.closing(response):
            if response.status_code in (401, 403):
                self.server.say(f"The endpoint does not accept the room's key ({response.status_code}).")
                text = "the endpoint does not accept the room's key: tell your teacher"
                raise ApiError(502, text, headers={"x-should-retry": "false"})
            if not 200 <= response.status_code < 300 and response.status_code < 400:
                raise ApiError(502, "the endpoint behind the room's key sends the request elsewhere")
            yield response

    def _whole(self, response, meter):
        import httpx2

        try:
            text = response.read().decode("utf-8", "replace")
        except httpx2.HTTPError:
            raise ApiError(502, BROKE_OFF) from None
        body = parsed(text)
        if response.is_success and isinstance(body, dict):
            meter.hear(body)
        data = (json.dumps(cut(body)) if isinstance(body, dict) else cut(text)).encode()
        return Response(response.status_code, _headers(response) | {"content-length": len(data)}, [data])

    def _events(self, response, meter) -> Iterator[bytes]:
        """The pieces of a stream. The status 200 has been sent: what goes wrong now can only be an event."""
        try:
            for event in without_key(_heard(response, meter)):
                yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode("ascii", "replace")
                if event["type"] in LAST_EVENTS:
                    return
        except Exception as error:  # the endpoint has gone, or says what nobody understands
            self.server.say(f"The endpoint broke off in the middle of a reply: {type(error).__name__}.")
        broken = wire.error_body(200, BROKE_OFF, self._id(), "api_error")
        yield wire.sse("error", broken)


def _heard(response, meter) -> Iterator[dict]:
    for line in response.iter_lines():
        event = parsed(line[5:]) if line.startswith("data:") else None
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            meter.hear(event)
            yield event


class Proxy(door.Door):
    """The proxy in a thread of this process. `options` are what settings.in_force gives: base_url, model, a secret."""

    handler = Handler

    def __init__(
        self,
        options: Mapping[str, str],
        seats: Seats,
        *,
        ip: str = door.server.HOST,
        port: int = 0,
        models: Sequence[str] = (),
        record: Path | None = None,
    ) -> None:
        import httpx2

        super().__init__(ip, port)
        self.seats, self.record, self.most = seats, record, int(options.get("max_tokens", 0))
        self.models = (options["model"], *models)
        self.url_there = options["base_url"].rstrip("/")
        token = options.get("auth_token")
        self.key = {"authorization": f"Bearer {token}"} if token else {"x-api-key": options["api_key"]}
        self.client = httpx2.Client(
            timeout=httpx2.Timeout(SILENCE_SECONDS, connect=20),
            limits=httpx2.Limits(max_connections=door.MOST_CONNECTIONS),
            trust_env=not settings.is_local(self.url_there),
        )
        keep(texts=[token or options["api_key"]])
        self._recorders: dict[int, Recorder | None] = {}
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def service_actions(self):
        super().service_actions()
        if self.seats.failed:
            self.say(f"{self.seats.failed} Until then a restart forgets what is spent.")

    def close(self) -> None:
        super().close()
        self.client.close()

    def recorder(self, account: Account) -> Recorder | None:
        """What writes down this seat's requests and replies, if that was asked for."""
        with self._lock:
            if self.record is not None and account.number not in self._recorders:
                self._recorders[account.number] = None
                try:
                    path = self.record / f"seat-{account.number:02}.jsonl"
                    self._recorders[account.number] = Recorder(path, self.models[0], "endpoint", self.most)
                except RecordingError as error:
                    self.say(str(error))
        return self._recorders.get(account.number)

    def say(self, text: str) -> None:
        """Tell the teacher, once."""
        if text not in self._told:
            self._told.add(text)
            with contextlib.suppress(OSError):  # nobody may be reading
                print(f"{time.strftime('%H:%M')}  {cut(text)}", flush=True)


def without_key(events: Iterator[dict]) -> Iterator[dict]:
    """The same events without the key, also where a stream cuts it into pieces: what may begin a key waits."""
    waiting: dict[tuple[str, str], str] = {}
    for event in events:
        delta = event.get("delta")
        if event["type"] == "content_block_delta" and isinstance(delta, dict):
            for key in PIECES & delta.keys():
                place = json.dumps(event.get("index")), key
                text = cut(waiting.get(place, "") + str(delta[key]))
                ready = len(text) - held(text)
                delta[key], waiting[place] = text[:ready], text[ready:]
        else:
            for (index, key), text in waiting.items():
                kind = {"partial_json": "input_json"}.get(key, key)
                rest = {"type": f"{kind}_delta", key: text if len(text) < SHORTEST_CHARACTERS else CUT}
                if text:
                    yield {"type": "content_block_delta", "index": json.loads(index), "delta": rest}
            waiting = {}
        yield cut(event)


def _headers(response):
    kept = {name: cut(value) for name, value in response.headers.items() if KEPT_HEADERS.fullmatch(name)}
    return {name: value for name, value in kept.items() if value.isascii() and value.isprintable()}


def main(argv: Sequence[str] | None = None) -> int | str:
    """Serve until Ctrl-C. Returns an exit status, or a sentence about what stands in the way."""
    given = _parser().parse_args(argv)
    try:
        options, origin = settings.in_force()
    except settings.SettingsError as error:
        return str(error)
    if not options:
        return f"There is no key to share: write API_KEY, MODEL_ID and perhaps BASE_URL into .env. {origin}".strip()
    try:
        if given.record:
            given.record.mkdir(parents=True, exist_ok=True)
        seats = Seats(given.seats, given.budget, given.total, given.state)
        proxy = Proxy(options, seats, ip=given.ip, port=given.port, models=given.model, record=given.record)
    except StateError as error:
        return str(error)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.filename:
            return f"{error.filename} cannot be made: {error.strerror}. Name another folder."
        return door.cannot_listen(given, error)
    if settings.host_of(proxy.url_there) == settings.host_of(proxy.url):
        proxy.server_close()
        return "BASE_URL in .env is the address of this proxy itself: name the endpoint behind it, or another --port."
    door.serve(proxy, _lines(proxy, given))
    print("\n".join(f"seat {one.number:2}  {one.spent:>9,} tokens" for one in seats.accounts if one.spent))
    print(f"all      {seats.spent():>9,} tokens")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = door.parser("key", HELP, 8124)
    parser.add_argument("--seats", type=_number, default=30, metavar="N", help="how many seats; 30 unless given")
    parser.add_argument(
        "--budget",
        type=_number,
        default=500_000,
        metavar="TOKENS",
        help="for each seat, read and written together; 500000 unless given, 0 is no limit",
    )
    parser.add_argument("--total", type=_number, default=0, metavar="TOKENS", help="for all seats together")
    parser.add_argument("--state", type=Path, metavar="FILE", help="where the counts and the seats outlive a restart")
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="write down what each seat asks and gets, without keys"
    )
    parser.add_argument("--model", action="append", default=[], metavar="NAME", help="one more that seats may ask for")
    return parser


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number is needed, and this is {text!r}")
    return int(text)


def _lines(proxy: Proxy, given: argparse.Namespace) -> Iterator[str]:
    limits = [f"{given.budget:,} tokens each"] * bool(given.budget) + [f"{given.total:,} in all"] * bool(given.total)
    yield (
        f"{proxy.models[0]} at {settings.host_of(proxy.url_there)} answers {len(proxy.seats.accounts)} seats, "
        f"{', '.join(limits) or 'without a limit'}. The key stays here."
    )
    yield f"Learners write into .env:\n  BASE_URL={door.address(proxy)}\n"
    yield f"  MODEL_ID={proxy.models[0]}\n  API_KEY=their seat"
    if proxy.seats.new:
        yield "The seats, one for each learner. They are not shown again:"
        yield from (f"  {number:2}  {seat}" for number, seat in proxy.seats.new.items())
    if known := len(proxy.seats.accounts) - len(proxy.seats.new):
        yield f"{known} seats are those of {given.state}: {proxy.seats.spent():,} tokens are spent."
    yield f"{door.who_can_come(given.ip)} Ctrl-C ends it and shows who used how much."


HELP = (
    "One real key for the room. The key in .env stays on this machine; each learner gets a seat, which works in "
    "its place until its budget is used up."
)
