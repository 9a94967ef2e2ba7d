"""What went wrong between us and the endpoint, as one sentence that says what to do. For the terminal and the widgets.

Told by status and by class name: this module never imports the SDK. And `printable`, through which all text from
outside goes that a person is shown.
"""

import re
from collections.abc import Callable
from typing import Any

import s02_tool_use

from ...calls.results import ToolError
from ...calls.secrets import cut, held
from .settings import host_of, is_local


def _names(url, key, model, where):
    """The settings as the sentences below name them."""
    names = {"url": url, "key": key, "key_and_model": f"{key} and {model}", "model_and_url": f"{model} and {url}"}
    return {role: f"{name} {where}" for role, name in names.items()}


NAMES = _names("BASE_URL", "API_KEY", "MODEL_ID", "in .env")
GIVEN_NAMES = _names("base_url=", "api_key=", "model=", "in connect()")
GIVEN = "s02_given"  # an extension of a request: its endpoint was given to connect()

# By HTTP status. {said} is the endpoint's own message, {wait} how long to wait.
SENTENCES = {
    400: "The endpoint refuses the request: {said} (400).",
    401: "The endpoint does not accept the key: {said} (401). Check {key}.",
    402: "The account has no credit: {said} (402). Nothing was answered.",
    403: "The key may not do this: {said} (403). Check {key_and_model}.",
    404: "The endpoint does not know this: {said} (404). Check {model_and_url}.",
    413: "The conversation has become too large: {said} (413). Start a new one.",
    429: "Too many requests: {said} (429). {wait}",
    529: "The endpoint is overloaded: {said} (529). {wait}",
}
NO_MESSAGE = "no_message"  # the type of an error of ours: the reply was in no form that we know (live.py)
OTHER = "The endpoint failed: {said} ({status}). {wait}"

# How a class of the SDK, or of the HTTP library under it, names a connection that did not work.
_SILENT = {"APITimeoutError", "ConnectTimeout", "ReadTimeout"}
_BROKEN = {"RemoteProtocolError", "ReadError", "WriteError", "CloseError", "ProtocolError"}


