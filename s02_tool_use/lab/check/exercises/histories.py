"""The exercises of 05: the passes of a normalize_messages, each by itself, and the whole."""

import copy
import itertools
import json
import operator

from ...client.replies import sdk_blocks
from ...conversation import api_says, calls, histories
from ...show.board import kind_of, verdict
from ..exercise import Property, Such, exercise
from .parts import assistant, call, each, holds, result, rows_of, text, untouched, user

IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/tea.png"}}
LATE = [text("Hurry up."), result(1)]
MIXED = [text("Look."), result(2), IMAGE, result(1, is_error=True), text("And?")]


def _results(content, *_):
    return [block for block in content if block["type"] == "tool_result"]


def _rest(content, *_):
    return [block for block in content if block["type"] != "tool_result"]


def _ids(content, *_):
    return [block["tool_use_id"] for block in _results(content)]


@exercise("my_results_first(content), a function that returns the blocks of a user's turn in a new list, results first")
def results_first():
    def kinds(content):
        return [block["type"] for block in content]

    def at_the_head(mine, content):
        return kinds(mine)[: len(_results(content))]

    def in_any_order(content):
        return Such(
            f"these {len(content)} blocks, in the right order: {kinds(_results(content) + _rest(content))}",
            lambda mine: sorted(map(repr, mine)) == sorted(map(repr, content)),
        )

    first, mixed = (2, "So a user's turn has one right order"), each(LATE, MIXED)
    in_order = each([text("Both:"), result(1), result(2)], [result(2), text("Both."), result(1)])
    others = each([text("One."), text("Two."), result(1)], MIXED, [IMAGE, text("A picture."), result(1)])
    was_right = each([text("Hello."), text("Are you there?")], [result(1), text("And?")])
    yield holds("the results come before everything else", first)(
        mixed, lambda content: kinds(_results(content)), at_the_head
    )
    twice = each([text("Well?"), text("Well?"), result(1)])
    yield holds("no block is lost, doubled or changed", first)([*mixed, *twice], in_any_order)
    yield holds("the results keep their order", first)(in_order, _ids, _ids)
    yield holds("so does everything else", first)(others, _rest, _rest)
    yield holds("a turn that was right, or has no result, comes back unchanged", first)(
        was_right, lambda content: content
    )
    yield untouched(first, LATE, MIXED)


WAIT, COUNT = user("Wait."), user("Count them.")
FIRST, SECOND = user([result(1)]), user([result(2)])


def _shape(messages, *_):
    """The messages, but with each string as the text block that it stands for."""
    if not isinstance(messages, list):
        raise TypeError("a list of messages is expected")
    return [m | {"content": [text(m["content"])] if isinstance(m["content"], str) else m["content"]} for m in messages]


def _turns(messages, *_):
    """The list with neighbours merged: what the API makes of it. Empty messages are none."""
    filled = [message for message in _shape(messages) if message["content"]]
    turns = itertools.groupby(filled, key=operator.itemgetter("role"))
    return [{"role": role, "content": [b for m in turn for b in m["content"]]} for role, turn in turns]


@exercise(
    "my_merge(messages), a function that returns a new list in which no two neighbours have the same role",
    own="merge_neighbours",
)
def merge():
    merges, read = rows_of(_turns, _shape), (2, "So a **turn** is not a message")
    two, both, rest = [WAIT, COUNT], [FIRST, SECOND], [FIRST, COUNT]
    looked = [user("List."), assistant("I will look."), assistant([call(1)]), FIRST]
    talk = [user("Hello."), assistant("Hi."), user("List the files.")]
    yield merges("two results in two messages become one message", read)(both)
    yield merges("a string counts as one text block", read)(two, rest, rest[::-1])
    yield merges("three in a row become one as well", read)([*two, user([text("Please.")])], [user("One."), *both])
    yield merges("the assistant's neighbours are merged too", read)(looked)
    yield merges("a list that alternates already stays as it is", read)(talk[:1], talk)
    yield merges("an empty list gives an empty list", read)([])
    yield untouched(read, rest, two, both)


STOP, STOPPED = user("Stop."), assistant("Stopped.")
AT_END = [user("List the files."), assistant([call(1)])]
NOT_LAST = [*AT_END, STOPPED, user("Now count them.")]
LONG_AGO = [*AT_END, STOP, STOPPED, user("Now count them.")]
THEN_TEXT = [*AT_END, STOP]
THEN_BLOCKS = [*AT_END, user([text("Stop."), text("Count them.")])]
PAIR = [AT_END[0], assistant([text("Both."), call(1), call(2)])]
TWO_TIMES = [*LONG_AGO, assistant([call(2)]), user("Stop!"), STOPPED, user("Thanks.")]
NEITHER = [*PAIR, STOP]
ONE_OF_TWO = [*PAIR, user([result(1), text("Stop.")])]
ANSWERED = [*AT_END, FIRST]
SPLIT = [*PAIR, FIRST, SECOND]
SPLIT_ONE = [*PAIR, FIRST, STOP]
AGAIN = [*ANSWERED, assistant([call(2)])]
FINE = [*ANSWERED, assistant("One file."), user("Which?")]


