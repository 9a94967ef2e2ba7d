"""The exercises of 05: results first, neighbours merged, an answer for each call that has none."""

import itertools
import operator

from ...conversation import api_says, calls
from ..exercise import Such, exercise
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

    first, mixed = (3, "So a user's turn has one right order"), each(LATE, MIXED)
    in_order = each([text("Both:"), result(1), result(2)], [result(2), text("Both."), result(1)])
    others = each([text("One."), text("Two."), result(1)], MIXED, [IMAGE, text("A picture."), result(1)])
    was_right = each([text("Hello."), text("Are you there?")], [result(1), text("And?")])
    yield holds("the results come before everything else", first)(
        mixed, lambda content: kinds(_results(content)), at_the_head
    )
    yield holds("no block is lost, doubled or changed", first)(mixed, in_any_order)
    yield holds("the results keep their order", first)(in_order, _ids, _ids)
    yield holds("so does all the rest", first)(others, _rest, _rest)
    yield holds("a turn that was right, or has no result, comes back equal", first)(was_right, lambda content: content)
    yield untouched(first, LATE, MIXED)


WAIT, COUNT = user("Wait."), user("Count them.")
FIRST, SECOND = user([result(1)]), user([result(2)])


def _shape(messages, *_):
    """The messages as they are, but with each string as the text block that it stands for."""
    return [(m["role"], [text(m["content"])] if isinstance(m["content"], str) else m["content"]) for m in messages]


def _turns(messages, *_):
    """(role, blocks) of each turn: what the API makes of the list. Empty messages are none."""
    filled = [message for message in _shape(messages) if message[1]]
    turns = itertools.groupby(filled, key=operator.itemgetter(0))
    return [(role, [block for _, content in turn for block in content]) for role, turn in turns]


@exercise("my_merge(messages), a function that returns a new list in which no two neighbours have the same role")
def merge():
    merges, read = rows_of(_turns, _shape), (4, "Pass 3 makes one message of neighbours")
    two, both, rest = [WAIT, COUNT], [FIRST, SECOND], [FIRST, COUNT]
    looked = [user("List."), assistant("I will look."), assistant([call(1)]), FIRST]
    talk = [user("Hello."), assistant("Hi."), user("List the files.")]
    yield merges("two results in two messages become one message", read)(both)
    yield merges("a string counts as one text block", read)(two, rest, rest[::-1])
    yield merges("three in a row become one as well", read)([*two, user([text("Please.")])], [user("One."), *both])
    yield merges("the assistant's neighbours are merged too", read)(looked)
    yield merges("what changes sides each time stays as it is", read)(talk[:1], talk)
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
AGAIN = [*ANSWERED, assistant([call(2)])]
FINE = [*ANSWERED, assistant("One file."), user("Which?")]


def _blocks(messages):
    return [block for _, content in _shape(messages) for block in content]


def _added(mine, given):
    """The results that were not there."""
    return [block for block in _results(_blocks(mine)) if block not in _blocks(given)]


def _without_added(mine, given):
    added = _added(mine, given)
    kept = [(role, [block for block in content if block not in added]) for role, content in _shape(mine)]
    return _turns([{"role": role, "content": content} for role, content in kept if content])


@exercise("my_answer_orphans(messages), a function that returns a new list in which each call has a result")
def orphans():
    def called(given):
        return sorted({block["id"] for block in calls(given)})

    def answered(mine, given):
        return sorted(_ids(_blocks(mine)))

    # What the API says to the learner's list. Each case ends with the user: another end is refused for that.
    accepted = rows_of("accepted", lambda mine, given: api_says(mine))
    answer, later = (4, "Pass 2 answers every call"), (2, "The result is there, and the request is still refused")
    before_text = (1, "In the second there is a result, but the user's text comes before it")
    twice = (4, "The opposite mistake is as bad")
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
    yield holds("all that was there is still there, in its order", answer)(
        each(ANSWERED, THEN_TEXT, ONE_OF_TWO, SPLIT, LONG_AGO), _turns, _without_added
    )
    yield accepted("the API accepts all of them", answer)(NEITHER, ONE_OF_TWO, AGAIN, SPLIT, NOT_LAST, TWO_TIMES)
    yield untouched(answer, THEN_TEXT, THEN_BLOCKS, LONG_AGO, ONE_OF_TWO)
