"""The stages of a run, each with one sentence about what has happened, and the stages of a conversation that was saved.

A stage is a moment between two lines of the loop. Left out: who goes from one to the next (runs.py).
"""

import copy
import inspect
from dataclasses import dataclass, field

from ... import dispatch, loop, messages
from ...history.answers import cancelled
from .. import conversation

KINDS = {  # what has just happened
    "start": "start",
    "user": "the user speaks",
    "built": "request built",
    "normalised": "normalised",
    "sent": "sent",
    "reply": "reply",
    "lookup": "handler looked up",
    "result": "handler run",
    "unknown": "no such handler",
    "refused": "not run",
    "missing": "no result",
    "appended": "results appended",
    "stop": "the loop ends",
    "failed": "the request failed",
    "end": "end of the saved list",
}
TURNS_BEGIN = ("start", "user", "appended", "failed")  # from these the loop builds a new request
ENDED = ("stop", "end")
OURS = ("approve", "handlers", "max_turns", "stream")  # settings of the loop that are no part of a request

SENT = "POST /v1/messages. The model reads this, and nothing else."
ENDS = {
    "end_turn": "the reply asks for no tool, so there is nothing more to do",
    "max_turns": "it has asked often enough",
    "max_tokens": "the reply was cut off at the limit",
    "refusal": "the model refuses to go on",
}


@dataclass
class Stage:
    """One moment of a run. `messages` is the program's list at that moment, `wire` what went over the wire.

    `base`, `reply` and `results` say how to get here again: the list before this turn, the reply, its results so far.
    """

    kind: str
    says: str
    messages: list
    wire: object = None
    block: dict | None = None  # the call that it is about
    base: list = field(default_factory=list)
    reply: dict | None = None
    results: list = field(default_factory=list)
    lines: int | None = None  # of a script that were used up by then

    def __post_init__(self):
        for name in ("messages", "wire", "block", "base", "reply", "results"):  # the run goes on, this stays
            setattr(self, name, copy.deepcopy(getattr(self, name)))

    @property
    def title(self):
        return KINDS[self.kind] + (f": {self.block.get('name')}" if self.block else "")

    @property
    def editable(self):
        """What may be edited here before the run goes on: a reply's content, a result, or None."""
        if self.kind == "reply":
            return self.reply["content"]
        return self.results[-1] if self.kind in ("result", "unknown", "refused") else None


def request_for(model, history, settings):
    """The request as the program has it in mind, before anything in it is repaired."""
    request = {"model": model} if model else {}
    request |= {"max_tokens": loop.MAX_TOKENS, "system": loop.SYSTEM, "tools": dispatch.TOOLS}
    return request | {key: value for key, value in settings.items() if key not in OURS} | {"messages": history}


def request_stages(built, sent, repairs, lines=None):
    """Two stages: what the program has, and what becomes of it."""
    names = ", ".join(tool.get("name", "?") for tool in built.get("tools") or ()) or "none"
    history = built["messages"]
    says = f"The program puts together what it has: the system prompt, the tools ({names}) and its list of messages."
    yield Stage("built", says, history, built, base=history, lines=lines)
    says = "Repaired: " + "; ".join(repairs) + "." if repairs else "Nothing to repair: the list goes out as it is."
    yield Stage("normalised", says, sent["messages"], sent, base=history, lines=lines)


def of_reply(reply):
    """What a reply asks for, as a sentence."""
    calls = len(conversation.calls([{"content": reply["content"]}]))
    reason = f"stop_reason is {reply['stop_reason']!r}. " if reply.get("stop_reason") else ""
    if calls > 1:
        return reason + f"It asks for {calls} calls, and waits for as many results."
    return reason + ("It asks for a call, and waits for its result." if calls else "It asks for no tool.")


def of_lookup(block, handlers):
    """Which function a call will run, as a sentence."""
    name = block.get("name")
    handler = handlers.get(name) if isinstance(name, str) else None
    if handler is None:
        return f"The table has no {name!r}. It has: {', '.join(handlers)}."
    try:
        takes = str(inspect.signature(handler))
    except (TypeError, ValueError):  # some built-in functions tell nobody
        takes = "(...)"
    return f"The table has {name!r}: {getattr(handler, '__name__', 'a function')}{takes}."


def of_result(result):
    failed = "It failed. The result says so with is_error, so that the model can fix its call."
    return failed if result.get("is_error") else "This is what the model will get."


def of_appended(number):
    what = "The result goes" if number == 1 else f"All {number} results go"
    return f"{what} into {'a' if number == 1 else 'one'} message of the user."


def of_stop(reason):
    return f"It ends with {reason!r}: {ENDS.get(reason, 'the model has stopped')}."


# A conversation that was saved: the same stages, read off the list


def saved_stages(history, settings):
    """The stages of a list of messages, complete or broken, first to last."""
    yield Stage("start", "A saved conversation, from its first message on.", [])
    results = _results_in(history)
    for index, message in enumerate(history):
        before, now = history[:index], history[: index + 1]
        if not isinstance(message, dict) or message.get("role") != "assistant":
            given = len(_answers(message))
            says = of_appended(given) if given else "A message of the user is appended."
            yield Stage("appended" if given else "user", says, now, message, base=now)
            continue
        built = request_for(None, before, settings)
        repaired, repairs = _normalised(before)
        yield from request_stages(built, {**built, "messages": repaired}, repairs)
        yield Stage("sent", _verdict(before), before, built, base=before)
        reply, known = {"content": conversation.blocks(message)}, []
        yield Stage("reply", of_reply(reply), now, message, base=before, reply=reply)
        for block in conversation.calls([message]):
            turn = {"block": block, "base": before, "reply": reply}
            handlers = settings.get("handlers", dispatch.TOOL_HANDLERS)
            yield Stage("lookup", of_lookup(block, handlers), now, block, **turn, results=known)
            wire, place = results.get(str(block.get("id")), (None, None))
            known.append(wire or cancelled(block.get("id")))
            if wire is None:
                kind, wire, says = "missing", block, "The list has no result for this call."
            else:
                kind, says = "result", f"Its result stands in message {place}, not in the next one."
            yield Stage(kind, of_result(wire) if place == index + 1 else says, now, wire, **turn, results=known)
    yield Stage("end", "The list ends here.", history, base=history)


def _results_in(history):
    """Call id -> (its first result, the index of the message where it stands)."""
    found = {}
    for index, message in enumerate(history):
        for block in _answers(message):
            found.setdefault(str(block.get("tool_use_id")), (block, index))
    return found


def _answers(message):
    every = conversation.blocks(message)
    return [block for block in every if isinstance(block, dict) and block.get("type") == "tool_result"]


def _normalised(history):
    repairs = []
    try:
        return messages.normalize_messages(history, repairs=repairs), repairs
    except ValueError as error:  # what nobody can fix
        return history, [f"nothing, {error}"]


def _verdict(history):
    problem = conversation.judge({"messages": history}) if history else None
    said = f"refuses it: {problem.message}" if problem else "accepts it."
    return f"Sent as it stands, without repairs, the API {said}"
