"""The exercises of 08: a tool by the SDK's decorator, a tool that shows a picture, and who does what."""

import base64
import inspect
import tempfile
from pathlib import Path

from ....calls.tool import schemas_of, tool_of
from ....calls.waiting import settled
from ....dispatch import run_tool
from ....workspace import workdir
from ...api.rules import validate
from ..exercise import Such, exercise
from .parts import Raised, assistant, call, fact, is_a_sentence, quiz, string_that, type_of, user


def _schema(tool):
    return tool.to_dict()["input_schema"]


def _called(tool, **arguments):
    result = tool.call(arguments)
    if inspect.iscoroutine(result):
        result.close()  # an asynchronous tool: this runner cannot use it, and nobody will wait for it
    return result


@exercise(
    "my_count_lines, a function with @beta_tool above it",
    files={
        "notes.txt": "green tea\nblack tea\nwater\n",
        "long.txt": "a line of tea\n" * 20_000,
        "pages.txt": "one\fand\x1cthe\x85same\u2028line\n",
    },
    as_value=True,
)
def beta_tool():
    def types(tool):
        return {name: type_of(value) for name, value in _schema(tool)["properties"].items()}

    def number(right):
        return Such(f"{right!r}, a string", lambda value: value == right)

    reads = (1, "`@beta_tool` reads the schema from the function")
    means = (1, "What the function *means* is still yours to say")
    handler = (1, "The decorated function carries the handler too")
    truth = (1, "the function has to tell the truth")
    sentence = string_that("a sentence from the docstring", is_a_sentence)
    strings = {"path": "string", "pattern": "string"}
    yield fact("it is a tool of the SDK", reads)(True, lambda tool: hasattr(tool, "to_dict") and hasattr(tool, "call"))
    yield fact("its description says what it does", means)(sentence, lambda tool: tool.to_dict().get("description"))
    yield fact("path and pattern are strings", reads)(strings, types)
    yield fact("what has no default is required: only path", reads)(["path"], lambda tool: _schema(tool)["required"])
    yield fact("it counts the lines that contain the pattern", handler)(
        number("2"), lambda tool: _called(tool, path="notes.txt", pattern="tea")
    )
    yield fact("without a pattern it counts all", handler)(number("3"), lambda tool: _called(tool, path="notes.txt"))
    yield fact("of a long file it counts every line", truth)(
        number("20000"), lambda tool: _called(tool, path="long.txt", pattern="tea")
    )
    yield fact("only a newline ends a line", truth)(number("1"), lambda tool: _called(tool, path="pages.txt"))


# The first bytes of pictures, with their size in them.
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0"
JPEG = b"\xff\xd8\xff\xc0\0\x11\x08\0\x01\0\x01\x03\x01\x22\0\x02\x11\x01\x03\x11\x01"
GIF = b"GIF89a\x01\0\x01\0\x80\0\0"


def _looked(tool, name, data):
    """The result of the tool's call for a file with these bytes."""
    if data is not None:
        (workdir() / name).write_bytes(data)
    asked = call(1, schemas_of([tool])[0]["name"], path=name)
    return run_tool(asked, {}, [tool])


def _refused(tool, name, data):
    """What the tool itself does with a file that is no picture: run_tool would refuse some of that for it."""
    if data is not None:
        (workdir() / name).write_bytes(data)
    try:
        return settled(tool_of(tool).handler(path=name))
    except Exception as error:
        return Raised(f"{type(error).__name__}: {error}")


def _picture(kind, data):
    """A right answer: a result with this picture in it, and perhaps words."""
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}

    def holds(result):
        found = result["content"] if isinstance(result["content"], list) else []
        return not result.get("is_error") and [b["source"] for b in found if b["type"] == "image"] == [source]

    return Such(f"a block of type image, {kind}, with the bytes of the file", holds)


@exercise("my_picture, a tool with one argument, path", as_value=True)
def picture():
    block, first = (2, "**A picture** goes back as a block"), (2, "The name of a file says nothing")
    error = Such("an exception, such as ToolError", lambda value: isinstance(value, Raised))

    def looks(sentence, read, right, name, data):
        return fact(sentence, read)(right, lambda tool: _looked(tool, name, data))

    def refuses(sentence, read, name, data=None):
        return fact(sentence, read)(error, lambda tool: _refused(tool, name, data))

    def outside(tool):
        with tempfile.TemporaryDirectory(dir=workdir().parent) as folder:
            (Path(folder) / "tea.png").write_bytes(PNG)
            return _refused(tool, f"../{Path(folder).name}/tea.png", None)

    def accepted(tool):
        asked = call(1, schemas_of([tool])[0]["name"], path="tea.png")
        history = [user("Look."), assistant(asked), user(_looked(tool, "tea.png", PNG))]
        problem = validate({"model": "any", "max_tokens": 1, "messages": history, "tools": schemas_of([tool])})
        return "accepted" if problem is None else problem.message

    def arguments(tool):
        schema = schemas_of([tool])[0]["input_schema"]
        return {name: value.get("type") for name, value in schema["properties"].items()}, schema.get("required")

    yield fact("it takes one argument, path, a string", block)(({"path": "string"}, ["path"]), arguments)
    yield looks("a PNG comes back as an image block", block, _picture("image/png", PNG), "tea.png", PNG)
    yield looks("a JPEG as a JPEG", first, _picture("image/jpeg", JPEG), "tea.jpg", JPEG)
    yield looks("a GIF as a GIF", first, _picture("image/gif", GIF), "tea.gif", GIF)
    yield looks("the bytes count, not the name", first, _picture("image/jpeg", JPEG), "shop.png", JPEG)
    yield fact("the API accepts the tool and its result", block)("accepted", accepted)
    yield refuses("text is not a picture, whatever the file is called", first, "notes.png", b"green tea\n")
    yield refuses("nor is an empty file", first, "empty.png", b"")
    yield refuses("a missing file is an error", block, "nothing.png")
    yield fact("so is a path that leads outside", block)(error, outside)


_FAULTS = (2, "Both faults went back to the model as results")
_NONE = (3, "There is none unless you give `max_iterations`")
_DUTIES = [  # (what is to be done, by whom, where to read)
    ("write the schema from the function", "both", (1, "They also take a plain function")),
    ("tell the model that there is no such tool", "both", _FAULTS),
    ("tell the model that a tool failed", "both", _FAULTS),
    ("put all results of one reply into one message", "both", (2, "all results in one message")),
    ("not run a call that was cut off at max_tokens", "both", (2, "`agent_steps` does not run it either")),
    ("stop a model that repeats itself, without being told to", "ours", _NONE),
    ("fix a broken history before it is sent", "ours", (3, "The runner sends what you give it")),
    ("replace a long history by a summary, with one call", "sdk", (3, "`compact_before_next_turn()` asks")),
]
DUTIES = [duty for duty, *_ in _DUTIES]


@quiz("a list of eight answers, 'sdk', 'ours' or 'both', one for each of check.DUTIES")
def differences():
    return _DUTIES
