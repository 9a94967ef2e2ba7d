"""Values for a schema: the arguments of a tool, or the JSON that an answer is to be.

What a prompt says comes first; what it does not say, and the schema still asks for, is made up so that it fits.
"""

import contextlib
import copy
import functools
import json
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from ..api.schemas import load_jsonschema
from .prompt import Clause

MAX_ROUNDS, MAX_DEPTH, MAX_ERRORS = 100, 20, 500  # a schema may ask for itself, more than once
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")
NAME = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*"
# A name stands inside a sentence, or at its beginning with a verb after it, and is no part of a path.
NAMES = re.compile(
    rf"(?:(?<=[\w,:('\"] )(?!I\b){NAME}|\b(?!Wh|How|It|Th){NAME}(?= (?:is|was|has|lives)\b))(?![\w'’-]*[./]\w)"
)
WORDS = re.compile(r"[^\s,;()<>\"'“”]+[^\s,;()<>\"'“”.?!:]")
CONTAINING = r"(?:\bcontain(?:s|ing)?|\bmatching|\bwith the (?:word|text)|包含)\s*(\S.*)"
PREPOSITION = r"\b(?:in|of|for|at|from|about|to|named|called)\s+(?:the\s+)?([^\s,;][^,;]*)"
LAST_WORD = r"(?<=[^\w.@-])([\w.@-]+)\W*$"
# Names of properties: which no prompt has a value for, and which hardly are those of a person, a place or a thing.
ANSWER = re.compile(r"answer|explanation|reason|response|summary", re.I)
PROSE = re.compile(rf"{ANSWER.pattern}|text|content|message|description", re.I)
MADE_UP = {  # by format
    "date": "2000-01-01",
    "date-time": "2000-01-01T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "PT1M",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
FIXES: dict[str, Callable[[Any, Any], Any]] = {  # keyword -> what fits, from what does not and what the keyword wants
    **dict.fromkeys(("const", "minimum", "maximum"), lambda value, wanted: wanted),
    "enum": lambda value, wanted: wanted[0],
    "format": lambda value, wanted: MADE_UP.get(wanted, value),
    "required": lambda value, wanted: dict.fromkeys(wanted) | value,
    "dependentRequired": lambda value, wanted: dict.fromkeys(sum((wanted.get(name, []) for name in value), [])) | value,
    "minProperties": lambda value, wanted: dict.fromkeys(f"key {n + 1}" for n in range(wanted - len(value))) | value,
    "minItems": lambda value, wanted: value + [None] * (wanted - len(value)),
    "maxItems": lambda value, wanted: value[:wanted],
    "uniqueItems": lambda value, wanted: [
        f"{one} {n}" if isinstance(one, str) and one in value[:n] else one for n, one in enumerate(value)
    ],
    "multipleOf": lambda value, wanted: math.ceil(value / wanted) * wanted,
    "minLength": lambda value, wanted: value.ljust(wanted, "."),
    "maxLength": lambda value, wanted: value[:wanted],
}


class Values:
    """What a prompt has for a schema. Each file name, quotation, name and number in it is taken once.

    `answer` is what is said if no value is asked for. If it is `sure`, because it tells what tools returned, the values
    are from there; else a string may be one that is only likely.
    """

    def __init__(self, schema: dict[str, Any], prompt: Clause, answer: str = "", *, sure: bool = False):
        self.schema, self.clause = schema, prompt.but(answer) if sure else prompt
        self.answer, self.guess = answer, not sure
        self.paths, self.numbers = list(self.clause.paths_or_known), NUMBER.findall(self.clause.text)
        self.texts = [text for text in self.clause.quoted if text not in self.paths]
        self.names = NAMES.findall(prompt.text)

    @functools.cached_property
    def judge(self) -> Any:
        """jsonschema's validator, with a registry of its own: it fetches nothing."""
        validator = load_jsonschema().Draft202012Validator
        from referencing import Registry  # slow, and jsonschema has imported it

        return validator(self.schema, format_checker=validator.FORMAT_CHECKER, registry=Registry())

    def found(self) -> dict[str, Any]:
        """What there is for the properties of an object."""
        offered, required = self.schema.get("properties") or {}, self.schema.get("required") or []
        needed = {name for name in required if '"null"' not in json.dumps(offered.get(name))}
        found = {name: self.take(name, wanted, name in needed) for name, wanted in offered.items()}
        return {name: value for name, value in found.items() if value is not None}

    def complete(self, value: Any) -> Any:
        """A value, changed until it fits the schema. A keyword that FIXES does not know may stay unsatisfied."""
        from referencing.exceptions import Unresolvable

        whole = [copy.deepcopy(value)]
        with contextlib.suppress(RecursionError, Unresolvable):  # a $ref that leads nowhere
            for _ in range(MAX_ROUNDS):
                errors = list(self.judge.iter_errors(whole[0]))
                if not self._fixed(errors, whole) or len(errors) > MAX_ERRORS:
                    break
        return whole[0]

    def _fixed(self, errors: list[Any], whole: list[Any]) -> list[list]:
        """Change what is wrong, in each place once. Returns the places."""
        fixed: list[list] = []
        for error in errors:
            while error.context:  # of several schemas the first is taken that allows a value
                error = next((one for one in error.context if one.validator_value != "null"), error.context[0])
            path = [0, *error.absolute_path]
            if len(path) > MAX_DEPTH or any(path[: len(other)] == other for other in fixed):
                continue
            place = functools.reduce(operator.getitem, path[:-1], whole)
            old, new = place[path[-1]], self._fix(error, path, place[path[-1]])
            if new != old or type(new) is not type(old):
                place[path[-1]] = copy.deepcopy(new)
                fixed.append(path)
        return fixed

    def _fix(self, error, path, value):
        """What is right in place of the value, or the value itself if nobody knows."""
        keyword, name = error.validator, next((step for step in reversed(path) if isinstance(step, str)), "")
        again = path.count(name) > 1  # the schema asks for itself
        asks = keyword in ("type", "enum", "format", "pattern") and not again
        found = self.take(name, error.schema) if asks else None
        if found is not None:
            return found
        if keyword == "type":
            return self.made_up(name, error.schema)
        if keyword == "uniqueItems" and isinstance(items := error.schema.get("items"), dict) and "enum" in items:
            return [one for n, one in enumerate([*value, *items["enum"]]) if one not in value[:n]][: len(value)]
        if keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            return between(error.schema)
        return FIXES[keyword](value, error.validator_value) if keyword in FIXES else value

    def made_up(self, name: str, schema: dict[str, Any]) -> Any:
        """A value of the type that a schema asks for."""
        if "default" in schema and self.judge.evolve(schema=schema).is_valid(schema["default"]):
            return schema["default"]
        text = self.clause.raw if self.guess and not ANSWER.search(name) else self.answer
        made_up = {"object": {}, "array": [], "boolean": False, "integer": 1, "number": 1, "null": None}
        return made_up.get(kind_of(schema), text)

    def take(self, name: str, schema: Any, needed: bool = True) -> Any:
        """A value for the property of this name, or None."""
        kind, schema = kind_of(schema), schema if isinstance(schema, dict) else {}
        inside = kind_of(schema.get("items"))
        if "enum" in schema:
            word = "(?<![a-z0-9]){}(?![a-z0-9])"
            options = (option for option in schema["enum"] if self.clause.has(word.format(re.escape(str(option)))))
            return next(options, None)
        if kind in ("integer", "number"):
            return self.number(name, kind)
        if kind == "boolean":
            return (needed and self.guess) or None
        if kind == "array" and inside in ("integer", "number"):
            return [self.number(name, inside) for _ in list(self.numbers)]
        if kind == "array" and inside == "object":  # "Ada is 36 and Bo is 7" speaks of two
            return [None] * min(len(self.names), len(self.numbers)) or ([None] if needed else None)
        if kind == "array" and inside == "string":
            if own := self.clause.has(rf"\b{label(name)}(?: are |\s*[=:])([^.;\n]+)"):
                return [text.strip(" `'\"") for text in re.split(r",|\band\b", own[1])]
            names = self.names if needed and self.guess and name in self.schema.get("properties", {}) else []
            return list(self.paths or self.texts or names) or None
        return self.string(name, schema, needed) if kind == "string" else None

    def number(self, name: str, kind: str) -> float | None:
        """The number that stands after the name of its property, or the first one."""
        numbers = [number for number in self.numbers if kind == "number" or "." not in number]
        own = self.clause.has(rf"\b{label(name)}\W*(?:is|of|to)?\W*({NUMBER.pattern})")
        numbers.sort(key=lambda number: kind == "number" and "." not in number)  # a price is rather 4.50 than 12
        number = own[1] if own and own[1] in numbers else next(iter(numbers), None)
        if number is None:
            return None
        self.numbers.remove(number)
        return float(number) if "." in number else int(number)

    def string(self, name: str, schema: dict[str, Any], needed: bool) -> str | None:
        """A word of the right form, a file name, a quotation, what follows certain words; for a guess any name."""
        if "pattern" in schema or schema.get("format") in MADE_UP:
            return next(filter(self.judge.evolve(schema=schema).is_valid, WORDS.findall(self.clause.text)), None)
        if re.search(r"path|file", name):
            return self.paths.pop(0) if self.paths else None
        if self.texts:
            return self.texts.pop(0)
        own = rf"\b{label(name)}(?:\s+(?:of|is|to)\s+|\s*[=:]\s*)([^\s,;][^,;]*)"
        found = self.clause.has(CONTAINING) or self.clause.has(own)
        if not found and needed and self.names and not PROSE.search(name):
            return self.names.pop(0)
        if not found and needed and self.guess and not ANSWER.search(name):
            if self.paths:
                return self.paths.pop(0)
            found = self.clause.has(PREPOSITION) or self.clause.has(LAST_WORD)
        return found[1].strip(" .?!。？！") if found else None


def between(schema):
    """A number between two bounds, of which one or both are exclusive."""
    low = schema.get("exclusiveMinimum", schema.get("minimum"))
    high = schema.get("exclusiveMaximum", schema.get("maximum", 0 if low is None else low + 2))
    low = high - 2 if low is None else low
    if kind_of(schema) != "integer":
        return (low + high) / 2
    return math.floor(low) + 1 if "exclusiveMinimum" in schema else math.ceil(high) - 1


def label(name):
    """A pattern for the name of a property as one says it."""
    return re.escape(name).replace("_", "[ _]")


def kind_of(schema: Any) -> str:
    """The JSON type that a schema asks for, null aside: a string if it does not say, an object if it refers to one."""
    if not isinstance(schema, dict):
        return "string"
    options = schema.get("anyOf") or schema.get("oneOf") or []
    kinds = (
        schema.get("type") or [kind_of(option) for option in options] or ["object" if "$ref" in schema else "string"]
    )
    return next((kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"), "null")
