"""What the exercises about a table of tools share: (tools, handlers) to which one tool was added."""

from .... import dispatch
from ....calls.tool import tool_of
from ...api.rules import validate
from .parts import call, fact, user

OWN = ["bash", "edit_file", "glob", "read_file", "write_file"]


def names(tools):
    return sorted(tool_of(tool).name for tool in tools)


HELLO = [user("Hi")]


def problem_with(tools, messages=HELLO):
    """What the API refuses first in a request that offers these tools (a rules.Problem), or None."""
    return validate({"model": "any", "max_tokens": 1, "messages": messages, "tools": tools})


def api_says_of(tools):
    """What the API says to a request that offers these tools."""
    problem = problem_with(tools)
    return "accepted" if problem is None else problem.message


def calling(name, **arguments):
    """A `run`: the result of a call with what `yours` gives: (tools, handlers)."""
    return lambda yours: dispatch.run_tool(call(1, name, **arguments), yours()[1], yours()[0])


def are_the_packages(tools, handlers=None):
    """Whether nothing was added yet."""
    return tools is dispatch.TOOLS and names(tools) == OWN


def holds_one_more(mine, new, copies, handler):
    """The properties of (tools, handlers) to which one tool was added; `copies`, `handler`: where to read."""
    every, each_once = sorted([*OWN, new]), f"{mine}_tools holds the package's five and {new}, each once"
    yield fact(each_once, copies)(every, lambda both: names(both[0]))
    yield fact(f"{mine}_handlers has a handler for each of them, and no other", handler)(every, _can_run)


def _can_run(both):
    """The tools that have a handler; a function brings its own."""
    tools, handlers = both
    return sorted({*handlers, *(tool.name for tool in map(tool_of, tools) if tool.handler)})


def leaves_the_package_alone(copies):
    return fact("the package's own TOOLS and TOOL_HANDLERS are as they were (if not: restart the kernel)", copies)(
        (OWN, OWN), run=lambda yours: yours() and (names(dispatch.TOOLS), sorted(dispatch.TOOL_HANDLERS))
    )
