"""What the API asks of a tool's input_schema (rules U4 and U6): that it is JSON Schema, and closed if it is strict."""

import functools
import importlib.util
import json
import sys
import types
from typing import Any


@functools.lru_cache(maxsize=500)  # a client sends the same tools with each request
def is_json_schema(text: str) -> bool:
    """U4. Whether it is the text of a JSON Schema of the draft 2020-12."""
    jsonschema = load_jsonschema()
    patterns = jsonschema.FormatChecker(["regex"])  # that the API looks at other formats of a schema is not known
    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(text), format_checker=patterns)
    except (jsonschema.SchemaError, RecursionError):
        return False
    return True


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


def is_closed(schema: Any) -> bool:
    """U6. Whether each object in it allows no other properties than its own."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    return all(is_closed(part) for key, part in schema.items() if key not in ("const", "default", "enum", "examples"))
