"""The exercises of 08: a tool made by the SDK's decorator, and who does what: the SDK, our loop, or both."""

import inspect

from ..exercise import Exercise, Property, Such, is_unfilled
from .parts import quiz

# ---- beta_tool ----

_FILES = {"notes.txt": "green tea\nblack tea\nwater\n"}
_READS = (1, "`@beta_tool` reads the schema from the function")
_MEANS = (1, "What the function *means* is still yours to say")
_HANDLER = (1, "The decorated function carries the handler too")


def _schema(tool):
    return tool.to_dict()["input_schema"]


def _types(tool):
    return {name: value.get("type") for name, value in _schema(tool)["properties"].items()}


def _called(tool, **arguments):
    result = tool.call(arguments)
    if inspect.iscoroutine(result):
        result.close()  # an asynchronous tool: this runner cannot use it, and nobody will wait for it
    return result


def _of(sentence, read, right, see):
    return Property(sentence, read, [()], right, see=lambda box: see(box[0]))


def _number(right):
    return Such(f"{right!r}, a text", lambda value: value == right)


class _ToolExercise(Exercise):
    """Looks at what it is given, even where it could be called: a tool of the SDK is both."""

    def __call__(self, tool=None):
        return super().__call__(tool if is_unfilled(tool) else (tool,))


beta_tool = _ToolExercise(
    "08",
    "beta_tool",
    "my_count_lines, a function with @beta_tool above it",
    [
        _of("it is a tool of the SDK", _READS, True, lambda tool: hasattr(tool, "to_dict") and hasattr(tool, "call")),
        _of(
            "its description says what it does",
            _MEANS,
            Such("a sentence from the docstring", lambda text: len(str(text or "").split()) > 2),
            lambda tool: tool.to_dict().get("description"),
        ),
        _of("path and pattern are strings", _READS, {"path": "string", "pattern": "string"}, _types),
        _of("required is what has no default: path alone", _READS, ["path"], lambda tool: _schema(tool)["required"]),
        _of(
            "it counts the lines that contain the text",
            _HANDLER,
            _number("2"),
            lambda tool: _called(tool, path="notes.txt", pattern="tea"),
        ),
        _of("without a text it counts all", _HANDLER, _number("3"), lambda tool: _called(tool, path="notes.txt")),
    ],
    files=_FILES,
)

# ---- differences ----

DUTIES = [
    "write the schema from the function",
    "tell the model that there is no such tool",
    "tell the model that a tool failed",
    "put all results of one reply into one message",
    "leave a call that was cut off at max_tokens unrun",
    "stop a model that repeats itself, without being told to",
    "mend a broken history before it is sent",
]

_RIGHT = [
    ("sdk", (1, "reads the schema from the function")),
    ("both", (2, "Both faults went back to the model as results")),
    ("both", (2, "Both faults went back to the model as results")),
    ("both", (2, "all results in one message")),
    ("both", (2, "`agent_steps` does not run it either")),
    ("ours", (3, "There is none unless you give `max_iterations`")),
    ("ours", (3, "The runner sends what you give it")),
]


differences = quiz(
    "08",
    "differences",
    "a list of seven answers, 'sdk', 'ours' or 'both', one for each of check.DUTIES",
    *((duty, *right) for duty, right in zip(DUTIES, _RIGHT, strict=True)),
)
