"""What a call comes to: a text that can be sent, or a ToolError that says what to do instead."""

from .secrets import cut

MAX_RESULT_CHARACTERS = 100_000  # characters; our own tools stay below, other handlers may not
KEY_CUT = "\n[A key was cut out of this result: no tool may show it. Do not look for it; go on without it.]"


class ToolError(ValueError):
    """The one way in which a tool says no. The text is for the model: what is wrong, and what to do instead."""


def sendable(value) -> str:
    """`value` as text that the API takes: no key, not endless, not empty, no half characters, unknown to UTF-8."""
    whole = str(value) or "(no output)"
    text = cut(whole)  # before the middle is left out: that could leave half of a key
    if text != whole:
        text += KEY_CUT
    if len(text) > MAX_RESULT_CHARACTERS:
        half = MAX_RESULT_CHARACTERS // 2
        omitted = f"[... truncated: {len(text) - 2 * half} of {len(text)} characters omitted ...]"
        text = f"{text[:half]}\n{omitted}\n{text[-half:]}"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
