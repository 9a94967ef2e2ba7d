"""A tool from a typed function: its schema from annotations and docstring, its arguments checked and made by pydantic.

The parameters become the fields of a TypedDict, which may have any name (`model_config`, `_x`), and comes out as the
keyword arguments. pydantic is imported when the first tool is made. Left out: guessing. A parameter without an
annotation is refused, since the model would not be told what to send.
"""

import functools
import inspect
import json
import re
import warnings
from collections.abc import Callable

from .arguments import wrong_arguments
from .results import ToolError, whole
from .schemas import Judge, kind_of, said_of
from .tool import Tool

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")  # rule U1 of the API
_MAPS, _LISTS = ("properties", "$defs", "patternProperties"), ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties", "contains", "propertyNames", "not")


def tool_from_function(function: Callable) -> Tool:
    """The Tool that this function is: a function, a bound method, a functools.partial or an object with __call__.

    The function's own defaults hold; `null` for a parameter that does not take it means that it was left out.
    """
    plain = _plain_function(function)
    name = _name(function, plain)
    fields, described, defaults = {}, _described(function, plain), {}
    for parameter in _parameters(function, name):
        fields[parameter.name] = _field(parameter, plain, name)
        if parameter.default is not parameter.empty:
            defaults[parameter.name] = parameter.default
    validator, schema = _compiled(name, fields, defaults, plain)
    about, arguments = described
    for key, said in arguments.items():
        if isinstance(part := schema["properties"].get(key), dict):
            part.setdefault("description", said)
    tool = {"name": name, **({"description": about} if about else {}), "input_schema": schema}
    return Tool(name, whole(tool), function, _judge(name, validator, schema))


# ---- the function