class Stopped(KeyboardInterrupt):
    """Ctrl-C, or the notebook's Stop, as one sentence that says all: a cell shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:  # asked by IPython
        return [str(self)]


def explain(error: BaseException, client: Any = None) -> str:
    """One sentence for an exception that came out of a request. Of `client` only the host is named, never the key."""
    if isinstance(error, ToolError):  # of ours: a list of tools that cannot be offered
        return printable(str(error))
    causes = (error, error.__cause__)  # the SDK wraps what the HTTP library has to say
    names = {cls.__name__ for one in causes for cls in type(one).__mro__}
    status, (kind, said) = getattr(error, "status_code", None), _said(error)
    seconds = getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "")
    wait = f"{seconds} seconds" if seconds.isdecimal() and seconds != "0" else "a moment"
    wait = f"Wait {wait}, then send it again."
    url = getattr(client, "base_url", None) or getattr(getattr(error, "request", None), "url", "")
    at = f" at {host_of(url)}" if url else ""
    extensions = getattr(getattr(error, "request", None), "extensions", None) or {}
    names_of = GIVEN_NAMES if GIVEN in extensions else NAMES
    strange = isinstance(error, (AttributeError, ValueError, TypeError)) or "APIResponseValidationError" in names
    if strange or kind == NO_MESSAGE:
        return f"The endpoint{at} does not answer in the form of the Messages API ({said}). Check {names_of['url']}."
    if status == 200:  # the error came in the middle of a stream
        return f"The answer broke off: {said}." + ("" if kind == "billing_error" else f" {wait}")
    if isinstance(status, int):
        return SENTENCES.get(status, OTHER).format(said=said, status=status, wait=wait, **names_of)
    if names & _SILENT:
        return f"The endpoint{at} did not answer in time. {wait}"
    if names & _BROKEN:
        return f"The answer broke off: the connection{at} was closed in the middle. {wait}"
    if "APIConnectionError" in names:
        if s02_tool_use.IN_A_PAGE:
            return f"No connection to the endpoint{at}. In a browser page only a client of connect() gets an answer."
        todo = "Start the server there, or check" if is_local(str(url)) else "Check the network, and"
        return f"No connection to the endpoint{at}. {todo} {names_of['url']}."
    return f"The request failed: {type(error).__name__}: {said}."


def _said(error):
    """(the type that the endpoint gives its error, what it says of it), in whatever form it says it."""
    body = getattr(error, "body", None)
    inner = body.get("error") or body if isinstance(body, dict) else body
    about = inner if isinstance(inner, dict) else {}
    text = str(about.get("message") or about.get("detail") or (inner if isinstance(inner, str) else error)).strip()
    if text.startswith("<"):
        title = re.search(r"(?is)<title[^>]*>(.*?)</title>", text)
        text = "it sends a web page" + (f", {' '.join(title[1].split())}" if title else "")
    return about.get("type"), shorten(printable(text).strip().rstrip(".").split("\n")[0], 300)


# Control characters become their own pictures, so that they are seen and change nothing.
_PICTURES = {n: 0x2400 + n for n in range(32) if chr(n) not in "\n\t"} | {0x7F: 0x2421}

# What is not seen, or moves what is seen, is drawn by its number, such as <U+202E>: the second control characters,
# U+2028 and U+2029, marks and overrides of direction, what Unicode calls default ignorable (DerivedCoreProperties), and
# the two that no XML may hold: a picture would not be drawn at all.
_HIDDEN = (
    "\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Some of it is spelling, and stays where it does what it is for: a joiner between two emoji, or two letters of a script
# that has joiners (Arabic to Sinhala), and a variation selector behind an emoji, in a keycap or behind an ideograph.
_EMOJI = "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299"
_EMOJI += "\U0001f000-\U0001faff"
_LETTERS = "\u0620-\u08ff\u0900-\u0dff\ufb50-\ufdff\ufe70-\ufefc"
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPELLING = "|".join(
    (
        f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])",
        f"(?<=[{_LETTERS}])[\u200c\u200d](?=[{_LETTERS}])",
        f"(?<=[{_EMOJI}])[\ufe0e\ufe0f]",
        "(?<=[0-9#*])\ufe0f(?=\u20e3)",
        f"(?<=[{_IDEOGRAPHS}])[\ufe00-\ufe02\U000e0100-\U000e01ef]",
    )
)
_MARKED = re.compile(f"(?=[{_HIDDEN}])(?:{_SPELLING}|(.))")
_ALL_MARKED = re.compile(f"([{_HIDDEN}])")
_UNSETTLED = re.compile(f'(?:[^{_HIDDEN}][{_HIDDEN}]+)*[^\x00-"$-)+-/:-\x7f{_HIDDEN}][{_HIDDEN}]*\\Z')


def as_number(character: str) -> str:
    """A character that is not seen, as `<U+202E>`."""
    return f"<U+{ord(character):04X}>"


def printable(text: str, *, everything: bool = False, mark: Callable[[str], str] = as_number) -> str:
    """`text` without a key, and with nothing in it that a terminal obeys, that hides or moves what a person reads, or
    that cannot be written as UTF-8.

    everything: marks joiners too, for what a person is asked to allow. mark: draws a hidden character.
    """
    text = cut(text).replace("\r\n", "\n").translate(_PICTURES)
    if not text.isascii():
        pattern = _ALL_MARKED if everything else _MARKED
        text = pattern.sub(lambda found: mark(found[1]) if found[1] else found[0], text)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def shown_so_far(text: str) -> tuple[str, str]:
    """A string that is still arriving, as (what can be shown of it, what waits for the rest).

    What may begin a key waits, and so does a last character that may be joined to the next one.
    """
    text = cut(text)
    ready = len(text) - held(text)
    unsettled = _UNSETTLED.search(text, max(0, ready - 100), ready)
    ready = unsettled.start() if unsettled else ready
    return text[:ready], text[ready:]


def shorten(text: str, most: int) -> str:
    """`text`, or its first `most` characters and how many more there are. No piece of a key is left at the end."""
    text = cut(text)
    return text if len(text) <= most else f"{text[:most]} ... {len(text) - most:,} more characters"
