"""check.project(tool, good, bad): a scripted agent calls any tool, with what should work, what must not, and worse.

`good` and `bad` are the reader's; the worse calls are made from the first good one. Each is a conversation of its own
with a good call behind it, in a copy of the workspace that has a secret beside it. calling.py judges one call.
Left out: whether an answer is true.
"""

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ... import workspace
from ...calls.results import ToolError
from ...calls.tool import Tool
from ...loop import agent_steps
from ..client.endpoint import connect
from ..client.missing import wanted
from ..conversation import problem_of
from ..sessions.job import Stopped
from . import board, lint, record, trial
from .calling import Caller, Room, Tried, text_of, watched
from .exercise import (
    NOT_HERE,
    NOT_TRIED,
    NOT_YET,
    RIGHT,
    WRONG,
    Line,
    Verdict,
    clean,
    does_something,
    is_unfilled,
    missing,
    shown,
)
from .exercises.parts import user

SECONDS = 10.0  # for one conversation; a fifth of it may be spent computing
MOST_HOSTILE, MOST_SHOWN, MOST_REPLIES = 80, 8, 1_000
MOST_TOKENS = 20_000  # of a reply: a call that is cut off would never be run
SECRET, MARK = "TOP SECRET: 4711", "made_by_a_shell.txt"
COMMANDS = [f"x; echo 6 > {MARK}", f"x & echo 6 > {MARK}", f"$(echo 6 > {MARK})", f"x' ; echo 6 > {MARK} ; '"]
COMMANDS += [f'x" ; echo 6 > {MARK} ; "', f'x" & echo 6 > {MARK} & "', f"`echo 6 > {MARK}`"]
STRINGS = [
    "",
    " ",
    "-",
    "--help",
    "no such thing",
    "\0",
    "💧 龙井",
    "x' OR '1'='1",
    "../secret.txt",
    "a" * 40_000,
]  # the last within MOST_TOKENS
NUMBERS = [0, -1, 10**9, 10**30]
LINES = {
    "good": "a call that should work gets an answer",
    "bad": "a call that must not work comes back as an error",
    "command": "nothing that a call holds becomes part of a command",
    "inside": "nothing outside of the workspace is shown or changed",
    "same": "a call that is refused leaves the workspace as it was",
    "fine": "whatever a call holds, it ends in time, and nothing is raised but a ToolError",
    "on": "after each of these calls the agent goes on: the next one works, and the API accepts the history",
    "lint": "check.my_tool finds nothing wrong",
}


def project(tool: Any, good: Sequence[dict], bad: Sequence[dict] = (), *, handler: Callable | None = None) -> Verdict:
    """Let a scripted agent use a tool, and say what came back.

    tool: a typed function, a tool made by @beta_tool, or a dict; then `handler` does it. good: inputs that should work,
    such as [{"path": "README.md"}]; bad: inputs that the tool must refuse. The calls run in a temporary copy of the
    workspace; of what check.my_tool cannot confine, this cannot either. Strings with commands for a shell are among
    them: each would write a file into the copy.
    """
    if is_unfilled(tool) or handler is ... or not good or good is ...:
        return Verdict("project", [Line(sentence, NOT_YET) for sentence in LINES.values()])
    try:
        for name, calls in (("good", good), ("bad", bad)):
            if not isinstance(calls, (list, tuple)) or not all(isinstance(call, dict) for call in calls):
                raise ToolError(f'{name} must be a list of inputs, each a dict such as {{"path": "README.md"}}')
        made, function = lint.tool_and_function(tool, handler)
    except ToolError as error:
        line = Line("it is a tool, and lists of inputs for it", WRONG, [("yours", clean(str(error)))])
        return Verdict("project", [line])
    try:
        with Agent(made, function) as agent:
            first = agent.tries([good[0]])[0]
            is_empty = first.reached and first.raised is None and first.value is None and not does_something(function)
            if type(first.raised) is NotImplementedError or is_empty:
                return Verdict("project", [Line(sentence, NOT_YET) for sentence in LINES.values()])
            if missing(needs := wanted(first.raised)):
                return Verdict("project", [Line(sentence, NOT_HERE, needs=needs) for sentence in LINES.values()])
            lines = _lines(agent, good, bad)
        if not agent.late:
            lines["lint"] = list(_found_by_lint(tool, handler))
    except KeyboardInterrupt as error:
        raise Stopped(f"project: {str(error) or 'stopped'}. Nothing was judged.") from None
    verdicts = []
    for kind, sentence in LINES.items():
        mark = NOT_TRIED if kind not in lines else WRONG if lines[kind] else RIGHT
        notes = lines.get(kind) or agent.notes.get(kind, [])
        verdicts.append(Line(sentence, mark, notes, needs="processes" if kind == "command" else ""))
    verdict = Verdict("project", verdicts)
    record.record("project", verdict.passed)
    board.tell()
    return verdict


