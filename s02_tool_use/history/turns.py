"""Turns: what one side says until the other speaks. The API reads a list of messages as turns, and so do its rules.

From messages to turns and back, and how an assistant's turn may end.
"""

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from .fields import GOES_ON, HOME, SERVER_RESULTS, THINKING


class Turn(NamedTuple):
    role: str | None
    text: str | None  # the content of its first message if that was a string, so that it can stay one
    spots: list[tuple[dict, int]]  # its blocks, each with the index of its message
    after: list[dict]  # the system messages behind it

    @property
    def blocks(self):
        return [block for block, _ in self.spots]

    @property
    def first(self):
        return self.spots[0][1] if self.spots else 0

    @property
    def last(self):
        return self.spots[-1][1] if self.spots else 0

    def message(self, blocks):
        """A message of some of the turn's blocks."""
        whole = self.text is not None and len(blocks) == len(self.spots) == 1
        return {"role": self.role, "content": self.text if whole else blocks}


def turns_of(messages, log=lambda line: None):
    """The turns of plain messages; empty ones are nothing. Rule P11: a block that one side alone may send is its."""
    turns = [turn := Turn(None, None, [], [])]  # nobody's, for what stands before all others
    for index, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role == "system":
            turn.after.append(message)
            continue
        for block in blocks_of(content):
            home = HOME.get(block["type"], role)
            if home != role:
                log(f"moved a {block['type']} block of message {index} to the {home}")
            if home != turn.role or turn.after:
                turn = Turn(home, content if isinstance(content, str) else None, [], [])
                turns.append(turn)
            turn.spots.append((block, index))
    return turns if turns[0].after else turns[1:]


def only(messages, wanted):
    """The same messages with those blocks for which wanted(block, index of the message) is true. A string stays."""
    for place, message in enumerate(messages):
        if not isinstance(message["content"], str):
            message["content"] = [block for block in message["content"] if wanted(block, place)]
    return messages


def blocks_of(content: str | list) -> list:
    """The content of a message as a list of blocks: a string is one block of text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def all_blocks(messages):
    """The blocks of all messages, in order. A string is left out: it is nothing but text."""
    return [block for message in messages if not isinstance(message["content"], str) for block in message["content"]]


def parts_of(block):
    """The blocks in a result, if it is one that has some, and the block itself."""
    inside = block.get("content") if block["type"] == "tool_result" else None
    return [*inside, block] if isinstance(inside, list) else [block]


CONTINUE = "Continue."
JOINED = "joined messages {} to {}: they are one turn of the {}"


def merge_neighbours(messages: list, log: Callable[[str], object] = lambda line: None) -> list:
    """Rule R4: the API reads neighbours of one role as one turn; some endpoints insist that it be one message."""
    merged = []
    said = [(index, message) for index, message in enumerate(messages) if message["content"] or len(message) > 2]
    for role, group in groupby(said, key=lambda pair: pair[1]["role"]):
        turn = list(group)
        (first, message), (last, _) = turn[0], turn[-1]
        if role == "system":  # each may have options of its own
            merged += [one for _, one in turn]
            continue
        if first < last:
            log(JOINED.format(first, last, role))
            message = {"role": role, "content": [block for _, part in turn for block in blocks_of(part["content"])]}
        merged.append(message)
    return merged


def merge_turns(messages, log, **_):
    """Neighbours of one role merged."""
    return merge_neighbours(messages)  # which of the first list they are, `answer_every_call` has said


def ends_in(message, kinds):
    """Whether the last block of a message is of one of these types."""
    content = message["content"]
    return isinstance(content, list) and bool(content) and content[-1]["type"] in kinds


def needs_a_word(messages):
    """Whether the user has to speak before the model can: it had the last word, and not in a turn that is paused on a
    tool at the API's side or on a compaction, which goes on by itself.
    """
    last = next((message for message in reversed(messages) if message["role"] != "system"), None)
    return last is None or last["role"] == "assistant" and not ends_in(last, GOES_ON)


def close_turns(messages, log):
    """Rules K5, P14: an assistant's turn ends neither in thinking nor in a server tool whose result never came.

    A paused turn is sent back as it is. What the API says if the user goes on with words was not seen; its docs allow
    nothing but results there. From the end backwards: a message that loses all its blocks vanishes, and its neighbours
    become one.
    """
    closed, finished, answered = [], set(), False
    word_follows = needs_a_word(messages)  # "Continue."
    for message in reversed(messages):
        blocks = blocks_of(message["content"])
        if message["role"] == "user":
            words = bool(blocks) and blocks[-1]["type"] != "tool_result"  # results come first
            word_follows, answered = words or word_follows and not answered, False
        elif message["role"] == "assistant":
            finished.update([block["tool_use_id"] for block in blocks if block["type"] in SERVER_RESULTS])
            left = [b for b in blocks if b["type"] != "server_tool_use" or b["id"] in finished or not word_follows]
            if len(left) < len(blocks):
                log("dropped a server_tool_use whose result never came")
            while left and left[-1]["type"] in THINKING:
                log(f"dropped the {left.pop()['type']} that ended an assistant turn")
            if len(left) < len(blocks):
                if left and left[-1]["type"] == "text" and any(block["type"] == "tool_use" for block in left):
                    log("moved the calls to the end of that turn")
                    left.sort(key=lambda block: block["type"] == "tool_use")
                message = {"role": "assistant", "content": left}
            answered = answered or bool(left)
        closed.append(message)
    return merge_neighbours(closed[::-1]) if any(not message["content"] for message in closed) else closed[::-1]
