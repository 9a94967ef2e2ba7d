"""The exercises of 02: run any tool without ever raising, write a schema, add a tool."""

from ..exercise import Block, Exercise, Property, Such, text_with
from .parts import api_says_of, are_the_packages, holds_one_more, leaves_the_package_alone, tool_result

# ---- run_tool ----


def shout(text):
    return text.upper()


def label(text, colour):
    return f"{text} in {colour}"


def price(tea):
    return str({"green": 5}[tea])  # a KeyError of the handler's own


_HANDLERS = {"shout": shout, "label": label, "price": price}


def _asks(name, **arguments):
    return Block(type="tool_use", id="toolu_07", name=name, input=arguments), _HANDLERS


_FINE, _SWAPPED = _asks("shout", text="tea"), _asks("label", colour="green", text="tea")
_UNKNOWN, _MISSING, _EXTRA = _asks("whisper", text="tea"), _asks("shout"), _asks("shout", text="tea", size="big")
_FAILS = _asks("price", tea="oolong")

_UNDER_ITS_NAME = (2, "A dict from the tool's name to the function")
_TELLS = (3, "The result has the call's id")
_ORDER = (3, "This is how. Notice the order")


def _error_that_names(*parts):
    def holds(result):
        return result.get("is_error") is True and all(part in str(result.get("content")) for part in parts)

    return Such(f"'is_error': True, and a content with {' and '.join(map(repr, parts))} in it", holds)


run_tool = Exercise(
    "02",
    "run_tool",
    "my_run_tool(block, handlers), a function that always returns a tool_result",
    [
        Property(
            "the handler of that name gets the input, each argument under its own name",
            _UNDER_ITS_NAME,
            [_FINE, _SWAPPED],
            lambda block, handlers: handlers[block.name](**block.input),
            see=lambda result, *_: result["content"],
        ),
        Property(
            "a good result is not marked as an error",
            _TELLS,
            [_FINE],
            Such("no is_error, or 'is_error': False", lambda mark: mark is False),
            see=lambda result, *_: result.get("is_error", False),
        ),
        Property("an unknown tool is an error that names the tool", _TELLS, [_UNKNOWN], _error_that_names("whisper")),
        Property("a missing argument is an error that names it", _TELLS, [_MISSING], _error_that_names("text")),
        Property("an argument too many is an error that names it", _TELLS, [_EXTRA], _error_that_names("size")),
        Property("a handler that fails is an error that says why", _TELLS, [_FAILS], _error_that_names("oolong")),
        Property(
            "a KeyError inside a handler is not reported as an unknown tool",
            _ORDER,
            [_FAILS],
            Such("two different texts", lambda texts: texts[0] != texts[1]),
            run=lambda yours, block, handlers: _with_and_without(yours, block, handlers),
        ),
        Property(
            "whatever happens, it returns a tool_result with the id of the call",
            _TELLS,
            [_FINE, _UNKNOWN, _MISSING, _EXTRA, _FAILS],
            lambda block, handlers: ("tool_result", block.id),
            see=lambda result, *_: (result["type"], result["tool_use_id"]),
        ),
    ],
)


def _with_and_without(yours, block, handlers):
    """The texts for one call, with the tool in the map and without it, and without what they name."""
    texts = [yours(block, handlers)["content"], yours(block, {})["content"]]
    return [text.replace(block.name, "...").replace(block.input["tea"], "...") for text in texts]


# ---- schema ----

_SEES = (4, "It sees the **schema**")
_APART = (4, "The two are written in two places")


def _at(*keys):
    """A function that picks what stands under these keys."""

    def pick(schema):
        for key in keys:
            schema = schema[key]
        return schema

    return pick


def _field(sentence, right, *keys, read=_SEES):
    return Property(sentence, read, [()], right, see=_at(*keys))


schema = Exercise(
    "02",
    "schema",
    "a tool, as TOOLS holds them: a dict with name, description and input_schema",
    [
        _field("its name is count_lines", "count_lines", "name"),
        _field(
            "its description says to the model what it does",
            Such("a sentence", lambda text: isinstance(text, str) and len(text.split()) > 1),
            "description",
        ),
        _field("its input is an object", "object", "input_schema", "type"),
        Property(
            "the object's properties are the function's parameters",
            _APART,
            [()],
            ["path", "pattern"],
            see=lambda schema: sorted(schema["input_schema"]["properties"]),
        ),
        _field("path is a string", "string", "input_schema", "properties", "path", "type"),
        _field("pattern is a string", "string", "input_schema", "properties", "pattern", "type"),
        _field("what has no default is required: path alone", ["path"], "input_schema", "required", read=_APART),
        Property("the API accepts it", _SEES, [()], "accepted", see=lambda schema: api_says_of([schema])),
    ],
    untouched=lambda schema: schema == {},
)

# ---- added_tool ----

_NOTES = {"notes.txt": "green tea\nblack tea\nwater\n"}
_COPIES = (5, "The two new names are copies")
_LOOP = (5, "The loop did not change")


added_tool = Exercise(
    "02",
    "added_tool",
    "your_tools, your_handlers: a list of tools, and a dict of handlers",
    [
        *holds_one_more("your", "count_lines", _COPIES, (2, "No branch, no argument picked out by hand")),
        Property(
            "the new tool works: notes.txt has 2 lines with 'tea'",
            _LOOP,
            [()],
            text_with("2"),
            run=lambda yours: tool_result(yours()[1], "count_lines", path="notes.txt", pattern="tea")["content"],
        ),
        Property(
            "the old ones still work: read_file reads notes.txt",
            _LOOP,
            [()],
            text_with("black tea"),
            run=lambda yours: tool_result(yours()[1], "read_file", path="notes.txt")["content"],
        ),
        leaves_the_package_alone(_COPIES),
    ],
    files=_NOTES,
    untouched=are_the_packages,
)
