"""connect(): a client and a model name, for a real endpoint if .env names one, else for the offline server.

The only import of anthropic, made when it is called: the SDK takes about two seconds to import.
"""

import atexit
import weakref
from urllib.parse import urlsplit

from ...calls.secrets import cut
from ..api.server import Server
from ..understudy.reply import Scripted, Understudy
from . import settings
from .recording import Recorder, RecordingError
from .replay import Replay

_server = None  # one for the whole process: connecting again opens no second port


def connect(script=None, *, offline=False, record=None, replay=None):
    """Return (client, model): a real `anthropic.Anthropic`, and the name to pass as `model=`. Prints who answers.

    With `script`, a list of lines (see `Scripted`), these lines answer, offline. Without it, the first place that names
    a key or a base URL decides: the file .env, searched from the current folder upwards, then the environment. Key and
    address always come from the same place, so that no key is sent to a server that it was not meant for. If neither
    names one, with `offline`, or if the environment sets S02_OFFLINE, the understudy answers, offline.

    `record` names a file to which all that is sent and received is appended, without the key. `replay` names such a
    file, which then answers, offline and in its order; `departures(client)` says where a request departs from it.
    Raises SettingsError or RecordingError for what cannot work, with what to do.
    """
    if replay is not None:
        return _replayed(replay, script, record)
    recorder = Recorder(record) if record is not None else None
    found, where, note = settings.in_force(offline or script is not None)
    if script is not None:
        client, model, by = _offline(Scripted(script), recorder), Scripted.name, "script"
        said = "Offline: no language model answers here, the lines of the script do."
    elif found:
        client, model, said = _live(found, where, recorder)
        by = "endpoint"
    else:
        client, model, by = _offline(Understudy(), recorder), Understudy.name, "rules"
        said = f"Offline: no language model answers here, rules do. {note}".strip()
    print(cut(f"{said} {recorder.begin(model, by)}" if recorder else said))
    return client, model


def exchanges(client):
    """What an offline client sent and got, as it went over the wire: a list of dicts, the oldest first."""
    caller = _server and _server.callers.get(client.api_key)
    return list(caller.exchanges) if caller else []


def departures(client):
    """Where the requests of a replay departed from the recording: a line for each, the oldest first."""
    caller = _server and _server.callers.get(client.api_key)
    return list(getattr(caller.answerer, "departures", [])) if caller else []


def _replayed(path, script, record):
    if record is not None:
        raise RecordingError("Give record= or replay=, not both: what a replay answers is recorded already.")
    if script is not None:
        raise RecordingError("Give a script or replay=, not both: a replay answers from its file.")
    settings.in_force(offline=True)
    replay = Replay(path)
    client = _offline(replay, replay)
    print(cut(replay.said))
    return client, replay.name


def _offline(answerer, watcher=None):
    global _server
    if _server is None or not _server.alive:  # a forked child has the module, but not the thread
        _server = Server(Understudy()).start()
        atexit.register(_server.close)
    return _client(watcher, base_url=_server.url, api_key=_server.add(answerer), max_retries=0)


def _client(watcher, **options):
    """The client; `watcher`, a Recorder or a Replay, sees what goes through its HTTP client."""
    import anthropic

    # No proxy may catch what stays on this machine.
    http_client = anthropic.DefaultHttpxClient(trust_env=not settings.is_local(options["base_url"]))
    if watcher is not None:
        watcher.attach(http_client)
    _wall_in(http_client)
    client = anthropic.Anthropic(**options, http_client=http_client)
    weakref.finalize(client, http_client.close)  # the SDK closes only what it made itself
    return client


def _wall_in(http_client):
    """Cut the keys out of each body that this httpx2 client sends, and of each that comes back in one piece.

    Cut, not refused: a key in the history would be refused again with each request, and nobody could go on.
    """
    import httpx2

    send = http_client.send
    of_the_old_body = ("content-length", "content-encoding", "transfer-encoding")

    def without_keys(request, *, stream=False, **options):
        body = request.read().decode(errors="surrogateescape")
        if (clean := cut(body)) != body:
            request = httpx2.Request(
                request.method,
                request.url,
                headers=[pair for pair in request.headers.multi_items() if pair[0] not in of_the_old_body],
                content=clean.encode(errors="surrogateescape"),
                extensions=request.extensions,
            )
        response = send(request, stream=stream, **options)
        if stream and response.is_success:
            return response
        text = response.read().decode(errors="surrogateescape")
        if (clean := cut(text)) != text:  # an endpoint that quotes the key, such as in an error
            response = httpx2.Response(
                response.status_code,
                headers=[pair for pair in response.headers.multi_items() if pair[0] not in of_the_old_body],
                content=clean.encode(errors="surrogateescape"),
                request=request,
                extensions=response.extensions,
            )
        return response

    http_client.send = without_keys


def _live(found, where, recorder=None):
    base_url, model = settings.base_url_of(found, where), settings.clean(found, where, "model")
    key, token = settings.key_of(found, where, "key"), settings.key_of(found, where, "token")
    if not model:
        raise settings.SettingsError(
            f"MODEL_ID is missing: {where} names an endpoint, so say there which model is to answer."
        )
    if key or not token:
        client = _client(recorder, base_url=base_url, api_key=key or settings.NO_KEY)
        with_key = f"{found['key'][0]} from {where}" if key else f"no key, address from {where}"
    else:
        client = _client(recorder, base_url=base_url, auth_token=token)
        with_key = f"{found['token'][0]} from {where}"
    host = urlsplit(base_url).netloc.rpartition("@")[2]
    return client, model, f"Live: {model} at {host} answers ({with_key})."
