"""The exercises of 05: results first, neighbours merged, an answer for each call that has none."""

from ...conversation import api_says
from ..exercise import Exercise, Property, Such
from .parts import assistant, call, result, text, untouched, user

# ---- results_first

_FIRST = (3, "So a user's turn has one right order")

_IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/tea.png"}}
_LATE = [text("Hurry up."), result(1)]
_MIXED = [text("Look."), result(2), _IMAGE, result(1, is_error=True), text("And?")]


def _kinds(content, *_):
    return [block["type"] for block in content]


def _ordered(content):
    return [b for b in content if b["type"] == "tool_result"] + [b for b in content if b["type"] != "tool_result"]


results_first = Exercise(
    "05",
    "results_first",
    "my_results_first(content), a function that returns the blocks of a user's turn in a new list, results first",
    [
        Property(
            "the results come before everything else",
            _FIRST,
            [(_LATE,), (_MIXED,)],
            lambda content: ["tool_result"] * sum(block["type"] == "tool_result" for block in content),
            see=lambda mine, content: _kinds(mine)[: _kinds(content).count("tool_result")],
        ),
        Property(
            "no block is lost, doubled or changed",
            _FIRST,
            [(_LATE,), (_MIXED,)],
            lambda content: Such(
                f"these {len(content)} blocks, in the right order: {_kinds(_ordered(content))}",
                lambda mine: sorted(map(repr, mine)) == sorted(map(repr, content)),
            ),
        ),
        Property(
            "the results keep their order",
            _FIRST,
            [([text("Both:"), result(1), result(2)],), ([result(2), text("Both."), result(1)],)],
            lambda content: [block["tool_use_id"] for block in _ordered(content) if "tool_use_id" in block],
            see=lambda mine, content: [block["tool_use_id"] for block in mine if "tool_use_id" in block],
        ),
        Property(
            "so does all the rest",
            _FIRST,
            [([text("One."), text("Two."), result(1)],), (_MIXED,), ([_IMAGE, text("A picture."), result(1)],)],
            lambda content: [block for block in content if block["type"] != "tool_result"],
            see=lambda mine, content: [block for block in mine if block["type"] != "tool_result"],
        ),
        Property(
            "a turn that was right, or has no result, comes back equal",
            _FIRST,
            [([text("Hello."), text("Are you there?")],), ([result(1), text("And?")],)],
            lambda content: content,
        ),
        untouched(_FIRST, (_LATE,), (_MIXED,)),
    ],
)

# ---- merge

_MERGE = (4, "Pass 3 makes one message of neighbours")

_TWO = [user("Wait."), user("Count them.")]
_BOTH = [user([result(1)]), user([result(2)])]
_REST = [user([result(1)]), user("Count them.")]


def _shape(messages, *_):
    """The messages as they are, but with each string as the text block that it stands for."""
    return [(m["role"], [text(m["content"])] if isinstance(m["content"], str) else m["content"]) for m in messages]


def _turns(messages, *_):
    """(role, blocks) of each turn: what the API makes of the list. Empty messages are none."""
    turns = []
    for role, blocks in _shape(messages):
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, list(blocks)))
    return turns


def _merges(sentence, *cases):
    return Property(sentence, _MERGE, [(case,) for case in cases], _turns, see=_shape)


merge = Exercise(
    "05",
    "merge",
    "my_merge(messages), a function that returns a new list in which no two neighbours have the same role",
    [
        _merges("two results in two messages become one message", _BOTH),
        _merges("a string counts as one text block", _TWO, _REST, _REST[::-1]),
        _merges("three in a row become one as well", [*_TWO, user([text("Please.")])], [user("One."), *_BOTH]),
        _merges(
            "the assistant's neighbours are merged too",
            [user("List."), assistant("I will look."), assistant([call(1)]), user([result(1)])],
        ),
        _merges(
            "what changes sides each time stays as it is",
            [user("Hello.")],
            [user("Hello."), assistant("Hi."), user("List the files.")],
        ),
        _merges("an empty list gives an empty list", []),
        untouched(_MERGE, (_REST,), (_TWO,), (_BOTH,)),
    ],
)

# ---- orphans

_ANSWER = (4, "Pass 2 answers every call")
_LATER = (2, "The result is there, and the request is still refused")
_BEFORE_TEXT = (1, "In the second there is a result, but the user's text comes before it")
_NOT_TWICE = (4, "The opposite mistake is as bad")

