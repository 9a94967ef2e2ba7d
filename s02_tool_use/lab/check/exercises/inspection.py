"""The exercises of 07: where three recorded runs broke and why, and the pairs of a conversation."""

from ...conversation import api_says, calls
from ..exercise import Exercise, Property, Such

WORDS = ("missing", "late", "order", "id", "twice")


def _user(*blocks):
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def _assistant(*blocks):
    return {"role": "assistant", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def _text(text):
    return {"type": "text", "text": text}


def _call(number, name, **arguments):
    return {"type": "tool_use", "id": f"toolu_{number:02}", "name": name, "input": arguments}


def _result(number, content, **more):
    return {"type": "tool_result", "tool_use_id": f"toolu_{number:02}", "content": content, **more}


BROKEN = [  # three runs, as programs have left them: the next request with each list is refused
    [
        _user("Does the shop ship free at 50.00?"),
        _assistant(_text("I will look at the rule."), _call(1, "bash", command="grep -n FREE orders.py")),
        _user(_result(1, "6:FREE_SHIPPING_FROM = 50.00\n13:    if subtotal > FREE_SHIPPING_FROM:\n[exit status 0]")),
        _assistant(
            _text("The comparison looks wrong. I will run the tests and look at one order."),
            _call(2, "bash", command="python test_orders.py"),
            _call(3, "bash", command="grep -n A-1003 data/orders.csv"),
        ),
        _user(_result(2, "FAILED at exactly 50.00: got 54.9, wanted 50.0\n[exit status 1]")),
        _user(_text("The search takes long today.")),
        _assistant("The test says that an order of exactly 50.00 pays for shipping."),
        _user(_result(3, "4:A-1003,Assam,2,25.00\n[exit status 0]"), _text("Here is the order.")),
    ],
    [
        _user("What is in the folder data?"),
        _assistant(_call(1, "glob", pattern="data/*")),
        _user(_result(1, "data/orders.csv")),
        _assistant("One file: data/orders.csv."),
        _user("How many lines has it?"),
        _assistant(_text("I will count them."), _call(2, "bash", command="wc -l data/orders.csv")),
        _user(_text("Take your time."), _result(2, "9 data/orders.csv\n[exit status 0]")),
        _assistant("It has 9 lines."),
        _user("And how many words?"),
    ],
    [
        _user("Read report.py, then README.md."),
        _assistant(_call(1, "read_file", path="report.py")),
        _user(_result(1, '"""Prints what was ordered."""\n')),
        _assistant(_text("Now the other one."), _call(2, "read_file", path="README.md")),
        _user(_result(20, "# Tea shop\n")),
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

_ONE = [_user("List."), _assistant(_call(1, "glob", pattern="*")), _user(_result(1, "a.txt"))]
_TWO = [
    _user("Look."),
    _assistant(_text("Both."), _call(1, "glob", pattern="*"), _call(2, "bash", command="ls")),
    _user(_result(2, "b.txt"), _result(1, "a.txt"), _text("And?")),
    _assistant("Two files."),
]
_TURNS = [*_ONE, _assistant(_call(2, "read_file", path="a.txt")), _user(_result(2, "tea", is_error=False))]
_BLOCKS = [*_ONE[:2], _user(_result(1, [_text("a.txt"), _text("b.txt")]))]
_EMPTY = [*_ONE[:2], _user(_result(1, []))]
_ORPHAN = [*_ONE, _assistant(_call(2, "bash", command="ls")), _user("Stop.")]
_STRANGER = [*_ONE, _user(_result(9, "whose?"))]
_TALK = [_user("Hello."), _assistant("Hello.")]


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
        _paired("a call and its result become one entry", _BY_ID, [_user(_text("List.")), *_ONE[1:]]),
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
        Property(
            "the list that it gets stays as it was",
            _BY_ID,
            [(_TWO,), (_BLOCKS,)],
            lambda given: given,
            run=lambda yours, given: None if yours(given) is None else given,
        ),
    ],
)
