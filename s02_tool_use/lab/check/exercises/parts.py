"""What several exercises are made of: messages, a refusal as a value, a list of answers, a table of tools."""

import re

from .... import dispatch
from ...api.rules import validate
from ..exercise import Exercise, Property, Such

# ---- messages


def user(*blocks):
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], (str, list)) else list(blocks)}


def assistant(*blocks):
    return user(*blocks) | {"role": "assistant"}


def text(words):
    return {"type": "text", "text": words}


def call(number, name="bash", **arguments):
    return {"type": "tool_use", "id": f"toolu_{number:02}", "name": name, "input": arguments or {"command": "ls"}}


def result(number, content="a.txt", **more):
    return {"type": "tool_result", "tool_use_id": f"toolu_{number:02}", "content": content, **more}


def _after(yours, given):
    """What was given, after the call: the same as before, unless yours changed it."""
    return None if yours(given) is None else given


def untouched(read, *cases):
    return Property("the list that it gets stays as it was", read, list(cases), lambda given: given, run=_after)


# ---- refusals


class Raised:
    """A ValueError that a function raised, as a value that can be compared."""

    def __init__(self, error):
        self.text = str(error)

    def __repr__(self):
        return f"ValueError: {self.text}"


def refusing(yours, *args):
    """What `yours` gives, or the ValueError that it raises. Other exceptions pass: they are faults."""
    try:
        return yours(*args)
    except ValueError as error:
        return Raised(error)


A_REFUSAL = Such("a ValueError", lambda value: isinstance(value, Raised))


def has_number(text, number):
    return re.search(rf"(?<!\d){number}(?!\d)", text) is not None


def refused(sentence, read, *cases, run=refusing):
    return Property(sentence, read, list(cases), A_REFUSAL, run=run)


# ---- answers to questions


def quiz(notebook, name, takes, *questions, normal=str.lower):
    """An exercise for a list of answers. questions: (sentence, the right answer, where it is explained)."""

    def answer(number):
        def see(answers):
            if isinstance(answers, str):
                raise TypeError(f"one answer for {len(questions)} questions")
            given = list(answers.values() if isinstance(answers, dict) else answers)[number]
            return normal(given.strip()) if isinstance(given, str) else given

        return see

    properties = [
        Property(sentence, read, [()], right, see=answer(number))
        for number, (sentence, right, read) in enumerate(questions)
    ]
    return Exercise(notebook, name, takes, properties, untouched=_is_open)


def _is_open(answers):
    return not answers or all(answer in (None, "", ...) for answer in answers)


# ---- tools

OWN = ["bash", "edit_file", "glob", "read_file", "write_file"]


def names(tools):
    return sorted(tool["name"] for tool in tools)


def api_says_of(tools):
    """What the API says to a request that offers these tools."""
    request = {"model": "any", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    problem = validate(request)
    return "accepted" if problem is None else problem.message


def tool_result(handlers, name, **arguments):
    return dispatch.run_tool({"type": "tool_use", "id": "toolu_01", "name": name, "input": arguments}, handlers)


def are_the_packages(tools, handlers=None):
    """Whether nothing was added yet."""
    return tools is dispatch.TOOLS and names(tools) == OWN


def of_both(sentence, read, right, see):
    """A property of a pair (tools, handlers)."""
    return Property(sentence, read, [()], right, see=see)


def holds_one_more(mine, new, copies, handler):
    """The properties of (tools, handlers) to which one tool was added; `copies`, `handler`: where to read."""
    every = sorted([*OWN, new])
    return [
        of_both(f"{mine}_tools holds the package's five and {new}, each once", copies, every, lambda b: names(b[0])),
        of_both(
            f"{mine}_handlers has a handler for each of them, and no other", handler, every, lambda b: sorted(b[1])
        ),
    ]


def leaves_the_package_alone(copies):
    return Property(
        "the package's own TOOLS and TOOL_HANDLERS are as they were (if not: restart the kernel)",
        copies,
        [()],
        (OWN, OWN),
        run=lambda yours: yours() and (names(dispatch.TOOLS), sorted(dispatch.TOOL_HANDLERS)),
    )
