"""A conversation whose turns run in a thread of their own, so that whoever shows it can watch, answer and stop them.

It drives agent_steps, asks before a tool changes something, and counts tokens. In a terminal a turn runs in the
foreground. Left out: how it looks (the Chat, the terminal).
"""

import contextlib
import copy
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import s02_tool_use

from ... import dispatch, loop
from ...calls.tool import schemas_of
from ...history.answers import cancelled
from .. import conversation
from ..client import faults
from ..client import prices as pricing
from ..client.endpoint import answerer_of, connection_of, departures
from ..client.progress import Progress
from .job import LEFT_BEHIND, STEP_SECONDS, Job, Steps, Stopped, ctrl_c_kept, drained

ASK_BEFORE = ("bash", "write_file", "edit_file")  # they change something; reading is always allowed

# Why a turn ended and what to say about it: a stop_reason of the API, max_turns of the loop, or one of these two.
STOPPED, FAILED = "stopped", "failed"
WHY = {
    "end_turn": "",
    "stop_sequence": "",
    STOPPED: "Stopped.",
    "max_turns": "Stopped after many requests in a row. Write 'go on' if it should.",
    "max_tokens": "The answer was cut off at the token limit. Write 'go on' if it should.",
    "model_context_window_exceeded": "The conversation fills the model's whole context. Start a new one.",
    "refusal": "The model refuses to go on. Start a new conversation.",
    None: "The answer broke off before its end. Write 'go on' if it should.",
}
NOTHING = "The model answered with nothing. Ask again, or choose another model."


class Session:
    """`messages` is always a history that the API accepts, whatever ended a turn.

    `watch(kind, data)` is told what happens: first `prompt`, then in the turn's thread the steps of agent_steps,
    `question` (a block that decide() answers), and at last `end` (why, and a sentence for people).
    """

    def __init__(
        self,
        client: Any,
        model: str,
        *,
        watch: Callable[[str, Any], object] = lambda kind, data: None,
        ask_before: Collection[str] = ASK_BEFORE,
        prices: Mapping[str, float] | None = None,
        **settings: Any,
    ):
        """prices: see client/prices.py; without them, those of .env. settings: those of agent_steps."""
        self.client, self.model, self.watch, self.settings = client, model, watch, settings
        schemas_of(self.tools)  # a list that cannot be offered is refused here, and not in the first turn
        self.ask_before = tuple(ask_before)
        known = connection_of(client)
        self.prices = pricing.checked(prices) if prices is not None else dict(known and known.prices or {})
        self._lock = threading.RLock()
        self._turn: _ChatTurn | None = None
        self.reset()

    @property
    def tools(self) -> Any:
        """What the model is offered, as it was given."""
        return self.settings.get("tools", dispatch.TOOLS)

    @property
    def busy(self) -> bool:
        return self._turn is not None

    @property
    def progress(self) -> Progress | None:
        """How far the turn is that is going on, or None."""
        return self._turn.progress if self._turn else None

    @property
    def question(self) -> dict | None:
        """The call that waits to be allowed, or None."""
        return self._turn.question if self._turn else None

    @property
    def used(self) -> tuple[str, str]:
        """What it has used so far, in words: (its requests, the tokens or nothing)."""
        used = ((pricing.KINDS[kind], self.tokens[kind]) for kind in pricing.KINDS)
        tokens = ", ".join(f"{number:,} {kind} tokens" for kind, number in used if number)
        return f"{self.requests} request{'s' * (self.requests != 1)}", tokens

    @property
    def cost(self) -> float | None:
        """What it has cost so far in USD, or None if a price is missing."""
        return pricing.usd(self.tokens, self.prices) if self.prices else None

    @property
    def cost_in_words(self) -> str:
        """What it has cost so far, in words; "" without prices."""
        return pricing.sentence(self.tokens, self.others, self.prices) if self.prices else ""

    def send(self, prompt: str) -> None:
        """Begin a turn. ValueError if one is going on, or if there is nothing to say."""
        with self._lock:
            turn = self._begin(prompt)
            turn.job = Job(turn.steps, in_steps=True)

    def run(self, prompt: str) -> tuple[str | None, str]:
        """A whole turn in this thread, which Ctrl-C stops; returns what `end` tells. `watch` decides each question."""
        turn = self._begin(prompt)
        try:
            drained(turn.steps())
        finally:
            turn.end(STOPPED, WHY[STOPPED])  # if a second Ctrl-C came before it could say how it had ended
        return turn.ending

    def _begin(self, prompt: str) -> "_ChatTurn":
        if not prompt.strip():
            raise ValueError("There is nothing to send: write a message first.")
        with self._lock:
            if self.busy:
                raise ValueError("The agent is still at work on the last message: wait, or stop it.")
            self._turn = turn = _ChatTurn(self, prompt)
            self.watch("prompt", prompt)
            return turn

    def decide(self, verdict: bool | str, reason: str = loop.NOT_ALLOWED) -> None:
        """Answer the question: True, "always" (True for this tool as long as the session lasts), or False and why."""
        turn = self._turn
        if turn is None or turn.question is None:
            raise ValueError("No call is waiting to be allowed.")
        if verdict == "always":
            self.always.add(turn.question["name"])
        turn.verdict, turn.question = verdict is True or verdict == "always" or reason, None
        turn.decided.set()

    def stop(self) -> None:
        """Stop the turn that is going on. A call that does not end in time is left behind, answered "(cancelled)"."""
        with self._lock:
            turn = self._turn
            if turn is not None and turn.job and not turn.stopping:
                turn.stopping = True
                turn.decided.set()
                turn.job.stop(turn.abandon)

    def reset(self) -> None:
        """Forget the conversation, and what was allowed in it."""
        if self.busy:
            raise ValueError("The agent is still at work: stop it first.")
        self.messages: list = []
        self.always: set[str] = set()  # tools
        self.requests = 0
        self.tokens: Counter[str] = Counter()
        self.others: Counter[str] = Counter()  # what else was used, and has no price of its own

    def join(self, seconds: float = 30) -> None:
        """Wait until the turn that is going on has ended, and that was told. Ctrl-C meanwhile stops it."""
        with self._lock:  # held while an end is told
            turn = self._turn
        if turn is None:
            return
        if s02_tool_use.IN_A_PAGE and not turn.job.wait(seconds):  # no click comes as long as a cell waits
            raise Stopped("The agent waits for you: answer its question, then run this cell again.")
        end = time.monotonic() + seconds
        with ctrl_c_kept() as pressed:
            while not turn.over.wait(STEP_SECONDS) and time.monotonic() < end:
                if pressed():
                    self.stop()
                    raise Stopped(WHY[STOPPED])


