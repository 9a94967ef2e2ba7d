"""What a call comes to: a string that can be sent, or a ToolError that says what to do instead."""

import traceback
from itertools import dropwhile
from typing import Any

from .secrets import cut

MAX_RESULT_CHARACTERS = 100_000  # characters; our own tools stay below, other handlers may not
KEY_CUT = "\n[A key was cut out of this result: no tool may show it. Do not look for it; go on without it.]"
NOTHING = "(no output)"


class ToolError(ValueError):
    """The one way in which a tool says no. The text is for the model: what is wrong, and what to do instead."""

    def _render_traceback_(self) -> list[str]:  # IPython asks for it: below a cell stands the sentence alone
        return [f"{type(self).__name__}: {self}"]


def sendable(value: object) -> str:
    """`value` as a string that the API takes: no key, not endless, not empty, no lone surrogates, which UTF-8 lacks."""
    try:
        text = value if type(value) is str else str(value)
    except Exception:
        text = f"({type(value).__name__}: it cannot be converted to a string)"
    clean = cut(text)  # before the middle is left out: that could leave half of a key
    if clean != text:
        clean += KEY_CUT
    if len(clean) > MAX_RESULT_CHARACTERS:
        clean = shortened(clean, MAX_RESULT_CHARACTERS)
    return (clean if clean.isascii() else whole(clean)) or NOTHING


def shortened(text: str, most: int) -> str:
    """`text` with a note in the place of its middle, if it is longer than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    omitted = f"[... truncated: {len(text) - 2 * half} of {len(text)} characters omitted ...]"
    return f"{text[:half]}\n{omitted}\n{text[len(text) - half :]}"


def whole(value: Any) -> Any:
    """A string, or JSON data, without lone surrogates: they are written as \\ud83d."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {whole(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, list) else value


def failed(name: object, error: Exception) -> str:
    """What is said of a handler that raised something else than ToolError: which, and why."""
    return f"{name} failed: {_said_by(error)}"


def _said_by(error, depth=0):
    """Its type, message and notes, as Python writes them, and those of the errors that a group of them holds."""
    lines = traceback.format_exception_only(type(error), error)
    said = "".join(dropwhile(lambda line: line.startswith(" "), lines)).strip()  # of a SyntaxError, without its place
    held = getattr(error, "exceptions", ()) if depth < 5 else ()  # of an ExceptionGroup, which Python 3.10 lacks
    inner = [_said_by(one, depth + 1) for one in held[:5] if isinstance(one, Exception)] if type(held) is tuple else []
    return f"{said}: {'; '.join(inner)}" if inner else said
