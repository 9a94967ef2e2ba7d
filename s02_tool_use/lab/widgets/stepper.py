"""Stepper: a run of the agent, one stage at a time: where it is in the picture of the loop, and what is new.

What else there is to see and to do (the wire, the handler, an edit, a fork) is folded away below.
"""

from typing import Any

import ipywidgets

from .. import conversation, show
from ..client.endpoint import who_answers
from ..client.progress import Progress
from ..sessions import stages
from ..sessions.run import Run
from ..show import page, rows
from ..show.loop import ENDS, Call, draw_loop
from ..show.newest import show_newest
from ..show.page import Page
from ..show.table import show_table
from .panel import Drawing, Panel, after_typing, button, choice, guarded, row, switch_off, typed

VIEWS = ("messages", "what changed", "on the wire", "handler")
PLAY_SECONDS = 2.0  # between two steps that nobody asks for one by one
LIT = {  # what has just happened -> where that is in the picture
    **{name: name for name in ("built", "normalised", "sent", "reply", "result", "appended")},
    **dict.fromkeys(("unknown", "refused", "missing"), "result"),
    "user": "appended",
    "lookup": "handler",
    "stop": "end",
    "end": "end",
}
MOST_OF_A_TITLE = 45  # characters in the list of steps
MORE, LESS = "More ▾", "Less ▴"
PLAY, PAUSE = "Play ▶", "Pause ❚❚"


