"""The broken conversations that people reported, as data, and what the API says to one of them.

Each has a minimal list of messages written for this course, and the addresses of the reports. Left out: how a history
is mended (messages.py).
"""

import json
from pathlib import Path

from .api.rules import FIRST_PARTY, validate
from .conversation import calls, plain

FILE = Path(__file__).parent / "data" / "histories.json"


def histories():
    """id -> case, read anew on each call. A case is a dict: `source` (addresses), `why`, `messages`, `api_error` (None
    where the API accepts it), `repaired` (one right repair), sometimes `request` and `profile` (what else is sent, and
    to which kind of model), and `checkable`: whether the list alone shows the fault.
    """
    return {case["id"]: case for case in json.loads(FILE.read_text(encoding="utf-8"))}


def problem_of(messages, case=None, profile=FIRST_PARTY):
    """What the API would refuse in these messages (a rules.Problem), or None. No request is sent.

    The rest of the request is that of the case, or else one that fits: the tools are those that the messages call.
    """
    case = case or {}
    messages = plain(messages)
    names = dict.fromkeys(str(block.get("name")) for block in calls(messages))
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    request = {"model": "any", "max_tokens": 2000, "tools": tools} | case.get("request", {}) | {"messages": messages}
    return validate(request, case.get("profile", profile))


def api_says(messages, case=None, profile=FIRST_PARTY):
    """The API's words about these messages, or "accepted"."""
    problem = problem_of(messages, case, profile)
    return "accepted" if problem is None else problem.message