class _ChatTurn:
    """One turn. It works on a list of its own, which becomes the session's when the turn is over."""

    def __init__(self, session, prompt):
        self.session, self.before = session, len(session.messages)
        self.messages = [*session.messages, {"role": "user", "content": prompt}]
        self.results, self.waiting = [], ""  # of the calls of the last reply; what is not shown yet
        self.question, self.verdict, self.decided = None, loop.NOT_ALLOWED, threading.Event()
        self.job, self.stopping, self.over, self.progress = None, False, threading.Event(), Progress()

    def steps(self) -> Steps:
        """The turn, step by step. It waits for a decision before the loop goes on to ask for it."""
        session = self.session
        said_before = len(departures(session.client))
        try:
            settings = {"stream": True, **session.settings}
            steps = loop.agent_steps(session.client, session.model, self.messages, approve=self.approve, **settings)
            with contextlib.closing(steps):  # closing it answers every call that is still open
                for step in steps:
                    self.tell(*step)
                    yield self.asked(step.data) if step.kind == "tool_use" else None
                    if self.stopping:
                        raise KeyboardInterrupt
                    self.question = None
            why = WHY.get(step.data, f"It ended with {step.data}.")
            if self.messages[-1]["role"] == "user":  # an empty turn is no part of the history
                why = why or NOTHING
            no_calls = no_call(session.client, session.model, self.messages, session.settings)
            said = [why, no_calls, *departures(session.client)[said_before:]]
            self.end(step.data, " ".join(filter(None, said)))
        except KeyboardInterrupt:
            self.end(STOPPED, WHY[STOPPED])
        except Exception as error:
            self.end(FAILED, faults.explain(error, session.client))

    def tell(self, kind, data):
        """Count, and pass on to whoever watches, unless this turn was left behind."""
        with self.session._lock:
            if self.session._turn is not self:
                raise KeyboardInterrupt
            self.progress.tell(kind, data)
            if kind == "delta":  # it is only counted: it may hold a piece of a key
                return
            if kind == "text":
                data, self.waiting = faults.shown_so_far(self.waiting + data)
            if kind == "reply":
                if self.waiting:
                    self.session.watch("text", self.waiting)
                self.waiting = ""
                self.results = []
                self.session.requests += 1
                self.session.tokens += pricing.tokens_of(data.usage)
                self.session.others += pricing.others_of(data.usage)
            if kind == "tool_result":
                self.results.append(data)
            self.session.watch(kind, data)

    def approve(self, block):
        """What the loop asks before each call: by then it is known."""
        return self.verdict

    def asked(self, block):
        """Ask about a call, if that is wanted. Returns the event that comes with the answer, which is in `verdict`."""
        if block["name"] not in self.session.ask_before or block["name"] in self.session.always:
            self.verdict = True
            return None
        self.decided.clear()
        self.question = block
        self.tell("question", block)
        if self.stopping:
            self.decided.set()
        return self.decided

    def abandon(self):
        """Go on without what is running."""
        self.messages = copy.deepcopy(self.messages)  # what is left behind may still add to the old list
        self.end(STOPPED, LEFT_BEHIND)

    def end(self, reason, sentence):
        with self.session._lock:
            if self.session._turn is not self:
                return
            history = answered(self.messages, self.results)
            # What nothing answered is taken back, so that it can be asked again without being there twice.
            self.session.messages = history if len(history) > self.before + 1 else history[: self.before]
            self.session._turn, self.ending = None, (reason, sentence)
            self.session.watch("end", self.ending)
        self.over.set()


def no_call(client, model, history, settings):
    """What to say of a model that ends its first turn without a call, as those do that cannot call; "" of any other."""
    turns = [message["role"] for message in history]
    has_tools = settings.get("tools", True) and not answerer_of(client)
    if not has_tools or turns.count("assistant") != 1 or conversation.calls(history):
        return ""
    return f"{model} called no tool. If a tool was needed, take a model that calls tools: the README names some."


def answered(history, results):
    """The history with an answer for every call of its last message."""
    known = {result["tool_use_id"]: result for result in results}
    last = history[-1:] if history[-1]["role"] == "assistant" else []
    answers = [known.get(block["id"], cancelled(block["id"])) for block in conversation.calls(last)]
    return [*history, {"role": "user", "content": answers}] if answers else history
