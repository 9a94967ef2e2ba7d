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


def answer_every_call(messages: list, log: Callable[[str], object] = lambda line: None, **_: object) -> list:
    """Every call answered right after it. A new list, in which the user's turns begin with the answers: rules P1 to P6.

    A result is brought there from wherever it stands. A call that has none gets a placeholder, which says so.
    """
    if quick.is_right(messages):  # as most lists are: no block has to move
        return merge_neighbours(messages, log)
    turns = turns_of(messages, log)
    answers = one_answer_each(turns, log)
    answered = []
    for turn, following in zip_longest(turns, turns[1:]):
        if turn.first < turn.last:
            log(JOINED.format(turn.first, turn.last, turn.role))
        if turn.role != "assistant":
            answered += [turn.message([b for b in turn.blocks if b["type"] != "tool_result"]), *turn.after]
            continue
        for blocks, calls in calls_last(turn, following, log):
            for name in calls:
                if name not in answers:
                    log(f"answered {name}: {CANCELLED}")
                    answers[name] = cancelled(name)
            results = {"role": "user", "content": [answers[name] for name in calls]}
            answered += [turn.message(blocks), results]
        answered[-1:-1] = turn.after
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


def calls_last(turn, following, log):
    """Rule P3: an assistant's turn as [(blocks, ids of the calls, in the order of their results)]: text before calls.

    A turn that is answered at once, by what begins the following one, stays as it is, unless words end it: models do
    think between two calls, and in any other order that is refused. Text between calls is disputed: refused in
    BerriAI/litellm#22947 and vercel/ai#13013, accepted of five models in gotgenes/pi-anthropic-auth#66.
    In other turns thinking keeps its place: after a call it begins a new piece, which becomes a message of its own.
    """
    leading = takewhile(lambda block: block["type"] == "tool_result", following.blocks if following else ())
    standing = dict.fromkeys(block["tool_use_id"] for block in leading)
    whole = turn.blocks
    kinds = [block["type"] for block in whole]
    calls = [block["id"] for block in whole if block["type"] == "tool_use"]
    thinks = THINKING.intersection(kinds[kinds.index("tool_use") :]) if calls else ()
    if kinds[-1] not in {"text", *THINKING} and (thinks or standing.keys() >= set(calls)):
        return [(whole, in_order(calls, standing))]
    pieces = [([], [])]
    for block in whole:
        others, calls = pieces[-1]
        if block["type"] == "tool_use":
            calls.append(block)
        elif calls and block["type"] in THINKING:
            pieces.append(([block], []))
        else:
            others.append(block)
    ordered = [(others + calls, in_order([call["id"] for call in calls], standing)) for others, calls in pieces]
    if len(pieces) > 1 or ordered[0][0] != whole:
        log(f"reordered the turn at message {turn.first}: calls come last, their results right behind them")
    return ordered


def in_order(calls, standing):
    """The calls in the order of the results that stand there, if all do: the order of parallel results is free."""
    asked = set(calls)
    return [name for name in standing if name in asked] if asked <= standing.keys() else calls
