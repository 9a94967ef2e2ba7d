"""The exercises of 01: the answer to a call, and a bash that says what happened and comes to an end."""

import json
import os
import re
import tempfile
import weakref

from ...api.rules import validate
from ..exercise import Block, Such, exercise
from .parts import assistant, at, call, each, gives, holds, quiz, right_answer, string_that, text, user

REPLIES = [  # contents as a model gives them, for the question why it stopped
    [text("I will look at the folder first."), call(1)],
    [text("There are five files. The tests are in test_orders.py.")],
    [text("The folder holds a small project. Its first file, README.md, expl")],
]


@quiz("a list of three answers, such as ['tool_use', 'end_turn', 'max_tokens'] in the right order")
def stop_reason():
    yield "reply 1: it asks for a tool and waits for the result", "tool_use", (1, "`stop_reason` is `tool_use` now")
    yield "reply 2: it has finished", "end_turn", (1, "`stop_reason` is `end_turn`")
    yield "reply 3: it was cut off in the middle of a word", "max_tokens", (1, "`stop_reason` is `end_turn`")


LS, CAT = Block(**call(1)), Block(**call(2, command="cat README.md"))
WORDS = Block(**text("I will look at both."))
RESULT, ID = (2, "Three keys"), (2, "The id says which call")
UNMARKED = Such("no is_error, or False", lambda marks: not any(mark not in (False, None) for mark in marks))


def api_says(asked, answer):
    """What the API says to a conversation in which `asked` is answered by the message `answer`."""
    answer = json.loads(json.dumps(answer))  # as it goes over the wire
    messages = [user("Look at the shop."), assistant(*(block.model_dump() for block in asked)), answer]
    problem = validate({"model": "any", "max_tokens": 1, "messages": messages})
    return "accepted" if problem is None else problem.message


@exercise("my_tool_result(block, output), a function that returns the dict that answers the tool_use block")
def tool_result():
    @right_answer
    def same(block, output):
        return {"type": "tool_result", "tool_use_id": block.id, "content": output}

    def api(result, block, _):
        return api_says([block], user([result]))

    first, second = (LS, "README.md"), (CAT, "A tea shop")
    outputs = [first, (LS, ""), (LS, "  two\nlines\n"), (CAT, "an error, in a log"), second]
    yield same("its type is tool_result", RESULT)([first], at("type"))
    yield same("its tool_use_id is the id of the call that it answers", ID)([first, second], at("tool_use_id"))
    yield same("its content is the output, as it came", RESULT)(outputs, at("content"))
    yield holds("the output of a tool is not marked as an error", RESULT)(
        outputs, UNMARKED, lambda result, *_: [result.get("is_error")]
    )
    yield same("it has no other keys: the API would refuse them", RESULT)(outputs, api)


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
        return lambda message, *_: [block.get(key) for block in message["content"] if block["type"] == "tool_result"]

    def types(message, *_):
        return [block["type"] for block in message["content"]]

    def ran(yours, content, run):
        """The ids of the blocks for which `run` was called."""
        ids = []
        yours(content, lambda block: ids.append(block.id) or run(block))
        return ids

    def api(message, content, _):
        return api_says(content, message)

    one, two, last = ((content, output_of) for content in ([LS], [WORDS, LS, CAT], [LS, CAT, WORDS]))
    every, cases = (2, "An answer for every call"), [one, two, last]
    yield same("it is one user message", ID)([one, two], at("role"))
    yield same("every call has its result, in the order of the calls", every)(cases, in_results("tool_use_id"))
    yield same("each result holds what run gave for that call", ID)([one, two], in_results("content"))
    yield same("it holds only results: a text block needs no answer", every)([two, last], types)
    yield same("each call is run once", every)([one, two], run=ran)
    yield holds("no result is marked as an error", RESULT)(cases, UNMARKED, in_results("is_error"))
    yield same("no result has other keys: the API would refuse them", RESULT)(cases, api)


def says(*parts, but=()):
    """A right answer: a string with these parts and without those, of characters that can be sent."""
    said = " and ".join([*map(repr, parts), *(f"no {part!r}" for part in but)])

    def right(text):
        found = isinstance(text, str) and all(p in text for p in parts) and not any(p in text for p in but)
        return found and isinstance(text.encode(), bytes)  # raises for a lone surrogate

    return Such(f"a string that UTF-8 can encode, with {said} in it", right)


# What a command says is nowhere in it, so that its echo is no answer, nor is a constant.
SUM, OTHER = "echo $((6 * 7))", "echo $((2 * 9))"  # 42 and 18
TEA = "printf '%s%s' te a"


