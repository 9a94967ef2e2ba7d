"""normalize_messages in five switches: what each pass of it does alone, and what is missing without it.

The HistoryLab draws it. Left out: the passes themselves (messages.py, plain.py, ids.py, turns.py).
"""

import ast
import json

from ... import messages
from ...history import answers, ids, plain, turns
from .. import conversation

PASSES = {  # in the order in which they work
    "plain": "plain data, known fields only",
    "ids": "an id of its own for every call",
    "answers": "every call answered right after it",
    "merge": "neighbours of one role merged",
    "ends": "turns and the list end as the API wants it",
}
_SHAPES = (AttributeError, IndexError, KeyError, TypeError)  # what a pass raises at a shape that it does not expect


def mend(history, chosen=tuple(PASSES)):
    """Run the chosen passes over a list of messages. Returns the new list and a line for each repair.

    With all of them it is what normalize_messages does. ValueError for what nobody can mend, or not without `plain`.
    """
    repairs = []
    try:
        return _mended(history, chosen, repairs.append), repairs
    except _SHAPES as error:
        raise ValueError(f"These passes need plain data first: {type(error).__name__}: {error}.") from None


def _mended(history, chosen, log):
    history = plain.plain_messages(history, log) if "plain" in chosen else conversation.plain(history)
    if "ids" in chosen or "answers" in chosen:
        taken_apart = turns.turns_of(history)
        if "ids" in chosen:
            ids.unique_ids(taken_apart, log)
            ids.pair_server_tools(taken_apart, log)
        history = answers.answer_every_call(taken_apart, log) if "answers" in chosen else _as_they_stood(taken_apart)
    if "merge" in chosen:
        history = turns.merge_neighbours(history)
    if "ends" in chosen:
        history = turns.close_turns(history, log)
        history = turns.merge_neighbours(history) if "merge" in chosen else history
        messages.limit_markers(history, log)
        messages.end_with_user(history, log, False)
    return history


def _as_they_stood(taken_apart):
    """Turns as the messages from which they came."""
    history = []
    for turn in taken_apart:
        for place in dict.fromkeys(turn.places):
            blocks = [block for block, other in zip(turn.blocks, turn.places, strict=True) if other == place]
            history.append(turn.message(blocks))
    return history


def pasted(text):
    """A list of messages from JSON, or from the way in which Python prints one."""
    try:
        value = json.loads(text)
    except ValueError as error:
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"This is neither JSON nor a Python list: {error}.") from None
    value = value.get("messages", value) if isinstance(value, dict) else value
    if not isinstance(value, list):
        raise ValueError("A history is a list of messages: begin with [ and end with ].")
    return value
