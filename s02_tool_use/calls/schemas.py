"""Any JSON Schema: does a value fit it, what is wrong if not, and what form is right.

jsonschema judges. It is imported when a schema says more than plain types (arguments.py judges those alone). Left out:
`format`, which JSON Schema itself takes for a remark, and schemas that stand elsewhere: no $ref is fetched.
"""

import contextlib
import importlib
import importlib.util
import json
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from .results import ToolError

# bool stands before int: True is an int to Python, but not to JSON.
TYPES: dict[str, Any] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}
REMARKS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
SHOWN_CHARACTERS = 60  # of a value or a pattern, in a sentence
FORM_CHARACTERS = 2000

_BOUNDS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}", "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters long", "maxLength": "at most {} characters long",
    "minItems": "at least {} items long", "maxItems": "at most {} items long",
    "minProperties": "an object of at least {} fields", "maxProperties": "an object of at most {} fields",
}  # fmt: skip


def load_jsonschema() -> Any:
    """jsonschema without the second that its import spends on rfc3987_syntax: that one comes when an IRI is checked."""
    slow = "rfc3987_syntax"
    if "jsonschema" not in sys.modules and slow not in sys.modules and (spec := importlib.util.find_spec(slow)):
        stand_in: Any = types.ModuleType(slow)
        stand_in.__spec__ = spec  # another thread may look for it meanwhile
        stand_in.is_valid_syntax = lambda *asked: importlib.import_module(slow).is_valid_syntax(*asked)
        sys.modules[slow] = stand_in
        try:
            return importlib.import_module("jsonschema")
        finally:
            sys.modules.pop(slow, None)
    return importlib.import_module("jsonschema")


def fit(value: Any, kind: Any) -> Any:
    """`value` if it is of the JSON type, else ValueError. "2" and 2.0 are meant well where a number is expected."""
    if kind in ("integer", "number") and isinstance(value, (str, float)):
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)  # a float would change the digits of a long one
        else:
            value = float(value)
            if value - value != 0:
                raise ValueError("JSON has no such number")
            value = int(value) if value.is_integer() and (kind == "integer" or abs(value) < 2**53) else value
    expected: Any = TYPES.get(kind, object) if isinstance(kind, str) else object
    if not isinstance(value, expected) or (isinstance(value, bool) and kind in ("integer", "number")):
        raise ValueError
    return value


_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


def kind_of(value: Any) -> str:
    """The JSON type of a value."""
    return next((kind for kind, expected in TYPES.items() if isinstance(value, expected)), "null")


EXACT: dict[Any, type] = {"string": str, "boolean": bool, "integer": int, "array": list, "object": dict}


def surely_fits(value: Any, schema: Any, root: dict) -> bool:
    """Whether it can be seen at once that `value` fits this part of the schema `root`. False also means: not sure.

    It knows the words that most schemas are made of, so that jsonschema need not be asked of a call that is right.
    """
    if schema is True:
        return True
    for word, rule in schema.items():
        if word in REMARKS or word == "$defs":
            continue
        if word == "type":
            if type(value) is EXACT.get(rule if type(rule) is str else None):
                continue
            if rule == "null" and value is None:
                continue
            if rule == "number" and (type(value) is int or type(value) is float and value - value == 0):
                continue
            return False
        if word == "anyOf":
            if not any(surely_fits(value, choice, root) for choice in rule):
                return False
        elif word == "enum":
            if not any(type(one) is type(value) and one == value for one in rule):
                return False
        elif word == "$ref":
            if not rule.startswith("#/$defs/") or not surely_fits(value, root["$defs"][rule[8:]], root):
                return False
        elif word == "items" and type(value) is list:
            if "prefixItems" in schema or not all(surely_fits(item, rule, root) for item in value):
                return False
        elif word == "properties" and type(value) is dict:
            if not all(key in rule and surely_fits(item, rule[key], root) for key, item in value.items()):
                return False
        elif word == "required" and type(value) is dict:
            if not all(key in value for key in rule):
                return False
        elif word == "minimum" and type(value) is int:
            if value < rule:
                return False
        elif word == "maximum" and type(value) is int:
            if value > rule:
                return False
        elif word != "additionalProperties" or "properties" not in schema:  # its properties are all known ones
            return False
    return True


