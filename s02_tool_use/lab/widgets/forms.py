"""A form made from a tool's schema: its fields, and what was typed as the input of a call. The ToolBench draws it.

Left out: nested objects. They are typed as JSON.
"""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """One argument. `options` are the values to choose from, if there are only some."""

    name: str
    kind: str  # string, integer, number, boolean, or anything else: JSON
    required: bool
    description: str = ""
    options: tuple = ()


def fields_of(tool):
    """The fields of a tool's input_schema, in its order."""
    schema = tool.get("input_schema") or {}
    required = schema.get("required") or []
    fields = []
    for name, detail in (schema.get("properties") or {}).items():
        detail = detail if isinstance(detail, dict) else {}
        kind, options = detail.get("type", "string"), tuple(detail.get("enum") or ())
        if kind == "boolean" and not options:
            options = (True, False)
        fields.append(Field(name, kind, name in required, detail.get("description", ""), options))
    return fields


def value_of(field, typed):
    """What was typed, as the JSON value of this field. None if it is left out. ValueError for what is no such value."""
    if typed is None or (typed == "" and not (field.required and field.kind == "string")):
        return None
    if field.kind == "string" or not isinstance(typed, str):
        return typed
    try:
        return json.loads(typed)
    except ValueError:
        if field.kind in ("integer", "number", "boolean"):
            return typed  # a model can send a wrong type too: let the tool answer
        raise ValueError(f"{field.name} takes JSON, such as {'[]' if field.kind == 'array' else '{}'}.") from None


def input_of(tool, typed):
    """The input of a call from what was typed into each field: name -> text or value. Empty fields are left out."""
    values = {field.name: value_of(field, typed.get(field.name)) for field in fields_of(tool)}
    return {name: value for name, value in values.items() if value is not None}


def call_of(tool, arguments, number=1):
    """The tool_use block that a model would send."""
    return {"type": "tool_use", "id": f"toolu_{number:02}", "name": tool["name"], "input": arguments}


def parsed(text):
    """An input typed as JSON. It may be anything that a model could send, wrong types included."""
    try:
        return json.loads(text or "{}")
    except ValueError as error:
        raise ValueError(f"This is not JSON: {error}.") from None