def _lines(agent: "Agent", good: Sequence[dict], bad: Sequence[dict]) -> dict[str, list]:
    """kind -> the details of the first thing that is wrong there, or none."""
    lines: dict[str, list] = {kind: [] for kind in LINES if kind != "lint"}

    def wrong(kind, tried, yours, right=""):
        if not lines[kind]:
            said = ("call", agent.shown(tried.call)), ("yours", clean(yours)), ("right", right)
            lines[kind] = [pair for pair in said if pair[1]]

    works = None  # a call that got its answer, to be made after each other
    hostile = itertools.islice(_hostile(good[0], agent.secret), MOST_HOSTILE)
    for kind, call in [
        *(("good", one) for one in good),
        *(("bad", one) for one in bad),
        *(("", one) for one in hostile),
    ]:
        tried, *others = agent.tries([call] if works is None else [call, works])
        if agent.late:
            wrong(
                "fine", tried, f"{agent.late}. Is it an endless loop, or does it wait for something that never comes?"
            )
            ended = {"good": [], "bad": ["good"], "": ["good", "bad"]}[kind]
            return {one: details for one, details in lines.items() if details or one in ended}
        failed, came = bool(tried.result.get("is_error")), agent.came(tried)
        if kind:
            agent.note(kind, call, came)
        if kind == "good" and failed:
            wrong("good", tried, came, "an answer")
        elif kind == "good":
            works = works or call
        if kind == "bad" and not failed:
            wrong("bad", tried, came, "an error that says what is wrong with the call")
        if failed and not others and agent.changes():
            wrong("same", tried, f"an error, and {agent.changes()}", "nothing has changed")
        for fault in tried.faults.items():
            raised = agent.caller.words_of(tried.raised) if tried.raised else ""
            wrong("fine", tried, f"{fault[0]}: {fault[1] or raised}")
        if failed and others:  # again by itself: the call behind it may change something
            agent.tries([call])
            if agent.changes():
                wrong("same", tried, f"an error, and {agent.changes()}", "nothing has changed")
        if agent.made_by_a_shell():
            wrong("command", tried, "a shell has run a part of it", "a list of arguments, and no shell")
        if SECRET in text_of(tried.result):
            wrong("inside", tried, came, "an error: safe_path() refuses what leads outside")
        if agent.outside() != agent.before:
            wrong("inside", tried, f"beside the workspace there is now {agent.outside()}")
        if agent.stopped:
            wrong("on", tried, agent.stopped)
        for other in others:
            if other.result.get("is_error"):
                wrong("on", tried, f"then {agent.shown(other.call)} gave {agent.came(other)}", "an answer, as before")
    return lines


def _found_by_lint(tool, handler):
    verdict = lint.my_tool(tool, handler)
    first = next((line for line in verdict.lines if line.verdict not in (RIGHT, NOT_HERE)), None)
    if first is not None:
        yield from [("it says", f"{verdict.text.splitlines()[0]}. The first: {first.sentence}"), *first.details]
        yield "right", "run check.my_tool(your tool) in a cell of its own to see all"


def _hostile(call, secret) -> Iterator[dict]:
    """The call with one value in it changed: the first change of every value, then the second of every one."""
    yield {}
    yield {**call, "no_such_argument": 1}
    changes = [list(_changed(call, place, value, secret)) for place, value in _values(call)]
    for round in itertools.zip_longest(*changes):
        yield from (made for made in round if made is not None)


def _values(value, place=()) -> Iterator[tuple[tuple, Any]]:
    if place and not isinstance(value, dict):
        yield place, value
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in items:
        yield from _values(item, (*place, key))


def _changed(call, place, value, secret):
    if isinstance(value, str):
        new = [*COMMANDS, f"{value}; echo 6 > {MARK}", f"{value} & echo 6 > {MARK}", secret, *STRINGS, 5, None]
    elif isinstance(value, list):
        new = [[], value * 1000, "[]", 5]
    elif isinstance(value, bool) or value is None:
        new = ["yes", 5]
    else:
        new = [*NUMBERS, "many", None]
    for one in new:
        yield _with(call, place, one)


