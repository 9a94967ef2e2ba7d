"""Values for a schema that nobody here knows: the arguments of a tool, or the JSON that an answer is to be.

What a prompt says comes first; what it does not say, and the schema still asks for, is made up so that it fits.
"""

import re
from typing import Any

from .prompt import Clause, quoted

CONTAINING = r"(?:\bcontain(?:s|ing)?|\bmatching|\bwith the (?:word|text)|包含)\s*(\S.*)"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")


def arguments_for(schema: dict[str, Any], clause: Clause) -> dict[str, Any]:
    """The arguments that a clause has for a tool: file names, quotations, numbers, what follows a preposition."""
    required = schema.get("required") or []
    paths = list(clause.paths_or_known)
    texts = [text for text in quoted(clause.text) if text not in paths]
    numbers = NUMBER.findall(clause.text)
    arguments: dict[str, Any] = {}
    value: Any
    for name, wanted in (schema.get("properties") or {}).items():
        kind, value = kind_of(wanted), None
        if isinstance(wanted, dict) and "enum" in wanted:
            value = next((option for option in wanted["enum"] if str(option).lower() in clause.text.lower()), None)
        elif kind in ("integer", "number") and numbers:
            value = float(numbers.pop(0))
            value = int(value) if kind == "integer" or value.is_integer() else value
        elif kind == "boolean" and name in required:
            value = True
        elif kind == "array":
            value = paths or texts or None
        elif kind == "string" and re.search(r"path|file", name):
            value = paths.pop(0) if paths else None
        elif kind == "string" and texts:
            value = texts.pop(0)
        elif kind == "string" and (text := clause.has(CONTAINING)):
            value = text[1].strip(" .?!")
        elif kind == "string" and name in required:
            value = thing_named(clause, name) or (paths.pop(0) if paths else None)
        if value is not None:
            arguments[name] = value
    return arguments


def kind_of(schema):
    """The JSON type that a property asks for; a string if it does not say."""
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


FORMATS = {"date": "2000-01-01", "time": "12:00:00Z", "date-time": "2000-01-01T12:00:00Z", "email": "a@example.com"}
MAX_DEPTH = 20  # a schema may name itself


def fitting(schema: Any, text: str, root: Any = None, depth: int = 0) -> Any:
    """A value that fits a JSON schema: `text` where a string is asked for, the first number in it for a number."""
    root = root or schema
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return text

    def inner(part: Any) -> Any:
        return fitting(part, text, root, depth + 1)

    if "$ref" in schema:
        found = root
        for name in schema["$ref"].split("/")[1:]:
            found = found.get(name) if isinstance(found, dict) else None
        return inner(found)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    options = [part for part in schema.get("anyOf") or schema.get("oneOf") or [] if kind_of(part) != "null"]
    parts = [*options[:1], *(schema.get("allOf") or [])]
    if parts:
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
        return inner({key: value for part in [rest, *parts] for key, value in part.items()})
    kind = kind_of(schema)
    if kind == "object":
        offered = schema.get("properties") or {}
        return {name: inner(offered.get(name)) for name in schema.get("required") or []}
    if kind == "array":
        return [inner(schema.get("items")) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        number = float(next(iter(NUMBER.findall(text)), 1))
        least = schema.get("minimum", schema.get("exclusiveMinimum", number - 1) + 1)
        most = schema.get("maximum", schema.get("exclusiveMaximum", number + 1) - 1)
        number = min(max(number, least), most)
        return int(number) if kind == "integer" else number
    if kind in ("boolean", "null"):
        return True if kind == "boolean" else None
    text = FORMATS.get(schema.get("format", ""), text)
    return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
