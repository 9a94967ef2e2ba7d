"""A run of the agent that can be walked stage by stage, back and forth, edited and forked. The Stepper draws it.

It drives agent_steps. A saved list of messages can be walked in the same way. Left out: the files of the workspace.
What a tool did to them stays done, whatever stage one goes back to.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

from ... import dispatch, loop, messages
from .. import conversation
from ..client import endpoint as clients
from ..client import faults
from .stages import (
    TURNS_BEGIN,
    Stage,
    of_appended,
    of_lookup,
    of_reply,
    of_result,
    of_stop,
    request_for,
    request_stages,
    saved_stages,
)


class Run:
    """`stages[at]` is where it stands. `forward` goes on, live where nothing is recorded; `back` only looks."""

    def __init__(self, client, model, history, **settings):
        """A live run: `history` ends with the user's turn, and is copied. `settings` are those of agent_steps."""
        self.client, self.model, self.settings, self.saved = client, model, settings, False
        history = conversation.request_of(history)["messages"]
        if not history:
            raise ValueError("There are no messages: give a list that ends with a message of the user.")
        self._script = _script_of(client)
        self.stages, self.at = (
            [Stage("start", "Nothing has been sent yet.", history, base=history, lines=self._lines())],
            0,
        )
        self._go_on_from(self.stage)

    @classmethod
    def of(cls, history, client=None, model: str | None = None, **settings) -> "Run":
        """A saved conversation, complete or broken, to walk through. With a client it can be forked and continued."""
        history = conversation.request_of(history)["messages"]
        run = cls(client, model, history, **settings)
        run.saved, run.stages = True, list(saved_stages(history, settings))
        return run

    @property
    def stage(self) -> Stage:
        return self.stages[self.at]

    @property
    def ended(self) -> bool:
        return self.at == len(self.stages) - 1 and self.stage.kind in ("stop", "end")

    def back(self) -> None:
        """Look at the stage before. Nothing is undone."""
        self.at = max(0, self.at - 1)

    def forward(self) -> None:
        """Go one stage on. This can take as long as a request or a tool takes. What fails becomes a stage too."""
        if self.at < len(self.stages) - 1:
            self.at += 1
        elif not self.ended:
            self.stages.append(self._next())
            self.at += 1
            if self.stage.kind == "failed":
                self._go_on_from(self.stage)

    def to_end(self, watch: Callable[[], object] = lambda: None) -> None:
        """Go on until the run ends or fails; `watch()` is called after each stage."""
        failed = False
        while not self.ended and not failed:
            self.forward()
            failed = self.stage.kind == "failed" and self.at == len(self.stages) - 1
            watch()

    def edit(self, text: str) -> None:
        """Put this JSON in the place of the reply or the result at this stage. What came after it is dropped."""
        before = self.stage.editable
        if self.saved or before is None:
            raise ValueError("Only a reply or a result of a live run can be edited: go to one, or fork.")
        new = _parsed(text, list if isinstance(before, list) else dict)
        if isinstance(before, list):
            reply = {**(self.stage.reply or {}), "content": new}
            history = [*self.stage.base, {"role": "assistant", "content": new}] if new else self.stage.base
            stage = replace(self.stage, reply=reply, wire=reply, messages=history, says="Edited. " + of_reply(reply))
        else:
            results = [*self.stage.results[:-1], new]
            stage = replace(self.stage, results=results, wire=new, says="Edited. " + of_result(new))
        self.stages[self.at :] = [stage]
        self._go_on_from(stage)

    def fork(self) -> "Run":
        """A run of its own with the same past up to this stage, that goes on from here with the model."""
        if self.client is None:
            raise ValueError("This conversation was saved. Give the Stepper a client and a model to go on from here.")
        other = copy.copy(self)
        other.stages, other.saved = self.stages[: self.at + 1], False
        other._go_on_from(other.stage)
        return other

    # The agent is one generator at a time. To go on from a stage, its turn is played again from what is recorded there.

    def _go_on_from(self, stage):
        begun = [index for index in range(self.at + 1) if self.stages[index].kind in TURNS_BEGIN]
        self._skip = self.at - begun[-1]  # so many stages of this turn are known
        self._steps, self._seen, self._recorded = None, [], stage

    def _start(self):
        stage, approve = self._recorded, self.settings.get("approve")

        def allowed(block):
            if len(self._turn.results) < len(stage.results):
                return "recorded"  # it is not run again: see _result
            verdict = True if approve is None else approve(block)
            self._turn.was_run = verdict is True
            return verdict

        if self._script and stage.lines is not None:
            self._script._used = stage.lines  # a script goes on where it was at that stage
        self._history = copy.deepcopy(stage.base)
        self._turn = _KnownTurn(self._history)
        client = _Once(stage.reply, self.client) if stage.reply else self.client
        settings = {**self.settings, "approve": allowed}
        self._steps = loop.agent_steps(client, self.model, self._history, **settings)

    def _next(self):
        try:
            if self._steps is None:
                self._start()
            while True:
                while not self._seen:
                    self._seen = list(self._stages_of(next(self._steps)))
                stage = self._seen.pop(0)
                if not self._skip:
                    return stage
                self._skip -= 1
        except (Exception, KeyboardInterrupt) as error:
            self._steps.close()  # every call that was asked for has its answer now
            stopped = isinstance(error, KeyboardInterrupt)
            says = (
                "Stopped. Forward goes on." if stopped else faults.explain(error, self.client) + " Forward tries again."
            )
            return Stage("failed", says, self._history, base=self._history, lines=self._lines())

    def _stages_of(self, step):
        """The stages that one step of agent_steps shows."""
        history = self._history
        if step.kind in ("request", "stop") and self._turn.results:
            says = of_appended(len(self._turn.results))
            yield Stage("appended", says, history, history[-1], base=history, lines=self._lines())
        if step.kind == "request":
            self._turn = _KnownTurn(history, step.data, self._lines())
            repairs = []
            messages.normalize_messages(
                history, repairs=repairs
            )  # as the loop did a moment ago, but this time it tells
            for stage in request_stages(request_for(self.model, history, self.settings), step.data, repairs):
                yield replace(stage, lines=self._lines())
        elif step.kind == "reply":
            says = "POST /v1/messages. The model reads this, and nothing else."
            yield Stage("sent", says, self._turn.base, self._turn.request, base=self._turn.base, lines=self._turn.lines)
            self._turn.reply = step.data.to_dict()
            self._turn.reply["content"] = history[-1]["content"] if self._turn.reply["content"] else []
            yield self._stage("reply", of_reply(self._turn.reply), self._turn.reply)
        elif step.kind == "tool_use":
            yield self._stage("lookup", of_lookup(step.data, self._handlers), step.data, step.data)
        elif step.kind == "tool_result":
            yield self._result(step.data)
        elif step.kind == "stop":
            yield Stage("stop", of_stop(step.data), history, base=history, lines=self._lines())

    def _result(self, result):
        number = len(self._turn.results)
        if number < len(self._recorded.results):
            result.clear()  # what is changed in place is what the loop sends
            result.update(copy.deepcopy(self._recorded.results[number]))
        self._turn.results.append(result)
        block = conversation.calls([{"content": self._turn.reply["content"]}])[number]
        kind = "refused"
        if self._turn.was_run:
            kind = "result" if block.get("name") in self._handlers else "unknown"
        self._turn.was_run = False
        return self._stage(kind, of_result(result), result, block)

    def _stage(self, kind, says, wire, block=None):
        turn = self._turn
        return Stage(kind, says, self._history, wire, block, turn.base, turn.reply, turn.results, self._lines())

    @property
    def _handlers(self):
        return self.settings.get("handlers", dispatch.TOOL_HANDLERS)

    def _lines(self):
        return self._script._used if self._script else None


