"""HistoryLab: a broken conversation, the passes of normalize_messages as switches, and what the API says to both."""

import ast
import json
import re

import ipywidgets

from ...messages import PASSES
from .. import conversation, show
from ..conversation import api_says, histories
from ..show import page, rows
from ..show.page import Page
from .panel import Drawing, Panel, answers, guarded, row, sentence_for, switch, typed

BY_NAME = {one.__name__: one for one in PASSES}


class HistoryLab(Panel):
    """Pick a history that somebody reported, or paste your own, and switch the passes on and off.

    HistoryLab() begins with the first of the list, HistoryLab(messages) with yours. `lab.after` is the fixed list.
    """

    def __init__(self, messages: list | None = None, case: str = "orphan-cancel-then-user"):
        self.cases = histories()
        self.after: list = []
        own = messages is not None
        picked = "(your own)" if own else case
        self.case = ipywidgets.Dropdown(options=["(your own)", *self.cases], value=picked, description="History")
        begin = conversation.plain(messages) if own else self.cases[case]["messages"]
        self.text = typed(ipywidgets.Textarea, "Messages", rows=8, value=rows.to_edit(begin))
        self.switches = {name: switch(str(one.__doc__).split(".")[0]) for name, one in BY_NAME.items()}
        self.why, self.repairs = Drawing(), Drawing()
        self.before, self.fixed = (Drawing(width="48%", min_width="24em") for _ in range(2))
        self.case.observe(self._picked, "value")
        for part in (self.text, *self.switches.values()):
            part.observe(self._changed, "value")
        both = row(self.before, self.fixed)
        judge = Drawing(answers("rules"), width="auto")  # what the API says is said here by the course's rules
        super().__init__([row(self.case, judge), self.why, self.text, row(*self.switches.values()), self.repairs, both])
        self._changed()

    def twin(self) -> Page:
        try:
            before, after, repairs = self._pages()
        except Exception as error:  # what was typed is no history
            return refusal(error)
        return Page("\n\n".join([before.text, repairs.text, after.text]), before.html + repairs.html + after.html)

    @guarded
    def _picked(self):
        if self.case.value in self.cases:
            self.text.value = rows.to_edit(self.cases[self.case.value]["messages"])
        self._changed()

    @guarded
    def _changed(self):
        why = self._case.get("why", "")
        links = " ".join(_link(address) for address in self._case.get("source", ()))
        self.why.draw(f"{page.escape(why)} {links}" if why else "")
        places = self.before, self.fixed, self.repairs
        try:
            pages = self._pages()
        except Exception as error:  # what was typed is no history: no verdict on another one may stay
            self.after, pages = [], (Page("", ""), Page("", ""), refusal(error))
            self.voice.warned = pages[2].text
        self.voice.said = "; ".join(side.text.split("\n", 1)[0] for side in pages[:2] if side.text)
        for place, drawn in zip(places, pages, strict=True):
            place.draw(drawn)

    @property
    def _case(self):
        """The case that is shown, or {} once its text was changed."""
        case = self.cases.get(self.case.value, {})
        return case if case and self.text.value == rows.to_edit(case["messages"]) else {}

    def _pages(self):
        history = pasted(self.text.value)
        before = self._side("before", history)
        chosen = [name for name, box in self.switches.items() if box.value]
        try:
            self.after, lines = fix(history, chosen)
        except ValueError as error:
            self.after = []
            return before, Page("", ""), refusal(error)
        lines = [f"repaired: {line}" for line in lines]
        text = "\n".join(lines) or "nothing to repair"
        drawn = "".join(f"<li>{page.escape(line)}</li>" for line in lines)
        return before, self._side("after", self.after), Page(text, f"<ul>{drawn}</ul>" if lines else f"<i>{text}</i>")

    def _side(self, name, history):
        said, drawn = api_says(history, self._case), show.show_messages(history)
        badge = page.badge(name, page.GREEN if said == "accepted" else page.RED)
        verdict = page.bar(f"{badge} The API: {page.escape(said)}", page.GREY)
        return Page(f"{name}. The API: {said}\n{drawn.text}", verdict + drawn.html)


def refusal(error):
    """What cannot be read or fixed, as a Page."""
    said = sentence_for(error)
    return Page(said, page.bar(page.escape(said), page.RED))


def fix(history, chosen=tuple(BY_NAME)):
    """Run the chosen passes over a list of messages. Returns the new list and a line for each repair.

    With all of them it is what normalize_messages does. ValueError for what nobody can fix, or not as plain data.
    """
    repairs = []
    history = history if "plain_messages" in chosen else conversation.plain(history)
    try:
        for name, one in BY_NAME.items():
            if name in chosen:
                history = one(history, repairs.append)
    except (AttributeError, IndexError, KeyError, TypeError) as error:  # at a shape that a pass does not expect
        raise ValueError(f"These passes need plain data first: {type(error).__name__}: {error}.") from None
    return history, repairs


def pasted(text):
    """A list of messages from JSON, or from the way in which Python prints one."""
    try:
        value = json.loads(text)
    except ValueError as error:
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"This is neither JSON nor a Python list: {error}.") from None
    value = value.get("messages", value) if isinstance(value, dict) else value
    if not isinstance(value, list):
        raise ValueError("A history is a list of messages: begin with [ and end with ].")
    return value


def _link(address):
    name = re.sub(r"https://github.com/(.+?)/(?:issues|pull)/(\d+).*", r"\1#\2", address)
    return f'<a href="{page.escape(address)}" target="_blank" style="text-decoration:underline">{page.escape(name)}</a>'
