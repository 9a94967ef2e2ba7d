"""What may stand in a list of tools, mixed: a schema dict, a typed function or bound method, and the SDK's own tools.

tool_of makes one thing of all: a Tool, with the dict that the model is offered and the function that does it.
A schema dict has no function; that is found by its name in `handlers`. How a function becomes one: functions.py.
"""

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .results import ToolError

KINDS = "give a dict like those in TOOLS, a function with annotations, or a tool of the SDK (@beta_tool)"


@dataclass(frozen=True, eq=False)
class Tool:
    """`schema` is the dict that goes into the request. `handler` does it; None: `handlers` has it under the name.

    `judge` turns what a model sent into the handler's arguments, or raises ToolError; None: as the schema says.
    """

    name: str
    schema: dict
    handler: Callable[..., Any] | None = None
    judge: Callable[[Any], dict] | None = None

    def to_dict(self) -> dict:
        """What the model is offered: a copy, to change as one likes."""
        return copy.deepcopy(self.schema)


def tool_of(thing: Any) -> Tool:
    """The Tool that a function, a schema dict or an SDK tool is. ToolError says why it cannot be one."""
    if isinstance(thing, Tool):
        return thing
    if isinstance(thing, dict):
        name = thing.get("name")
        return Tool(name if isinstance(name, str) else str(thing.get("type", "")), thing)
    try:
        return _made(thing)
    except TypeError:  # a callable object without a hash
        return _made.__wrapped__(thing)


@functools.lru_cache(500)
def _made(thing):
    if (
        not isinstance(thing, type)
        and callable(getattr(thing, "to_dict", None))
        and callable(getattr(thing, "call", None))
    ):
        return _of_the_sdk(thing)
    if isinstance(thing, type) or not callable(thing):
        what = f"the class {thing.__name__}" if isinstance(thing, type) else f"of type {type(thing).__name__}"
        raise ToolError(f"This cannot be a tool, because it is {what}: {KINDS}.")
    from .functions import tool_from_function  # here, since it imports pydantic

    return tool_from_function(thing)


def _of_the_sdk(thing):
    schema, name = thing.to_dict(), getattr(thing, "name", None)
    if not isinstance(schema, Mapping) or not isinstance(name, str) or not name:
        raise ToolError(f"{type(thing).__name__} has no name to be called by: {KINDS}.")

    def handler(**given):
        return thing.call(given)

    function = getattr(thing, "func", None)  # for who shows its source
    return Tool(name, dict(schema), functools.wraps(function)(handler) if callable(function) else handler)


def looked_up(name: Any, handlers: Mapping[str, Any], tools: Iterable[Any]) -> tuple[Any, Any]:
    """(what was offered under this name: a dict, a Tool or None; the function that does it, or None)."""
    tool = handler = None
    if type(tools) is not list and (isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable)):
        raise ToolError(no_list(tools))
    if isinstance(name, str):
        for offered in tools:
            if type(offered) is dict:
                if offered.get("name") != name:
                    continue
            else:
                offered = _made(offered) if type(offered) is FunctionType else tool_of(offered)
                if offered.name != name:
                    continue
                handler = offered.handler
            if tool is not None:
                raise ToolError(twice(name))
            tool = offered
        if handler is None:
            handler = handlers.get(name)
    return tool, handler


def unknown(name: Any, handlers: Mapping[str, Any], tools: Iterable[Any]) -> ToolError:
    """The error for a call of a tool that is not there. It names those that are."""
    asked = repr(name) if isinstance(name, str) else "a call without a name"
    names = [*map(str, handlers), *(tool.name for tool in map(tool_of, tools) if tool.handler is not None)]
    return ToolError(f"Unknown tool: {asked}. The tools are: {', '.join(dict.fromkeys(names))}")


def table_of(tools: Iterable[Any], handlers: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> the function that does it: its own, or that of `handlers`, for each tool that is offered and can run."""
    made = map(tool_of, tools)
    return {tool.name: own for tool in made if (own := tool.handler or handlers.get(tool.name)) is not None}


def twice(name: str) -> str:
    return f"Two tools are named {name!r}: leave one out, or rename it."


def no_list(tools: Any) -> str:
    return f"tools must be a list, not {type(tools).__name__}: {KINDS}."


def schemas_of(tools: Sequence[Any]) -> list[dict]:
    """The plain dicts that a request offers for these tools. ToolError: two have one name, or one cannot be a tool."""
    if not isinstance(tools, (list, tuple)):
        raise ToolError(no_list(tools))
    schemas, names = [], set()
    for tool in tools:
        if type(tool) is dict:
            name, schema = tool.get("name"), tool
        else:
            made = tool_of(tool)
            name, schema = made.name, made.to_dict()
        if isinstance(name, str) and name in names:
            raise ToolError(twice(name))
        names.add(name)
        schemas.append(schema)
    return schemas
