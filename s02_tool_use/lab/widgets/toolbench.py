"""ToolBench: call a tool as a model would, from a form made of its schema, and see the result as a model would.

Left out of the form: nested objects. They are typed as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import ipywidgets

from ... import dispatch
from ...calls.schemas import Judge
from ...calls.tool import schemas_of
from .. import show
from ..client.faults import shorten
from ..client.progress import Progress
from ..sessions.run import parsed
from ..show import page, rows
from ..show.page import Page
from .panel import FULL, Drawing, Panel, after_typing, answers, button, choice, guarded, row, switch_off, typed

TYPED_AS_JSON = ("object", "array", "any")
MOST_SPOKEN = 300  # characters of a result that are read aloud
WIDTH = {"width": "60em", "max_width": FULL}


class ToolBench(Panel):
    """A form for each tool. `tools` and `handlers` are those of agent_steps: dicts, functions and tools of the SDK.

    After a run, `bench.block` is the call and `bench.result` the tool_result.
    """

    def __init__(self, tools: Sequence[Any] = dispatch.TOOLS, handlers: Mapping[str, Any] = dispatch.TOOL_HANDLERS):
        if not tools:
            raise ValueError("There are no tools: give a list like TOOLS.")
        self.tools = {str(tool.get("name", tool.get("type"))): tool for tool in schemas_of(tools)}
        self.offered, self.handlers = tools, handlers
        self.block = self.result = None
        self._runs = 0
        self.tool = ipywidgets.Dropdown(options=list(self.tools), description="Tool")
        self.about, self.form, self.shown = Drawing(), ipywidgets.VBox(), Drawing()
        self.raw = choice("Input as", ["form", "JSON"])
        self.run_button = button("Run", self._run, "Call run_tool with this input", button_style="primary")
        self.stop_button = button("Stop", lambda _: self.stop(), "Stop the tool")
        self.tool.observe(self._picked, "value")
        self.raw.observe(self._switched, "value")
        super().__init__(
            [
                row(self.tool, self.raw, Drawing(answers("no model: you call"), width="auto")),
                self.about,
                self.form,
                row(self.run_button, self.stop_button),
                self.shown,
            ]
        )
        self._picked()

    def twin(self) -> Page:
        if self.result is None:
            head = f"ToolBench, a form for each of these tools: {', '.join(self.tools)}. Nothing has been run yet."
            return Page(head, f"<i>{page.escape(head)}</i>")
        return self._drawn()

    @guarded
    def _picked(self):
        tool = self.tools[self.tool.value]
        self.about.draw(f'<div style="max-width:60em">{page.escape(tool.get("description", ""))}</div>')
        self.result = None
        self._draw()
        self.fields = {field.name: _part(field) for field in fields_of(tool)}
        self.json = typed(ipywidgets.Textarea, "input", value="{}", rows=5, layout=ipywidgets.Layout(**WIDTH))
        self._switched()

    @guarded
    def _switched(self):
        if self.raw.value == "JSON":
            self.json.value = rows.to_edit(self._arguments())
            self.form.children = [self.json]
        else:
            self.form.children = list(self.fields.values()) or [Drawing("<i>This tool takes no input.</i>")]

    def _arguments(self):
        """The input of a call. Empty fields are left out."""
        fields = fields_of(self.tools[self.tool.value])
        values = {field.name: value_of(field, self.fields[field.name].value) for field in fields}
        return {name: value for name, value in values.items() if value is not None}

    @after_typing
    def _run(self):
        arguments = parsed(self.json.value or "{}") if self.raw.value == "JSON" else self._arguments()
        block = {"type": "tool_use", "id": f"toolu_{self._runs + 1:02}", "name": self.tool.value, "input": arguments}
        self.progress, self.voice.said = Progress(), ""
        self.work(lambda: dispatch.run_tool(block, self.handlers, self.offered), partial(self._ran, block), self._draw)

    def _ran(self, block, result, error):
        if error is None:  # else it was stopped
            self.block, self.result = block, result
            self._runs += 1
            failed = " is_error" if result.get("is_error") else ""
            text = shorten(rows.inner(result.get("content", "")), MOST_SPOKEN)
            self.voice.said = page.printable(f"{block['name']}{failed}: {text or 'no output'}")

    def _draw(self):
        switch_off(self.stop_button, not self.busy)
        self.shown.draw(f"<i>It runs: {self.progress}</i>" if self.busy else self._drawn() if self.result else "")

    def _drawn(self):
        call, answer = {"role": "assistant", "content": [self.block]}, {"role": "user", "content": [self.result]}
        drawn, raw = show.show_messages([call, answer]), page.code(rows.to_text(self.result, indent=2))
        return Page(drawn.text, f"{drawn.html}<details><summary>tool_result as JSON</summary>{raw}</details>")


class Field(NamedTuple):
    """One argument. `options` are the values to choose from, if there are only some."""

    name: str
    kind: str  # string, integer, number, boolean, or anything else: JSON
    required: bool
    description: str = ""
    options: tuple = ()
    form: str = ""  # of what is typed as JSON


def fields_of(tool):
    """The fields of a tool's input_schema, in its order."""
    schema = tool.get("input_schema") or {}
    for name, detail in (schema.get("properties") or {}).items():
        said = detail.get("description", "") if isinstance(detail, dict) else ""
        judge = Judge(schema)
        detail, required = _meant(detail, judge), name in (schema.get("required") or ())
        kind = detail.get("type", "any" if detail.keys() & {"anyOf", "oneOf", "allOf"} else "string")
        only = (detail["const"],) if "const" in detail else ()
        options = detail.get("enum") or only or ((True, False) if kind == "boolean" else ())
        options = tuple(option for option in options if option is not None)  # no null: that is an empty field
        form = judge.form(detail) if kind in TYPED_AS_JSON else ""
        yield Field(name, kind, required, said or detail.get("description", ""), options, form)