def _blocks(messages):
    return [block for message in _shape(messages) for block in message["content"]]


def _added(mine, given):
    """The results that were not there."""
    return [block for block in _results(_blocks(mine)) if block not in _blocks(given)]


def _without_added(mine, given):
    added = _added(mine, given)
    return _turns([m | {"content": [block for block in m["content"] if block not in added]} for m in _shape(mine)])


@exercise(
    "my_answer_orphans(messages), a function that returns a new list in which each call has a result",
    own="answer_every_call",
)
def orphans():
    def called(given):
        return sorted({block["id"] for block in calls(given)})

    def answered(mine, given):
        return sorted(_ids(_blocks(mine)))

    # What the API says to the learner's list. Each case ends with the user: another end is refused for that.
    accepted = rows_of("accepted", lambda mine, given: api_says(mine))
    answer, later = (1, "A call is an orphan if"), (1, "In `stopped` the result is there now")
    before_text, twice = (
        (1, "In the user's next message it has to come before"),
        (1, "A call whose result stands anywhere in the list"),
    )
    several, done = each(NEITHER, ONE_OF_TWO, AGAIN), each(ANSWERED, ONE_OF_TWO, SPLIT, FINE)
    yield holds("a call without a result gets one: (cancelled), and is_error: True", answer)(
        each(AT_END), [result(1, "(cancelled)", is_error=True)], _added
    )
    yield accepted("it stands right after the call, however long ago that was", later)(LONG_AGO)
    yield accepted("it stands before the text of the user's message", before_text)(THEN_TEXT, THEN_BLOCKS)
    yield holds("of several calls, each gets its own", answer)(
        several, called, lambda mine, given: sorted(set(answered(mine, given)))
    )
    yield holds("a call that has its result gets no second one, in whichever message it is", twice)(
        done, called, answered
    )
    yield holds("everything that was there is still there, in its order", answer)(
        each(ANSWERED, THEN_TEXT, ONE_OF_TWO, SPLIT, LONG_AGO), _turns, _without_added
    )
    yield accepted("the API accepts all of them", answer)(
        NEITHER, ONE_OF_TWO, SPLIT_ONE, AGAIN, SPLIT, NOT_LAST, TWO_TIMES
    )
    yield untouched(answer, THEN_TEXT, THEN_BLOCKS, LONG_AGO, ONE_OF_TWO)


LATE_ONE = [*AT_END, user([text("Hurry up.")]), assistant([text("Soon.")]), user([result(1), text("And?")])]
NO_CALL = [user([result(1), text("Go on.")]), assistant([text("There is one file.")]), user([text("Which?")])]
OTHER_CALL = [*AT_END, user([result(1), result(9)])]
DOUBLED = [*AT_END, user([result(1), result(1, "b.txt")])]
DOUBLED_LATER = [*AT_END, user([result(1)]), assistant([text("One.")]), user([result(1, "(cancelled)"), text("So?")])]
TEXT_FIRST = [*AT_END, user([text("Hurry up."), result(1)])]
CALL_FIRST = [user("List."), assistant([call(1), call(2), text("I look.")]), user([result(1), result(2)])]
BOTH = [*PAIR, user([result(1), result(2), text("And?")])]
NO_ANSWER = [*PAIR, user([text("Stop.")]), assistant([text("Stopped.")]), user([text("Go on.")])]
LONG = [*AT_END, user([result(1)]), assistant([text("Now the other."), call(2)]), user([result(2, "b"), text("Well?")])]
CANCELLED = {"content": "(cancelled)", "is_error": True}


def _free_order(messages, *_):
    """The turns, with the results at the head of each in one order: the API takes them in any."""
    turns = _turns(messages)
    for turn in turns:
        results = list(itertools.takewhile(lambda block: block["type"] == "tool_result", turn["content"]))
        results.sort(key=lambda block: (str(block.get("tool_use_id")), repr(block)))
        turn["content"] = results + turn["content"][len(results) :]
    return turns


def _row(sentence, read, *pairs):
    """A property whose cases have each a right list: (given, right). They are given as my_merge leaves them."""
    right = {repr(_shape(given)): _free_order(wanted) for given, wanted in pairs}
    cases = each(*(_shape(given) for given, _ in pairs))
    return holds(sentence, read)(cases, lambda given: right[repr(given)], _free_order)


