"""What a call comes to: a text that can be sent, or a ToolError that says what to do instead."""

MAX_RESULT_CHARACTERS = 100_000  # characters; our own tools stay below, other handlers may not


class ToolError(ValueError):
    """The one way in which a tool says no. The text is for the model: what is wrong, and what to do instead."""


def sendable(value) -> str:
    """`value` as text that the API takes: not endless, not empty, no half characters, which UTF-8 does not know."""
    text = str(value) or "(no output)"
    if len(text) > MAX_RESULT_CHARACTERS:
        half = MAX_RESULT_CHARACTERS // 2
        cut = f"[... truncated: {len(text) - 2 * half} of {len(text)} characters omitted ...]"
        text = f"{text[:half]}\n{cut}\n{text[-half:]}"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