_LIST = user("List the files.")
_AT_END = [_LIST, assistant([call(1)])]
_NOT_LAST = [*_AT_END, assistant("Stopped."), user("Now count them.")]
_LONG_AGO = [*_AT_END, user("Stop."), assistant("Stopped."), user("Now count them.")]
_THEN_TEXT = [*_AT_END, user("Stop.")]
_THEN_BLOCKS = [*_AT_END, user([text("Stop."), text("Count them.")])]
_PAIR = [_LIST, assistant([text("Both."), call(1), call(2)])]
_TWO_TIMES = [*_LONG_AGO, assistant([call(2)]), user("Stop!"), assistant("Stopped."), user("Thanks.")]
_NEITHER = [*_PAIR, user("Stop.")]
_ONE_OF_TWO = [*_PAIR, user([result(1), text("Stop.")])]
_ANSWERED = [*_AT_END, user([result(1)])]
_SPLIT = [*_PAIR, user([result(1)]), user([result(2)])]
_AGAIN = [*_ANSWERED, assistant([call(2)])]
_FINE = [*_ANSWERED, assistant("One file."), user("Which?")]


def _blocks(messages):
    return [block for _, blocks in _shape(messages) for block in blocks]


def _ids(messages, kind="tool_result"):
    key = "tool_use_id" if kind == "tool_result" else "id"
    return [block[key] for block in _blocks(messages) if block["type"] == kind]


def _is_new(block, given):
    return block["type"] == "tool_result" and block not in _blocks(given)


def _placeholder(messages):
    """The one answer that has to be added to `messages`."""
    return [
        {
            "type": "tool_result",
            "tool_use_id": _ids(messages, "tool_use")[0],
            "content": "(cancelled)",
            "is_error": True,
        }
    ]


def _without_new(mine, given):
    kept = [_of(role, [b for b in blocks if not _is_new(b, given)]) for role, blocks in _shape(mine)]
    return _turns([message for message in kept if message["content"]])


def _of(role, blocks):
    return {"role": role, "content": blocks}


def _accepted(sentence, read, *cases):
    """What the API says to the learner's list. The cases end with the user; another end is refused for that alone."""
    return Property(sentence, read, [(case,) for case in cases], "accepted", see=lambda mine, *_: api_says(mine))


orphans = Exercise(
    "05",
    "orphans",
    "my_answer_orphans(messages), a function that returns a new list in which each call has a result",
    [
        Property(
            "a call without a result gets one: (cancelled), and is_error: True",
            _ANSWER,
            [(_AT_END,)],
            _placeholder,
            see=lambda mine, given: [block for block in _blocks(mine) if _is_new(block, given)],
        ),
        _accepted("it stands right after the call, however long ago that was", _LATER, _LONG_AGO),
        _accepted("it stands before the text of the user's message", _BEFORE_TEXT, _THEN_TEXT, _THEN_BLOCKS),
        Property(
            "of several calls, each gets its own",
            _ANSWER,
            [(_NEITHER,), (_ONE_OF_TWO,), (_AGAIN,)],
            lambda given: sorted(set(_ids(given, "tool_use"))),
            see=lambda mine, given: sorted(set(_ids(mine))),
        ),
        Property(
            "a call that has its result gets no second one, in whichever message it is",
            _NOT_TWICE,
            [(_ANSWERED,), (_ONE_OF_TWO,), (_SPLIT,), (_FINE,)],
            lambda given: sorted(_ids(given, "tool_use")),
            see=lambda mine, given: sorted(_ids(mine)),
        ),
        Property(
            "all that was there is still there, in its order",
            _ANSWER,
            [(_ANSWERED,), (_THEN_TEXT,), (_ONE_OF_TWO,), (_SPLIT,), (_LONG_AGO,)],
            _turns,
            see=_without_new,
        ),
        _accepted("the API accepts all of them", _ANSWER, _NEITHER, _ONE_OF_TWO, _AGAIN, _SPLIT, _NOT_LAST, _TWO_TIMES),
        untouched(_ANSWER, (_THEN_TEXT,), (_THEN_BLOCKS,), (_LONG_AGO,), (_ONE_OF_TWO,)),
    ],
)
