"""Do the arguments that a model sent fit the function? The signature says which there are, the schema their types.

Left out: the rest of JSON Schema. What fits here and is still wrong, the function itself refuses.
"""

import functools
import inspect

from .results import ToolError

# bool stands before int: True is an int to Python, but not to JSON.
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "array": list, "object": dict}


def fitting_arguments(name, handler, given, schema) -> dict:
    """`given` as keyword arguments for `handler`, or a ToolError that names each fault and the right form.

    `schema` is the tool's input_schema, or an empty dict; `name` is for the error.
    """
    try:
        needed, takes_more = _parameters(handler)
    except TypeError:  # a callable object without a hash
        needed, takes_more = _parameters.__wrapped__(handler)
    kinds = schema.get("properties", {})
    if takes_more:  # lambda **kw: only the schema knows what it needs
        needed = {key: key in schema.get("required", ()) for key in kinds} | needed
    faults, fitting = [], {}
    if not isinstance(given, dict):
        faults.append(f"input must be an object, not {_kind(given)}")
        given = {}
    for key, value in given.items():
        if key not in needed and not takes_more:
            faults.append(f"there is no argument {key!r}")
        elif value is None and not needed.get(key, True):
            continue  # null says "left out"
        elif key not in kinds:
            fitting[key] = value
        else:
            try:
                fitting[key] = fit(value, kinds[key].get("type"))
            except ValueError:
                faults.append(f"{key} must be of type {kinds[key]['type']}, not {_kind(value)}")
    if len(fitting) < len(needed):  # a call of the smallest tool takes a microsecond or two
        faults += [f"{key} is missing" for key, need in needed.items() if need and key not in given]
    if faults:
        types = {key: kinds.get(key, {}).get("type", "any") for key in needed}
        form = [f'"{key}": {types[key]}{" (optional)" * (not need)}' for key, need in needed.items()]
        raise ToolError(f"{name}: {'; '.join(faults)}. The right form of input: {{{', '.join(form)}}}")
    return fitting


def utf8(name, text) -> bytes:
    """The string `text`, which is the argument `name`, as UTF-8; or a ToolError."""
    if not isinstance(text, str):
        raise ToolError(f"{name} must be text, not {type(text).__name__}")
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


def fit(value, kind):
    """`value` if it is of the JSON type, else ValueError. "2" and 2.0 are meant well where a number is asked for."""
    if kind in ("integer", "number") and isinstance(value, (str, float)):
        value = float(value)
        value = int(value) if value.is_integer() else value
    types = TYPES.get(kind, object) if isinstance(kind, str) else object
    if not isinstance(value, types) or (isinstance(value, bool) and kind in ("integer", "number")):
        raise ValueError
    return value


def _kind(value):
    return next((kind for kind, types in TYPES.items() if isinstance(value, types)), "null")
