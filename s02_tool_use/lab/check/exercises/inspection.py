"""The exercises of 07: where three recorded runs broke and why, and the pairs of a conversation."""

from ...conversation import api_says, calls
from ..exercise import Exercise, Property, Such
from .parts import assistant, call, result, text, untouched, user

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
_PLACE = ((4, "late"), (6, "order"), (4, "id"))

_FIRST = (4, "Then ask which message has to change")
_FIVE = (4, "These five make nearly all refusals")


def _pair(answers, number):
    answers = answers.values() if isinstance(answers, dict) else answers
    if isinstance(answers, str):
        raise TypeError("three answers, one for each run")
    answer = list(answers)[number]
    if not isinstance(answer, (list, tuple)) or len(answer) != 2:
        raise TypeError("each answer is a pair")
    return answer


def _index(number):
    right = _PLACE[number][0]
    said = api_says(BROKEN[number]).split(": ")[0]
    return Property(
        f"run {number}: the first message that has to be changed",
        _FIRST,
        [()],
        Such(f"an index; the API names {said}, which is not always the one to change", lambda index: index == right),
        see=lambda answers: _pair(answers, number)[0],
    )


def _word(number):
    right = _PLACE[number][1]
    open_calls = ", ".join(block["id"] for block in calls(BROKEN[number]) if block["id"] in api_says(BROKEN[number]))
    return Property(
        f"run {number}: what is wrong with it",
        _FIVE,
        [()],
        Such(f"one of {', '.join(WORDS)}; look for the result of {open_calls}", lambda word: word == right),
        see=lambda answers: _lower(_pair(answers, number)[1]),
    )


def _lower(word):
    return word.strip().lower() if isinstance(word, str) else word


fault = Exercise(
    "07",
    "fault",
    "a list of three pairs (index, word), one for each of check.BROKEN, such as [(2, 'missing'), ...]",
    [make(number) for number in range(len(BROKEN)) for make in (_index, _word)],
    untouched=lambda answers: not answers or all(item in (None, ..., "") for pair in answers for item in _items(pair)),
)


def _items(pair):
    return pair if isinstance(pair, (list, tuple)) else [pair]


# ---- pairs

_BY_ID = (1, "The id is what joins a call and its result")
_KINDS_OF_CONTENT = (4, "The content of a result is a string, or a list of blocks")
_NO_RESULT = (4, "Some calls have no result")

_ONE = [user("List."), assistant(call(1, "glob", pattern="*")), user(result(1, "a.txt"))]
_TWO = [
    user("Look."),
    assistant(text("Both."), call(1, "glob", pattern="*"), call(2, "bash", command="ls")),
    user(result(2, "b.txt"), result(1, "a.txt"), text("And?")),
    assistant("Two files."),
]
_TURNS = [*_ONE, assistant(call(2, "read_file", path="a.txt")), user(result(2, "tea", is_error=False))]
_BLOCKS = [*_ONE[:2], user(result(1, [text("a.txt"), text("b.txt")]))]
_EMPTY = [*_ONE[:2], user(result(1, []))]
_ORPHAN = [*_ONE, assistant(call(2, "bash", command="ls")), user("Stop.")]
_STRANGER = [*_ONE, user(result(9, "whose?"))]
_TALK = [user("Hello."), assistant("Hello.")]


def _text_of(content):
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def _pairs(messages):
    blocks = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
    texts = {b["tool_use_id"]: _text_of(b["content"]) for b in blocks if b["type"] == "tool_result"}
    return {b["id"]: texts[b["id"]] for b in blocks if b["type"] == "tool_use" and b["id"] in texts}


def _paired(sentence, read, *cases):
    return Property(sentence, read, [(case,) for case in cases], _pairs, see=lambda mine, *_: dict(mine))


pairs = Exercise(
    "07",
    "pairs",
    "my_pairs(messages), a function that returns a dict: the id of each call -> the text of its result",
    [
        _paired("a call and its result become one entry", _BY_ID, [user(text("List.")), *_ONE[1:]]),
        _paired("a message whose content is a string has no calls", _BY_ID, _TALK, _ONE),
        _paired("two calls of one reply are joined by id, not by their order", _BY_ID, _TWO),
        _paired("the calls of all turns are in it", _BY_ID, _TURNS),
        _paired(
            "of a list of text blocks the texts are joined, with a line break between them",
            _KINDS_OF_CONTENT,
            _BLOCKS,
            _EMPTY,
        ),
        _paired("a call without a result is left out", _NO_RESULT, _ORPHAN),
        _paired("so is a result without a call", _NO_RESULT, _STRANGER),
        untouched(_BY_ID, (_TWO,), (_BLOCKS,)),
    ],
)