@exercise(
    "my_bash(command), a function that runs a command line and returns its output as a string",
    silence=True,
    deadline=5.0,
    needs="bash",
)
def bash():
    streams, status = (3, "The error text goes to another stream"), (3, "How a command ended is a number")
    waits, raw = (3, "Nobody types here"), (4, "Bytes that are no UTF-8")
    yield gives("the output comes back, as a string", streams)((SUM, says("42", but=["tea"])), (TEA, says("tea")))
    yield gives("what goes to stderr comes back too", streams)(
        (f"{SUM} >&2", says("42", but=["18"])), (f"{SUM}; {OTHER} >&2", says("42", "18"))
    )
    yield gives("an exit status other than 0 is reported", status)(
        ("exit $((6 * 7))", says("42")), ("exit $((2 * 9))", says("18", but=["42"])), ("test -f no.txt", says("1"))
    )
    yield gives("the output of a command that fails comes back too", streams)(
        (f"{SUM}; exit 5", says("42", "5")), (f"{SUM}; {OTHER} >&2; exit 5", says("42", "18", "5"))
    )
    yield holds("a command that does not exist gives a string, not an exception", status)(
        each("no_such_command"), string_that("a string that says so")
    )
    yield gives("a command that reads its input does not wait for it", waits)((f"cat; {SUM}", says("42")))
    yield gives("bytes that are not UTF-8 do no harm, and those that are come back as characters", raw)(
        (r"printf 'caf\351 au lait'", says("caf", " au lait")), (r"printf 'Zo\303\253'", says("Zo\xeb"))
    )


TOO_LONG, SILENT = f"{SUM}; sleep 1; {OTHER}", f"sleep 1; {OTHER}"


@exercise(
    "my_bash(command, timeout=120), a function that runs a command line for at most timeout seconds",
    own="run_bash",
    files={"notes.txt": "green tea\n"},
    silence=True,
    deadline=5.0,
    needs="bash",
)
def bash_tool():
    place, line = (3, "`cwd` is where a command starts"), (4, "The status on a line of its own")
    streams = (3, "The error text goes to another stream")
    late, raises = (5, "What it has said until then"), (5, "An exception in a tool")
    raw = (4, "Bytes that are no UTF-8")

    def elsewhere(yours, command):
        """Called while the current folder is not the workspace, as in a notebook."""
        here = os.getcwd()
        os.chdir(tempfile.gettempdir())
        try:
            return yours(command)
        finally:
            os.chdir(here)

    soon_said = weakref.WeakKeyDictionary()

    def soon(yours, command):
        """What is said when the time is over soon; one check waits for it once."""
        said = soon_said.setdefault(yours.__self__, {})
        if command not in said:
            said[command] = yours(command, 0.3)
        return said[command]

    def patiently(yours, command):
        """On a busy machine bash may need more time to begin."""
        said = soon(yours, command)
        return said if isinstance(said, str) and "42" in said else yours(command.replace("sleep 1", "sleep 2"), 1)

    def both_endings(yours, command):
        return [ending.strip() for ending in (yours(SUM, 60), patiently(yours, command))]

    def tells_apart(endings):
        """Wherever it is said: not the output alone, and not the good end as well."""
        status, stop = (ending.split("\n")[-1] for ending in endings)
        return endings[0] != endings[1] != "42" and (stop == "42" or stop != status)

    def in_order(text):
        places = [text.find(part) for part in ("42", "18", "tea")]
        return -1 not in places and places == sorted(places)

    def signed(text):
        return re.search(r"caf(?! au lait).+ au lait", text)

    def on_its_own(text):
        lines = [line.strip() for line in text.splitlines()]
        return "42" in lines and any("5" in line for line in lines if line != "42")

    yield gives("it returns what the command wrote and how it ended, as before", line)(
        (f"{SUM}; exit 5", says("42", "5"))
    )
    yield gives("both streams come back in the order in which they were written", streams)(
        (f"{SUM} >&2; {OTHER}; {TEA} >&2", Such("'42', then '18', then 'tea'", in_order))
    )
    yield gives("the status stands on a line of its own", line)(
        ("printf %s $((6 * 7)); exit 5", Such("'42' on one line, the status 5 on another", on_its_own))
    )
    yield gives("it runs in the workspace, wherever the notebook is", place)(
        ("cat notes.txt", says("green tea")), run=elsewhere
    )
    yield gives("a command that takes too long is stopped, without an exception", raises)(
        (SILENT, says(but=["18"])), (TOO_LONG, says(but=["18"])), run=soon
    )
    yield gives("what it wrote until then comes back", late)((TOO_LONG, says("42", but=["18"])), run=patiently)
    yield gives("and the result says that it was stopped: it is not a normal end", late)(
        (TOO_LONG, Such("two different endings, the second of which says so", tells_apart)), run=both_endings
    )
    yield gives("a byte that is no UTF-8 leaves a sign", raw)(
        (r"printf 'caf\351 au lait'", Such("'caf' and ' au lait', and something between them", signed))
    )