class _KnownTurn:
    """What is known of the turn that is going on."""

    def __init__(self, history, request=None, lines=None):
        self.base, self.request, self.lines = copy.deepcopy(history), request, lines
        self.reply, self.results, self.was_run = None, [], False


class _Once:
    """A client that gives a reply that is already known, once. After that the real one answers."""

    def __init__(self, reply, client):
        self.messages, self._reply, self._client = self, reply, client

    def create(self, **request):
        if self._reply is None:
            return self._client.messages.create(**request)
        reply, self._reply = copy.deepcopy(self._reply), None
        blocks = [SimpleNamespace(model_dump=lambda block=block, **_: block) for block in reply["content"]]
        if reply.get("stop_reason") in ("tool_use", "end_turn", None):  # calls may have come or gone by an edit
            calls = any(block.get("type") == "tool_use" for block in reply["content"])
            reply["stop_reason"] = "tool_use" if calls else "end_turn"
        return SimpleNamespace(content=blocks, stop_reason=reply["stop_reason"], to_dict=lambda: copy.deepcopy(reply))


def _script_of(client):
    """The Scripted behind an offline client, or None."""
    caller = clients._server and clients._server.callers.get(getattr(client, "api_key", None))
    answerer = getattr(caller, "answerer", None)
    return answerer if hasattr(answerer, "_used") else None


def _parsed(text, kind):
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(f"This is not JSON: {error}.") from None
    if not isinstance(value, kind) or (kind is list and not all(isinstance(block, dict) for block in value)):
        raise ValueError(f"What stands here must stay {'a list of blocks' if kind is list else 'one block'}.")
    return value
