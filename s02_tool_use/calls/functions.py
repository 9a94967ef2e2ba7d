"""A tool from a typed function: its schema from annotations and docstring, its arguments checked and made by pydantic.

The parameters become the fields of a TypedDict, which may have any name (`model_config`, `_x`), and comes out as the
keyword arguments. pydantic is imported when the first tool is made. Left out: guessing. A parameter without an
annotation is refused, since the model would not be told what to send.
"""

import contextlib
import functools
import inspect
import json
import re
import warnings
from collections.abc import Callable
from typing import Annotated

from .arguments import wrong_arguments
from .results import ToolError, whole
from .schemas import Judge, kind_of, said_of
from .tool import Tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")  # rule U1 of the API
_KEY = re.compile(
    r"[a-zA-Z0-9_.-]{1,64}"
)  # "Property keys should match pattern": decocms/studio#6874, at the top alone
_MAPS, _LISTS = ("properties", "$defs", "patternProperties"), ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties", "contains", "propertyNames", "not")


def tool_from_function(function: Callable) -> Tool:
    """The Tool that this function is: a function, a bound method, a functools.partial or an object with __call__.

    The function's own defaults hold; `null` for a parameter that does not take it means that it was left out.
    """
    inner = _inner(function)
    name = _name(function)
    parameters = _parameters(function, name)
    fields = {p.name: _field(p, inner, name) for p in parameters}
    validator, schema = _compiled(fields, inner, name)
    about, said = _described(function, inner)
    for p in parameters:
        part = schema["properties"].get(p.name)
        if not isinstance(part, dict):
            continue
        if p.name in said:
            part.setdefault("description", said[p.name])
        if p.default is not p.empty:
            _show_default(part, p.default)
    tool = {"name": name, **({"description": about} if about else {}), "input_schema": schema}
    return Tool(name, whole(tool), function, _judge(name, validator, schema))


# ---- the function


def _inner(function):
    """The function with the docstring and the globals, under partials, decorators, methods and objects."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not hasattr(function, "__wrapped__"):
        function = type(function).__call__
    return inspect.unwrap(getattr(function, "__func__", function))


def _name(function):
    while isinstance(function, functools.partial) and not hasattr(function, "__name__"):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        raise ToolError("A lambda has no name for a model to call: write it with def, and annotate it.")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolError(
            f"{name!r} is not a valid tool name: the API takes A-Z, a-z, 0-9, _ and -, at most 128 of them."
        )
    return name


def _parameters(function, name):
    """The parameters that a model can send. Each of the others is refused with what to do."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ToolError(f"{name} does not show its parameters: wrap it in a def with annotated ones.") from None
    bound = function.keywords if isinstance(function, functools.partial) else {}  # what was bound is not the model's
    parameters = [p for p in parameters if p.name not in bound]
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            why = f"{p} does not say what a model may send. Write a named parameter for each argument."
        elif p.kind is p.POSITIONAL_ONLY:
            why = f"{p.name} is positional-only, and a model names its arguments. Wrap it in a def, or take out the /."
        elif not _KEY.fullmatch(p.name):
            why = f"the API takes no argument called {p.name!r}. Use A-Z, a-z, 0-9 and _, at most 64 of them."
        elif p.annotation is p.empty and p.name == "self":
            why = f"it is a method taken from its class. Take it from an object: thing.{name}."
        elif p.annotation is p.empty:
            why = f"{p.name} has no annotation. Write what it takes, such as {p.name}: str; Any takes anything."
        else:
            continue
        raise ToolError(f"{name} cannot be a tool: {why}")
    return parameters


def _field(parameter, inner, name):
    """What the parameter takes, and whether it may be left out, as TypedDict writes it."""
    from typing_extensions import NotRequired

    annotation, default = parameter.annotation, parameter.default
    try:
        while isinstance(annotation, str):  # from __future__ import annotations, and quotes inside
            annotation = eval(annotation, _names(inner))
    except Exception as error:
        raise _unresolved(name, parameter.name, annotation, error) from None
    if type(default).__name__ == "FieldInfo":  # a: int = Field(3, ge=1): pydantic fills it in, the function could not
        return Annotated[annotation, default]
    return annotation if default is parameter.empty else NotRequired[annotation]


def _names(inner):
    """What the annotations of a function may name: globals, and variables of the functions that it stands in."""
    names, cells = dict(getattr(inner, "__globals__", {})), getattr(inner, "__closure__", None) or ()
    for name, cell in zip(getattr(getattr(inner, "__code__", None), "co_freevars", ()), cells, strict=False):
        with contextlib.suppress(ValueError):  # one that has no value yet
            names[name] = cell.cell_contents
    return names


def _unresolved(name, parameter, annotation, error):
    return ToolError(
        f"{name} cannot be a tool: the annotation {annotation!r} of {parameter} cannot be resolved ({error}). "
        "Import or define it at the top level of the module, before the tool is made."
    )


def _show_default(part, default):
    from pydantic_core import to_jsonable_python

    with contextlib.suppress(Exception):  # a default that JSON does not have is not shown
        value = to_jsonable_python(default)
        json.dumps(value, allow_nan=False)
        part.setdefault("default", value)


# ---- the schema


def _compiled(fields, inner, name):
    """(pydantic's validator of the arguments, their JSON Schema)."""
    for parameter, annotation in fields.items():
        _adapter({parameter: annotation}, inner, name, parameter)  # alone first, to name the one that is wrong
    adapter, schema = _adapter(fields, inner, name, "a parameter")
    return adapter.validator, _tidy(schema)