class Stepper(Panel):
    """Walk through a run: Back, Forward, One turn, To the end, Play; under More, edit a reply or a result and fork.

    Stepper(client, model, messages) runs the agent live as you go forward. Stepper(messages=saved) walks through a
    conversation that was saved, complete or broken; with `saved=True` and a client it can also be forked and continued.
    Further keywords are those of agent_steps. The list is copied. `stepper.messages` is the list at the step shown.
    Going back undoes nothing in the files.
    """

    def __init__(
        self,
        client: Any = None,
        model: str | None = None,
        messages: list | None = None,
        *,
        saved: bool = False,
        **settings: Any,
    ):
        if messages is None:
            raise ValueError("Give it a conversation: Stepper(client, model, messages).")
        self.run = Run(client, model, messages, saved=saved or client is None, **settings)
        self.runs = [self.run]
        self.back_button = button("◀ Back", self._back, "Go one step back")
        self.forward_button = button("Forward ▶", self._forward, "Go one step forward", button_style="primary")
        self.turn_button = button("One turn ▶", self._one_turn, "Go on until the results are in the list")
        self.play_button = button(PLAY, self._play, "Go on by itself, a step every two seconds")
        self.end_button = button("To the end ▶▶", self._to_end, "Go on until the run ends")
        self.stop_button = button("Stop", lambda _: self.stop(), "Stop what is running")
        self.fork_button = button("Fork here", self._fork, "Start a second run from this step, with the same history")
        self.step = ipywidgets.Dropdown(description="Step", options=[("", 0)])
        self.which = ipywidgets.Dropdown(description="Run", options=[("1", 0)])
        self.view = choice("Show", VIEWS)
        self.picture, self.says, self.newest, self.shown = (Drawing() for _ in range(4))
        self.working = Drawing(width="auto", align_self="center")
        self.text = typed(ipywidgets.Textarea, "Edit")
        self.use_button = button("Use this instead", self._use, "Replace what stands above with this")
        self.editor = ipywidgets.VBox([self.text, row(self.use_button)])
        self._drawing, self.playing, self._plays = False, False, 0
        for part in (self.step, self.which):
            part.observe(self._chosen, "value")
        self.view.observe(lambda _: guarded(Stepper._draw)(self), "value")
        self.more_button = button(MORE, self._fold, "Choose a step, see the wire and the handler, edit, fork")
        moves = [self.back_button, self.forward_button, self.turn_button, self.end_button, self.play_button]
        self.more = ipywidgets.VBox(
            [row(self.step, self.which, self.fork_button), self.view, self.shown, self.editor],
            layout=ipywidgets.Layout(display="none", width="100%"),
        )
        face = [row(*moves, self.stop_button, self.more_button, self.working), self.picture, self.says, self.newest]
        super().__init__([*face, self.more])
        self._draw()

    @property
    def messages(self) -> list:
        """The conversation as it was at the step that is shown."""
        return conversation.plain(self.run.stage.messages)

    @property
    def answerer(self) -> str:
        """Who answers: rules, a script, a recording, the model's name, or a saved conversation."""
        return _answerer(self.run)

    def twin(self) -> Page:
        stage, passed = self.run.stage, self.run.stages[: None if self.run.saved else self.run.at + 1]
        rows = [[number, one.title, one.says] for number, one in enumerate(passed)]
        steps, drawn = show_table(["step", "what happened", ""], rows), show.show_messages(passed[-1].messages)
        head = f"Stepper at step {self.run.at}: {stage.title}. Answers: {self.answerer}."
        picture = _picture(self.run, caption=True) if self.run.at else Page("", "")  # nothing is lit yet
        html = f"<p><i>{page.escape(head)}</i></p>{picture.html}{steps.html}{drawn.html}"
        return Page("\n".join(filter(None, (head, picture.text, steps.text, drawn.text))), html)

    # What the buttons do

    @guarded
    def _back(self):
        self._idle()
        self.run.back()
        self._draw()

    @guarded
    def _forward(self):
        self._pause()
        self._go(self.run.forward)

    @guarded
    def _one_turn(self):
        self._pause()
        self._go(lambda: self._drawn(self.run.steps("appended")), in_steps=True)  # the results are in the list

    @guarded
    def _to_end(self):
        self._pause()
        self._go(lambda: self._drawn(self.run.steps()), in_steps=True)

    def _drawn(self, steps):
        for awaited in steps:
            self.post(self._draw)
            yield awaited

    @guarded
    def _play(self):
        """Go on step by step, until it is pressed again, or another button is, or there is nothing more to do."""
        if self.playing:
            self._pause()
        elif self._loop is None:  # nobody could press Pause
            self._go(self.run.to_end)
        elif not self.run.ended:
            self.playing, self._plays = True, self._plays + 1
            self._play_on(self._plays)

    def _play_on(self, plays):
        if self.playing and plays == self._plays:  # else it was paused, perhaps begun again
            self._draw_playing()
            self._go(self.run.forward)

    def _pause(self):
        self.playing = False
        self._draw_playing()

    def stop(self) -> None:
        """Stop what is running, and play no further."""
        self._pause()
        super().stop()

    @guarded
    def _fold(self):
        folded = self.more.layout.display == "none"
        self.more.layout.display = "" if folded else "none"
        self.more_button.description = LESS if folded else MORE

    @guarded
    def _fork(self):
        self._idle()
        self._show(self.run.fork())

    @after_typing
    def _use(self):
        self._idle()
        is_last = self.run.at == len(self.run.stages) - 1
        run = self.run if is_last else self.run.fork()  # what came after it stays, in the run that it belongs to
        run.edit(self.text.value)
        self._show(run)

    @guarded
    def _chosen(self):
        """Another step of this run, or another run."""
        if not self._drawing:
            self._idle()
            run = self.runs[self.which.value]
            if run is self.run:
                run.at = self.step.value
            self._show(run)

    def _idle(self):
        self._pause()
        if self.busy:
            raise ValueError("The run is still going: wait for it, or press Stop.")

    def _show(self, run):
        if run not in self.runs:
            self.runs.append(run)
        self.run = run
        self._draw()

    def _go(self, move, in_steps=False):
        # The buttons stay switched on while something runs: one that is switched off would lose the keyboard's focus.
        if self.busy:
            return
        if self.run.at < len(self.run.stages) - 1 and move == self.run.forward:
            move()  # it is there already
            self._went(None, None)
        else:
            self.run.progress = Progress()
            self.work(move, self._went, self._draw_working, in_steps)  # a request or a tool may take its time

    def _went(self, _, error):
        if isinstance(error, KeyboardInterrupt):  # Stop came between two stages, or was not heard: that run is left
            stopped = self.run.fork()
            stopped.fail(error)
            self.runs[self.runs.index(self.run)] = self.run = stopped
        if self.playing and (error is not None or self.run.halted):
            self._pause()
        self._draw()
        if self.playing:
            self.later(PLAY_SECONDS, lambda plays=self._plays: self.guard(self._play_on, plays))

    # What is shown

    def _draw(self):
        run, stage, self._drawing = self.run, self.run.stage, True
        try:
            self.step.options = [(_option(at, one), at) for at, one in enumerate(run.stages)]
            self.step.value = run.at
            self.which.options = [(f"{at + 1}: {len(one.stages)} steps", at) for at, one in enumerate(self.runs)]
            self.which.value = self.runs.index(run)
            self.which.layout.display = "" if len(self.runs) > 1 else "none"
        finally:
            self._drawing = False
        self.picture.draw(_picture(run))
        self.says.draw(_says(run))
        if not self.busy:  # on the way to the end only the last step is read aloud
            self.voice.said = page.printable(f"Step {run.at}, {stage.title}: {stage.says}")
        before = run.stages[run.at - 1].messages if run.at else stage.messages[:-1]
        self.newest.draw(show_newest(stage.messages, before, _block(stage)))
        self.shown.draw(self._view(stage))
        editable = stage.editable
        self.editor.layout.display = "" if editable is not None and not run.saved else "none"
        self.text.value = "" if editable is None else rows.to_edit(editable)
        self.text.rows = min(12, self.text.value.count("\n") + 2)
        self.fork_button.disabled = run.client is None
        self._draw_working()

    def _draw_working(self):
        self.working.draw(f"<i>at work: {self.run.progress}</i>" if self.busy else "")
        switch_off(self.stop_button, not self.busy)

    def _draw_playing(self):
        self.play_button.description = PAUSE if self.playing else PLAY

    def _view(self, stage):
        if self.view.value == "on the wire":
            text = rows.to_text(stage.wire, indent=2)
            return Page(text, page.code(text, fold=10_000)) if stage.wire else _note("Nothing goes over the wire here.")
        if self.view.value == "what changed":
            before = self.run.stages[max(0, self.run.at - 1)]
            return show.show_diff(before.messages, stage.messages)
        if self.view.value == "handler":
            return self._handler(stage)
        drawn = show.show_messages(stage.messages) if stage.messages else Page("", "")
        about = _about(stage)
        below = page.bar(page.code(about), page.GREY) if about else ""
        return Page(f"{drawn.text}\n{about}".strip("\n"), drawn.html + below)

    def _handler(self, stage):
        if not stage.block:
            return _note("This step involves no handler.")
        handler = self.run.handlers.get(stage.block.get("name"))
        return show.show_source(handler) if handler is not None else _note("There is no handler of this name.")


