"""What to send to a tool that nobody here knows: its schema, filled with the words of a prompt."""

import re

from .prompt import Clause, quoted, speaks_chinese

CONTAINING = r"(?:\bcontain(?:s|ing)?|\bmatching|\bwith the (?:word|text)|包含)\s*(\S.*)"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")


def arguments_for(tool, clause):
    """The arguments that a clause has for a tool: file names, quotations, numbers, what follows a preposition."""
    required = tool["input_schema"].get("required") or []
    paths = list(clause.paths_or_known)
    texts = [text for text in quoted(clause.text) if text not in paths]
    numbers = NUMBER.findall(clause.text)
    arguments = {}
    for name, schema in (tool["input_schema"].get("properties") or {}).items():
        kind = kind_of(schema)
        value = None
        if isinstance(schema, dict) and "enum" in schema:
            value = next((option for option in schema["enum"] if str(option).lower() in clause.text.lower()), None)
        elif kind in ("integer", "number") and numbers:
            number = float(numbers.pop(0))
            value = int(number) if kind == "integer" or number.is_integer() else number
        elif kind == "boolean" and name in required:
            value = True
        elif kind == "array":
            value = paths or texts or None
        elif kind == "string" and re.search(r"path|file", name):
            value = paths.pop(0) if paths else None
        elif kind == "string" and texts:
            value = texts.pop(0)
        elif kind == "string" and clause.has(CONTAINING):
            value = clause.has(CONTAINING)[1].strip(" .?!")
        elif kind == "string" and name in required:
            value = thing_named(clause, name) or (paths.pop(0) if paths else None)
        if value is not None:
            arguments[name] = value
    return arguments


def missing_arguments(tool, arguments):
    """The names that a tool requires and for which there is nothing."""
    return [name for name in tool["input_schema"].get("required") or [] if name not in arguments]


def kind_of(schema):
    """The JSON type that a property asks for; a text if it does not say."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    return next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind


def thing_named(clause, name):
    """ "the weather in Paris" -> Paris: what follows the parameter's own name or a preposition, else the last word."""
    text = clause.text.rstrip(" .?!。？！")
    own_name = rf"\b{re.escape(name)}\s*(?:of |is |to |=|:)?\s*(\S.*)"
    preposition = r"\b(?:in|of|for|at|from|about|to|named|called)\s+(?:the\s+)?(\S.*)"
    match = re.search(own_name, text, re.I) or re.search(preposition, text, re.I)
    if match:
        return match[1].strip()
    words = re.findall(r"[\w.@-]+", text)
    return words[-1] if len(words) > 1 else None


def forced_call(prompt, tools, choice):
    """The call when tool_choice demands one and no plan wants any: that tool, with whatever the prompt has for it."""
    name = choice.get("name") or tools.fitting(prompt) or tools.described(prompt) or next(iter(tools.tools), None)
    tool = tools.tools.get(name, {"input_schema": {}})
    arguments = arguments_for(tool, Clause(prompt, tools, speaks_chinese(prompt)))
    rest = dict.fromkeys(missing_arguments(tool, arguments), prompt)
    return {"type": "tool_use", "name": name, "input": arguments | rest}
