"""connect(): a client and a model name, for a real endpoint if .env names one, else for the offline server.

The only import of anthropic, and only when it is called: importing the SDK takes about two seconds.
"""

import atexit
import os
from urllib.parse import urlsplit

from .server import Server
from .understudy import Scripted, Understudy

# Under which names the settings may stand. The first of a row that is not empty wins.
NAMES = {
    "key": ("API_KEY", "ANTHROPIC_API_KEY"),
    "token": ("ANTHROPIC_AUTH_TOKEN",),
    "base_url": ("BASE_URL", "ANTHROPIC_BASE_URL"),
    "model": ("MODEL_ID", "ANTHROPIC_MODEL"),
}
PLACEHOLDER = "put-your-key-here"  # the key of .env.example
NO_KEY = "not-needed"  # local servers take any key, but the SDK sends no request without one
QUOTES = "\"'`“”‘’«»"
HOME = "api.anthropic.com"

_server = None  # one for the whole process: connecting again opens no second port


class SettingsError(ValueError):
    """A setting that cannot work, in one sentence that says what to do. A notebook shows that sentence only."""

    def _render_traceback_(self):
        return [f"SettingsError: {self}"]


def connect(script=None):
    """Return (client, model): a real `anthropic.Anthropic` and the name to pass as `model=`. Prints one line about who answers.

    With `script`, a list of lines (see Scripted), the script answers, always and offline. Without it the first of these
    that names a key or a base URL decides: the file .env, searched from the current folder upwards, then the environment.
    The key and the address are never mixed from both, so that no key goes to a server it was not meant for. If neither
    names one, the offline understudy answers. Raises SettingsError for settings that cannot work.
    """
    if script is not None:
        print("Offline: no language model answers here, the lines of the script do.")
        return _offline(Scripted(script))
    values, where = _settings()
    setting = _Setting(values, where)
    key_name, key = setting.get("key")
    if key == PLACEHOLDER and not setting.get("base_url")[1]:
        print(f"Offline: no language model answers here, rules do. {key_name} in {where} is still the placeholder.")
        return _offline(Understudy())
    if not values:
        print(
            "Offline: no language model answers here, rules do. To use a real one, name it in .env (see .env.example)."
        )
        return _offline(Understudy())
    return _online(setting)


def _offline(answerer):
    global _server
    if _server is None or not _server.alive:  # a forked child has the module, but not the thread
        _server = Server(Understudy()).start()
        atexit.register(_server.close)
    return _client(base_url=_server.url, api_key=_server.add(answerer), max_retries=0), answerer.name


def _client(**options):
    import anthropic

    if _is_local(options["base_url"]):  # no proxy variable may catch calls that stay on this machine
        options["http_client"] = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(**options)


def _is_local(url):
    host = (urlsplit(url).hostname or "").lower()
    return host in ("localhost", "::1") or host.startswith("127.")


# Settings


def _settings():
    """The values that decide, and where they stand. Empty if no endpoint is named anywhere."""
    file = _dotenv()
    for values, where in ((file, ".env"), (os.environ, "the environment")):
        found = {name: values[name] for row in NAMES.values() for name in row if (values.get(name) or "").strip()}
        if any(name in found for row in ("key", "token", "base_url") for name in NAMES[row]):
            for name in NAMES["model"]:  # a model name is no secret: .env may name it for a key of the environment
                if where != ".env" and (file.get(name) or "").strip():
                    found = {k: v for k, v in found.items() if k not in NAMES["model"]} | {name: file[name]}
                    break
            return found, where
    return {}, ""


def _dotenv():
    from dotenv import dotenv_values, find_dotenv

    path = find_dotenv(usecwd=True)
    try:
        # utf-8-sig: some editors on Windows begin a file with a byte order mark, which would become part of the first name.
        return dotenv_values(path, interpolate=False, encoding="utf-8-sig") if path else {}
    except UnicodeDecodeError:
        raise SettingsError("The file .env is not UTF-8 text: save it again with the encoding UTF-8.") from None
    except OSError as error:
        raise SettingsError(f"The file .env cannot be read: {error.strerror}.") from None


class _Setting:
    """The values, checked: each fault is named with what to do."""

    def __init__(self, values, where):
        self.values, self.where = values, where

    def get(self, row):
        for name in NAMES[row]:
            if name in self.values:
                return name, self.values[name]
        return NAMES[row][0], ""

    def clean(self, row):
        name, value = self.get(row)
        if value != value.strip():
            raise SettingsError(f"{name} in {self.where} has blanks around its value: remove them.")
        if value and (value[0] in QUOTES or value[-1] in QUOTES):
            raise SettingsError(f"{name} in {self.where} has quotation marks around its value: remove them.")
        return name, value

    def key(self, row):
        name, value = self.clean(row)
        if value == PLACEHOLDER:
            raise SettingsError(
                f"{name} in {self.where} is still the placeholder: put your key there, or leave it empty."
            )
        if not value.isascii() or not value.isprintable() or " " in value:
            raise SettingsError(f"{name} in {self.where} has a character in it that no key has: copy the key again.")
        return value

    def base_url(self):
        name, value = self.clean("base_url")
        if not value:
            return f"https://{HOME}"
        if not value.startswith(("http://", "https://")):
            scheme = "http" if _is_local(f"http://{value}") else "https"
            raise SettingsError(f"{name} in {self.where} must begin with http:// or https://: write {scheme}://{value}")
        short = value.rstrip("/").removesuffix("/messages").removesuffix("/v1")
        if short != value.rstrip("/"):
            raise SettingsError(f"{name} in {self.where} must end before /v1, the client adds it: write {short}")
        try:
            if not urlsplit(value).hostname or urlsplit(value).port == 0:
                raise ValueError
        except ValueError:
            raise SettingsError(f"{name} in {self.where} is not an address: {value}") from None
        return value


def _online(setting):
    base_url = setting.base_url()
    key, token = setting.key("key"), setting.key("token")
    name, model = setting.clean("model")
    if not model:
        raise SettingsError(
            f"{name} is missing: an endpoint is named in {setting.where}, so name the model that is to answer there too."
        )
    client = _client(base_url=base_url, **({"auth_token": token} if token and not key else {"api_key": key or NO_KEY}))
    with_key = setting.get("key" if key else "token")[0] if key or token else "no key"
    print(f"Online: {model} at {urlsplit(base_url).netloc} answers ({with_key}, from {setting.where}).")
    return client, model
