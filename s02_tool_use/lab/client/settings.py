"""The settings: what .env and the environment say about key, address and model, and what is wrong with it."""

import contextlib
import io
import ipaddress
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import s02_tool_use

from ...calls.secrets import cut, keep
from . import prices

# The parameters of the SDK's client, and `model`: the names under which each may stand. The first not empty one wins.
NAMES = {
    "base_url": ("BASE_URL", "ANTHROPIC_BASE_URL"),
    "model": ("MODEL_ID", "ANTHROPIC_MODEL"),
    "api_key": ("API_KEY", "ANTHROPIC_API_KEY"),
    "auth_token": ("ANTHROPIC_AUTH_TOKEN",),
    "max_tokens": ("MAX_TOKENS",),
    "prices": ("PRICES",),
}
OF_A_MODEL = ("model", "max_tokens", "prices")  # what .env may say for a key of the environment
SECRETS = ("api_key", "auth_token")  # the first of them that is set is sent, and no other
STAY_OFFLINE = "S02_OFFLINE"  # an environment variable: when it is set, no setting is looked at
PLACEHOLDER = "put-your-key-here"  # the key of .env.example
NO_KEY = "not-needed"  # a local server takes any key, but the SDK sends nothing without one
NO_SECRETS = (PLACEHOLDER, NO_KEY, "lm-studio")  # the last is what LM Studio's examples write
SECRET_NAME = re.compile(r"(?:^|_)(?:(?:API)?KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
KEY_START = "sk-"  # how keys begin, and no model and no address
QUOTES = "\"'`“”‘’«»"
DEFAULT_URL = "https://api.anthropic.com"
CALL = "connect()"  # where arguments stand that are settings
IN_THE_PAGE = "They run in this page, in your browser. For a real model install the course: no key is safe in a page."


class SettingsError(ValueError):
    """A setting that cannot work, in one sentence that says what to do. A notebook shows only that sentence."""

    def __init__(self, sentence: str):
        super().__init__(cut(sentence))

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def in_force(offline: bool = False) -> tuple[dict[str, str], str]:
    """(settings, origin): base URL, model and one secret, by their names in NAMES, and where the secret stands.

    If nothing decides, ({}, what to say of it). `offline`: nothing decides. The file .env and every secret are kept
    from the tools all the same: they are there. Raises SettingsError for a setting that cannot work, in a browser page
    for any that names an endpoint.
    """
    note = "" if offline else IN_THE_PAGE if s02_tool_use.IN_A_PAGE else "For a real one see .env.example."
    keep(texts=secrets(os.environ.items()))
    if offline or os.environ.get(STAY_OFFLINE):
        with contextlib.suppress(SettingsError):
            dotenv()
        return {}, note
    file = dotenv()
    for values, where in ((file, ".env"), (os.environ, "the environment")):
        found = _found(values)
        if found.get("api_key", ("", ""))[1].strip(QUOTES + " ") == PLACEHOLDER:
            name, _ = found.pop("api_key")
            if not s02_tool_use.IN_A_PAGE:
                note = f"{name} in {where} is still the placeholder: put your key there for a real one."
        if deciding := [role for role in found if role in (*SECRETS, "base_url")]:
            if s02_tool_use.IN_A_PAGE:
                raise _no_endpoint(found[deciding[0]][0], where)
            # No secrets: .env may name the model for a key of the environment.
            more = {role: setting for role, setting in _found(file).items() if role in OF_A_MODEL}
            return _checked(found | more, where)
    return {}, note


def given(
    base_url: str | None, model: str | None, api_key: str | None, in_this_page: Container[str] = ()
) -> tuple[dict[str, str], str]:
    """(settings, origin), as in_force has them, from the arguments of connect(). Nothing else is looked at.

    So no key of .env or of the environment is sent to this address. All of them are kept from the tools all the same.
    `in_this_page`: the only addresses that a browser page may name. Raises SettingsError for what is missing or cannot
    work.
    """
    arguments = {"base_url": base_url, "model": model, "api_key": api_key}
    keep(texts=secrets((name.upper(), value) for name, value in arguments.items() if isinstance(value, str)))
    in_force(offline=True)
    for name, value in arguments.items():
        if value is not None and not isinstance(value, str):
            raise SettingsError(f"{name}= must be a string, and this is {type(value).__name__}: give {GIVE[name]}.")
        if value is not None and not value.strip():
            raise SettingsError(f"{name}= is empty: give {GIVE[name]}.")
    if s02_tool_use.IN_A_PAGE and base_url not in in_this_page:
        raise _no_endpoint(next(f"{name}=" for name, value in arguments.items() if value is not None), CALL)
    if base_url is None:
        named = "model=" if api_key is None else "api_key="
        raise SettingsError(f"{named} needs base_url= beside it: give {GIVE['base_url']}.")
    if model is None:
        raise SettingsError(f"base_url= needs model= beside it: give {GIVE['model']}.")
    return _checked({name: (f"{name}=", value) for name, value in arguments.items() if value}, CALL)


def _no_endpoint(name, where):
    return SettingsError(
        f"{name} in {where} is for an endpoint, and a browser page uses none: whoever serves the page could read a "
        "key, and most endpoints take no calls from a page. Remove it here. For a real model install the course."
    )


# What an argument of connect() holds.
GIVE = {
    "base_url": f'the address of the endpoint, such as base_url="{DEFAULT_URL}"',
    "model": "the name of the model that is to answer there",
    "api_key": "the key of this endpoint, or leave api_key= out where none is needed",
}


def secrets(settings: Iterable[tuple[str, str | None]]) -> Iterator[str]:
    """Every key, token and password among these (name, value), in use or not, our own or for something else.

    Left out: placeholders, and a word as the password of something else, such as `postgres`, which may stand anywhere.
    """
    ours = {name for names in NAMES.values() for name in names}
    for name, given in settings:
        value = (given or "").strip(QUOTES + " ")
        user, at, _ = value.partition("://")[2].partition("/")[0].rpartition("@")
        if at:
            value = user.partition(":")[2] or user
        elif not (value.startswith(KEY_START) or SECRET_NAME.search(name)) or os.path.isfile(value):
            continue
        if value not in NO_SECRETS and (name in ours or not re.fullmatch("[A-Za-z]{1,15}", value)):
            yield from (value, unquote(value))


def lines(text: str) -> list[tuple[str, str]]:
    """(name, value) of each line of a .env, also of those that are switched off by a #: an old key may still work."""
    return re.findall(r"(?m)^[#\s]*(?:export\s+)?(\w+)[ \t]*[=:][ \t]*(.*?)(?:\s+#.*|\s*)$", text)


def _found(values: Mapping[str, str | None]) -> dict[str, tuple[str, str]]:
    rows = {role: [(n, values.get(n) or "") for n in names] for role, names in NAMES.items()}
    return {role: setting for role, row in rows.items() for setting in reversed(row) if setting[1].strip()}


def dotenv() -> dict[str, str | None]:
    """What the file .env says, searched from the current folder upwards. Raises SettingsError if it cannot be read."""
    from dotenv import dotenv_values, find_dotenv

    try:
        path = find_dotenv(usecwd=True)
        if not path:
            return {}
        keep(path)
        text = Path(path).read_text("utf-8-sig")  # once: it may be a pipe of a password manager
    except UnicodeDecodeError:
        raise SettingsError("The file .env is not UTF-8 text: save it again with the encoding UTF-8.") from None
    except OSError as error:
        raise SettingsError(f"The file .env cannot be read: {error.strerror}.") from None
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    keep(texts=secrets([*values.items(), *lines(text)]))
    return values


def _checked(found, where):
    for role, (name, value) in found.items():
        if wrong := _what_is_wrong(role, value, where):
            raise SettingsError(f"{name} in {where} {wrong}")
    if "model" not in found:
        raise SettingsError(f"MODEL_ID is missing: {where} names an endpoint, so say there which model is to answer.")
    settings = {"base_url": DEFAULT_URL} | {role: value for role, (_, value) in found.items() if role not in SECRETS}
    for role in SECRETS:
        if role in found:
            return settings | {role: found[role][1]}, f"{found[role][0]} from {where}"
    return settings | {"api_key": NO_KEY}, f"no key, address from {where}"


def _what_is_wrong(role, value, where):
    """The end of a sentence that begins with the name of the setting; "" if nothing is wrong."""
    is_secret = role in SECRETS
    if not is_secret and value.strip(QUOTES + " ").startswith(KEY_START):
        return f"holds a key: move it {'to api_key=' if where == CALL else 'behind API_KEY'}."
    if value != value.strip():
        return "has spaces around it: remove them."
    if value[0] in QUOTES or value[-1] in QUOTES:
        return "has quotation marks around it: remove them."
    if is_secret and (not value.isascii() or not value.isprintable() or " " in value):
        return "has a character that no key has: copy it again."
    if role == "max_tokens" and not (value.isdecimal() and int(value)):
        return "must be a whole number, 1 or more, or empty."
    if role == "prices":
        return prices.what_is_wrong(prices.read(value))
    return wrong_address(value) if role == "base_url" else ""


def wrong_address(value: str) -> str:
    """The end of a sentence that begins with the name of an address; "" if nothing is wrong with it."""
    shown = re.sub(r"(?:(?<=//)|^)[^/]*@", "...@", value)  # its password is a secret too
    if not value.lower().startswith(("http://", "https://")):
        scheme = "http" if is_local(f"http://{value}") else "https"
        return f"has no http:// or https://: write {scheme}://{shown.split('://')[-1]}"
    short = shown.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    if short != shown.rstrip("/"):
        return f"must end before /v1, which the client adds: write {short}"
    if any(mark in value for mark in "?#"):
        return f"must end before ? and #: write {re.split('[?#]', short)[0]}"
    return "" if _is_address(value) else f"is not an address: {shown}"


def _is_address(value):
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
        if ":" in host:
            ipaddress.ip_address(host.partition("%")[0])
        elif not re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*\.?", host):
            return False
        return parts.port != 0 and value.isprintable() and not set(value) & set(" \\")
    except ValueError:
        return False


_LABEL = r"\w(?:[\w-]{0,61}\w)?"  # of a host's name


def is_local(url: str) -> bool:
    """Whether an address is one of this machine."""
    return bool(re.match(r"(?i)https?://(?:[^/]*@)?(?:localhost|0\.0\.0\.0|127\.[\d.]+|\[::1\])(?::|/|$)", url))


def host_of(url: object) -> str:
    """Host and port of an address, without the password that may stand before them."""
    return urlsplit(str(url)).netloc.rpartition("@")[2]
