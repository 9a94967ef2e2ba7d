"""The exercises of 01: one tool call by hand, and a bash that says what happened."""

import sys

from ..exercise import Block, Exercise, Property, Such, text_with
from .parts import quiz

REPLIES = [  # contents as a model gives them, for the question why it stopped
    [
        {"type": "text", "text": "I will look at the folder first."},
        {"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"command": "ls"}},
    ],
    [{"type": "text", "text": "There are five files. The tests are in test_orders.py."}],
    [{"type": "text", "text": "The folder holds a small project. Its first file, README.md, expl"}],
]


stop_reason = quiz(
    "01",
    "stop_reason",
    "a list of three answers, such as ['tool_use', 'end_turn', 'max_tokens'] in the right order",
    ("reply 1: it asks for a tool and waits for the result", "tool_use", (2, "`stop_reason` is now `tool_use`")),
    ("reply 2: it has said all that it will say", "end_turn", (1, "`stop_reason` is `end_turn`")),
    ("reply 3: it was cut off in the middle of a word", "max_tokens", (1, "`stop_reason` is `end_turn`")),
)

_LS = Block(type="tool_use", id="toolu_01", name="bash", input={"command": "ls"})
_CAT = Block(type="tool_use", id="toolu_02", name="bash", input={"command": "cat README.md"})
_WORDS = Block(type="text", text="I will look at both.")
_ID = (3, "It carries the id of the call")

tool_result = Exercise(
    "01",
    "tool_result",
    "my_tool_result(block, output), a function that returns the dict which answers the tool_use block",
    [
        Property(
            "its type is tool_result",
            (3, "The answer to a call is a `tool_result` block"),
            [(_LS, "README.md")],
            "tool_result",
            see=lambda result, *_: result["type"],
        ),
        Property(
            "its tool_use_id is the id of the call that it answers",
            _ID,
            [(_LS, "README.md"), (_CAT, "A tea shop")],
            lambda block, output: block.id,
            see=lambda result, *_: result["tool_use_id"],
        ),
        Property(
            "its content is the output, as it came",
            _ID,
            [(_LS, "README.md"), (_LS, ""), (_LS, "  two\nlines\n")],
            lambda block, output: output,
            see=lambda result, *_: result["content"],
        ),
        Property(
            "it has no other keys, which the API would refuse",
            (3, "The answer to a call is a `tool_result` block"),
            [(_LS, "README.md")],
            [],
            see=lambda result, *_: sorted(set(result) - {"type", "tool_use_id", "content", "is_error"}),
        ),
    ],
)


def _output_of(block):
    return "output of " + block.input["command"]


_ONE, _TWO, _LAST = ([_LS], _output_of), ([_WORDS, _LS, _CAT], _output_of), ([_LS, _CAT, _WORDS], _output_of)
_EVERY = (4, "So: an answer for every call")
_SPEAKERS = (3, "It carries the id of the call")


def _calls(content):
    return [block for block in content if block.type == "tool_use"]


def _results(message):
    return [block for block in message["content"] if block["type"] == "tool_result"]


def _ran(yours, content, run):
    """The ids of the blocks for which `run` was called."""
    ran = []

    def counted(block):
        ran.append(block.id)
        return run(block)

    yours(content, counted)
    return ran


answer_all = Exercise(
    "01",
    "answer_all",
    "my_answers_to(content, run), a function that returns one message with the results of all calls",
    [
        Property("it is one user message", _SPEAKERS, [_ONE, _TWO], "user", see=lambda message, *_: message["role"]),
        Property(
            "every call has its result, in the order of the calls",
            _EVERY,
            [_ONE, _TWO],
            lambda content, run: [block.id for block in _calls(content)],
            see=lambda message, *_: [block["tool_use_id"] for block in _results(message)],
        ),
        Property(
            "each result holds what run gave for that call",
            _ID,
            [_ONE, _TWO],
            lambda content, run: [run(block) for block in _calls(content)],
            see=lambda message, *_: [block["content"] for block in _results(message)],
        ),
        Property(
            "nothing but results is in it: a text block needs no answer",
            _EVERY,
            [_TWO, _LAST],
            lambda content, run: ["tool_result"] * len(_calls(content)),
            see=lambda message, *_: [block["type"] for block in message["content"]],
        ),
        Property(
            "each call is run once",
            _EVERY,
            [_ONE, _TWO],
            lambda content, run: [block.id for block in _calls(content)],
            run=_ran,
        ),
    ],
)


_STREAMS = (5, "The error text went to another stream")
_READER = "sort" if sys.platform == "win32" else "cat"  # a program that reads its input to the end


# Fails without a word, and without its status in its own text.
_SILENT = "findstr x nul" if sys.platform == "win32" else "test -f no_such_file.txt"

bash = Exercise(
    "01",
    "bash",
    "my_bash(command), a function that runs a command line and returns what it said, as text",
    [
        Property("the output comes back, as text", _STREAMS, [("echo hello",)], text_with("hello")),
        Property(
            "a shell runs the command",
            _STREAMS,
            [("echo one && echo two",)],
            Such(
                "a text with 'one' and 'two' in it, and no &&",
                lambda text: "&&" not in text and "one" in text and "two" in text,
            ),
        ),
        Property("what goes to stderr comes back too", _STREAMS, [("echo oops 1>&2",)], text_with("oops")),
        Property(
            "an exit status that is not 0 is said",
            _STREAMS,
            [(_SILENT,), ("exit 42",)],
            lambda command: text_with("1" if command == _SILENT else "42"),
        ),
        Property(
            "a command that does not exist gives a text and no exception",
            (5, "Each guard stands there"),
            [("no_such_command",)],
            Such("a text that says so", lambda text: isinstance(text, str) and bool(text.strip())),
        ),
        Property(
            "a command that reads its input does not wait for it",
            (5, "Each guard stands there"),
            [(_READER,)],
            Such("a text, at once", lambda text: isinstance(text, str)),
        ),
    ],
    silence=True,
    deadline=5.0,
)
