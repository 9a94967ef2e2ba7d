"""Ids: every call has one of its own, in letters that the API takes. Other vendors count anew in each turn: `bash:0`.

Results go with their calls.
"""

import json
import re
from collections import Counter, OrderedDict, deque

from .fields import CALL_OF, SERVER_CALLS
from .turns import all_blocks, only, turns_of

_LEGAL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_LEGAL_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
# What programs write for a call that was never answered; it matters only where one call has two results.
_PLACEHOLDER = re.compile(
    r"\W*(?:system\W+|migration\W+)?(?:(?:request|tool(?: (?:call|use|execution|result))?) )?(?:was |is )?"
    r"(?:cancel|interrupt|abort|skipped|missing|not executed)",
    re.IGNORECASE,
)


def all_legal(ids):
    """Rule P8, for many ids at once: none has another letter in it, and none is empty."""
    return all(ids) and (not ids or _LEGAL_ID.fullmatch("".join(ids)) is not None)


def is_placeholder(result):
    """Whether a result only says that there is none."""
    content = result.get("content")
    if isinstance(content, list) and len(content) == 1:
        content = content[0].get("text")
    return isinstance(content, str) and _PLACEHOLDER.match(content) is not None


def own_ids(messages, log, **_):
    """An id of its own for every call."""
    return pair_server_tools(unique_ids(messages, log), log)


def unique_ids(messages, log):
    """Rules P7, P8: the very same call twice in one turn is one call; another with a used or illegal id is renamed.

    A result belongs to the nearest call before it that still waits, so each of two namesakes gets its own. Where a turn
    answers all that wait together, their order tells which is whose, placeholders too. Changes the blocks. Whether an
    id may be used again in a later turn is disputed: refused in NVIDIA-NeMo/Switchyard#502 and brainlid/langchain#619,
    accepted of Sonnet 4.5 in pydantic-ai's recorded tests. An id of its own is right for all.
    """
    blocks = all_blocks(messages)
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if len(set(ids)) == len(ids) and all_legal(ids):
        return messages
    taken = {*ids, *(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")}
    calls, copies, later = {}, set(), []
    for number, turn in enumerate(turns_of(messages)):
        as_written = set()
        results = Counter(block["tool_use_id"] for block in turn.blocks if block["type"] == "tool_result")
        whole = {name for name, count in results.items() if name in calls and calls[name].waiting_together() == count}
        for block, place in turn.spots:
            if block["type"] == "tool_use":
                if (written := json.dumps(block, sort_keys=True)) in as_written:
                    log(f"dropped the second copy of the call {block['id']} in message {place}")
                    copies.add(id(block))
                    continue
                as_written.add(written)
                name = calls.setdefault(block["id"], Namesakes(block["id"])).next_name(number, taken)
                if name != block["id"]:
                    log(f"renamed the call {block['id']!r} in message {place} to {name}")
                    block["id"] = name
            elif block["type"] == "tool_result":
                namesakes, real = calls.get(block["tool_use_id"]), not is_placeholder(block)
                if namesakes and namesakes.waiting and (real or block["tool_use_id"] in whole):
                    block["tool_use_id"] = namesakes.answered(True, real)
                else:
                    later.append(block)
    for block in later:  # second results, results before their call, placeholders: they take what the others leave
        if block["tool_use_id"] in calls:
            block["tool_use_id"] = calls[block["tool_use_id"]].answered(False)
    return only(messages, lambda block, place: id(block) not in copies) if copies else messages


class Namesakes:
    """The calls that came with one id: the names that they have now, and which of them still wait for a result."""

    def __init__(self, id):
        self.id, self.tried = id, 1
        self.waiting = OrderedDict()  # the turns that wait: number -> names
        self.last = None  # the name of the call that was answered last

    def next_name(self, turn, taken):
        """The name of the next call, which waits from now on: the id itself if it is legal and not used yet, else a
        legal one with a number: "bash:0" becomes "bash_0", and a second "bash_0" becomes "bash_0_2".
        """
        name = self.id
        if self.last is not None or not _LEGAL_ID.fullmatch(name):
            legal = name = re.sub(r"[^a-zA-Z0-9_-]", "_", name) or "toolu"
            while name in taken:
                self.tried += 1
                name = f"{legal}_{self.tried}"
            taken.add(name)
        self.last = self.last or name
        self.waiting.setdefault(turn, deque()).append(name)
        return name

    def waiting_together(self):
        """How many wait in the latest turn that waits."""
        return len(next(reversed(self.waiting.values()), ()))

    def answered(self, latest, real=True):
        """The call that the next result answers: the first that waits in the latest turn, or in the earliest.

        If none waits, the one that was answered last: it has two results then. After a placeholder it goes on waiting.
        """
        if self.waiting:
            turn = next(reversed(self.waiting) if latest else iter(self.waiting))
            names = self.waiting[turn]
            self.last = names.popleft()
            if not real:
                names.append(self.last)
            if not names:
                del self.waiting[turn]
        return self.last


def pair_server_tools(messages, log):
    """Rule P14: a tool at the API's side has an id of the API's, and one result after it. Pairs of other vendors go."""
    calls, finished = set(), set()

    def ours(block, place):
        kind = block["type"]
        if kind in SERVER_CALLS:
            name = kind, block["id"]
            right = kind == "mcp_tool_use" or name not in calls and _LEGAL_SERVER_ID.fullmatch(block["id"])
            calls.update([name] if right else [])
        elif kind in CALL_OF:
            name = CALL_OF[kind], block["tool_use_id"]
            right = name in calls and name not in finished
            finished.update([name] if right else [])
        else:
            return True
        if not right:
            log(f"dropped a {kind} block in message {place}: this API made no call and result that belong together")
        return right

    return only(messages, ours)
