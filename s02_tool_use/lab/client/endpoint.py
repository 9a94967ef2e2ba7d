"""connect(): a client and a model name, for a real endpoint if .env names one, else for the offline server.

The only import of anthropic, made when it is called: the SDK takes about two seconds to import.
"""

import atexit
import logging
import os
import ssl
import weakref
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...calls.secrets import cut
from ..api.server import Server
from ..understudy import Scripted, Understudy
from . import edited, settings
from .faults import explain
from .live import OF_A_BODY, Live
from .recording import Recorder, RecordingError
from .replay import Replay

if TYPE_CHECKING:
    import anthropic

_server: Server | None = None  # one for the whole process: connecting again opens no second port


def connect(
    script: Iterable[Any] | None = None,
    *,
    offline: bool = False,
    record: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
) -> tuple["anthropic.Anthropic", str]:
    """Return (client, model): a real `anthropic.Anthropic`, and the name to pass as `model=`. Prints who answers.

    With `script`, a list of lines (see `Scripted`), these lines answer, offline. Without it, the first place that names
    a key or a base URL decides: the file .env, searched from the current folder upwards, then the environment. Key and
    address always come from the same place, so that no key is sent to a server that it was not meant for. If neither
    names one, with `offline`, or if the environment sets S02_OFFLINE, the understudy answers, offline. What stands
    between the client and a live endpoint (MAX_TOKENS, progress, Stop) is in live.py.

    `record` names a file to which all that is sent and received is appended, without the key. `replay` names such a
    file, which then answers, offline and in its order; `departures(client)` says where a request departs from it.
    Raises SettingsError or RecordingError for what cannot work, with what to do.
    """
    for option, given in (("record=", record), ("a script", script)):
        if replay is not None and given is not None:
            raise RecordingError(f"Give {option} or replay=, not both: a replay answers from its file.")
    most = 0  # tokens of a reply
    watchers: list[Live | Recorder | Replay] = []  # of what goes through the HTTP client, from the network to the SDK
    options, note = settings.in_force(offline or script is not None or replay is not None)
    if options:
        model, by, most = options.pop("model"), "endpoint", int(options.pop("max_tokens", 0))
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
        said = f"Offline: no language model answers here, rules do. {note}".strip()
    if record is not None:
        watchers.insert(0, recorder := Recorder(record, model, by, most))
        said += f" {recorder.said}"
    client = _client(watchers, **options)
    edited.watch()
    print(cut(said))
    return client, model


def departures(client: "anthropic.Anthropic") -> list[str]:
    """Where the requests of a replay departed from the recording: a line for each, the oldest first."""
    return list(getattr(answerer_of(client), "departures", ()))


def answerer_of(client: Any) -> Any:
    """Who answers an offline client. None for any other client."""
    caller = _server and _server.callers.get(getattr(client, "api_key", None) or "")
    return caller and caller.answerer


def _offline(answerer):
    global _server
    if _server is None or not _server.alive:  # a forked child has the module, but not the thread
        _server = Server(Understudy()).start()
        atexit.register(_server.close)
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # plain HTTP: certificates would take 17 ms to load
    return {"base_url": _server.url, "api_key": _server.add(answerer), "max_retries": 0, "verify": plain}


def _client(watchers, verify=True, **options):
    """The client; each of `watchers` stands before what goes through its HTTP client."""
    import anthropic

    logging.getLogger("anthropic._base_client").addFilter(_cut_log)
    # No proxy may catch what stays on this machine.
    http_client = anthropic.DefaultHttpxClient(trust_env=not settings.is_local(options["base_url"]), verify=verify)
    for watcher in watchers:
        http_client.send = partial(watcher.send, http_client.send)
    http_client.send = partial(_send_without_keys, http_client.send)
    # What no page catches is one sentence below its cell: IPython asks for this.
    anthropic.APIError._render_traceback_ = lambda error: [explain(error)]  # type: ignore[attr-defined]
    client = anthropic.Anthropic(**options, http_client=http_client)
    weakref.finalize(client, http_client.close)  # the SDK closes only what it made itself
    return client


def _cut_log(record):
    """A filter of the SDK's log: with ANTHROPIC_LOG=debug it holds each request as it is before the wall."""
    record.msg, record.args = cut(record.getMessage()), ()
    return True


def _send_without_keys(send, request, *, stream=False, **options):
    """Cut the keys out of each body that an httpx2 client sends, and of each that comes back in one piece.

    Cut, not refused: a key in the history would be refused again with each request, and nobody could go on.
    """
    import httpx2

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
