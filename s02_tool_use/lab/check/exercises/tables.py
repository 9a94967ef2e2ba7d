"""What the exercises about a table of tools share: (tools, handlers) to which one tool was added."""

from .... import dispatch
from ...api.rules import validate
from .parts import call, fact, user

OWN = ["bash", "edit_file", "glob", "read_file", "write_file"]


def names(tools):
    return sorted(tool["name"] for tool in tools)


def api_says_of(tools):
    """What the API says to a request that offers these tools."""
    problem = validate({"model": "any", "max_tokens": 1, "messages": [user("Hi")], "tools": tools})
    return "accepted" if problem is None else problem.message


def calling(name, **arguments):
    """A `run`: the result of a call with the handlers in `yours`, a function that gives (tools, handlers)."""
    return lambda yours: dispatch.run_tool(call(1, name, **arguments), yours()[1])


def are_the_packages(tools, handlers=None):
    """Whether nothing was added yet."""
    return tools is dispatch.TOOLS and names(tools) == OWN


def holds_one_more(mine, new, copies, handler):
    """The properties of (tools, handlers) to which one tool was added; `copies`, `handler`: where to read."""
    every, each_once = sorted([*OWN, new]), f"{mine}_tools holds the package's five and {new}, each once"
    yield fact(each_once, copies)(every, lambda both: names(both[0]))
    yield fact(f"{mine}_handlers has a handler for each of them, and no other", handler)(every, lambda b: sorted(b[1]))


def leaves_the_package_alone(copies):
    return fact("the package's own TOOLS and TOOL_HANDLERS are as they were (if not: restart the kernel)", copies)(
        (OWN, OWN), run=lambda yours: yours() and (names(dispatch.TOOLS), sorted(dispatch.TOOL_HANDLERS))
    )