class Judge:
    """A schema that judges values. `name` is of the tool, for who reads that its schema is wrong."""

    def __init__(self, schema: Any, name: str = "the tool") -> None:
        self.schema, self.name = schema, name
        self._validator = None

    # ---- what is meant well

    def converted(self, value: Any, schema: Any = None) -> Any:
        """`value` with numbers for strings, whole numbers for floats, and without null where null says "left out"."""
        schema = self.resolved(self.schema if schema is None else schema)
        if not isinstance(schema, dict):
            return value
        for part in schema.get("allOf", ()):
            value = self.converted(value, part)
        for choices in (schema.get("anyOf"), schema.get("oneOf")):
            value = self._as_one_of(value, choices) if isinstance(choices, list) else value
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not isinstance(value, (dict, list)) and not ("string" in kinds and isinstance(value, str)):
            for kind in ("integer", "number"):
                if kind in kinds:
                    with contextlib.suppress(ValueError):
                        return fit(value, kind)
        if isinstance(value, dict):
            return self._object(value, schema)
        if isinstance(value, list):
            first, rest = schema.get("prefixItems", ()), schema.get("items")
            return [self.converted(item, first[n] if n < len(first) else rest or {}) for n, item in enumerate(value)]
        return value

    def _as_one_of(self, value, choices):
        for choice in choices:
            if self.is_valid(value, choice):
                return self.converted(value, choice)
        for choice in choices:
            other = self.converted(value, choice)
            if self.is_valid(other, choice):
                return other
        return value

    def _object(self, value, schema):
        properties, needed = schema.get("properties", {}), schema.get("required", ())
        others = schema.get("additionalProperties")
        kept = {}
        for key, item in value.items():
            inner = properties.get(key, others if isinstance(others, dict) else True)
            if item is None and key in properties and key not in needed and not self.is_valid(None, inner):
                continue
            kept[key] = self.converted(item, inner)
        return kept

    def resolved(self, schema: Any) -> Any:
        """A part of the schema with the one that its $ref leads to in its place."""
        for _ in range(20):
            if not (isinstance(schema, dict) and isinstance(schema.get("$ref"), str)):
                break
            others = {key: value for key, value in schema.items() if key != "$ref" and key not in REMARKS}
            found = self.schema if schema["$ref"].startswith("#") else None
            for part in filter(None, schema["$ref"][1:].split("/")):
                part = part.replace("~1", "/").replace("~0", "~")
                found = found.get(part) if isinstance(found, dict) else None
            if not isinstance(found, dict):
                return others
            schema = {"allOf": [found], **others} if others else found
        return schema

    # ---- what is wrong

    def is_valid(self, value: Any, schema: Any) -> bool:
        """Whether `value` fits this part of the schema."""
        if isinstance(schema, dict) and schema.keys() - REMARKS == {"type"} and isinstance(schema["type"], str):
            kind = schema["type"]
            if kind in TYPES and not isinstance(value, float):
                is_kind = isinstance(value, TYPES[kind])
                return is_kind and not (isinstance(value, bool) and kind in ("integer", "number"))
        return self._judging(lambda validator: validator.evolve(schema=schema).is_valid(value))

    def faults(self, value: Any) -> list[str]:
        """A sentence for each thing that is wrong with `value`, in the order of its parts."""
        found = self._judging(lambda validator: list(dict.fromkeys(_sentences(validator.iter_errors(value)))))
        if found:  # perhaps it is the schema that is wrong
            self._judging(lambda validator: validator.check_schema(self.schema))
        return found

    def _judging(self, ask):
        if self._validator is None:
            jsonschema = load_jsonschema()
            registry = importlib.import_module("jsonschema_specifications").REGISTRY  # no other: nothing is fetched
            self._validator = jsonschema.Draft202012Validator(self.schema, registry=registry)
        try:
            return ask(self._validator)
        except RecursionError:
            raise ToolError("input is nested too deeply") from None
        except Exception as error:
            raise self._unusable(error) from None

    def _unusable(self, error):
        try:  # what JSON Schema says of a schema is better than what came of it
            self._validator.check_schema(self.schema)
        except Exception as fault:
            error = fault
        said = getattr(error, "message", "") or str(error) or type(error).__name__
        place = f"{path_of(error.absolute_path)}: " if getattr(error, "absolute_path", ()) else ""
        return ToolError(f"the input_schema of {self.name} can't be used: {place}{_short(said.splitlines()[0], 200)}")

    # ---- what is right

    def form(self, schema: Any = None, depth: int = 0) -> str:
        """The right form in a few words: {"path": string, "limit": integer (optional)}."""
        text = self._form(self.schema if schema is None else schema, depth)
        return _short(text, FORM_CHARACTERS) if depth == 0 else text

    def _form(self, schema, depth):
        schema = self.resolved(schema)
        if not isinstance(schema, dict) or depth > 5:
            return "any"
        schema = self._merged(schema, depth)
        if isinstance(schema.get("enum"), list):
            return " or ".join(_value(value) for value in schema["enum"][:20])
        if "const" in schema:
            return _value(schema["const"])
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return " or ".join(dict.fromkeys(self._form(choice, depth + 1) for choice in schema[key]))
        kinds = schema.get("type", "object" if "properties" in schema else "any")
        forms = [self._of_kind(kind, schema, depth) for kind in (kinds if isinstance(kinds, list) else [kinds])]
        return " or ".join(forms)

    def _merged(self, schema, depth):
        """The schema with its allOf put together, as far as a form shows it."""
        whole = {key: value for key, value in schema.items() if key != "allOf"}
        for part in map(self.resolved, schema.get("allOf", ()) if depth <= 5 else ()):
            for key, value in (self._merged(part, depth + 1) if isinstance(part, dict) else {}).items():
                here = whole.setdefault(key, value)
                if key == "properties":
                    whole[key] = {**value, **here}
                elif key == "required":
                    whole[key] = [*value, *here]
        return whole

    def _of_kind(self, kind, schema, depth):
        if kind == "object" and isinstance(schema.get("properties"), dict):
            needed = schema.get("required", ())
            fields = (
                f'"{key}": {self._form(part, depth + 1)}{" (optional)" * (key not in needed)}'
                for key, part in schema["properties"].items()
            )
            return f"{{{', '.join(fields)}}}"
        others = schema.get("additionalProperties")
        if kind == "object" and isinstance(others, dict):
            return f"{{any name: {self._form(others, depth + 1)}, ...}}"
        first, rest = schema.get("prefixItems", []), schema.get("items")
        if kind == "array" and (first or isinstance(rest, dict)):
            items = [self._form(item, depth + 1) for item in first]
            return f"[{', '.join(items + [f'{self._form(rest, depth + 1)}, ...'] * isinstance(rest, dict))}]"
        if kind == "string" and isinstance(schema.get("format"), str):
            return f"string ({schema['format']})"
        signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
        bounds = [f"{sign} {schema[key]}" for key, sign in signs.items() if key in schema]
        return " ".join([str(kind), *bounds]) if kind in ("integer", "number") else str(kind)


