"""The exercises of 08: a tool made by the SDK's decorator, and who does what: the SDK, our loop, or both."""

import inspect

from ..exercise import Such, exercise
from .parts import fact, quiz


def _schema(tool):
    return tool.to_dict()["input_schema"]


def _called(tool, **arguments):
    result = tool.call(arguments)
    if inspect.iscoroutine(result):
        result.close()  # an asynchronous tool: this runner cannot use it, and nobody will wait for it
    return result


@exercise(
    "my_count_lines, a function with @beta_tool above it",
    files={"notes.txt": "green tea\nblack tea\nwater\n"},
    as_value=True,
)
def beta_tool():
    def types(tool):
        return {name: value.get("type") for name, value in _schema(tool)["properties"].items()}

    def number(right):
        return Such(f"{right!r}, a string", lambda value: value == right)

    reads = (1, "`@beta_tool` reads the schema from the function")
    means = (1, "What the function *means* is still yours to say")
    handler = (1, "The decorated function carries the handler too")
    sentence = Such("a sentence from the docstring", lambda text: len(str(text or "").split()) > 2)
    strings = {"path": "string", "pattern": "string"}
    yield fact("it is a tool of the SDK", reads)(True, lambda tool: hasattr(tool, "to_dict") and hasattr(tool, "call"))
    yield fact("its description says what it does", means)(sentence, lambda tool: tool.to_dict().get("description"))
    yield fact("path and pattern are strings", reads)(strings, types)
    yield fact("required is what has no default: path alone", reads)(["path"], lambda tool: _schema(tool)["required"])
    yield fact("it counts the lines that contain the text", handler)(
        number("2"), lambda tool: _called(tool, path="notes.txt", pattern="tea")
    )
    yield fact("without a text it counts all", handler)(number("3"), lambda tool: _called(tool, path="notes.txt"))


_FAULTS = (2, "Both faults went back to the model as results")
_NONE = (3, "There is none unless you give `max_iterations`")
_DUTIES = [  # (what is to be done, by whom, where to read)
    ("write the schema from the function", "sdk", (1, "reads the schema from the function")),
    ("tell the model that there is no such tool", "both", _FAULTS),
    ("tell the model that a tool failed", "both", _FAULTS),
    ("put all results of one reply into one message", "both", (2, "all results in one message")),
    ("leave a call that was cut off at max_tokens unrun", "both", (2, "`agent_steps` does not run it either")),
    ("stop a model that repeats itself, without being told to", "ours", _NONE),
    ("fix a broken history before it is sent", "ours", (3, "The runner sends what you give it")),
]
DUTIES = [duty for duty, *_ in _DUTIES]


@quiz("a list of seven answers, 'sdk', 'ours' or 'both', one for each of check.DUTIES")
def differences():
    return _DUTIES
