"""normalize_messages: mend a history so that the API accepts it, and say what was mended.

Three repairs do most of it: plain data with known fields only (plain.py), every call answered right after it (here),
neighbours of one role merged (turns.py). Around them: ids, cache markers, the end of the list. The rules: lab/rules.py.
"""

import gc

from .fields import THINKING, kind_name
from .ids import all_legal, is_placeholder, pair_server_tools, unique_ids
from .plain import plain_messages
from .turns import blocks_of, close_turns, is_paused, merge_neighbours, turns_of

CANCELLED = "(cancelled)"
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
    tell = (lambda line: None) if repairs is None else repairs.append
    if not isinstance(messages, (list, tuple)):
        raise ValueError(f"messages is {kind_name(messages)}: give a list of messages")
    collecting = gc.isenabled()
    gc.disable()  # the collector would look through the growing copy again and again, and find nothing
    try:
        return _mended(messages, tell, prefill, keep_unsigned_thinking)
    finally:
        if collecting:
            gc.enable()


def _mended(messages, tell, prefill, keep_unsigned_thinking):
    history, markers, pairing = [], [], Pairing()
    for start in range(0, len(messages), _STRETCH):
        stretch = plain_messages(messages[start : start + _STRETCH], tell, start, keep_unsigned_thinking, markers)
        pairing.read(stretch)
        history += stretch
    if not pairing.is_right():
        turns = turns_of(history)
        unique_ids(turns, tell)
        pair_server_tools(turns, tell)
        history = merge_neighbours(answer_every_call(turns, tell))
        history = merge_neighbours(close_turns(history, tell))
    if len(markers) > MOST_MARKERS:
        limit_markers(history, tell)
    end_with_user(history, tell, prefill)
    return history


class Pairing:
    """Whether the messages read so far keep the pairing rule as they are, so that nothing needs to be moved.

    User and assistant speak in turn. An assistant's message ends in its calls, and the user's next message begins with
    their results. Every call has a legal id of its own. When in doubt, no: then the whole list is taken apart.
    """

    def __init__(self):
        self.right, self.role, self.waiting, self.ids = True, None, [], []

    def read(self, messages):
        """Read the next messages of the list."""
        if not self.right:
            return
        before, calls, ids = self.role, self.waiting, []
        self.right = False
        for message in messages:
            role, content = message["role"], message["content"]
            if role == before or not content:
                return
            before = role
            if type(content) is str:
                if calls:
                    return
            elif role == "assistant":
                for block in content:
                    kind = block["type"]
                    if kind == "tool_use":
                        calls.append(block["id"])
                    elif calls or kind not in _OF_ASSISTANT:
                        return
                if kind in THINKING:
                    return
                ids += calls
            else:
                results = [b["tool_use_id"] for b in content[: len(calls)] if b["type"] == "tool_result"]
                if results != calls and sorted(results) != sorted(calls):
                    return
                for block in content[len(calls) :]:
                    if block["type"] not in _OF_USER:
                        return
                calls = []
        self.right, self.role, self.waiting = all_legal(ids), before, calls
        self.ids += ids

    def is_right(self):
        return self.right and not self.waiting and len(set(self.ids)) == len(self.ids)


_OF_ASSISTANT = {"text", "thinking", "redacted_thinking"}
_OF_USER = {"text", "image", "search_result", "document", "container_upload"}


def answer_every_call(turns, tell):
    """Rules P1 to P6: every call is answered once, and the user's next turn begins with the answers. Returns messages.

    A result is brought there from wherever it stands. A call that has none gets a placeholder, which says so.
    """
    answers = one_answer_each(turns, tell)
    messages = []
    for n, turn in enumerate(turns):
        if turn.places and turn.places[0] != turn.places[-1]:
            tell(f"joined messages {turn.places[0]} to {turn.places[-1]}: they are one turn of the {turn.role}'s")
        if turn.role == "user":
            messages.append(turn.message([block for block in turn.blocks if block["type"] != "tool_result"]))
            continue
        standing = turns[n + 1].leading_results() if n + 1 < len(turns) else []
        for blocks in calls_last(turn, tell):
            messages.append(turn.message(blocks))
            calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
            if sorted(calls) == sorted(standing):
                calls = standing  # the order of parallel results is free, so it stays
            for name in calls:
                if name not in answers:
                    tell(f"answered {name}: {CANCELLED}")
                    answers[name] = {"type": "tool_result", "tool_use_id": name, "content": CANCELLED, "is_error": True}
            messages.append({"role": "user", "content": [answers[name] for name in calls]})
    return messages


def one_answer_each(turns, tell):
    """Call id -> its result: the first real one after the call, else one before it, else a placeholder that stands."""
    called = {}
    for n, turn in enumerate(turns):
        called.update((block["id"], (n, place)) for block, place in turn.spots() if block["type"] == "tool_use")
    best = {}
    for n, turn in enumerate(turns):
        leading = len(turn.leading_results())
        for k, (block, place) in enumerate(turn.spots()):
            if block["type"] != "tool_result":
                continue
            name = block["tool_use_id"]
            if name not in called:
                tell(f"dropped the result of {name!r} in message {place}: there is no such call")
                continue
            call, _ = called[name]
            worth = (not is_placeholder(block), n > call)
            if name in best:
                better = worth > best[name][0]
                tell(f"dropped a second result of {name} in message {best[name][2] if better else place}")
                if not better:
                    continue
            best[name] = worth, block, place, k < leading and n == call + 1
    for name, (_, _, place, stands_right) in best.items():
        if not stands_right:
            tell(f"moved the result of {name} from message {place} to its call in message {called[name][1]}")
    return {name: block for name, (_, block, _, _) in best.items()}


def calls_last(turn, tell):
    """Rule P3: an assistant's turn with its calls after its text. Thinking keeps its place: after a call it begins a
    new piece, which gets a message of its own.
    """
    pieces, called = [[]], False
    for block in turn.blocks:
        if called and block["type"] in THINKING:
            pieces.append([])
            called = False
        called = called or block["type"] == "tool_use"
        pieces[-1].append(block)
    ordered = [sorted(piece, key=lambda block: block["type"] == "tool_use") for piece in pieces]
    if len(pieces) > 1 or ordered != pieces:
        tell(f"put the calls of message {turn.places[0]} after what else is said in that turn")
    return ordered


def limit_markers(messages, tell):
    """Rule C8: at most four cache markers; the newest stay."""
    marked = []
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            inside = block.get("content") if block["type"] == "tool_result" else None
            marked += [b for b in (*(inside if isinstance(inside, list) else ()), block) if b.get("cache_control")]
    for block in marked[:-MOST_MARKERS]:
        tell(f"removed the cache_control of an early {block['type']} block")
        del block["cache_control"]


def end_with_user(messages, tell, prefill):
    """Rules R6, R7: today's models answer the user. Older ones go on with a text that no white space ends."""
    last = messages[-1] if messages else None
    if last and (last["role"] == "user" or is_paused(last)):
        return
    if not last or not prefill:
        tell(f"added a message of the user's: {CONTINUE}")
        messages.append({"role": "user", "content": CONTINUE})
        return
    blocks = blocks_of(last["content"])
    kept = [block for block in blocks if block["type"] not in THINKING]
    if len(kept) < len(blocks):
        tell("dropped the thinking in the message that the model goes on with")
    if kept[-1]["type"] == "text" and kept[-1]["text"] != kept[-1]["text"].rstrip():
        tell("removed the white space at the end of the message that the model goes on with")
        kept[-1]["text"] = kept[-1]["text"].rstrip()
    last["content"] = kept[0]["text"] if isinstance(last["content"], str) else kept
