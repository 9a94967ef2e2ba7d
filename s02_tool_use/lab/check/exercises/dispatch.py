"""The exercises of 02: run any tool without ever raising, write a schema, add a tool."""

from ..exercise import Block, Such, exercise, text_with
from .parts import at, call, fact, holds, string_that
from .tables import api_says_of, are_the_packages, calling, holds_one_more, leaves_the_package_alone


# The handlers of run_tool, out here because a TypeError names where a function was defined.
def shout(text):
    return text.upper()


def label(text, colour):
    return f"{text} in {colour}"


def price(tea):
    return str({"green": 5}[tea])  # a KeyError of the handler's own


@exercise("my_run_tool(block, handlers), a function that always returns a tool_result")
def run_tool():
    def asks(name, **arguments):
        return Block(**call(7, name) | {"input": arguments}), {"shout": shout, "label": label, "price": price}

    def error(named):
        return Such(
            f"'is_error': True, and a content with {named!r} in it",
            lambda result: result.get("is_error") is True and named in str(result.get("content")),
        )

    def with_and_without(yours, block, handlers):
        """What is said of one call, with the tool in the map and without it; the names in it are left out."""
        said = [yours(block, handlers)["content"], yours(block, {})["content"]]
        return [text.replace(block.name, "...").replace(block.input["tea"], "...") for text in said]

    fine, swapped = asks("shout", text="tea"), asks("label", colour="green", text="tea")
    unknown, fails = asks("whisper", text="tea"), asks("price", tea="oolong")
    missing, extra = asks("shout"), asks("shout", text="tea", size="big")
    under_its_name = (2, "A dict from the tool's name to the function")
    tells, order = (3, "The result has the call's id"), (3, "This is how. Notice the order")
    unmarked = Such("no is_error, or 'is_error': False", lambda mark: mark is False)
    different = Such("two different strings", lambda said: said[0] != said[1])
    call_seven = ("tool_result", fine[0].id)
    yield holds("the handler of that name gets the input, each argument under its own name", under_its_name)(
        [fine, swapped], lambda block, handlers: handlers[block.name](**block.input), at("content")
    )
    yield holds("a good result is not marked as an error", tells)(
        [fine], unmarked, lambda result, *_: result.get("is_error", False)
    )
    yield holds("an unknown tool is an error that names the tool", tells)([unknown], error("whisper"))
    yield holds("a missing argument is an error that names it", tells)([missing], error("text"))
    yield holds("an argument too many is an error that names it", tells)([extra], error("size"))
    yield holds("a handler that fails is an error that says why", tells)([fails], error("oolong"))
    yield holds("a KeyError inside a handler is not reported as an unknown tool", order)(
        [fails], different, run=with_and_without
    )
    yield holds("whatever happens, it returns a tool_result with the id of the call", tells)(
        [fine, unknown, missing, extra, fails], call_seven, lambda result, *_: (result["type"], result["tool_use_id"])
    )


@exercise(
    "a tool, as TOOLS holds them: a dict with name, description and input_schema", untouched=lambda tool: tool == {}
)
def schema():
    sees, apart = (4, "It sees the **schema**"), (4, "The two are written in two places")
    sentence = string_that("a sentence", lambda text: len(text.split()) > 1)
    yield fact("its name is count_lines", sees)("count_lines", at("name"))
    yield fact("its description says to the model what it does", sees)(sentence, at("description"))
    yield fact("its input is an object", sees)("object", at("input_schema", "type"))
    yield fact("the object's properties are the function's parameters", apart)(
        ["path", "pattern"], lambda tool: sorted(tool["input_schema"]["properties"])
    )
    for name in ("path", "pattern"):
        yield fact(f"{name} is a string", sees)("string", at("input_schema", "properties", name, "type"))
    yield fact("what has no default is required: path alone", apart)(["path"], at("input_schema", "required"))
    yield fact("the API accepts it", sees)("accepted", lambda tool: api_says_of([tool]))


@exercise(
    "your_tools, your_handlers: a list of tools, and a dict of handlers",
    files={"notes.txt": "green tea\nblack tea\nwater\n"},
    untouched=are_the_packages,
)
def added_tool():
    copies, loop = (5, "The two new names are copies"), (5, "The loop did not change")
    yield from holds_one_more("your", "count_lines", copies, (2, "No branch, no argument picked out by hand"))
    yield fact("the new tool works: notes.txt has 2 lines with 'tea'", loop)(
        text_with("2"), at("content"), calling("count_lines", path="notes.txt", pattern="tea")
    )
    yield fact("the old ones still work: read_file reads notes.txt", loop)(
        text_with("black tea"), at("content"), calling("read_file", path="notes.txt")
    )
    yield leaves_the_package_alone(copies)
