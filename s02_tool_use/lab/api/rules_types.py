"""What the API says of a value that is not what it should be, for a field at `path`. Each check yields messages."""

import re

REQUIRED = "Field required"
EXTRA = "Extra inputs are not permitted"
OBJECT = "Input should be an object"
ARRAY = "Input should be a valid array"
STRING = "Input should be a valid string"


def string(value, path):
    if not isinstance(value, str):
        yield f"{path}: {STRING}"


def boolean(value, path):
    if not isinstance(value, bool):
        yield f"{path}: Input should be a valid boolean"


def whole(value, path):
    if not is_whole(value):
        yield f"{path}: Input should be a valid integer"


def is_whole(value):
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()


def mapping(value, path):
    if not isinstance(value, dict):
        yield f"{path}: {OBJECT}"


def array(value, path):
    if not isinstance(value, list):
        yield f"{path}: {ARRAY}"


def matches(pattern):
    """A check for a string of this pattern."""

    def check(value, path):
        if not isinstance(value, str):
            yield f"{path}: {STRING}"
        elif not re.fullmatch(pattern.strip("^$"), value):
            yield f"{path}: String should match pattern '{pattern}'"

    return check


def unknown_tag(tag, known):
    tags = ", ".join(f"'{name}'" for name in known)
    return f"Input tag '{tag}' found using 'type' does not match any of the expected tags: {tags}"


def tagged(value, path, types):
    """An object that says its type. types: type -> its other fields, or None where the caller looks at them."""
    if not isinstance(value, dict):
        yield f"{path}: {OBJECT}"
    elif "type" not in value:
        yield f"{path}.type: {REQUIRED}"
    elif not isinstance(value["type"], str) or value["type"] not in types:
        yield f"{path}: {unknown_tag(value['type'], types)}"
    elif types[value["type"]] is not None:
        for key in value:
            if key not in types[value["type"]] | {"type"}:
                yield f"{path}.{value['type']}.{key}: {EXTRA}"


def cache_marker(value, path):
    """Rule C9: {"type": "ephemeral"}, with a ttl of 5m or 1h if it says one."""
    yield from tagged(value, path, {"ephemeral": {"ttl"}})
    if isinstance(value, dict) and value.get("ttl") not in (None, "5m", "1h"):
        yield f"{path}.ephemeral.ttl: Input should be '5m' or '1h'"
