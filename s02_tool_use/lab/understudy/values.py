"""Values for a schema: the arguments of a tool, or the JSON that an answer is to be.

What a prompt says comes first; what it does not say, and the schema still asks for, is made up so that it fits.
"""

import re
from collections.abc import Callable
from typing import Any

from ..api.schemas import load_jsonschema
from .prompt import Clause

CONTAINING = r"(?:\bcontain(?:s|ing)?|\bmatching|\bwith the (?:word|text)|包含)\s*(\S.*)"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")


def arguments_for(schema: dict[str, Any], clause: Clause) -> dict[str, Any]:
    """The arguments that a clause has for a tool: file names, quotations, numbers, what follows a preposition."""
    paths, numbers = list(clause.paths_or_known), NUMBER.findall(clause.text)
    texts = [text for text in clause.quoted if text not in paths]
    arguments: dict[str, Any] = {}
    for name, wanted in (schema.get("properties") or {}).items():
        kind, needed, value = kind_of(wanted), name in (schema.get("required") or []), None
        if isinstance(wanted, dict) and "enum" in wanted:
            value = next((option for option in wanted["enum"] if str(option).lower() in clause.text.lower()), None)
        elif kind in ("integer", "number") and numbers:
            value = as_number(numbers.pop(0), kind)
        elif kind == "boolean":
            value = needed or None
        elif kind == "array":
            value = paths or texts or None
        elif kind == "string" and re.search(r"path|file", name):
            value = paths.pop(0) if paths else None
        elif kind == "string" and texts:
            value = texts.pop(0)
        elif kind == "string" and (text := clause.has(CONTAINING)):
            value = text[1].strip(" .?!")
        elif kind == "string" and needed:
            value = thing_named(clause, name) or (paths.pop(0) if paths else None)
        if value is not None:
            arguments[name] = value
    return arguments


def as_number(text: str, kind: str) -> float:
    number = float(text)
    return int(number) if kind == "integer" or number.is_integer() else number


def kind_of(schema):
    """The JSON type that a property asks for; a string if it does not say."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    return next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind


def thing_named(clause, name):
    """ "the weather in Paris" -> Paris: what follows the parameter's own name or a preposition, else the last word."""
    text = clause.text.rstrip(" .?!。？！")
    own_name = rf"\b{re.escape(name)}\s*(?:of |is |to |=|:)?\s*(\S.*)"
    preposition = r"\b(?:in|of|for|at|from|about|to|named|called)\s+(?:the\s+)?(\S.*)"
    last_word = r"(?<=[^\w.@-])([\w.@-]+)\W*$"
    found = (re.search(pattern, text, re.I) for pattern in (own_name, preposition, last_word))
    return next((match[1].strip() for match in found if match), None)


MAX_FIXES, MAX_DEPTH = 500, 20  # a schema may ask for itself
FORMATS = {"date": "2000-01-01", "time": "12:00:00Z", "date-time": "2000-01-01T12:00:00Z", "email": "a@example.com"}
FIXES: dict[str, Callable[[Any, Any], Any]] = {  # keyword -> what fits, from what does not and what the keyword wants
    "const": lambda value, wanted: wanted,
    "enum": lambda value, wanted: wanted[0],
    "required": lambda value, wanted: dict.fromkeys(wanted) | value,
    "minItems": lambda value, wanted: value + [None] * (wanted - len(value)),
    "maxItems": lambda value, wanted: value[:wanted],
    "minimum": lambda value, wanted: wanted,
    "maximum": lambda value, wanted: wanted,
    "exclusiveMinimum": lambda value, wanted: wanted + 1,
    "exclusiveMaximum": lambda value, wanted: wanted - 1,
    "minLength": lambda value, wanted: value.ljust(wanted, "."),
    "maxLength": lambda value, wanted: value[:wanted],
    "format": lambda value, wanted: FORMATS.get(wanted, value),
}


def fitting(schema: dict[str, Any], text: str, value: Any = None) -> Any:
    """`value`, changed until it fits a JSON schema: with `text` for a string, and the first number in it for a number.

    A keyword that FIXES does not know may stay unsatisfied.
    """
    jsonschema = load_jsonschema()
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    whole = [value]
    for _ in range(MAX_FIXES):
        error = next(validator.iter_errors(whole[0]), None)
        while error is not None and error.context:  # of several schemas the first is taken that allows a value
            error = next((one for one in error.context if one.validator_value != "null"), error.context[0])
        if error is None or error.validator not in ("type", *FIXES) or len(error.absolute_path) > MAX_DEPTH:
            break
        place, key = whole, 0
        for step in error.absolute_path:
            place, key = place[key], step
        if error.validator == "type":
            place[key] = of_type(kind_of(error.schema), text)
        else:
            place[key] = FIXES[error.validator](place[key], error.validator_value)
    return whole[0]


def of_type(kind: str, text: str) -> Any:
    if kind in ("integer", "number"):
        return as_number(next(iter(NUMBER.findall(text)), "1"), kind)
    return {"object": {}, "array": [], "boolean": True, "null": None}.get(kind, text)