@exercise(
    "my_answers(messages), a function that returns a new list in which each call has one result, right behind it",
    own="answer_every_call",
)
def answers():
    home, words = (3, "Take all results out of the list"), (3, "What the assistant says beside its calls")
    hurry, once = text("Hurry up."), (3, "Of two results for one call")
    late = [*AT_END, user([result(1), hurry]), assistant([text("Soon.")]), user([text("And?")])]
    missing = user([result(1, **CANCELLED), result(2, **CANCELLED), text("Stop.")])
    half, half_right = (
        [*PAIR, user([text("Stop."), result(2)])],
        user([result(1, **CANCELLED), result(2), text("Stop.")]),
    )
    yield _row(
        "a result behind the user's text comes before it", home, (TEXT_FIRST, [*AT_END, user([result(1), hurry])])
    )
    yield _row("a result in a later turn is brought back to its call", home, (LATE_ONE, late))
    yield _row(
        "a result without a call is dropped, and the text beside it stays",
        home,
        (NO_CALL, [user([text("Go on.")]), *NO_CALL[1:]]),
        (OTHER_CALL, [*AT_END, user([result(1)])]),
    )
    yield _row(
        "of two results for one call the first stays",
        once,
        (DOUBLED, [*AT_END, user([result(1)])]),
        (DOUBLED_LATER, [*DOUBLED_LATER[:-1], user([text("So?")])]),
    )
    yield _row(
        "a call without any gets (cancelled), with is_error: True",
        home,
        (AT_END, [*AT_END, user([result(1, **CANCELLED)])]),
        (half, [*PAIR, half_right]),
        (NO_ANSWER, [*PAIR, missing, *NO_ANSWER[-2:]]),
    )
    yield _row(
        "text beside the calls comes before them",
        words,
        (CALL_FIRST, [CALL_FIRST[0], assistant([text("I look."), call(1), call(2)]), CALL_FIRST[-1]]),
    )
    yield _row("a list that was right still says the same", home, (ANSWERED, ANSWERED), (BOTH, BOTH), (LONG, LONG))
    yield untouched(home, *map(_shape, (LATE_ONE, DOUBLED, NO_ANSWER, CALL_FIRST)))


MARK = {"cache_control": {"type": "ephemeral"}}
LOOK = text("I will look.")
PICTURE = user([IMAGE | {"detail": "low"}, text("What is this?")])


def _plain(messages, *_):
    """The messages with strings as blocks, and without the fields that hold None: they may as well be absent."""
    return [
        m | {"content": [{k: v for k, v in b.items() if v is not None} for b in m["content"]]} for m in _shape(messages)
    ]


@exercise(
    "my_plain(messages), a function that returns a new list of plain messages: role, content, known fields",
    own="plain_messages",
)
def plain():
    objects, fields = (4, "The SDK sends its own objects"), (4, "A block may hold nothing else")
    reply = {"role": "assistant", "content": sdk_blocks(LOOK, call(1) | {"caller": {"type": "direct"}})}
    direct = assistant([LOOK, call(1) | {"caller": {"type": "direct"}}])
    kept = [
        user([text("Hi.") | MARK]),
        assistant([LOOK, call(1, _internal=1, type="f")]),
        user([result(1, is_error=True)]),
    ]
    noted = assistant([LOOK | {"_seen": 1}, call(1) | {"index": 0, "partial_json": ""}])
    deep = user([result(1, [text("a.txt") | {"_source": "disk"}, IMAGE]) | {"name": "bash"}])

    def row(sentence, read, *pairs):
        right = {repr(given): _plain(wanted) for given, wanted in pairs}
        return holds(sentence, read)(each(*(given for given, _ in pairs)), lambda given: right[repr(given)], _plain)

    talk = [user("Hello."), assistant("Hi."), user([text("List.")])]
    yield row("a message keeps its role and its content, and nothing else", fields, ([talk[0] | {"id": 7}], talk[:1]))
    yield row("an SDK object becomes a dict, to its last field", objects, ([WAIT, reply], [WAIT, direct]))
    yield row(
        "fields that the API does not know are removed", fields, ([WAIT, noted], [WAIT, assistant([LOOK, call(1)])])
    )
    yield row(
        "also in the content of a result",
        fields,
        ([deep], [user([result(1, [text("a.txt"), IMAGE])])]),
    )
    yield row("what the API knows stays, and so do the arguments of a call", fields, (kept, kept))
    yield row("a block of another type stays as it is", fields, ([PICTURE], [PICTURE]))
    yield row(
        "strings are fine, and None becomes an empty list",
        fields,
        (talk, talk),
        ([WAIT | {"content": None}], [WAIT | {"content": []}]),
    )
    yield untouched(fields, [WAIT, noted], [deep], [talk[0] | {"id": 7}])