def _sentences(errors) -> Iterator[str]:
    for error in errors:
        rule, value, place = error.validator, error.validator_value, path_of(error.absolute_path)
        if rule in ("anyOf", "oneOf") and error.context:
            yield from _of_choices(error, place)
        elif rule == "type":
            yield wrong_type(place, value, error.instance)
        elif rule == "required":
            missing = next((key for key in value if f"{key!r} is a required" in error.message), None)
            yield f"{path_of([*error.absolute_path, missing]) if missing is not None else place} is missing"
        elif rule == "additionalProperties" and value is False:
            allowed = error.schema.get("properties", {})
            patterns = error.schema.get("patternProperties", {})
            for key in error.instance:
                if key not in allowed and not any(re.search(pattern, key) for pattern in patterns):
                    yield f"there is no argument {path_of([*error.absolute_path, key])!r}"
        elif rule in ("enum", "const"):
            right = value[:20] if rule == "enum" else [value]
            one_of = "one of " * (len(right) > 1)
            yield f"{place} must be {one_of}{', '.join(map(_value, right))}, not {_value(error.instance)}"
        elif rule in _BOUNDS:
            sized = isinstance(error.instance, (str, list, dict))
            sent = f"{len(error.instance)}" if sized else _value(error.instance)
            yield f"{place} must be {_BOUNDS[rule].format(value)}, not {sent}"
        elif rule == "pattern":
            yield f"{place} must match the pattern {_short(str(value))}, which {_value(error.instance)} does not"
        elif rule == "uniqueItems":
            yield f"{place} must not hold the same item twice: {_value(error.instance)}"
        else:
            yield f"{place}: {_short(error.message, 200)}"


