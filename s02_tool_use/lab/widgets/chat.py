"""Chat: talk to the agent in the notebook, watch what it calls, and allow or forbid what changes something."""

import base64
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import ipywidgets

from .. import conversation, show
from ..client.endpoint import who_answers
from ..client.faults import shorten
from ..sessions.session import ASK_BEFORE, Session
from ..show import page, rows
from ..show.page import Page
from .panel import Drawing, Panel, after_typing, answers, button, focus, guarded, row, switch_off, typed

# Tab comes to it, and then the arrow keys scroll the conversation: they are not JupyterLab's here.
END = '<div tabindex="0" data-lm-suppress-shortcuts="true" style="opacity:.75">end of the conversation</div>'
TALL = "clamp(300px, 55vh, 520px)"  # of the box that scrolls: what one writes stands below it, on a projector too
REDRAW = 0.1  # seconds between two drawings of text that is arriving
LATE_SECONDS = 5.0  # within which what was typed may come after its Enter
MOST_SPOKEN = 1000  # characters of an answer that are read aloud at once
FIRST_TURNS, LAST_TURNS = 1, 20  # are drawn at once, those in between when they are asked for


class Chat(Panel):
    """A conversation with the agent. `chat.messages` is always a history that the API accepts.

    ask_before: the tools that run only when you allow it. prices: what a million tokens cost in USD, by the names of
    `usage` (see `cost`); else those of .env, and without any no cost is shown. Further keywords: those of agent_steps.
    """

    def __init__(
        self,
        client: Any,
        model: str,
        *,
        ask_before: Collection[str] = ASK_BEFORE,
        prices: Mapping[str, float] | None = None,
        **settings: Any,
    ):
        watch = partial(self.post, self._happened)  # called in the session's thread
        self.session = Session(client, model, watch=watch, ask_before=ask_before, prices=prices, **settings)
        self.turns = _tall()
        # In a reversed column the page stays at its end by itself, as a conversation should.
        scroll = ipywidgets.Layout(flex_flow="column-reverse", overflow="hidden auto", max_height=TALL)
        looks = {"layout": ipywidgets.Layout(flex="1"), "style": {"description_width": "initial"}}
        self.prompt = typed(ipywidgets.Text, "You", placeholder="Write to the agent, then press Enter", **looks)
        self.prompt._submission_callbacks.register_callback(self._submit)  # Enter, and not the leaving of the field
        self.prompt.observe(self._typed, "value")
        self.send_button = button("Send", self._submit, button_style="primary")
        tooltip = "Stop; the conversation stays valid"
        self.stop_button = button("Stop", lambda _: self.session.stop(), tooltip)
        self.asked, self.link, self.end = Drawing(), Drawing(), Drawing(flex="none")
        self.status, self.working = Drawing(width="auto"), Drawing(width="auto")
        verdicts = row(
            button("Allow", lambda _: self._decide(True), button_style="primary"),
            button("Always in this session", lambda _: self._decide("always")),
            button("Do not allow", lambda _: self._decide(False), button_style="danger"),
        )
        self.question = ipywidgets.VBox([self.asked, verdicts], layout=ipywidgets.Layout(display="none"))
        self._text, self._answer, self._waits, self._turn, self._is_late = "", None, False, None, False
        self._calls: dict[str, Any] = {}
        self._all: list[ipywidgets.VBox] = []  # turns
        self.unfold_button = button("", self._unfold, "Draw the whole conversation")
        prompt = row(self.prompt, self.send_button, self.stop_button)
        prompt.layout.flex_flow = "row nowrap"
        buttons = [
            button("New conversation", self._reset),
            button("Export", self._export, "The conversation as a JSON file"),
        ]
        said = _tall(self.turns, self.end)
        talk, says = ipywidgets.VBox([said], layout=scroll), row(self.status, self.working)
        super().__init__([talk, self.question, prompt, says, row(*buttons), self.link])
        self._draw()

    @property
    def busy(self) -> bool:
        return self.session.busy

    @property
    def messages(self) -> list:
        """The conversation so far: a list to use in a cell. It is a copy of the list, not of the messages."""
        return list(self.session.messages)

    @property
    def answerer(self) -> str:
        """Who answers: rules, a script, a recording, or the model's name."""
        return who_answers(self.session.client, self.session.model)

    def twin(self) -> Page:
        head = f"A chat. Answers: {self.answerer}."
        drawn = show.show_messages(self.session.messages)
        text, html = f"{head}\n{drawn.text}", f"<p><i>{page.escape(head)}</i></p>{drawn.html}"
        if self.session.requests:
            used = f"{self._used()}."
            text, html = f"{text}\n{used}", f"{html}<p><i>{page.escape(used)}</i></p>"
        return Page(text, html)

    def join(self, seconds: float = 30) -> None:
        """Wait until the agent has ended its turn: for a cell that goes on with what was said."""
        self.session.join(seconds)

    # What the buttons do

    @after_typing
    def _submit(self):
        prompt = self.prompt.value
        if not prompt:  # Enter is told before what was typed; on a slow machine that comes much later, and is sent then
            self._is_late = True
            self.later(LATE_SECONDS, self._forget)
        self.link.draw("")
        self.session.send(prompt)
        self.prompt.value = ""

    def _forget(self):
        self._is_late = False

    def _typed(self, change):
        if change.new and self._is_late:
            self._forget()
            self._submit()

    def _decide(self, verdict):
        self.guard(self.session.decide, verdict)
        self.post(self._draw)
        focus(self.prompt)  # the buttons go away

    @guarded
    def _reset(self):
        self.session.reset()
        self.turns.children, self._all = (), []
        self.end.draw("")
        self.link.draw("")
        self._draw()

    @guarded
    def _export(self):
        text = rows.to_text(self.session.messages, indent=2) + "\n"
        data = base64.b64encode(text.encode("utf-8", "backslashreplace")).decode()
        name = "conversation.json"
        self.link.draw(f'<a download="{name}" href="data:application/json;base64,{data}">Download {name}</a>')
        self.voice.said = f"Below the buttons is a link: Download {name}."

    # What the session tells

    def _happened(self, kind, data):
        try:
            getattr(self, f"_on_{kind}", lambda data: None)(data)
        except Exception as error:  # a fault of the drawing must not end the turn
            self.complain(f"This could not be drawn: {type(error).__name__}: {error}")

    def _on_prompt(self, prompt):
        self._turn = _tall()  # of its own, so that the hundredth costs no more than the tenth
        is_whole = self.unfold_button not in self.turns.children and len(self._all) > FIRST_TURNS + LAST_TURNS
        self._all.append(self._turn)
        self._draw_turns(is_whole)
        self._calls = {}
        self._add(page.bar(f"<b>you</b>{page.code(prompt, prose=True)}", page.COLOURS[0]))
        self._draw()
        self.voice.said = "The agent is at work."
        self.tick(self._draw_working)

    def _on_request(self, request):
        self._answer, self._text = None, ""

    def _on_text(self, piece):
        self._text += piece
        if not self._waits:  # a page that redraws for each piece falls behind
            self._waits = True
            self.later(REDRAW, self._draw_text)

    def _draw_text(self):
        self._waits = False
        if self._text.strip():
            if self._answer is None:
                self._answer = self._add("")
            self._answer.draw(page.bar(page.code(self._text.strip(), fold=10_000, prose=True), page.GREEN))

    def _on_reply(self, reply):
        self._text = "".join(block.text for block in reply.content if block.type == "text")
        self._draw_text()
        for block in reply.content:
            if block.type == "tool_use":
                call = conversation.plain(block)
                self._calls[call["id"]] = (call, self._add(_call(call)))
        self.voice.said = _said(reply)
        self._draw()

    def _on_question(self, block):
        asks = f"The agent wants to run <b>{page.escape(block['name'])}</b>:"
        asked = page.printable(rows.arguments(block["input"]), everything=True)  # what will run, to the last joiner
        body = page.code(asked, fold=len(asked) + 1)
        self.asked.draw(asks + body)
        self.voice.warned = f"The agent wants to run {page.printable(block['name'])}: {asked}"
        self._draw()

    def _on_tool_result(self, result):
        call, place = self._calls[result["tool_use_id"]]
        place.draw(_call(call, result))
        self._draw()

    def _on_end(self, end):
        reason, sentence = end
        self._draw_text()
        answers = conversation.blocks(self.session.messages[-1]) if self.session.messages else []
        for block in answers:  # "(cancelled)", after Stop
            if block.get("tool_use_id") in self._calls:
                self._on_tool_result(block)
        if sentence:
            self._add(page.bar(page.escape(sentence), page.RED if reason == "failed" else page.GREY))
            self.voice.said = page.printable(sentence)
        self._draw()

    # Drawing

    def _draw_turns(self, whole=False):
        """The first turn and the last ones, or all: a page of a thousand would be slow to draw and long to read."""
        self.end.draw(END)
        folded = len(self._all) - FIRST_TURNS - LAST_TURNS
        if folded < 1 or whole:
            self.turns.children = self._all
        else:
            self.unfold_button.description = f"Show the {rows.many(folded, 'turn')} in between"
            self.turns.children = [*self._all[:FIRST_TURNS], self.unfold_button, *self._all[-LAST_TURNS:]]

    @guarded
    def _unfold(self):
        self._draw_turns(whole=True)
        focus(self.prompt)  # the button goes away

    def _add(self, drawn):
        child = Drawing(drawn)
        self._turn.children = (*self._turn.children, child)
        return child

    def _draw(self):
        session = self.session
        self.question.layout.display = "" if session.question else "none"
        switch_off(self.stop_button, not session.busy)
        if not session.question:
            self.voice.warned = ""
        self._draw_working()
        doing = "waits for you" if session.question else "at work" if session.busy else "ready"
        self.status.draw(f"{answers(self.answerer)} <span>{doing} · {page.escape(self._used())}</span>")

    def _used(self):
        return ", ".join(filter(None, (*self.session.used, self.session.cost_in_words)))

    def _draw_working(self):
        progress = self.session.progress
        self.working.draw(f"<i>· {progress}</i>" if progress else "")


def _tall(*parts):
    """A box as tall as what is in it, within a box that scrolls: it neither shrinks nor scrolls itself."""
    return ipywidgets.VBox(parts, layout=ipywidgets.Layout(flex="none", overflow="visible"))


def _said(reply):
    """A reply as it is read aloud: its text, and which tools it calls."""
    text = " ".join(block.text for block in reply.content if block.type == "text").strip()
    names = ", ".join(str(block.name) for block in reply.content if block.type == "tool_use")
    calls = f"The agent calls {names}." if names else ""
    return page.printable(" ".join(filter(None, (shorten(text, MOST_SPOKEN), calls))))


def _call(call, result=None):
    """A call, with its result folded under it."""
    body = page.code(rows.arguments(call["input"]))
    head = f"{page.badge('tool', page.GREY)} <b>{page.escape(call['name'])}</b>"
    if result is None:
        return page.bar(f"{head} <i>...</i>{body}", page.GREY)
    text, failed = rows.inner(result.get("content", "")), result.get("is_error")
    head += f" {page.badge('is_error', page.RED)}" if failed else ""
    shown = page.code(text, fold=1) if text else "<i>no output</i>"
    return page.bar(head + body + shown, page.RED if failed else page.GREY)
