"""connect(): a client and a model name, for a real endpoint if .env names one, else for the offline server.

The only import of anthropic, made when it is called: the SDK takes about two seconds to import.
"""

import atexit
import logging
import os
import ssl
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import s02_tool_use

from ...calls.secrets import cut
from ..api.server import Server, in_this_page
from ..understudy import Scripted, Understudy
from . import banner, edited, faults, missing, prices, settings
from .live import OF_A_BODY, Live
from .recording import Recorder, RecordingError
from .replay import Replay
from .tap import Tap

if TYPE_CHECKING:
    import anthropic


@dataclass
class Connection:
    """What connect() knows of a client that it made, and of its copies."""

    prices: Mapping[str, float] | None = None  # PRICES of the same place that named the endpoint
    tap: Tap = field(default_factory=Tap)


_connections: weakref.WeakKeyDictionary[Any, Connection] = weakref.WeakKeyDictionary()  # by HTTP client
_server: Server | None = None  # one for the whole process: connecting again opens no second port


def connect(
    script: Iterable[Any] | None = None,
    *,
    base_url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    offline: bool = False,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
) -> tuple["anthropic.Anthropic", str]:
    """Return (client, model): a real `anthropic.Anthropic`, and the name to pass as `model=`. Says who answers.

    With `script`, a list of lines (see `Scripted`), these lines answer, offline. Without it, the first place that names
    a key or a base URL decides: the file .env, searched from the current folder upwards, then the environment. Key and
    address always come from the same place, so that no key is sent to a server that it was not meant for. If neither
    names one, with `offline`, or if the environment sets S02_OFFLINE, the understudy answers, offline. What stands
    between the client and a live endpoint (MAX_TOKENS, progress, Stop) is in live.py.

    `base_url` and `model`, and `api_key` where one is needed, name an endpoint for this client alone: neither .env nor
    the environment is looked at, S02_OFFLINE included, so that two endpoints can stand side by side in one notebook.

    `record` names a file to which all that is sent and received is appended, without the key. `replay` names such a
    file, which then answers, offline and in its order; `departures(client)` says where a request departs from it.
    In a browser page nothing leaves the page: an endpoint is refused, all else works.
    Raises SettingsError or RecordingError for what cannot work, with what to do.
    """
    for option, given in (("record=", record), ("a script", script)):
        if replay is not None and given is not None:
            raise RecordingError(f"Give {option} or replay=, not both: a replay answers from its file.")
    if isinstance(script, str):
        raise settings.SettingsError(
            'A script is a list of lines, such as ["Hello."]; an address goes to base_url=, with model= beside it.'
        )
    answers = {"a script": script is not None, "replay=": replay is not None, "offline=True": offline}
    other = next((name for name, is_there in answers.items() if is_there), None)
    named = next(
        (f"{n}=" for n, v in (("base_url", base_url), ("model", model), ("api_key", api_key)) if v is not None), None
    )
    if named and other:
        raise settings.SettingsError(f"Give {named} or {other}, not both: each says who answers.")
    most = 0  # tokens of a reply
    connection = Connection()
    # Of what goes through the HTTP client, from the network to the SDK.
    watchers: list[Live | Recorder | Replay | Tap] = []
    if named:
        options, note = settings.given(base_url, model, api_key, in_this_page)
    else:
        options, note = settings.in_force(other is not None)
    if options:
        model, by, most = options.pop("model"), "endpoint", int(options.pop("max_tokens", 0))
        if priced := options.pop("prices", None):
            connection.prices = prices.checked(prices.read(priced))
        said = f"Live: {model} at {settings.host_of(options['base_url'])} answers ({note})."
        watchers = [Live(model, most)]
    elif replay is not None:
        watchers = [watcher := Replay(replay)]
        options, model, said = _offline(watcher), watcher.name, watcher.said
    elif script is not None:
        options, model, by = _offline(Scripted(script)), Scripted.name, "script"
        said = "Offline: no language model answers here, the lines of the script do."
    else:
        options, model, by = _offline(Understudy()), Understudy.name, "rules"
        said = f"Offline: no language model answers here, rules do.\n{note}".strip()
    if record is not None:
        watchers.insert(0, recorder := Recorder(record, model, by, most))
        said += f"\n{recorder.said}"
    watchers.insert(0, connection.tap)
    client = _client(watchers, named is not None, **options)
    _connections[client._client] = connection
    edited.watch()
    missing.watch()
    banner.say("who answers", cut(said))
    return client, model


