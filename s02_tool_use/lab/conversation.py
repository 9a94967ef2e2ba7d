"""A conversation read and judged: blocks, calls, what the API would refuse; and the histories that people reported.

Takes SDK objects and dicts, whole histories and broken ones, and never fails on what is inside a list of messages.
Left out: how one is drawn (show/rows.py) and how one is fixed (messages.py).
"""

import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..history.fields import block_of
from .api.rules import FIRST_PARTY, Problem, Profile, validate

# Each has a minimal list of messages written for this course, and the addresses of the reports.
REPORTED = Path(__file__).parent / "data" / "histories.json"


def plain(value: Any) -> Any:
    """SDK objects as the JSON data that they stand for, without their empty fields; anything else as it is."""
    if hasattr(value, "model_dump"):
        data = block_of(value, mode="json")
        return data | {"content": plain(value.content)} if "role" in data else data
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def request_of(given: object) -> dict:
    """A list of messages, one message or a whole request as a request: plain data with a list of messages."""
    data = plain(given)
    if isinstance(data, dict) and "role" in data:
        data = [data]
    request = data if isinstance(data, dict) and "messages" in data else {"messages": data}
    if not isinstance(request["messages"], list):
        raise TypeError(f"A conversation is a list of messages, not {type(given).__name__}. Give a list.")
    return request


def blocks(message: object) -> list:
    """The blocks of one message, as they are; a string counts as one text block."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def calls(messages: Iterable) -> list[dict]:
    """The tool_use blocks of these messages, in order."""
    every = (block for message in messages for block in blocks(message))
    return [block for block in every if isinstance(block, dict) and block.get("type") == "tool_use"]


def judge(request: dict) -> Problem | None:
    """What the API refuses first in this request (a rules.Problem), or None.

    A list of messages alone says no model, limit or tools: they are filled in. After an assistant's turn the user's is
    still to come, so the list is judged with one: the results that it waits for, or a word.
    """
    turn = _last_turn(request["messages"])
    results = [{"type": "tool_result", "tool_use_id": block.get("id"), "content": "."} for block in calls(turn)]
    rest = [{"role": "user", "content": results or "."}] if turn else []
    return problem_of(request["messages"] + rest, {"request": request})


def waiting(messages: list) -> set[str]:
    """The ids of the calls in the last turn, if nothing has come after it: their results are still to be sent."""
    return {str(block.get("id")) for block in calls(_last_turn(messages))}


def _last_turn(messages):
    """The messages at the end of the list that are the assistant's."""
    own = itertools.takewhile(lambda m: isinstance(m, dict) and m.get("role") == "assistant", reversed(messages))
    return list(own)[::-1]


def histories() -> dict[str, dict]:
    """id -> case, read anew on each call. A case is a dict: `source` (addresses), `why`, `messages`, `api_error` (None
    where the API accepts it), `repaired` (one right repair), sometimes `request` and `profile` (what else is sent, and
    to which kind of model), and `checkable`: whether the list alone shows the fault.
    """
    return {case["id"]: case for case in json.loads(REPORTED.read_text(encoding="utf-8"))}


def problem_of(messages: list, case: dict | None = None, profile: Profile = FIRST_PARTY) -> Problem | None:
    """What the API would refuse in these messages (a rules.Problem), or None. No request is sent.

    The rest of the request is that of the case, or else one that fits: the tools are those that the messages call.
    """
    case = case or {}
    messages = plain(messages)
    names = dict.fromkeys(str(block.get("name")) for block in calls(messages))
    tools = [
        {"name": name, "input_schema": {"type": "object"}} for name in names if re.fullmatch(r"[\w-]{1,128}", name)
    ]
    request = {"model": "any", "max_tokens": 2000, "tools": tools} | case.get("request", {}) | {"messages": messages}
    return validate(request, case.get("profile", profile))


def api_says(messages: list, case: dict | None = None, profile: Profile = FIRST_PARTY) -> str:
    """The API's words about these messages, or "accepted"."""
    problem = problem_of(messages, case, profile)
    return "accepted" if problem is None else problem.message
