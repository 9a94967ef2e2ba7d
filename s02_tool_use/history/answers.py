"""Every call is answered once, right after it: the rule of the API that real programs break most often.

A turn (turns.py) is what one side says until the other speaks, in one message or in several.
"""

from collections.abc import Callable
from itertools import takewhile, zip_longest

from . import quick
from .fields import THINKING
from .ids import is_placeholder
from .turns import JOINED, merge_neighbours, turns_of

CANCELLED = "(cancelled)"


def cancelled(call_id, why=CANCELLED):
    """The answer to a call that did not run. It is an error, so that nobody takes it for the tool's output."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": why, "is_error": True}


def answer_every_call(messages: list, log: Callable[[str], object], **_: object) -> list:
    """Every call answered right after it. A new list, in which the user's turns begin with the answers: rules P1 to P6.

    A result is brought there from wherever it stands. A call that has none gets a placeholder, which says so.
    """
    if quick.is_right(messages):  # as most lists are: no block has to move
        return merge_neighbours(messages, log)
    turns = turns_of(messages, log)
    answers = one_answer_each(turns, log)
    answered = []
    for turn, following in zip_longest(turns, turns[1:]):
        (_, first), (_, last) = turn.spots[0], turn.spots[-1]
        if first != last:
            log(JOINED.format(first, last, turn.role))
        if turn.role == "user":
            answered.append(turn.message([block for block in turn.blocks if block["type"] != "tool_result"]))
            continue
        for blocks, calls in calls_last(turn, log):
            answered.append(turn.message(blocks))
            if len(calls) > 1 and following:  # the order of parallel results is free, so it stays
                leading = takewhile(lambda block: block["type"] == "tool_result", following.blocks)
                standing = [block["tool_use_id"] for block in leading]
                calls = standing if sorted(standing) == sorted(calls) else calls
            for name in calls:
                if name not in answers:
                    log(f"answered {name}: {CANCELLED}")
                    answers[name] = cancelled(name)
            answered.append({"role": "user", "content": [answers[name] for name in calls]})
    return answered


def one_answer_each(turns, log):
    """Call id -> its result: the first real one after the call, else one before it, else a placeholder that stands."""
    spots = [(n, block, place) for n, turn in enumerate(turns) for block, place in turn.spots]
    called = {block["id"]: (n, place) for n, block, place in spots if block["type"] == "tool_use"}
    best = {}  # call id -> (its result, whether that comes after it, the message if that is not where it belongs)
    for n, turn in enumerate(turns):
        leading = turn.role == "user"
        for block, place in turn.spots if leading else ():
            if block["type"] != "tool_result":
                leading = False
                continue
            name = block["tool_use_id"]
            if name not in called:
                log(f"dropped the result of {name!r} in message {place}: there is no such call")
                continue
            after = n > called[name][0]
            if name in best:
                standing, stands_after, _ = best[name]
                if (not is_placeholder(block), after) <= (not is_placeholder(standing), stands_after):
                    log(f"dropped a second result of {name} in message {place}")
                    continue
                log(f"took the result of {name} in message {place} instead of the one before")
                del best[name]
            best[name] = block, after, None if leading and n == called[name][0] + 1 else place
    for name, (_, _, place) in best.items():
        if place is not None:
            log(f"moved the result of {name} from message {place} to its call in message {called[name][1]}")
    return {name: block for name, (block, _, _) in best.items()}


def calls_last(turn, log):
    """Rule P3: an assistant's turn as [(blocks, ids of the calls that end them)]: text goes before calls.

    Thinking keeps its place. After a call it begins a new piece, which becomes a message of its own.
    """
    pieces = [([], [])]
    for block in turn.blocks:
        others, calls = pieces[-1]
        if block["type"] == "tool_use":
            calls.append(block)
        elif calls and block["type"] in THINKING:
            pieces.append(([block], []))
        else:
            others.append(block)
    ordered = [(others + calls, [call["id"] for call in calls]) for others, calls in pieces]
    if len(pieces) > 1 or ordered[0][0] != turn.blocks:
        log(f"put the calls of message {turn.spots[0][1]} after what else is said in that turn")
    return ordered