def _plain_function(function):
    """What holds the names, the docstring and the globals, under partials and decorators."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = inspect.unwrap(function) if hasattr(function, "__wrapped__") else type(function).__call__
    return inspect.unwrap(getattr(function, "__func__", function))


def _name(function, plain):
    own = getattr(function, "__name__", None)
    while own is None and isinstance(function, functools.partial):
        function = function.func
        own = getattr(function, "__name__", None)
    own = own or type(function).__name__
    if own == "<lambda>":
        raise ToolError("A lambda has no name that a model could call it by: write it with def, and annotate it.")
    if not isinstance(own, str) or not _NAME.fullmatch(own):
        raise ToolError(f"{own!r} is no name for a tool: rename the function, with A-Z, a-z, 0-9, _ and - alone.")
    return own


def _parameters(function, name):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise ToolError(f"{name} does not tell its parameters: wrap it in a def with annotated ones.") from None
    bound = function.keywords if isinstance(function, functools.partial) else {}  # what was bound is not the model's
    parameters = [p for p in parameters if p.name not in bound or p.kind is p.VAR_KEYWORD]
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            stars = "*" if p.kind is p.VAR_POSITIONAL else "**"
            raise ToolError(f"{name} cannot be a tool: {stars}{p.name} does not say what a model may send. "
                            "Write a named parameter with an annotation for each argument.")  # fmt: skip
        if p.kind is p.POSITIONAL_ONLY:
            raise ToolError(f"{name} cannot be a tool: a model names its arguments, and {p.name} is positional-only. "
                            "Take out the / behind it, or wrap the function in a def.")  # fmt: skip
        if p.annotation is p.empty and p.name == "self":
            raise ToolError(
                f"{name} cannot be a tool: it is the method of a class. Give that of an object: thing.{name}."
            )
        if p.annotation is p.empty:
            raise ToolError(f"{name} cannot be a tool: {p.name} has no annotation. Write what it takes, such as "
                            f"{p.name}: str; or {p.name}: Any for anything.")  # fmt: skip
    return parameters


def _field(parameter, plain, name):
    """The type of a field: the annotation, not required if there is a default."""
    from typing import Annotated

    from pydantic.fields import FieldInfo
    from typing_extensions import NotRequired

    annotation, default = parameter.annotation, parameter.default
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, _names_of(plain), _closed_over(plain))  # as typing.get_type_hints does
        except Exception as error:
            raise _unresolved(name, parameter.name, annotation, error) from None
    if isinstance(default, FieldInfo):  # a: int = Field(3, ...): pydantic fills it in, the function could not
        return Annotated[annotation, default]
    return annotation if default is parameter.empty else NotRequired[annotation]


def _names_of(plain):
    return getattr(plain, "__globals__", {})


def _closed_over(plain):
    names, cells = (
        getattr(getattr(plain, "__code__", None), "co_freevars", ()),
        getattr(plain, "__closure__", None) or (),
    )
    known = {}
    for key, cell in zip(names, cells):  # noqa: B905
        try:
            known[key] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return known


def _unresolved(name, parameter, annotation, error):
    return ToolError(
        f"{name} cannot be a tool: the annotation {annotation!r} of {parameter} cannot be resolved ({error}). "
        "Import or define it at the top level of the module, before the tool is made."
    )


# ---- the schema


def _compiled(name, fields, defaults, plain):
    """(pydantic's validator of the arguments, their JSON Schema)."""
    from pydantic_core import to_jsonable_python

    for parameter, annotation in fields.items():  # one at a time first, to name the one that is wrong
        _adapter({parameter: annotation}, plain, name, parameter)
    adapter, schema = _adapter(fields, plain, name, "a parameter")
    schema = _tidy(schema)
    for key, default in defaults.items():
        if key in schema["properties"]:
            try:
                value = to_jsonable_python(default)
                json.dumps(value, allow_nan=False)
            except Exception:  # a default that JSON does not have is not shown
                continue
            schema["properties"][key].setdefault("default", value)
    return adapter.validator, schema


def _adapter(fields, plain, name, parameter):
    from pydantic import ConfigDict, PydanticUndefinedAnnotation, TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema
    from typing_extensions import TypedDict

    class WithoutTitles(GenerateJsonSchema):
        def field_title_should_be_set(self, schema):
            return False

    record = TypedDict("Arguments", fields)
    record.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a default that JSON does not have
            adapter = TypeAdapter(record)
            adapter.rebuild(force=True, _types_namespace={**_names_of(plain), **_closed_over(plain)})
            return adapter, adapter.json_schema(schema_generator=WithoutTitles)
    except PydanticUndefinedAnnotation as error:
        raise _unresolved(name, parameter, error.name, error.message) from None
    except Exception as error:  # many kinds: of pydantic, and of the types themselves
        kind = inspect.formatannotation(fields.get(parameter, fields))
        raise ToolError(
            f"{name} cannot be a tool: a model sends JSON, of which no {kind} can be made for {parameter}. Take a "
            "string, a number, a bool, a list, a dict, an Enum, a dataclass or a pydantic model."
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
    """What makes the function's arguments of what a model sent."""
    from pydantic_core import ValidationError

    judge = Judge(schema, name)
    at_once = functools.partial(validator.validate_python, strict=True, extra="forbid")
    exact = not _has_numbers_to_choose(schema)  # else pydantic takes True for 1

    def arguments(given):
        if exact:
            try:
                return at_once(given)
            except ValidationError:  # JSON has no enums, dates and dataclasses: they come as strings and objects
                pass
        if not isinstance(given, dict):
            raise wrong_arguments(name, [f"input must be an object, not {kind_of(given)}"], judge.form())
        if exact:
            try:
                return validator.validate_json(json.dumps(given), strict=True, extra="forbid")
            except ValidationError:
                pass
        given = judge.converted(given)
        if faults := judge.faults(given):
            raise wrong_arguments(name, faults, judge.form())
        try:
            return validator.validate_json(json.dumps(given), strict=True)
        except ValidationError as error:
            raise wrong_arguments(name, list(said_of(error, given)), judge.form()) from None

    return arguments


def _has_numbers_to_choose(schema):
    if isinstance(schema, list):
        return any(map(_has_numbers_to_choose, schema))
    if not isinstance(schema, dict):
        return False
    chosen = [*schema["enum"]] if isinstance(schema.get("enum"), list) else []
    chosen += [schema["const"]] if "const" in schema else []
    return any(isinstance(one, (int, float)) for one in chosen) or any(map(_has_numbers_to_choose, schema.values()))


# ---- the docstring


def _described(function, plain):
    """(the description, {argument: what the `Args:` of a Google docstring say of it})."""
    of_object = plain.__name__ == "__call__"  # whose own docstring says nothing of the class, unless somebody wrote one
    doc = (plain.__doc__ or type(function).__doc__) if of_object else inspect.getdoc(plain)
    lines = inspect.cleandoc(doc or "").splitlines()
    start = next((n for n, line in enumerate(lines) if _ARGS.fullmatch(line)), None)
    if start is None:
        return "\n".join(lines).strip(), {}
    end = next((n for n in range(start + 1, len(lines)) if lines[n][:1].strip()), len(lines))
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
