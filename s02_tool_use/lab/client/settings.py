"""The settings: what .env and the environment say about key, address and model, and what is wrong with it."""

import os
from urllib.parse import urlsplit

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


class SettingsError(ValueError):
    """A setting that cannot work, in one sentence that says what to do. A notebook shows only that sentence."""

    def _render_traceback_(self):
        return [f"SettingsError: {self}"]


def in_force():
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


def secrets():
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


def clean(found, where, role):
    name, value = found.get(role, ("", ""))
    if value != value.strip():
        raise SettingsError(f"{name} in {where} has blanks around it: remove them.")
    if value and (value[0] in QUOTES or value[-1] in QUOTES):
        raise SettingsError(f"{name} in {where} has quotation marks around it: remove them.")
    return value


def key_of(found, where, role):
    value = clean(found, where, role)
    if not value.isascii() or not value.isprintable() or " " in value:
        raise SettingsError(f"{found[role][0]} in {where} has a character that no key has: copy it again.")
    return value


def base_url_of(found, where):
    value = clean(found, where, "base_url")
    if not value:
        return DEFAULT_URL
    name = found["base_url"][0]
    if not value.lower().startswith(("http://", "https://")):
        scheme = "http" if is_local(f"http://{value}") else "https"
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


def is_local(url):
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")
