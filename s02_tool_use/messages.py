"""normalize_messages: fix a history so that the API accepts it, and say what was fixed.

A table of passes and the loop over it. Each pass takes a list of messages, returns a list, and gives `log` a line for
each repair; the places in these lines are those of the first list. The passes stand in history/, speed and rare cases
too. The rules, each with its source: lab/api/rules_table.py.
"""

from collections.abc import Callable

from .history import quick
from .history.answers import answer_every_call
from .history.ends import end_well
from .history.fields import kind_name
from .history.ids import own_ids
from .history.plain import plain_messages
from .history.turns import merge_turns

PASSES: list[Callable[..., list]] = [
    plain_messages,
    own_ids,
    answer_every_call,
    merge_turns,
    end_well,
]


@quick.no_collector()
def normalize_messages(
    messages: list,
    *,
    repairs: list | None = None,
    prefill: bool = False,
    keep_unsigned_thinking: bool = False,
    unknown: str = "drop",
    system_role: bool = True,
    system: list | None = None,
) -> list[dict]:
    """Return a list of plain messages that the API accepts and that says the same. The input is not changed.

    messages: dicts and SDK objects, in any state. repairs: a list that gets one line for each repair; its indexes are
    those of `messages`. prefill: the model goes on with an assistant's last message (models before 4.6).
    keep_unsigned_thinking: for endpoints that want thinking back although it is not signed (DeepSeek, MiMo).
    unknown: "drop" leaves out blocks of a type that nobody knows, since the API refuses them; "keep" is for a list that
    the endpoint itself has written, which may be newer than this table.
    system_role: whether the model takes messages of the role "system" (from Opus 4.8, Fable 5, Sonnet 5 on). system: a
    list that gets the text blocks of those that can't stay, for the request's `system`; without it the user says them.
    A history that was right comes back equal, but for joined neighbours; a result that is given again, wholly equal.
    ValueError, with the index, for what nobody can fix: no list, a number as content, an unknown role, no JSON.
    """
    if not isinstance(messages, (list, tuple)):
        raise ValueError(f"messages is {kind_name(messages)}: give a list of messages")
    if unknown not in ("drop", "keep"):
        raise ValueError(f'unknown is {unknown!r}: give "drop" or "keep"')
    options = {"prefill": prefill, "keep_unsigned_thinking": keep_unsigned_thinking, "unknown": unknown}
    options |= {"system_role": system_role, "system": system}
    log = (lambda line: None) if repairs is None else repairs.append
    if (copy := quick.right_copy(messages, log)) is not None:  # as most are: the passes would find nothing
        return copy
    for fix in PASSES:
        messages = fix(messages, log, **options)
    return messages
