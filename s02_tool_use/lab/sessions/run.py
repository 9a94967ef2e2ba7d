"""A run of the agent that can be walked stage by stage, back and forth, edited and forked. The Stepper draws it.

It drives agent_steps. A saved list of messages can be walked in the same way. Left out: the files of the workspace.
What a tool did to them stays done, whatever stage one goes back to.
"""

import contextlib
import copy
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ... import dispatch, loop
from ...calls.tool import schemas_of, table_of
from .. import conversation
from ..client import faults
from ..client.endpoint import answerer_of
from ..client.progress import Progress
from . import stages
from .job import Steps, drained
from .session import answered, no_call
from .stages import Stage


class Run:
    """`stages[at]` is where it stands. `forward` goes on, live where nothing is recorded; `back` only looks."""

    def __init__(self, client: Any, model: str | None, history: Any, *, saved: bool = False, **settings: Any):
        """`history` is copied. It ends with the user's turn; or it was `saved`, complete or broken, to walk through.

        `settings` are those of agent_steps. What was saved can be forked and continued, if there is a client.
        """
        self.client, self.model, self.saved, self.at = client, model, saved, 0
        self.settings = {"tools": dispatch.TOOLS, "handlers": dispatch.TOOL_HANDLERS, **settings}
        schemas_of(self.settings["tools"])  # a list that cannot be offered is refused before anything is sent
        history = conversation.request_of(history)["messages"]
        if not history:
            raise ValueError("There are no messages: give a list that ends with a user message.")
        self._answerer = answerer_of(client)
        self.progress = Progress()  # of what goes on; whoever begins it may start the clock anew
        if saved:
            self.stages = list(stages.saved_stages(history, self.settings, self.handlers))
        else:
            self.stages = [Stage("start", "Nothing has been sent yet.", history, base=history, lines=self._lines)]
        self._stand_at(0)

    @property
    def handlers(self) -> dict[str, Any]:
        """Name -> the function that does it, of each tool that is offered."""
        return table_of(self.settings["tools"], self.settings["handlers"])

    @property
    def stage(self) -> Stage:
        return self.stages[self.at]

    @property
    def ended(self) -> bool:
        return self.stage.kind in stages.ENDED

    def back(self) -> None:
        """Look at the stage before. Nothing is undone."""
        self.at = max(0, self.at - 1)

    def forward(self) -> None:
        """Go one stage on. This can take as long as a request or a tool takes. What fails becomes a stage too."""
        if self.at < len(self.stages) - 1:
            self.at += 1
        elif not self.ended:
            try:
                self.stages.append(next(self._coming))
                self.at += 1
            except (Exception, KeyboardInterrupt) as error:
                self.fail(error)

    def steps(self, kind: str = "") -> Steps:
        """Go on until the run ends or fails, or comes to a stage of this kind: stage by stage, at least one."""
        while True:
            self.forward()
            yield None
            if self.halted or self.stage.kind == kind:
                return

    def to_end(self) -> None:
        """Go on until the run ends or fails."""
        drained(self.steps())

    @property
    def halted(self) -> bool:
        """True where nobody goes on by itself: at the end, and at a failure that nothing came after."""
        return self.ended or self.at == len(self.stages) - 1 and self.stage.kind == "failed"

    @property
    def turn(self) -> int:
        """How many requests were built up to this stage."""
        return sum(stage.kind == "built" for stage in self.stages[: self.at + 1])

    @property
    def calls(self) -> list[tuple[dict, Stage | None]]:
        """(the call, the stage that has its result or says that there is none) of this turn, in their order."""
        at = self.at - (self.stage.kind == "appended")  # it begins the next turn, and shows this one
        reply, done = self.stages[at].reply if at >= 0 else None, []
        while reply and at >= 0 and self.stages[at].kind != "reply":
            if self.stages[at].kind in stages.ANSWERED:
                done.append(self.stages[at])
            at -= 1
        asked = conversation.calls([reply]) if reply else []
        return list(itertools.zip_longest(asked, reversed(done)))[: len(asked)]

    def fail(self, error: BaseException) -> None:
        """Put a stage at the end that says what went wrong, with an answer to each open call: from it, it can go on.

        For who interrupts the thread of a run too: KeyboardInterrupt may come between two stages, and leave `forward`.
        """
        last = self.stages[-1]
        if last.kind not in stages.ENDED:
            stopped = "Stopped. Forward goes on." if isinstance(error, KeyboardInterrupt) else ""
            says = stopped or faults.explain(error, self.client) + " Forward tries again."
            history = answered(last.messages, last.results) if last.reply else last.base
            again = last.kind == "failed"
            stage = Stage("failed", says, history, base=history, lines=self._lines, stopped=bool(stopped))
            self.stages[len(self.stages) - again :] = [stage]
        self._stand_at(len(self.stages) - 1)

    def edit(self, text: str) -> None:
        """Put this JSON in the place of the reply or the result at this stage. What came after it is dropped."""
        before = self.stage.editable
        if self.saved or before is None:
            raise ValueError("Only a reply or a result of a live run can be edited: go to one, or fork.")
        new = parsed(text, list if isinstance(before, list) else dict)
        changed: dict[str, Any]
        if isinstance(before, list):
            reply = {**(self.stage.reply or {}), "content": new}
            history = [*self.stage.base, {"role": "assistant", "content": new}] if new else self.stage.base
            changed, says = {"reply": reply, "wire": reply, "messages": history}, stages.of_reply(reply)
        else:
            changed, says = {"results": [*self.stage.results[:-1], new], "wire": new}, stages.of_result(new)
        self.stages[self.at :] = [replace(self.stage, says="Edited. " + says, **changed)]
        self._stand_at(self.at)

    def fork(self) -> "Run":
        """A run of its own with the same past up to this stage, that goes on from here with the model."""
        if self.client is None:
            raise ValueError("This conversation was saved. Give the Stepper a client and a model to go on from here.")
        other = copy.copy(self)
        other.stages, other.saved = self.stages[: self.at + 1], False
        other._stand_at(other.at)
        return other

    # The agent is one generator at a time. To go on from a stage, its turn is played again from what is recorded there.

    def _stand_at(self, at):
        self.at = at
        begun = max(index for index in range(at + 1) if self.stages[index].kind in stages.TURNS_BEGIN)
        self._coming = itertools.islice(self._play(self.stage), at - begun, None)  # so many of this turn are known

    def _play(self, start):
        """The stages from the beginning of the turn of `start` on: its reply is not asked for, its results not made."""
        history, known, allowed = copy.deepcopy(start.base), copy.deepcopy(start.results), []
        handlers, approve = self.handlers, self.settings.get("approve") or (lambda block: True)

        def verdict(block):
            if known:
                return "recorded"
            allowed.append(approve(block))
            return allowed[-1]

        if start.lines is not None:
            self._answerer._used = start.lines  # a script goes on where it was at that stage
        client = _Once(start.reply, self.client) if start.reply else self.client
        settings = {**self.settings, "approve": verdict, "stream": True}  # its pieces are no stages: they are counted
        turn, request = {"results": []}, {}
        for kind, data in loop.agent_steps(client, self.model, history, **settings):
            self.progress.tell(kind, data)
            if kind in ("request", "stop"):
                given = len(turn["results"])
                turn = {"base": list(history), "reply": None, "results": [], "lines": self._lines}
                if given:
                    yield Stage("appended", stages.of_appended(given), history, history[-1], **turn)
            if kind == "request":
                request = data
                yield from stages.request_stages(request, history, **turn)
            elif kind == "reply":
                if data.stop_reason is None:
                    raise ProtocolError
                yield Stage("sent", stages.SENT, turn["base"], request, **turn)
                reply = {**data.to_dict(), "content": history[-1]["content"] if data.content else []}
                turn |= {"reply": reply, "lines": self._lines}
                yield Stage("reply", stages.of_reply(reply), history, reply, **turn)
            elif kind == "tool_use":
                yield Stage("lookup", stages.of_lookup(data, handlers), history, data, data, **turn)
            elif kind == "tool_result":
                block = conversation.calls([turn["reply"]])[len(turn["results"])]
                if known:
                    data.clear()  # what is changed in place is what the loop sends
                    data.update(known.pop(0))
                turn["results"].append(data)
                ran = allowed.pop() is True if allowed else False
                kind = ("result" if block.get("name") in handlers else "unknown") if ran else "refused"
                yield Stage(kind, stages.of_result(data), history, data, block, **turn)
            elif kind == "stop":
                says = f"{stages.of_stop(data)} {no_call(self.client, self.model, history, self.settings)}".strip()
                yield Stage("stop", says, history, **turn)

    @property
    def _lines(self):
        return getattr(self._answerer, "_used", None)


