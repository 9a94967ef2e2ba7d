"""PathLab: one path or pattern, and what each way to check it makes of it, beside each other."""

import ipywidgets

from ..show import page
from ..show.page import Page
from ..show.table import show_table
from . import escapes
from .panel import Drawing, Panel, answers, choice, guarded, row, switch

COLOURS = {"inside": page.GREEN, "refused": page.GREY, "ESCAPED": page.RED}


class PathLab(Panel):
    """Type a path (or a pattern for glob) as a model would send it, and see who lets it out of the workspace.

    BASE stands for the folder around the workspace, in what you type and in what is shown.
    """

    def __init__(self, text: str = "../secret.txt", kind: str = "path"):
        self.room = escapes.EscapeRoom()
        self.kind = choice("It is a", ["path", "pattern"])
        self.kind.value = kind
        self.text = ipywidgets.Text(value=text, description="Text", placeholder="what a model sends")
        self.examples = ipywidgets.Dropdown(description="Examples", options=escapes.EXAMPLES[kind])
        self.layouts = [switch("a neighbour: work-evil"), switch("links in the workspace")]
        self.place, self.table = Drawing(), Drawing()
        self.kind.observe(self._switched, "value")
        self.examples.observe(self._chosen, "value")
        self.text.observe(self._look, "value")
        for box in self.layouts:
            box.observe(self._built, "value")
        who = Drawing(answers("no model: you type"), width="auto")
        super().__init__(
            [row(self.kind, who), row(self.text, self.examples), row(*self.layouts), self.place, self.table]
        )
        self._built()

    def twin(self) -> Page:
        place, table = self._place(), self._table()
        return Page(f"{place.text}\n{table.text}", place.html + table.html)

    @guarded
    def _switched(self):
        self.examples.options = escapes.EXAMPLES[self.kind.value]
        self.text.value = self.examples.options[2]
        self._look()

    @guarded
    def _chosen(self):
        if self.examples.index:  # not the first, which is no example
            self.text.value = self.examples.value

    @guarded
    def _built(self):
        names = [name for name, box in zip(("neighbour", "links"), self.layouts, strict=True) if box.value]
        self.room.build(names)
        if not self.room.can_link:
            self.complain("This system does not let you make links, so that part of the folder is missing.")
        self.place.draw(self._place())
        self._look()

    @guarded
    def _look(self):
        self.table.draw(self._table())
        verdicts = [one.verdict for one in self.room.findings(self.kind.value, self.text.value)]
        self.voice.said = f"{verdicts.count('ESCAPED')} of {len(verdicts)} versions let it out of the workspace."

    def _place(self):
        lines = self.room.contents()
        drawn = "".join(f"<li><code>{page.escape(line)}</code></li>" for line in lines)
        head = "The workspace is BASE/work."
        text = "\n".join([head, *("  " + line for line in lines)])
        return Page(text, f"<details><summary>{head} What lies there</summary><ul>{drawn}</ul></details>")

    def _table(self):
        rows = []
        for one in self.room.findings(self.kind.value, self.text.value):
            badge = Page(one.verdict, page.badge(one.verdict, COLOURS[one.verdict]))
            rows.append([one.version, badge, one.gives, one.leads])
        table = show_table(["version", "so it is", "it gives", "which leads to"], rows)
        joined = f"joined with the workspace: {self.room.joined(self.text.value)}"
        return Page(f"{joined}\n{table.text}", f"<div>{page.escape(joined)}</div>{table.html}")