def departures(client: "anthropic.Anthropic") -> list[str]:
    """Where the requests of a replay departed from the recording: a line for each, the oldest first."""
    return list(getattr(answerer_of(client), "departures", ()))


def answerer_of(client: Any) -> Any:
    """Who answers an offline client. None for any other client."""
    if _server is None or not str(getattr(client, "base_url", "")).startswith(_server.url):
        return None
    caller = _server.callers.get(getattr(client, "api_key", None) or "")
    return caller and caller.answerer


def who_answers(client: Any, model: str | None) -> str:
    """Who answers this client, in a word or two: `rules`, `a script`, `a recording`, or else the model's name."""
    answerer = answerer_of(client)
    for kind, name in ((Understudy, "rules"), (Scripted, "a script"), (Replay, "a recording")):
        if isinstance(answerer, kind):
            return name
    return model or "a model"


def connection_of(client: Any) -> Connection | None:
    """What connect() knows of a client. None for a client that it did not make."""
    try:
        return _connections.get(getattr(client, "_client", None))
    except TypeError:  # nothing that could be a key
        return None


def _offline(answerer):
    global _server
    if _server is None or not _server.alive:  # a forked child has the module, but not the thread
        _server = Server(Understudy()).start()
        atexit.register(_server.close)
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # plain HTTP: certificates would take 17 ms to load
    return {"base_url": _server.url, "api_key": _server.add(answerer), "max_retries": 0, "verify": plain}


def _client(watchers, is_given, verify=True, **options):
    """The client; each of `watchers` stands before what goes through its HTTP client."""
    import anthropic

    logging.getLogger("anthropic._base_client").addFilter(_cut_log)
    # No proxy may catch what stays on this machine.
    trust_env = not settings.is_local(options["base_url"])
    if s02_tool_use.IN_A_PAGE:
        from .transport import Transport

        http_client = anthropic.DefaultHttpxClient(transport=Transport(), trust_env=False)
    else:
        http_client = anthropic.DefaultHttpxClient(trust_env=trust_env, verify=verify)
    for watcher in watchers:
        http_client.send = partial(watcher.send, http_client.send)
    http_client.send = partial(_send_without_keys, http_client.send, is_given)
    # What no page catches is one sentence below its cell: IPython asks for this.
    anthropic.APIError._render_traceback_ = lambda error: [faults.explain(error)]  # type: ignore[attr-defined]
    if is_given:  # the SDK adds what the environment has for another endpoint, a password perhaps
        lines = os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
        options["default_headers"] = {line.partition(":")[0].strip(): anthropic.Omit() for line in lines if ":" in line}
    client = anthropic.Anthropic(**options, http_client=http_client)
    # The SDK closes only what it made itself. Not when `client` goes: a copy of it (with_options) may go on.
    for transport in filter(None, (http_client._transport, *http_client._mounts.values())):
        weakref.finalize(http_client, transport.close)
    return client


def _cut_log(record):
    """A filter of the SDK's log: with ANTHROPIC_LOG=debug it holds each request as it is before the wall."""
    record.msg, record.args = cut(record.getMessage()), ()
    return True


def _send_without_keys(send, is_given, request, *, stream=False, **options):
    """Cut the keys out of each body that an httpx2 client sends, and of each that comes back in one piece.

    Cut, not refused: a key in the history would be refused again with each request, and nobody could go on.
    """
    import httpx2

    if is_given:
        request.extensions[faults.GIVEN] = True
    request = _without_keys(request, partial(httpx2.Request, request.method, request.url))
    response = send(request, stream=stream, **options)
    if stream and response.is_success:
        return response
    # An endpoint may quote the key, such as in an error.
    return _without_keys(response, partial(httpx2.Response, response.status_code, request=request))


def _without_keys(message, make):
    """A request or a response, or what `make` makes of its body if a key stands in that."""
    body = message.read().decode(errors="surrogateescape")
    if (clean := cut(body)) == body:
        return message
    headers = [pair for pair in message.headers.multi_items() if pair[0] not in OF_A_BODY]
    return make(headers=headers, content=clean.encode(errors="surrogateescape"), extensions=message.extensions)