class ProtocolError(Exception):
    """A stream that ended before its reply did; faults.explain knows the name."""


class _Once:
    """A client that gives a reply that is already known, once, in no pieces. After that the real one answers."""

    def __init__(self, reply, client):
        self.messages, self._reply, self._client = self, reply, client

    def stream(self, **request):
        if self._reply is None:
            return self._client.messages.stream(**request)
        reply, self._reply = copy.deepcopy(self._reply), None
        blocks = [SimpleNamespace(model_dump=lambda block=block, **_: block) for block in reply["content"]]
        if reply.get("stop_reason") in ("tool_use", "end_turn", None):  # calls may have come or gone by an edit
            calls = any(block.get("type") == "tool_use" for block in reply["content"])
            reply["stop_reason"] = "tool_use" if calls else "end_turn"
        known = {"content": blocks, "stop_reason": reply["stop_reason"], "usage": None}
        return contextlib.nullcontext(_Known(**known, to_dict=lambda: copy.deepcopy(reply)))


class _Known(SimpleNamespace):
    """The stream of a known reply, and that reply."""

    def __iter__(self):
        return iter(())

    def get_final_message(self):
        return self


def parsed(text: str, kind: Any = object) -> Any:
    """The value of this JSON. ValueError, in a sentence for people, if it is none, or not a block or list of blocks."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"This is not JSON: {error}.") from None
    if not isinstance(value, kind) or (kind is list and not all(isinstance(block, dict) for block in value)):
        raise ValueError(f"This must stay {'a list of blocks' if kind is list else 'one block'}.")
    return value
