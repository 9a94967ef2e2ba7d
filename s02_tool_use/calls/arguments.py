"""Do the arguments that a model sent fit the tool? The schema that was offered says it, or else the signature.

What fits here and is still wrong, the function itself refuses. The whole of JSON Schema is in schemas.py.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .results import ToolError
from .schemas import EXACT, REMARKS, TYPES, Judge, fit, kind_of, surely_fits, wrong_type
from .tool import Tool

__all__ = ["TYPES", "fit", "fitting_arguments", "utf8"]

_PLAIN_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"}) | REMARKS
_PLAIN = frozenset({"type"}) | REMARKS
_at_most_object, _at_most_type = (_PLAIN_OBJECT | {"$defs", "$schema"}).issuperset, _PLAIN.issuperset


def fitting_arguments(name: Any, handler: Callable, given: Any, tool: dict | Tool | None = None) -> dict:
    """`given` as keyword arguments for `handler`, or a ToolError that names each fault and the right form.

    `tool` is what was offered under this name: a dict with an input_schema, a Tool, or None. `name` is for the error.
    """
    if type(tool) is dict:
        schema: Any = tool.get("input_schema") or {}
    elif not isinstance(tool, Tool):
        schema = {}
    else:
        if tool.judge is not None:
            return tool.judge(given)
        schema = tool.schema.get("input_schema") or {}
    try:
        needed, takes_more = _parameters(handler)
    except TypeError:  # a callable object without a hash
        needed, takes_more = _parameters.__wrapped__(handler)
    if type(given) is dict and (not schema or _at_most_object(schema)):
        # Is all right at once? A call of the smallest tool takes a microsecond, so nothing is looked at twice.
        parts = schema.get("properties", {})
        try:
            for key, value in given.items():
                if schema:
                    part = parts[key]
                    plain = type(value) is EXACT.get(part.get("type")) and _at_most_type(part)
                    if not plain and not surely_fits(value, part, schema):
                        break
                elif value is None:
                    break
                if key not in needed:
                    break
            else:
                if len(given) == len(needed) > 0 or not _misses(given, needed, schema):
                    return given
        except (KeyError, TypeError, AttributeError, RecursionError):  # the schema says more, or something strange
            pass
    return _thoroughly(name, given, schema, needed, takes_more)


def _misses(given, needed, schema):
    return any(need and key not in given for key, need in needed.items()) or any(
        key not in given for key in schema.get("required", ())
    )


def _thoroughly(name, given, schema, needed, takes_more):
    faults = []
    if not isinstance(given, dict):
        faults.append(f"input must be an object, not {kind_of(given)}")
        given = {}
    if not isinstance(schema, dict) or not isinstance(schema.get("properties", {}), dict):
        raise ToolError(f"the input_schema of {name} can't be used: it and its properties must be objects")
    offers = "properties" in schema or schema.get("additionalProperties") is False  # perhaps nothing
    judge, known = Judge(schema, name), schema.get("properties", {})
    listed = schema.get("required", ())
    unknown = []
    if offers and not schema.get("additionalProperties") and "patternProperties" not in schema:
        unknown = [f"there is no argument {key!r}" for key in given if key not in known]
        given = {key: value for key, value in given.items() if key in known}
    optional = {key for key, need in needed.items() if not need and key not in known}
    given = judge.converted({key: value for key, value in given.items() if not (value is None and key in optional)})
    if _is_plain(schema):
        for key, value in given.items():
            kind = known.get(key, {}).get("type")
            if kind and not judge.is_valid(value, {"type": kind}):
                faults.append(wrong_type(key, kind, value))
        faults += [*unknown, *(f"{key} is missing" for key in listed if key not in given)]
    else:
        faults += [*unknown, *judge.faults(given)]
    # What the schema says, the function must be able to take.
    if not takes_more:
        for key in given:
            if key not in needed:
                offered = f"the handler of {name} takes no argument {key!r}, though its schema offers it"
                faults.append(offered if key in known else f"there is no argument {key!r}")
    for key, need in needed.items():
        if need and key not in given and key not in listed:
            hidden = f"the handler of {name} needs {key}, which its schema does not offer"
            faults.append(hidden if offers and key not in known else f"{key} is missing")
    if faults:
        form = judge.form() if known or takes_more and not needed else _form_by_signature(needed)
        raise wrong_arguments(name, faults, form)
    return given


def wrong_arguments(name: str, faults: list[str], form: str) -> ToolError:
    """The error that tells a model what is wrong with its call and what is right."""
    return ToolError(f"{name}: {'; '.join(faults)}. The right form of input: {form}")


def _is_plain(schema):
    parts = schema.get("properties", {})
    return (
        schema.keys() <= _PLAIN_OBJECT
        and isinstance(schema.get("additionalProperties", False), bool)
        and isinstance(parts, dict)
        and isinstance(schema.get("required", []), list)
        and all(isinstance(part, dict) and part.keys() <= _PLAIN for part in parts.values())
        and all(isinstance(part.get("type", ""), str) for part in parts.values())
    )


def _form_by_signature(needed):
    return "{" + ", ".join(f'"{key}": any{" (optional)" * (not need)}' for key, need in needed.items()) + "}"


def utf8(name: str, text: Any) -> bytes:
    """The string `text`, which is the argument `name`, as UTF-8; or a ToolError."""
    if not isinstance(text, str):
        raise ToolError(f"{name} must be a string, not {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        fault = f"{name} holds a lone surrogate at {error.start}, which UTF-8 cannot encode; send whole characters"
        raise ToolError(fault) from None


@functools.lru_cache(1000)
def _parameters(handler):
    """({argument: is it needed}, does it take any others)."""
    try:
        parameters = inspect.signature(handler).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have none
        return {}, True
    by_name = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in by_name}, any(p.kind is p.VAR_KEYWORD for p in parameters)
