"""The exercises of 01: one tool call by hand, and a bash that says what happened."""

import sys

from ..exercise import Block, Such, exercise, text_with
from .parts import at, call, each, gives, holds, quiz, right_answer, string_that, text

REPLIES = [  # contents as a model gives them, for the question why it stopped
    [text("I will look at the folder first."), call(1)],
    [text("There are five files. The tests are in test_orders.py.")],
    [text("The folder holds a small project. Its first file, README.md, expl")],
]


@quiz("a list of three answers, such as ['tool_use', 'end_turn', 'max_tokens'] in the right order")
def stop_reason():
    yield "reply 1: it asks for a tool and waits for the result", "tool_use", (2, "`stop_reason` is now `tool_use`")
    yield "reply 2: it has said all that it will say", "end_turn", (1, "`stop_reason` is `end_turn`")
    yield "reply 3: it was cut off in the middle of a word", "max_tokens", (1, "`stop_reason` is `end_turn`")


LS, CAT = Block(**call(1)), Block(**call(2, command="cat README.md"))
WORDS = Block(**text("I will look at both."))
RESULT = (3, "The answer to a call is a `tool_result` block")
ID = (3, "It carries the id of the call")


@exercise("my_tool_result(block, output), a function that returns the dict which answers the tool_use block")
def tool_result():
    @right_answer
    def same(block, output):
        return {"type": "tool_result", "tool_use_id": block.id, "content": output}

    def more_keys(result, *_):
        return sorted(set(result) - {"type", "tool_use_id", "content", "is_error"})

    first, second = (LS, "README.md"), (CAT, "A tea shop")
    outputs = [first, (LS, ""), (LS, "  two\nlines\n")]
    yield same("its type is tool_result", RESULT)([first], at("type"))
    yield same("its tool_use_id is the id of the call that it answers", ID)([first, second], at("tool_use_id"))
    yield same("its content is the output, as it came", ID)(outputs, at("content"))
    yield same("it has no other keys, which the API would refuse", RESULT)([first], more_keys)


def output_of(block):
    return "output of " + block.input["command"]


@exercise("my_answers_to(content, run), a function that returns one message with the results of all calls")
def answer_all():
    @right_answer
    def same(content, run):
        calls = [block for block in content if block.type == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": run(block)} for block in calls]
        return {"role": "user", "content": results}

    def in_results(key):
        return lambda message, *_: [block[key] for block in message["content"] if block["type"] == "tool_result"]

    def types(message, *_):
        return [block["type"] for block in message["content"]]

    def ran(yours, content, run):
        """The ids of the blocks for which `run` was called."""
        ids = []
        yours(content, lambda block: ids.append(block.id) or run(block))
        return ids

    one, two, last = ((content, output_of) for content in ([LS], [WORDS, LS, CAT], [LS, CAT, WORDS]))
    every = (4, "So: an answer for every call")
    yield same("it is one user message", ID)([one, two], at("role"))
    yield same("every call has its result, in the order of the calls", every)([one, two], in_results("tool_use_id"))
    yield same("each result holds what run gave for that call", ID)([one, two], in_results("content"))
    yield same("nothing but results is in it: a text block needs no answer", every)([two, last], types)
    yield same("each call is run once", every)([one, two], run=ran)


WINDOWS = sys.platform == "win32"
READER = "sort" if WINDOWS else "cat"  # a program that reads its input to the end
SILENT = "findstr x nul" if WINDOWS else "test -f no_such_file.txt"  # fails, and says neither that nor its status


@exercise(
    "my_bash(command), a function that runs a command line and returns what it said, as text",
    silence=True,
    deadline=5.0,
)
def bash():
    streams, guards = (5, "The error text went to another stream"), (5, "Each guard stands there")
    both = Such(
        "a text with 'one' and 'two' in it, and no &&",
        lambda text: "one" in text and "two" in text and "&&" not in text,
    )
    says_so, at_once = string_that("a string that says so"), string_that("a string, at once", lambda text: True)
    yield holds("the output comes back, as text", streams)(each("echo hello"), text_with("hello"))
    yield holds("a shell runs the command", streams)(each("echo one && echo two"), both)
    yield holds("what goes to stderr comes back too", streams)(each("echo oops 1>&2"), text_with("oops"))
    yield gives("an exit status that is not 0 is said", streams)((SILENT, text_with("1")), ("exit 42", text_with("42")))
    yield holds("a command that does not exist gives a text and no exception", guards)(each("no_such_command"), says_so)
    yield holds("a command that reads its input does not wait for it", guards)(each(READER), at_once)
