"""Messages of the role "system": an operator's instruction in the middle of a conversation. Rules R2 and R3.

They keep their role where the model takes it. They never become what the user said while there is another way.
"""

import re

from .fields import IN_SYSTEM, SERVER_RESULTS
from .turns import CONTINUE, blocks_of, ends_in, merge_neighbours


def version_of(model: str) -> tuple[int, int] | None:
    """(4, 8) for one of Anthropic's models of that version, whoever serves it. None for all other names."""
    found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model)
    return (int(found[1]), int(found[2] or 0)) if found else None


def takes_system_messages(model: str) -> bool:
    """Whether a model takes them in the list: Anthropic's do from 4.8 on (Opus 4.8, Fable 5, Sonnet 5)."""
    return (version_of(model) or (0, 0)) >= (4, 8)


def keep_or_move(message, place, log, takes, begun, system):
    """A plain system message where the model takes it, or what stands in its place: no model does before the user has
    begun. Its words go into the list `system`, if it is there, for the request's `system`: nothing else has their
    authority. Without, they become the user's.
    """
    content, more = message["content"], message.keys() - {"role", "content"}
    blocks = blocks_of(content)
    if takes and (begun if blocks else "output_config" in more) and all(b["type"] in IN_SYSTEM for b in blocks):
        return message
    if more:
        log(f"removed {', '.join(sorted(more))} from {place}")
    if blocks and system is not None and all(block["type"] == "text" for block in blocks):
        log(f"moved {place} into the `system` of the request")
        system += blocks
        content = []
    elif blocks:
        log(f"made {place} a user message: a system prompt goes into `system`, beside the list")
    return {"role": "user", "content": content}


def in_their_place(messages, log):
    """Rule R3: they stand after the user, or after a server tool's result, and before the assistant or at the end.

    Another one moves on to the end of the user's next turn; or back, if only a paused turn follows it. One without
    content, which only sets options, may stand anywhere.
    """
    placed, waiting, before = [], [], None
    for message in messages:
        if message["role"] == "system":
            (waiting if message["content"] or waiting else placed).append(message)
            continue
        if message["role"] == "assistant" and may_be_followed(before):
            placed += waiting
            waiting = []
        placed.append(message)
        before = message
    at = len(placed)
    while waiting and not may_be_followed(before) and at and placed[at - 1]["role"] == "assistant":
        at -= 1
    if waiting and not at:
        log(f"added a user message: {CONTINUE}")
        placed.insert(0, {"role": "user", "content": CONTINUE})
    placed[at or 1 : at or 1] = waiting
    moved = [one for one, was in zip(placed, messages, strict=False) if one is not was and one["role"] == "system"]
    for _ in moved:
        log("moved a system message to the end of a user turn")
    return merge_neighbours(placed) if moved or len(placed) > len(messages) else placed


def may_be_followed(message):
    """Whether a system message may stand behind this one."""
    return message is not None and (message["role"] == "user" or ends_in(message, SERVER_RESULTS))
