"""Stepper: a run of the agent, one stage at a time, with everything that goes back and forth in it."""

from typing import Any

import ipywidgets

from .. import conversation, show
from ..client.progress import Progress
from ..sessions.run import Run
from ..show import page, rows
from ..show.page import Page
from ..show.table import show_table
from .panel import Drawing, Panel, after_typing, button, choice, guarded, row, typed

VIEWS = ("messages", "what changed", "on the wire", "handler")


class Stepper(Panel):
    """Walk through a run: Back, Forward, To the end; edit a reply or a result before it goes on; fork at any step.

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
        self.end_button = button("To the end ▶▶", self._to_end, "Go on until the run ends")
        self.stop_button = button("Stop", lambda _: self.stop(), "Stop what is running", disabled=True)
        self.fork_button = button("Fork here", self._fork, "Start a second run from this step, with the same history")
        self.step = ipywidgets.Dropdown(description="Step", options=[("", 0)])
        self.which = ipywidgets.Dropdown(description="Run", options=[("1", 0)])
        self.view = choice("Show", VIEWS)
        self.says, self.shown, self.working = Drawing(), Drawing(), Drawing(width="auto", align_self="center")
        self.text = typed(ipywidgets.Textarea, "Edit")
        self.use_button = button("Use this instead", self._use, "Replace what stands above with this")
        self.editor = ipywidgets.VBox([self.text, row(self.use_button)])
        self._drawing = False
        for part in (self.step, self.which):
            part.observe(self._chosen, "value")
        self.view.observe(lambda _: guarded(Stepper._draw)(self), "value")
        moves = [self.back_button, self.forward_button, self.end_button, self.stop_button, self.fork_button]
        parts = [row(*moves, self.working), row(self.step, self.which), self.says, self.view, self.shown, self.editor]
        super().__init__(parts)
        self._draw()

    @property
    def messages(self) -> list:
        """The conversation as it was at the step that is shown."""
        return conversation.plain(self.run.stage.messages)

    def twin(self) -> Page:
        stage, stages = self.run.stage, self.run.stages[: None if self.run.saved else self.run.at + 1]
        rows = [[number, one.title, one.says] for number, one in enumerate(stages)]
        steps, drawn = show_table(["step", "what happened", ""], rows), show.show_messages(stages[-1].messages)
        head = f"Stepper at step {self.run.at}: {stage.title}"
        html = f"<p><i>{page.escape(head)}</i></p>{steps.html}{drawn.html}"
        return Page(f"{head}\n{steps.text}\n{drawn.text}", html)

    # What the buttons do

    @guarded
    def _back(self):
        self._idle()
        self.run.back()
        self._draw()

    @guarded
    def _forward(self):
        self._go(self.run.forward)

    @guarded
    def _to_end(self):
        self._go(lambda: self.run.to_end(lambda: self.post(self._draw)))

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
        if self.busy:
            raise ValueError("The run is still going: wait for it, or press Stop.")

    def _show(self, run):
        if run not in self.runs:
            self.runs.append(run)
        self.run = run
        self._draw()

    def _go(self, move):
        # The buttons stay switched on while something runs: one that is switched off would lose the keyboard's focus.
        if self.busy:
            return
        if self.run.at < len(self.run.stages) - 1 and move == self.run.forward:
            move()  # it is there already
            self._draw()
        else:
            self.run.progress = Progress()
            self.work(move, self._went, self._draw_working)  # a request or a tool may take its time

    def _went(self, _, error):
        if isinstance(error, KeyboardInterrupt):  # Stop came between two stages, or was not heard: that run is left
            stopped = self.run.fork()
            stopped.fail(error)
            self.runs[self.runs.index(self.run)] = self.run = stopped
        self._draw()

    # What is shown

    def _draw(self):
        run, stage, self._drawing = self.run, self.run.stage, True
        try:
            self.step.options = [(page.printable(f"{at}  {one.title}"), at) for at, one in enumerate(run.stages)]
            self.step.value = run.at
            self.which.options = [(f"{at + 1}: {len(one.stages)} steps", at) for at, one in enumerate(self.runs)]
            self.which.value = self.runs.index(run)
            self.which.layout.display = "" if len(self.runs) > 1 else "none"
        finally:
            self._drawing = False
        self.says.draw(_says(run))
        self.shown.draw(self._view(stage))
        editable = stage.editable
        self.editor.layout.display = "" if editable is not None and not run.saved else "none"
        self.text.value = "" if editable is None else rows.to_edit(editable)
        self.text.rows = min(12, self.text.value.count("\n") + 2)
        self.fork_button.disabled = run.client is None
        self._draw_working()

    def _draw_working(self):
        self.working.draw(f"<i>at work: {self.run.progress}</i>" if self.busy else "")
        self.stop_button.disabled = not self.busy

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


def _says(run):
    stage = run.stage
    colour = page.RED if stage.kind == "failed" else page.GREY if stage.kind in ("stop", "end") else page.COLOURS[0]
    head = f"{page.badge(f'step {run.at}', colour)} <b>{page.escape(stage.title)}</b>"
    return f'<div role="status">{head}<div>{page.escape(stage.says)}</div></div>'


def _about(stage):
    """What the stage is about, where the messages do not show it yet: a call, or its result."""
    if stage.kind in ("lookup", "missing"):
        return f"{stage.block.get('name')} {rows.arguments(stage.block.get('input'))}"
    if stage.results and stage.kind in ("result", "unknown", "refused"):
        return rows.inner(stage.results[-1].get("content", ""))
    return ""


def _note(sentence):
    return Page(sentence, f"<i>{sentence}</i>")
