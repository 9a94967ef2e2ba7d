"""What the API asks of a tool's input_schema (rules U4 and U6): that it is JSON Schema, and closed if it is strict."""

import functools
import json
from typing import Any

from ...calls.schemas import load_jsonschema


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


def is_closed(schema: Any) -> bool:
    """U6. Whether each object in it allows no other properties than its own."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    return all(is_closed(part) for key, part in schema.items() if key not in ("const", "default", "enum", "examples"))
