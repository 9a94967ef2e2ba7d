"""normalize_messages: mend a history so that the API accepts it, and say what was mended.

Three repairs do most of it: plain data with known fields only (plain.py), every call answered right after it
(answers.py), neighbours of one role merged (turns.py). Around them: ids, cache markers, the end of the list.
"""

import gc

from .history.answers import answer_every_call
from .history.fields import THINKING, kind_name
from .history.ids import all_legal, pair_server_tools, unique_ids
from .history.plain import plain_messages
from .history.turns import blocks_of, close_turns, is_paused, merge_neighbours, turns_of

CONTINUE = "Continue."
MOST_MARKERS = 4
_STRETCH = 1000  # messages that are read and checked together, while they are in the processor's cache


def normalize_messages(messages, *, repairs=None, prefill=False, keep_unsigned_thinking=False):
    """Return a list of plain messages that the API accepts and that says the same. The input is not changed.

    messages: dicts and SDK objects, in any state. repairs: a list that gets one line for each repair; its indexes are
    those of `messages`. prefill: the model goes on with an assistant's last message (models before 4.6).
    keep_unsigned_thinking: for endpoints that want thinking back although it is not signed (DeepSeek, MiMo).
    A history that was right comes back equal, apart from merging, and so does the result when it is given again.
    ValueError, with the index, for what nobody can mend: no list, a number as content, an unknown role, no JSON.
    """
    log = (lambda line: None) if repairs is None else repairs.append
    if not isinstance(messages, (list, tuple)):
        raise ValueError(f"messages is {kind_name(messages)}: give a list of messages")
    collecting = gc.isenabled()
    gc.disable()  # the collector would look through the growing copy again and again, and find nothing
    try:
        return _mended(messages, log, prefill, keep_unsigned_thinking)
    finally:
        if collecting:
            gc.enable()


def _mended(messages, log, prefill, keep_unsigned_thinking):
    history, markers, pairing = [], [], Pairing()
    for start in range(0, len(messages), _STRETCH):
        stretch = plain_messages(messages[start : start + _STRETCH], log, start, keep_unsigned_thinking, markers)
        pairing.read(stretch)
        history += stretch
    if not pairing.is_right():
        turns = turns_of(history, log)
        unique_ids(turns, log)
        pair_server_tools(turns, log)
        history = merge_neighbours(answer_every_call(turns, log))
        history = merge_neighbours(close_turns(history, log))
    elif pairing.neighbours:
        history = merge_neighbours(history, log)
    if len(markers) > MOST_MARKERS:
        limit_markers(history, log)
    end_with_user(history, log, prefill)
    return history


class Pairing:
    """Whether the messages read so far keep the pairing rule as they are, so that nothing needs to be moved.

    An assistant's turn ends in its calls; the user's next turn begins with their results, one for each, in any order.
    Every call has a legal id of its own. When in doubt, no: then the whole list is taken apart.
    """

    def __init__(self):
        self.right, self.neighbours = True, False
        self.role, self.kind, self.waiting, self.ids = None, None, set(), []

    def read(self, messages):
        """Read the next messages of the list."""
        if not self.right:
            return
        before, kind, waiting, ids = self.role, self.kind, self.waiting, []
        self.right = False
        for message in messages:
            role, content = message["role"], message["content"]
            if role == before:
                self.neighbours = True
            elif role == "assistant" and waiting or kind in THINKING or not content:
                return
            before = role
            if type(content) is str:
                if waiting:
                    return
                kind = "text"
            elif role == "assistant":
                for block in content:
                    kind = block["type"]
                    if kind == "tool_use":
                        waiting.add(block["id"])
                        ids.append(block["id"])
                    elif waiting or kind not in _OF_ASSISTANT:
                        return
            else:
                for block in content:
                    kind = block["type"]
                    if kind == "tool_result" and block["tool_use_id"] in waiting:
                        waiting.remove(block["tool_use_id"])
                    elif waiting or kind not in _OF_USER:
                        return
        self.right, self.role, self.kind, self.waiting = all_legal(ids), before, kind, waiting
        self.ids += ids

    def is_right(self):
        return self.right and not self.waiting and self.kind not in THINKING and len(set(self.ids)) == len(self.ids)


_OF_ASSISTANT = {"text", "thinking", "redacted_thinking"}
_OF_USER = {"text", "image", "search_result", "document", "container_upload"}


def limit_markers(messages, log):
    """Rule C8: at most four cache markers; the newest stay. Changes the blocks."""
    marked = []
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            inside = block.get("content") if block["type"] == "tool_result" else None
            marked += [b for b in (*(inside if isinstance(inside, list) else ()), block) if b.get("cache_control")]
    for block in marked[:-MOST_MARKERS]:
        log(f"removed the cache_control of an early {block['type']} block")
        del block["cache_control"]


def end_with_user(messages, log, prefill):
    """Rules R6, R7: today's models answer the user. Older ones go on with a text that no white space ends."""
    last = messages[-1] if messages else None
    if last and (last["role"] == "user" or is_paused(last)):
        return
    if not last or not prefill:
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