def _picture(run, caption=False):
    """The loop at the stage where the run stands."""
    stage, colour, ends = run.stage, page.COLOURS[0], ENDS
    lit = LIT.get(stage.kind, ())
    if stage.kind == "failed":  # what was under way
        asked = run.stages[run.at - 1].kind not in ("reply", "lookup", *stages.ANSWERED)
        lit, colour = "sent" if asked else "handler", page.RED
    if lit == "end":
        ends = "the saved list ends" if stage.kind == "end" else "the loop ends"
    labels = rows.labels_of(stage.messages)
    calls = [Call(labels.get(str(call.get("id")), "?"), str(call.get("name")), _word(done)) for call, done in run.calls]
    return draw_loop(lit, who=_answerer(run), turn=run.turn, calls=calls, ends=ends, colour=colour, caption=caption)


def _option(at, stage):
    """A line of the list of steps: a list cannot break a long name, and would cut it unseen."""
    line = page.printable(f"{at}  {stage.title}")
    return line if len(line) <= MOST_OF_A_TITLE else f"{line[:MOST_OF_A_TITLE]} …"


def _answerer(run):
    return "a saved conversation" if run.saved else who_answers(run.client, run.model)


def _word(done):
    """How a call has ended; "" as long as it waits."""
    if done is None:
        return ""
    if done.kind == "missing":
        return "no result"
    return "is_error" if done.results and done.results[-1].get("is_error") is True else "done"


def _block(stage):
    """The block that this moment is about, where it is one: a call, or its result. It may not be in the list yet."""
    if stage.kind in ("lookup", "missing"):
        return stage.block
    return stage.results[-1] if stage.results and stage.kind in ("result", "unknown", "refused") else None


def _says(run):
    stage = run.stage
    colour = page.RED if stage.kind == "failed" else page.GREY if stage.kind in ("stop", "end") else page.COLOURS[0]
    head = f"{page.badge(f'step {run.at}', colour)} <b>{page.escape(stage.title)}</b>"
    return f"<div>{head}: {page.escape(stage.says)}</div>"


def _about(stage):
    """What the stage is about, where the messages do not show it yet: a call, or its result."""
    if stage.kind in ("lookup", "missing"):
        return f"{stage.block.get('name')} {rows.arguments(stage.block.get('input'))}"
    if stage.results and stage.kind in ("result", "unknown", "refused"):
        return rows.inner(stage.results[-1].get("content", ""))
    return ""


def _note(sentence):
    return Page(sentence, f"<i>{sentence}</i>")