def _meant(detail, judge):
    """The part of a schema that a field is made of: what a $ref leads to, and no null, which is an empty field."""
    detail = judge.resolved(detail)
    detail = detail if isinstance(detail, dict) else {}
    if isinstance(detail.get("type"), list):
        kinds = [kind for kind in detail["type"] if kind != "null"]
        return {**detail, "type": kinds[0] if len(kinds) == 1 else "any"}
    options = [judge.resolved(option) for option in detail.get("anyOf") or detail.get("oneOf") or ()]
    options = [option for option in options if option != {"type": "null"}]
    return _meant(options[0], judge) if len(options) == 1 else detail


def value_of(field, typed):
    """What was typed, as the JSON value of this field. None if it is left out. ValueError for what is no such value."""
    if typed is None or (typed == "" and not (field.required and field.kind == "string")):
        return None
    if field.kind == "string" or not isinstance(typed, str):
        return typed
    try:
        return json.loads(typed)
    except ValueError as error:
        if field.kind in ("integer", "number", "boolean", "any"):
            return typed  # a model can send a wrong type too: let the tool answer
        form = f" in the form {field.form}" if field.form else f", such as {'[]' if field.kind == 'array' else '{}'}"
        raise ValueError(f"{field.name} takes JSON{form}. This is not JSON: {error}.") from None


def _part(field):
    """The widget for one field."""
    name = field.name + " *" * field.required
    shared = {"style": {"description_width": "8em"}, "tooltip": field.description}
    if field.options:
        are_alike = len({type(option) for option in field.options}) == 1  # else "1" and 1 would look the same
        labels = (str(option) if are_alike else json.dumps(option) for option in field.options)
        options = [("(left out)", None), *zip(labels, field.options, strict=True)]
        return ipywidgets.Dropdown(options=options, description=name, **shared)
    hint = field.form or field.description or ("" if field.kind == "string" else str(field.kind))
    shared |= {"placeholder": hint, "layout": ipywidgets.Layout(**WIDTH)}
    if field.kind in ("integer", "number") or field.name.endswith(("path", "pattern")):
        return typed(ipywidgets.Text, name, **shared)
    return typed(ipywidgets.Textarea, name, rows=3, **shared)
