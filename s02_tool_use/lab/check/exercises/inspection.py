"""The exercises of 07: where three recorded runs broke and why, and the pairs of a conversation."""

from functools import partial

from ...conversation import api_says, blocks, calls
from ..exercise import Such, exercise
from .parts import answer_to, assistant, call, fact, is_open, result, rows_of, text, untouched, user

WORDS = ("missing", "late", "order", "id", "twice")
BROKEN = [  # three runs, as programs have left them: the next request with each list is refused
    [
        user("Does the shop ship free at 50.00?"),
        assistant(text("I will look at the rule."), call(1, "bash", command="grep -n FREE orders.py")),
        user(result(1, "6:FREE_SHIPPING_FROM = 50.00\n13:    if subtotal > FREE_SHIPPING_FROM:\n[exit status 0]")),
        assistant(
            text("The comparison looks wrong. I will run the tests and look at one order."),
            call(2, "bash", command="python test_orders.py"),
            call(3, "bash", command="grep -n A-1003 data/orders.csv"),
        ),
        user(result(2, "FAILED at exactly 50.00: got 54.9, wanted 50.0\n[exit status 1]")),
        user(text("The search takes long today.")),
        assistant("The test says that an order of exactly 50.00 pays for shipping."),
        user(result(3, "4:A-1003,Assam,2,25.00\n[exit status 0]"), text("Here is the order.")),
    ],
    [
        user("What is in the folder data?"),
        assistant(call(1, "glob", pattern="data/*")),
        user(result(1, "data/orders.csv")),
        assistant("One file: data/orders.csv."),
        user("How many lines has it?"),
        assistant(text("I will count them."), call(2, "bash", command="wc -l data/orders.csv")),
        user(text("Take your time."), result(2, "9 data/orders.csv\n[exit status 0]")),
        assistant("It has 9 lines."),
        user("And how many words?"),
    ],
    [
        user("Read report.py, then README.md."),
        assistant(call(1, "read_file", path="report.py")),
        user(result(1, '"""Prints what was ordered."""\n')),
        assistant(text("Now the other one."), call(2, "read_file", path="README.md")),
        user(result(20, "# Tea shop\n")),
    ],
]
RIGHT = [(4, "late"), (6, "order"), (4, "id")]


def _part(number, part, answers):
    """The index (part 0) or the word (part 1) that was given for a run."""
    pair = answer_to(number, answers)
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise TypeError("each answer is a pair")
    return answer_to(part, pair)


def _still_open(answers):
    return not answers or all(is_open(pair if isinstance(pair, (list, tuple)) else [pair]) for pair in answers)


@exercise(
    "a list of three pairs (index, word), one for each of check.BROKEN, such as [(2, 'missing'), ...]",
    untouched=_still_open,
)
def fault():
    def hinted(sentence, read, hint, number, part):
        right = Such(hint, lambda answer: answer == RIGHT[number][part])  # so that a verdict does not give it away
        return fact(f"run {number}: {sentence}", read)(right, partial(_part, number, part))

    first, five = (4, "Then ask which message has to change"), (4, "These five make nearly all refusals")
    for number, run in enumerate(BROKEN):
        said = api_says(run)
        place = f"an index; the API names {said.split(': ')[0]}, which is not always the one to change"
        ids = ", ".join(block["id"] for block in calls(run) if block["id"] in said)
        word = f"one of {', '.join(WORDS)}; look for the result of {ids}"
        yield hinted("the first message that has to be changed", first, place, number, 0)
        yield hinted("what is wrong with it", five, word, number, 1)


ONE = [user("List."), assistant(call(1, "glob", pattern="*")), user(result(1, "a.txt"))]
TWO = [
    user("Look."),
    assistant(text("Both."), call(1, "glob", pattern="*"), call(2)),
    user(result(2, "b.txt"), result(1, "a.txt"), text("And?")),
    assistant("Two files."),
]
TURNS = [*ONE, assistant(call(2, "read_file", path="a.txt")), user(result(2, "tea", is_error=False))]
BLOCKS = [*ONE[:2], user(result(1, [text("a.txt"), text("b.txt")]))]
EMPTY = [*ONE[:2], user(result(1, []))]
ORPHAN = [*ONE, assistant(call(2)), user("Stop.")]
STRANGER = [*ONE, user(result(9, "whose?"))]
TALK = [user("Hello."), assistant("Hello.")]


def _pairs(messages):
    every = [block for message in messages for block in blocks(message)]
    contents = {block["tool_use_id"]: block["content"] for block in every if block["type"] == "tool_result"}
    contents = {id: [text(content)] if isinstance(content, str) else content for id, content in contents.items()}
    ids = [block["id"] for block in calls(messages) if block["id"] in contents]
    return {id: "\n".join(block["text"] for block in contents[id]) for id in ids}


@exercise("my_pairs(messages), a function that returns a dict: the id of each call -> the text of its result")
def pairs():
    paired = rows_of(_pairs)
    by_id, no_result = (1, "The id is what joins a call and its result"), (4, "Some calls have no result")
    kinds = (4, "The content of a result is a string, or a list of blocks")
    yield paired("a call and its result become one entry", by_id)([user(text("List.")), *ONE[1:]])
    yield paired("a message whose content is a string has no calls", by_id)(TALK, ONE)
    yield paired("two calls of one reply are joined by id, not by their order", by_id)(TWO)
    yield paired("the calls of all turns are in it", by_id)(TURNS)
    yield paired("the texts of several blocks are joined, with a line break between them", kinds)(BLOCKS, EMPTY)
    yield paired("a call without a result is left out", no_result)(ORPHAN)
    yield paired("so is a result without a call", no_result)(STRANGER)
    yield untouched(by_id, TWO, BLOCKS)
