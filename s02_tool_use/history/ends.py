"""The last pass: turns, cache markers and the list itself end as the API wants it."""

from itertools import dropwhile

from .fields import THINKING
from .system import in_their_place
from .turns import CONTINUE, all_blocks, blocks_of, close_turns, needs_a_word, parts_of

MOST_MARKERS = 4  # cache markers in one request


def end_well(messages, log, prefill=False, **_):
    """Turns and the list end as the API wants it."""
    messages = close_turns(messages, log)
    limit_markers(messages, log)
    end_with_user(messages, log, prefill)
    return in_their_place(messages, log)


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
            log(f"made the cache_control of a {block['type']} block 5m, like the one before it")
            block["cache_control"]["ttl"] = "5m"


def end_with_user(messages, log, prefill):
    """Rules R6, R7: today's models answer the user. Older ones go on from text that does not end in a space."""
    if not needs_a_word(messages):
        return
    last = messages[-1] if messages else {"role": "user"}
    if not prefill or last["role"] != "assistant":
        log(f"added a user message: {CONTINUE}")
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
