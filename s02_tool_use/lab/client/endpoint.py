"""connect(): a client and a model name, for a real endpoint if .env names one, else for the offline server.

The only import of anthropic, made when it is called: the SDK takes about two seconds to import.
"""

import atexit
import os
import weakref
from urllib.parse import urlsplit

from ..api.server import Server
from ..understudy.reply import Scripted, Understudy
from .recording import Recorder, RecordingError
from .replay import Replay

# The names under which a setting may stand. The first that is not empty wins.
NAMES = {
    "key": ("API_KEY", "ANTHROPIC_API_KEY"),
    "token": ("ANTHROPIC_AUTH_TOKEN",),
    "base_url": ("BASE_URL", "ANTHROPIC_BASE_URL"),
    "model": ("MODEL_ID", "ANTHROPIC_MODEL"),
}
STAY_OFFLINE = "S02_OFFLINE"  # an environment variable: when it is set, no setting is looked at
PLACEHOLDER = "put-your-key-here"  # the key of .env.example
NO_KEY = "not-needed"  # a local server takes any key, but the SDK sends nothing without one
QUOTES = "\"'`“”‘’«»"
DEFAULT_URL = "https://api.anthropic.com"

_server = None  # one for the whole process: connecting again opens no second port


class SettingsError(ValueError):
    """A setting that cannot work, in one sentence that says what to do. A notebook shows only that sentence."""

    def _render_traceback_(self):
        return [f"SettingsError: {self}"]


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
    recorder = Recorder(record, _secrets()) if record is not None else None
    found, where, note = ({}, "", "") if offline or script is not None else _settings()
    if script is not None:
        client, model, by = _offline(Scripted(script), recorder), Scripted.name, "script"
        said = "Offline: no language model answers here, the lines of the script do."
    elif found:
        client, model, said = _live(found, where, recorder)
        by = "endpoint"
    else:
        client, model, by = _offline(Understudy(), recorder), Understudy.name, "rules"
        said = f"Offline: no language model answers here, rules do. {note}".strip()
    print(f"{said} {recorder.begin(model, by)}" if recorder else said)
    return client, model


def exchanges(client):
    """What an offline client sent and got, as it went over the wire: a list of dicts, the oldest first."""
    seat = _server and _server.seats.get(client.api_key)
    return list(seat.exchanges) if seat else []


def departures(client):
    """Where the requests of a replay departed from the recording: a line for each, the oldest first."""
    seat = _server and _server.seats.get(client.api_key)
    return list(getattr(seat.answerer, "departures", [])) if seat else []


def _replayed(path, script, record):
    if record is not None:
        raise RecordingError("Give record= or replay=, not both: what a replay answers is recorded already.")
    if script is not None:
        raise RecordingError("Give a script or replay=, not both: a replay answers from its file.")
    replay = Replay(path)
    client = _offline(replay, replay)
    print(replay.said)
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

    is_local = _is_local(options["base_url"])
    if not is_local and watcher is None:
        return anthropic.Anthropic(**options)
    http_client = anthropic.DefaultHttpxClient(trust_env=not is_local)  # no proxy may catch what stays on this machine
    if watcher is not None:
        watcher.attach(http_client)
    client = anthropic.Anthropic(**options, http_client=http_client)
    weakref.finalize(client, http_client.close)  # the SDK closes only what it made itself
    return client


def _is_local(url):
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")


def _live(found, where, recorder=None):
    base_url, model = _base_url(found, where), _clean(found, where, "model")
    key, token = _key(found, where, "key"), _key(found, where, "token")
    if not model:
        raise SettingsError(f"MODEL_ID is missing: {where} names an endpoint, so say there which model is to answer.")
    if key or not token:
        client = _client(recorder, base_url=base_url, api_key=key or NO_KEY)
        with_key = f"{found['key'][0]} from {where}" if key else f"no key, address from {where}"
    else:
        client = _client(recorder, base_url=base_url, auth_token=token)
        with_key = f"{found['token'][0]} from {where}"
    host = urlsplit(base_url).netloc.rpartition("@")[2]
    return client, model, f"Live: {model} at {host} answers ({with_key})."


# Settings: (name, value) for each role that is set, from one place


def _settings():
    """What decides, where it stands, and what to say if nothing does: ({role: (name, value)}, place, note)."""
    note = "For a real one see .env.example."
    if os.environ.get(STAY_OFFLINE):
        return {}, "", note
    file = _dotenv()
    for values, where in ((file, ".env"), (os.environ, "the environment")):
        found = _found(values)
        if found.get("key", ("", ""))[1].strip(QUOTES + " ") == PLACEHOLDER:
            note = f"{found.pop('key')[0]} in {where} is still the placeholder: put your key there for a real one."
        if found.keys() & {"key", "token", "base_url"}:
            model = _found(file).get("model")  # no secret: .env may name the model for a key of the environment
            return found | ({"model": model} if model else {}), where, ""
    return {}, "", note


def _secrets():
    """Every key, token and password that stands in .env or in the environment, in use or not."""
    for values in (_dotenv(), os.environ):
        for role, name in ((role, name) for role, names in NAMES.items() for name in names):
            value = (values.get(name) or "").strip(QUOTES + " ")
            if role in ("key", "token") and value not in (PLACEHOLDER, NO_KEY):
                yield value
            elif role == "base_url" and "@" in value:
                yield from filter(None, value.partition("://")[2].rpartition("@")[0].split(":", 1))


def _found(values):
    rows = {role: [(n, values[n]) for n in names if (values.get(n) or "").strip()] for role, names in NAMES.items()}
    return {role: row[0] for role, row in rows.items() if row}


def _dotenv():
    from dotenv import dotenv_values, find_dotenv

    try:
        path = find_dotenv(usecwd=True)
        return dotenv_values(path, interpolate=False) if path else {}
    except UnicodeDecodeError:
        raise SettingsError("The file .env is not UTF-8 text: save it again with the encoding UTF-8.") from None
    except OSError as error:
        raise SettingsError(f"The file .env cannot be read: {error.strerror}.") from None


def _clean(found, where, role):
    name, value = found.get(role, ("", ""))
    if value != value.strip():
        raise SettingsError(f"{name} in {where} has blanks around it: remove them.")
    if value and (value[0] in QUOTES or value[-1] in QUOTES):
        raise SettingsError(f"{name} in {where} has quotation marks around it: remove them.")
    return value


def _key(found, where, role):
    value = _clean(found, where, role)
    if not value.isascii() or not value.isprintable() or " " in value:
        raise SettingsError(f"{found[role][0]} in {where} has a character that no key has: copy it again.")
    return value


def _base_url(found, where):
    value = _clean(found, where, "base_url")
    if not value:
        return DEFAULT_URL
    name = found["base_url"][0]
    if not value.lower().startswith(("http://", "https://")):
        scheme = "http" if _is_local(f"http://{value}") else "https"
        raise SettingsError(f"{name} in {where} has no http:// or https://: write {scheme}://{value.split('://')[-1]}")
    short = value.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    if short != value.rstrip("/"):
        raise SettingsError(f"{name} in {where} must end before /v1, which the client adds: write {short}")
    try:
        parts = urlsplit(value)
        if not parts.hostname or parts.port == 0:
            raise ValueError
    except ValueError:
        raise SettingsError(f"{name} in {where} is not an address: {value}") from None
    return value
