"""A conversation with the understudy, for its tests."""

import json
import re

import pytest

from s02_tool_use import TOOL_HANDLERS, TOOLS, run_tool
from s02_tool_use.bash.program import which_bash
from s02_tool_use.lab.api.rules import STRICT, validate
from s02_tool_use.lab.understudy import Understudy

BASH = [tool for tool in TOOLS if tool["name"] == "bash"]
FILES = [tool for tool in TOOLS if tool["name"] != "bash"]


def tool(name, description="", required=("path",), **properties):
    properties = properties or {name: {"type": "string"} for name in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "input_schema": schema}


def needs_bash(call):
    """Whether a call runs a command that cmd may not understand."""
    command = call["input"].get("command")
    return isinstance(command, str) and not re.match(r"python [\w.]+$", command)


class Talk:
    """A conversation with the understudy in which its calls are really run."""

    def __init__(self, tools=TOOLS, handlers=TOOL_HANDLERS, **request):
        self.tools, self.handlers, self.more = tools, handlers, request
        self.messages, self.calls, self.results = [], [], []

    def say(self, prompt, most=40):
        """The final text of the answer to a prompt. `calls` and `results` hold what happened on the way."""
        self.messages.append({"role": "user", "content": prompt})
        self.calls, self.results = [], []
        for _ in range(most):
            content = self.step()
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return content[-1]["text"]
            results = [run_tool(call, self.handlers) for call in calls]
            self.calls += [(call["name"], call["input"]) for call in calls]
            self.results += [result["content"] for result in results]
            if not which_bash() and any(needs_bash(call) for call in calls):
                pytest.skip("there is no bash here")
            self.messages.append({"role": "user", "content": results})
        raise AssertionError(f"no end after {most} turns: {self.calls}")

    def step(self):
        request = {"model": "m", "max_tokens": 8000, "messages": self.messages, "tools": self.tools, **self.more}
        assert validate(request, STRICT) is None
        content = [dict(block) for block in Understudy().reply(json.loads(json.dumps(request)))["content"]]
        for number, block in enumerate(content):
            if block["type"] == "tool_use":
                block["id"] = f"toolu_{len(self.messages)}_{number}"
        self.messages.append({"role": "assistant", "content": content})
        return content