REPORTED = {repr(case["messages"]): case for case in histories().values() if case["checkable"]}
STORIES = ["orphan-mid-history", "user-text-before-result", "window-cut-first-message"]
BEYOND = "placeholder-then-real"  # among the calls and results, what the package alone does
IN_TWO = [user("Both."), assistant([call(1)]), assistant([call(2)]), user([result(1), result(2)])]
NOTED = [user("List.") | {"id": 1}, assistant([call(1) | {"index": 0}]), user([result(1) | {"name": "bash"}])]
EMPTY_TEXT = [user("List."), assistant([text(" "), call(1)]), FIRST]
NOTHING = [user("Hi."), assistant([text("\n")]), user("Are you there?")]
LAST_WORD = [user("List."), assistant("There is one file.")]
MIXED_UP = [
    *LATE_ONE,
    assistant([call(2)]),
    user("Well?"),
    user([text(""), result(2, "b.txt")]),
    assistant([text("b.")]),
]


def _accepted(mine, given):
    """What the API says to a reported history, or which words are gone."""
    return verdict(mine, REPORTED[repr(given)])[1]


def _reported(keep):
    return [case["messages"] for case in REPORTED.values() if keep(case)]


def _words(messages, *_):
    return [block["text"] for block in _blocks(messages) if block["type"] == "text" and block["text"].strip()]


def _first_words(mine, given):
    """As many texts as were there: behind them may stand a word that the list ends with."""
    return _words(mine)[: len(_words(given))]


def _real(messages, *_):
    said = [block["content"] for block in _results(_blocks(messages)) if block["content"] != "(cancelled)"]
    return sorted(said, key=repr)


def _twice(yours, given):
    """What came of it, and what came of that."""
    once = yours(given)
    return once, yours(copy.deepcopy(once))


SAME = Such("the same list both times", lambda both: _shape(both[0]) == _shape(both[1]))


@exercise(
    "my_normalize(messages), a function that returns a new list that the API accepts and that says the same",
    own="normalize_messages",
)
def normalize():
    loop, tidy, end = (
        (5, "The loop over the table"),
        (5, "Text of nothing but white space"),
        (5, "The API answers the user"),
    )
    stories, promises = (5, "All five passes together"), (5, "Four promises")
    reported = rows_of("accepted", _accepted)
    accepted = rows_of("accepted", lambda mine, given: api_says(json.loads(json.dumps(mine))))
    theirs = [WAIT, {"role": "assistant", "content": sdk_blocks(LOOK, call(1))}, FIRST]
    right = each(FINE, BOTH, LONG, SPLIT, IN_TWO)
    alternating = Such(
        "a list in which the roles change from each message to the next",
        lambda mine: all(one["role"] != two["role"] for one, two in itertools.pairwise(mine)),
    )
    yield reported("the three conversations of this page are accepted", stories)(
        *_reported(lambda case: case["id"] in STORIES)
    )
    yield accepted("SDK objects become plain data", loop)(theirs)
    yield reported("a program's own notes go", loop)(*_reported(lambda case: case["id"] == "internal-fields"))
    yield accepted("an empty text block is dropped, and so is an empty message", tidy)(EMPTY_TEXT, NOTHING)
    yield accepted("a list that ends with the assistant gets a user message at its end", end)(LAST_WORD, MIXED_UP)
    yield reported("the histories under calls and results on the board are accepted, and nothing is lost", loop)(
        *_reported(lambda case: kind_of(case) in ("right already", "calls, results") and case["id"] != BEYOND)
    )
    yield holds("an empty list is no exception", promises)([([],)], Such("a list", lambda mine: isinstance(mine, list)))
    yield holds("no text is lost, and each keeps its place among the others", promises)(
        each(LATE_ONE, MIXED_UP, LAST_WORD, LONG_AGO), _words, _first_words
    )
    yield holds("no real result is lost", promises)(each(LATE_ONE, MIXED_UP, SPLIT), _real, _real)
    yield holds("a list that is right comes back the same, apart from joined neighbours", promises)(
        right, _free_order, _free_order
    )
    yield holds("neighbours of one role are one message", promises)(each(SPLIT, NOTHING, MIXED_UP), alternating)
    yield Property(
        "running it twice changes nothing more",
        promises,
        each(LAST_WORD, MIXED_UP, NOTHING, LONG_AGO),
        SAME,
        run=_twice,
    )
    yield untouched(promises, LATE_ONE, EMPTY_TEXT, MIXED_UP, NOTED, theirs)