def _adapter(fields, inner, name, parameter):
    from pydantic import ConfigDict, PydanticUndefinedAnnotation, TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema
    from typing_extensions import TypedDict

    class WithoutTitles(GenerateJsonSchema):
        def field_title_should_be_set(self, schema):
            return False

    try:
        record = TypedDict("Arguments", fields)
        record.__pydantic_config__ = ConfigDict(extra="forbid")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a default that JSON does not have
            adapter = TypeAdapter(record)
            adapter.rebuild(force=True, _types_namespace=_names(inner))
            return adapter, adapter.json_schema(schema_generator=WithoutTitles)
    except PydanticUndefinedAnnotation as error:
        raise _unresolved(name, parameter, error.name, error.message) from None
    except Exception as error:  # of many kinds: of pydantic, and of the types themselves
        kind = inspect.formatannotation(fields.get(parameter))
        raise ToolError(
            f"{name} cannot be a tool: a model sends JSON, which cannot be turned into {kind}, the type of "
            f"{parameter}. Take a string, a number, a bool, a list, a dict, an Enum, a dataclass or a pydantic model."
        ) from error


def _tidy(schema):
    """The schema without the titles that pydantic gives to classes, and closed: each object has its own fields only."""
    if not isinstance(schema, dict):
        return schema
    tidy = {}
    for key, value in schema.items():
        if key == "title" and ("properties" in schema or "enum" in schema):
            continue
        if key in _MAPS:
            value = {inner: _tidy(part) for inner, part in value.items()}
        elif key in _LISTS:
            value = [_tidy(part) for part in value]
        elif key in _ONE:
            value = _tidy(value)
        tidy[key] = value
    if tidy.get("type") == "object" and "properties" in tidy:
        tidy.setdefault("additionalProperties", False)
    return tidy


# ---- the arguments


def _judge(name, validator, schema):
    """What makes the function's arguments of what a model sent.

    pydantic judges it as strict JSON: else it would take "yes" for true. What it refuses is converted as for any tool
    and judged by the schema, whose sentences are those of all tools.
    """
    from pydantic_core import to_json

    def of_python(given):
        return validator.validate_python(given, strict=True, extra="forbid")

    def of_json(given):
        return validator.validate_json(to_json(given, inf_nan_mode="constants"), strict=True, extra="forbid")

    # The first is faster. The second knows what JSON has no word for, such as an Enum or a date.
    judge, ways = Judge(schema, name), [] if _has_numbers_to_choose(schema) else [of_python, of_json]

    def arguments(given):
        for way in ways:
            try:
                fitting = way(given)
            except ValueError:  # ValidationError is one
                continue
            if way is not ways[0]:
                ways.reverse()
            return fitting
        if not isinstance(given, dict):
            raise wrong_arguments(name, [f"input must be an object, not {kind_of(given)}"], judge.form())
        given = judge.converted(given)
        if faults := judge.faults(given):
            raise wrong_arguments(name, faults, judge.form())
        try:
            return validator.validate_json(json.dumps(given), strict=True)
        except ValueError as error:
            raise wrong_arguments(name, list(said_of(error, given)), judge.form()) from None

    return arguments


def _has_numbers_to_choose(schema):
    """Whether a number is an Enum's or a Literal's: pydantic would take True for 1."""
    if isinstance(schema, list):
        return any(map(_has_numbers_to_choose, schema))
    if not isinstance(schema, dict):
        return False
    chosen = [*schema["enum"]] if isinstance(schema.get("enum"), list) else []
    chosen += [schema["const"]] if "const" in schema else []
    return any(isinstance(one, (int, float)) for one in chosen) or any(map(_has_numbers_to_choose, schema.values()))


# ---- the docstring


def _described(function, inner):
    """(the description, {argument: what the `Args:` of a Google docstring say of it})."""
    doc = inspect.getdoc(inner)
    if inner.__name__ == "__call__":  # of an object: what it inherits from Python says nothing
        doc = inspect.cleandoc(inner.__doc__ or type(function).__doc__ or "")
    lines = (doc or "").splitlines()
    start = next((n for n, line in enumerate(lines) if _ARGS.fullmatch(line)), None)
    if start is None:
        return "\n".join(lines).strip(), {}
    is_flat = start == 0 and lines[1:] and lines[1][:1].strip()  # where it comes first, its indentation is gone
    rest = range(start + 1, len(lines))
    end = next((n for n in rest if (not lines[n] if is_flat else lines[n][:1].strip())), len(lines))
    said = {}
    entries, key = lines[start + 1 : end], None
    indent = min((len(line) - len(line.lstrip()) for line in entries if line.strip()), default=0)
    for line in entries:
        entry = _ENTRY.match(line[indent:]) if len(line) - len(line.lstrip()) == indent else None
        if entry:
            key = entry[1]
            said[key] = entry[2].strip()
        elif key and line.strip():
            said[key] = f"{said[key]} {line.strip()}".strip()
    about = "\n".join([*lines[:start], *lines[end:]])
    return re.sub(r"\n{3,}", "\n\n", about).strip(), {key: text for key, text in said.items() if text}


_ARGS = re.compile(r"(?:Args|Arguments|Parameters|Params):\s*")
_ENTRY = re.compile(r"(\w+)\s*(?:\(.*?\))?\s*:(?!:)(.*)")
