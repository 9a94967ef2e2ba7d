"""normalize_messages: fix a history so that the API accepts it, and say what was fixed.

Five passes, one after the other. Each takes a list of messages, returns a list, and gives `log` a line for each repair;
the places in these lines are those of the first list. What they stand on is in history/, speed and rare cases too. The
rules, each with its source: lab/api/rules_table.py.
"""

from collections.abc import Callable
from itertools import dropwhile

from .history import quick
from .history.answers import answer_every_call
from .history.fields import THINKING, kind_name
from .history.ids import pair_server_tools, unique_ids
from .history.plain import plain_messages
from .history.system import in_their_place
from .history.turns import CONTINUE, all_blocks, blocks_of, close_turns, merge_neighbours, needs_a_word, parts_of

MOST_MARKERS = 4  # cache markers in one request


def ids(messages, log, **_):
    """An id of its own for every call."""
    return pair_server_tools(unique_ids(messages, log), log)


def merge(messages, log, **_):
    """Neighbours of one role merged."""
    return merge_neighbours(messages)  # which of the first list they are, `answers` has said


def ends(messages, log, prefill=False, **_):
    """Turns and the list end as the API wants it."""
    messages = close_turns(messages, log)
    limit_markers(messages, log)
    end_with_user(messages, log, prefill)
    return in_their_place(messages, log)


PASSES: dict[str, Callable[..., list]] = {
    "plain": plain_messages,
    "ids": ids,
    "answers": answer_every_call,
    "merge": merge,
    "ends": ends,
}


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
    A history that was right comes back equal, apart from merging, and so does the result when it is given again.
    ValueError, with the index, for what nobody can fix: no list, a number as content, an unknown role, no JSON.
    """
    if not isinstance(messages, (list, tuple)):
        raise ValueError(f"messages is {kind_name(messages)}: give a list of messages")
    log = (lambda line: None) if repairs is None else repairs.append
    if unknown not in ("drop", "keep"):
        raise ValueError(f'unknown is {unknown!r}: give "drop" or "keep"')
    options = {"prefill": prefill, "keep_unsigned_thinking": keep_unsigned_thinking, "unknown": unknown}
    with quick.no_collector():
        if (copy := quick.right_copy(messages, log)) is not None:
            return copy
        for fix in PASSES.values():
            messages = fix(messages, log, **options, system_role=system_role, system=system)
    return messages


def limit_markers(messages, log):
    """Rules C8, C12: at most four cache markers, the newest, and none for 1h after one for 5m. Changes the blocks."""
    marked = [
        part
        for block in all_blocks(messages)
        for part in parts_of(block)
        if isinstance(part.get("cache_control"), dict)
    ]
    for block in marked[:-MOST_MARKERS]:
        log(f"removed the cache_control of an early {block['type']} block")
        del block["cache_control"]
    for block in dropwhile(lambda one: one["cache_control"].get("ttl") == "1h", marked[-MOST_MARKERS:]):
        if block["cache_control"].get("ttl") == "1h":
            log(f"made the cache_control of a {block['type']} block one of 5m, as one before it is")
            block["cache_control"]["ttl"] = "5m"


def end_with_user(messages, log, prefill):
    """Rules R6, R7: today's models answer the user. Older ones go on with a text that does not end in a space."""
    if not needs_a_word(messages):
        return
    last = messages[-1] if messages else {"role": "user"}
    if not prefill or last["role"] != "assistant":
        log(f"added a message of the user's: {CONTINUE}")
        messages.append({"role": "user", "content": CONTINUE})
        return
    blocks = blocks_of(last["content"])
    kept = [block for block in blocks if block["type"] not in THINKING]
    if len(kept) < len(blocks):
        log("dropped the thinking in the message that the model goes on with")
    if kept[-1]["type"] == "text" and kept[-1]["text"] != kept[-1]["text"].rstrip():
        log("removed the white space at the end of the message that the model goes on with")
        kept[-1]["text"] = kept[-1]["text"].rstrip()
    last["content"] = kept[0]["text"] if isinstance(last["content"], str) else kept
