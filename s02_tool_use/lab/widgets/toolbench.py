"""ToolBench: call a tool as a model would, from a form made of its schema, and see the result as a model would."""

import ipywidgets

from ... import dispatch
from .. import show
from ..show import page, rows
from ..show.page import Page
from . import forms
from .panel import Drawing, Panel, after_typing, button, choice, guarded, row, typed

WIDTH = {"width": "60em", "max_width": "100%"}


class ToolBench(Panel):
    """A form for each tool. `tools` and `handlers` are those of agent_steps; your own fit too.

    After a run, `bench.block` is the call and `bench.result` the tool_result.
    """

    def __init__(self, tools=dispatch.TOOLS, handlers=dispatch.TOOL_HANDLERS):
        if not tools:
            raise ValueError("There are no tools: give a list like TOOLS.")
        self.tools, self.handlers = {tool["name"]: tool for tool in tools}, handlers
        self.block = self.result = None
        self._runs = 0
        self.tool = ipywidgets.Dropdown(options=list(self.tools), description="Tool")
        self.about, self.form, self.shown = Drawing(), ipywidgets.VBox(), Drawing()
        self.raw = choice("Input as", ["form", "JSON"])
        self.run_button = button("Run", self._run, "Call run_tool with this input", button_style="primary")
        self.stop_button = button("Stop", lambda _: self.stop(), "Stop the tool", disabled=True)
        self.tool.observe(self._picked, "value")
        self.raw.observe(self._switched, "value")
        super().__init__(
            [row(self.tool, self.raw), self.about, self.form, row(self.run_button, self.stop_button), self.shown]
        )
        self._picked()

    def twin(self):
        if self.result is None:
            head = f"ToolBench, a form for each of these tools: {', '.join(self.tools)}. Nothing has been run yet."
            return Page(head, f"<i>{page.escape(head)}</i>")
        return self._drawn()

    @property
    def _chosen(self):
        return self.tools[self.tool.value]

    @guarded
    def _picked(self):
        tool = self._chosen
        self.about.draw(f'<div style="max-width:60em">{page.escape(tool.get("description", ""))}</div>')
        self.result = None
        self._draw()
        self.fields = {field.name: _part(field) for field in forms.fields_of(tool)}
        self.json = typed(ipywidgets.Textarea, "input", value="{}", rows=5, layout=ipywidgets.Layout(**WIDTH))
        self._switched()

    @guarded
    def _switched(self):
        if self.raw.value == "JSON":
            typed = {name: part.value for name, part in self.fields.items()}
            self.json.value = rows.to_edit(forms.input_of(self._chosen, typed))
            self.form.children = [self.json]
        else:
            self.form.children = list(self.fields.values()) or [Drawing("<i>This tool takes no input.</i>")]

    @after_typing
    def _run(self):
        if self.raw.value == "JSON":
            arguments = forms.parsed(self.json.value)
        else:
            arguments = forms.input_of(self._chosen, {name: part.value for name, part in self.fields.items()})
        block = forms.call_of(self._chosen, arguments, self._runs + 1)
        self.work(lambda: dispatch.run_tool(block, self.handlers), lambda job: self._ran(block, job), self._draw)

    def _ran(self, block, job):
        if job.error is None:  # else it was stopped
            self.block, self.result = block, job.value
            self._runs += 1

    def _draw(self):
        self.stop_button.disabled = not self.busy
        self.shown.draw("<i>It runs ...</i>" if self.busy else self._drawn() if self.result else "")

    def _drawn(self):
        drawn = show.show_messages(
            [{"role": "assistant", "content": [self.block]}, {"role": "user", "content": [self.result]}]
        )
        raw = rows.to_text(self.result, indent=2)
        return Page(
            drawn.text, f"{drawn.html}<details><summary>tool_result as JSON</summary>{page.code(raw)}</details>"
        )


def _part(field):
    """The widget for one field."""
    name = field.name + (" *" if field.required else "")
    style = {"description_width": "8em"}
    if field.options:
        options = [(str(option), option) for option in field.options]
        return ipywidgets.Dropdown(
            options=[("(left out)", None), *options], description=name, style=style, tooltip=field.description
        )
    long = field.kind not in ("integer", "number") and not field.name.endswith(("path", "pattern"))
    made = ipywidgets.Textarea if long else ipywidgets.Text
    extra = {"rows": 3} if long else {}
    hint = field.description or {"string": ""}.get(field.kind, field.kind)
    layout = ipywidgets.Layout(**WIDTH)
    options = {"placeholder": hint, "style": style, "layout": layout, "tooltip": field.description, **extra}
    return typed(made, name, **options)