def _with(value, place, new):
    """A copy of JSON data with one value exchanged."""
    if not place:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[place[0]] = _with(value[place[0]], place[1:], new)
    return copied


class Agent:
    """Runs conversations of a scripted model with one tool, each in a fresh copy of the workspace."""

    def __init__(self, tool: Tool, function: Callable) -> None:
        self.tool, self.room = tool, Room()
        self.caller = Caller(tool, function, self.room, SECONDS, None)
        self.late = self.stopped = ""
        self.notes: dict[str, list[tuple[str, str]]] = {}

    def __enter__(self) -> "Agent":
        self.stack = contextlib.ExitStack()
        self.outer = self.stack.enter_context(trial.temporary_workspace({"secret.txt": f"{SECRET}\n" * 20}))
        self.secret = str(self.outer / "secret.txt")
        self.room.root = self.outer / "work"
        self.room.root.mkdir()
        self.stack.enter_context(workspace.within(self.room.root))
        self.stdin = self.stack.enter_context(trial.silence())
        self.room.seen = None
        self.before = self.outside()
        self.script: list[Any] = []  # what the model still has to say: one client for all conversations
        with contextlib.redirect_stdout(io.StringIO()):
            self.client, self.model = connect(script=[lambda request: self.script.pop(0)] * MOST_REPLIES)
        self.stack.enter_context(self.client)
        return self

    def __exit__(self, *exc: object) -> None:
        self.stack.close()

    def tries(self, calls) -> list[Tried]:
        """One conversation in which the model makes these calls, one after the other."""
        self.room.restore()
        name, self.stopped = self.tool.name, ""
        self.script[:] = [*([{"type": "tool_use", "name": name, "input": call}] for call in calls), "Done."]
        messages, tried = [user("Use the tool.")], [Tried(call) for call in calls]

        def talk():
            at, options = iter(tried), {"tools": [tool], "handlers": {}, "max_tokens": MOST_TOKENS}
            for step in agent_steps(self.client, self.model, messages, **options):
                if step.kind == "reply":
                    now[0] = next(at, now[0])
                elif step.kind == "tool_result":
                    now[0].result = step.data

        now = [tried[0]]
        tool = replace(self.tool, handler=watched(self.tool.handler, lambda: now[0]))
        outcome = trial.call(talk, deadline=SECONDS, stdin=self.stdin)
        self.late = outcome.late
        if self.late:
            return [now[0], *(one for one in tried if one is not now[0])]
        for one in tried:
            if one.result:
                one.printed = outcome.printed
                one.faults.update(self.caller.faults_of(one, trial.Outcome(one.result)))
                if not one.reached:
                    one.faults.pop("taken", None)  # run_tool refused it: that is an error, as it should be
        if outcome.error is not None:
            self.stopped = f"the agent stopped: {type(outcome.error).__name__}: {outcome.error}"
        elif problem := problem_of(messages[:-1]):
            self.stopped = f"the API refuses the history: {problem.message}"
        elif messages[-1]["role"] != "assistant":
            self.stopped = "the agent ended without an answer"
        return tried

    def shown(self, call):
        return clean(f"{self.tool.name}({', '.join(f'{name}={shown(value, 120)}' for name, value in call.items())})")

    def came(self, tried):
        """What came back, in words."""
        content = tried.result.get("content", "")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        said = [shown(one["text"], 160) if one["type"] == "text" else f"<{one['type']}>" for one in blocks]
        return ("an error: " if tried.result.get("is_error") else "") + clean(", ".join(said))

    def note(self, kind, call, came):
        notes = self.notes.setdefault(kind, [])
        if len(notes) < MOST_SHOWN:
            notes.append(("call", f"{self.shown(call)}  gave  {came}"))

    def changes(self):
        """What is different in the workspace since the conversation began, or an empty string."""
        now = self.room.state()
        if now == self.room.seen:
            return ""
        names = {one[1] for one in set(now) ^ set(self.room.seen)}
        return f"{', '.join(sorted(names))} changed"

    def made_by_a_shell(self):
        return any(path.name == MARK for path in self.outer.rglob("*"))

    def outside(self):
        """What stands beside the workspace: name -> content."""
        beside = (path for path in self.outer.iterdir() if path != self.room.root)
        return {path.name: path.read_bytes() if path.is_file() else None for path in beside}
