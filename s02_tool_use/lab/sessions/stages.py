"""The stages of a run, each with one sentence about what has happened, and the stages of a conversation that was saved.

A stage is a moment between two lines of the loop. Left out: who goes from one to the next (run.py).
"""

import copy
import inspect
from dataclasses import dataclass, field

from ... import loop, messages
from ...history.answers import cancelled
from ...history.system import takes_system_messages
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
ANSWERED = ("result", "unknown", "refused", "missing")  # a call has its result, or will have none
ENDED = ("stop", "end")

SENT = "POST /v1/messages. The model reads this, and nothing else."
ENDS = {
    "end_turn": "the reply asks for no tool, so there is nothing more to do",
    "max_turns": "the limit of requests is reached",
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
    stopped: bool = False  # by Ctrl-C or Stop: nothing failed

    def __post_init__(self):
        vars(self).update(copy.deepcopy(vars(self)))  # the run goes on, this stays

    @property
    def title(self):
        return ("stopped" if self.stopped else KINDS[self.kind]) + (f": {self.block.get('name')}" if self.block else "")

    @property
    def editable(self):
        """What may be edited here before the run goes on: a reply's content, a result, or None."""
        if self.kind == "reply":
            return self.reply["content"]
        return self.results[-1] if self.kind in ("result", "unknown", "refused") else None


def request_stages(request, history, **turn):
    """Two stages: the request as the program has it in mind, and what the repairs make of it, which the loop keeps."""
    names = ", ".join(tool.get("name", "?") for tool in request.get("tools") or ()) or "none"
    says = f"The program puts together what it has: the system prompt, the tools ({names}) and its list of messages."
    yield Stage("built", says, history, {**request, "messages": history}, **turn)
    sent, repairs = history, []
    try:
        takes = takes_system_messages(str(request.get("model")))
        sent = messages.normalize_messages(history, repairs=repairs, unknown="keep", system_role=takes, system=[])
    except ValueError as error:  # what nobody can fix
        repairs = [f"nothing, {error}"]
    says = "Repaired: " + "; ".join(repairs) + "." if repairs else "Nothing to repair: the list goes out as it is."
    yield Stage("normalised", says, sent, {**request, "messages": sent}, **turn)


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
    return f"{what} into {'a' if number == 1 else 'one'} user message."


def of_stop(reason):
    return f"It ends with {reason!r}: {ENDS.get(reason, 'the model has stopped')}."


# A conversation that was saved: the same stages, read off the list


def saved_stages(history, settings, handlers):
    """The stages of a list of messages, complete or broken, first to last."""
    yield Stage("start", "A saved conversation, from its first message on.", [])
    _, request = next(loop.agent_steps(None, "", [], **{**settings, "max_turns": 1}))
    del request["model"]  # which nobody knows any more
    places = [(block, index) for index, message in enumerate(history) for block in _answers(message)]
    results = {str(block.get("tool_use_id")): (block, index) for block, index in reversed(places)}  # the first of each
    for index, message in enumerate(history):
        before, now = history[:index], history[: index + 1]
        if not isinstance(message, dict) or message.get("role") != "assistant":
            given = len(_answers(message))
            says = of_appended(given) if given else "A user message is appended."
            yield Stage("appended" if given else "user", says, now, message, base=now)
            continue
        yield from request_stages(request, before, base=before)
        problem = conversation.judge({"messages": before}) if before else None
        said = f"refuses it: {problem.message}" if problem else "accepts it."
        says = f"Sent as it stands, without repairs, the API {said}"
        yield Stage("sent", says, before, {**request, "messages": before}, base=before)
        turn = {"base": before, "reply": {"content": conversation.blocks(message)}, "results": []}
        yield Stage("reply", of_reply(turn["reply"]), now, message, **turn)
        for block in conversation.calls([message]):
            yield Stage("lookup", of_lookup(block, handlers), now, block, block, **turn)
            wire, place = results.get(str(block.get("id")), (None, None))
            turn["results"].append(wire or cancelled(block.get("id")))
            if wire is None:
                kind, wire, says = "missing", block, "The list has no result for this call."
            else:
                kind, says = "result", f"Its result stands in message {place}, not in the next one."
            yield Stage(kind, of_result(wire) if place == index + 1 else says, now, wire, block, **turn)
    yield Stage("end", "The list ends here.", history, base=history)


def _answers(message):
    every = conversation.blocks(message)
    return [block for block in every if isinstance(block, dict) and block.get("type") == "tool_result"]