def _of_choices(error, place):
    """Of a value that fits none of several forms: what is wrong with the one that was meant, if one can tell."""
    branches = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    meant = [inners for inners in branches.values() if not any(_is_other_kind(inner, error) for inner in inners)]
    if len(meant) == 1:
        yield from _sentences(meant[0])
    elif meant == [] and all(inner.validator == "type" for inner in error.context):
        kinds = []
        for inner in error.context:
            kinds += inner.validator_value if isinstance(inner.validator_value, list) else [inner.validator_value]
        yield wrong_type(place, list(dict.fromkeys(kinds)), error.instance)
    else:
        yield f"{place} fits none of its forms: {_value(error.instance)}"


def _is_other_kind(inner, error):
    """Whether a branch is about something else: another type, or another value of a field that tells which it is."""
    deeper = len(inner.absolute_path) - len(error.absolute_path)
    return (inner.validator == "type" and deeper == 0) or (inner.validator in ("const", "enum") and deeper <= 1)


def wrong_type(place: str, kinds: Any, value: Any) -> str:
    """The sentence for a value of a wrong type. What was sent is shown, unless it is long."""
    right = " or ".join(kinds) if isinstance(kinds, list) else kinds
    sent = f" ({_value(value)})" if isinstance(value, (str, int, float)) and len(str(value)[:41]) <= 40 else ""
    return f"{place} must be of type {right}, not {kind_of(value)}{sent}"


def path_of(parts: Any) -> str:
    """The place of an argument, as one writes it: points[0].x"""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or "input"


def said_of(error: Any, given: Any = None) -> Iterator[str]:
    """What pydantic found wrong, as sentences: what a schema cannot say, such as a validator of one's own.

    It names the branches of unions beside keys and indexes; those are told by `given`, if that is known.
    """
    for fault in error.errors(include_url=False):
        place: list = []
        here = given
        for part in fault["loc"]:
            if given is not None:
                try:
                    here = here[part]
                except (KeyError, IndexError, TypeError):
                    continue
            place.append(part)
        if fault["type"] == "json_invalid":
            yield "a string holds a lone surrogate, or a number is too long to be read; send whole characters"
        else:
            said = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            yield f"{path_of(place)}: {_short(said, 300)}"


def _value(value):
    try:
        return _short(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return kind_of(value)


def _short(text, most=SHOWN_CHARACTERS):
    return text if len(text) <= most else f"{text[: most - 3]}..."
