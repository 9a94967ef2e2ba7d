"""A list of tools may be mixed: dicts, functions, methods and the SDK's own. Its agent offers and runs just these."""

import pytest
from anthropic import beta_async_tool, beta_tool
from anthropic.lib.tools import ToolError as SdkToolError

from s02_tool_use import TOOLS, ToolError, agent_loop, agent_steps, run_tool, schemas_of
from s02_tool_use.lab.sessions.run import Run
from s02_tool_use.lab.sessions.session import Session


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@beta_tool
def double(number: int) -> str:
    """Double a number."""
    return str(2 * number)


@beta_async_tool
async def later(number: int) -> str:
    """A number, later."""
    return f"later {number}"


ECHO = {"name": "echo", "input_schema": {"type": "object", "properties": {"said": {"type": "integer", "minimum": 1}}}}
MIXED = [ECHO, add, double, later]
HANDLERS = {"echo": lambda said: said, "add": lambda a, b: "not this: a function brings its own"}
SERVER_TOOL = {"type": "web_search_20260318", "name": "web_search"}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def run(name, tools=MIXED, **arguments):
    return run_tool({**call(name, **arguments), "id": "toolu_01"}, HANDLERS, tools)["content"]


def test_a_loop_offers_and_runs_a_mixed_list(scripted):
    calls = [call("echo", said="3"), call("add", a="2", b=3.0), call("double", number="4"), call("later", number=5)]
    client, model = scripted([calls, "Done."])
    messages = [{"role": "user", "content": "Go."}]
    steps = list(agent_steps(client, model, messages, tools=[*MIXED, SERVER_TOOL], handlers=HANDLERS))
    assert steps[0].data["tools"] == [ECHO, *schemas_of([add]), double.to_dict(), later.to_dict(), SERVER_TOOL]
    assert [r["content"] for r in messages[2]["content"]] == ["3", "5", "8", "later 5"]


@pytest.mark.parametrize("name", ["echo", "add", "double", "later"])
def test_each_is_judged_by_what_was_offered(name):
    argument = {"echo": "said", "add": "a"}.get(name, "number")
    assert f"{argument} must be of type integer, not string" in run(name, **{argument: "many"})
    assert "there is no argument 'more'" in run(name, more=1)
    assert "said must be at least 1, not 0" in run("echo", said=0)


def test_a_name_twice_is_refused_before_anything_is_sent(scripted):
    client, model = scripted([])
    tools = [*TOOLS, add, {**ECHO, "name": "add"}]
    for refused in (
        lambda: schemas_of(tools),
        lambda: agent_loop(client, model, [{"role": "user", "content": "Go."}], tools=tools),
        lambda: Session(client, model, tools=tools),
        lambda: Run(client, model, [{"role": "user", "content": "Go."}], tools=tools),
    ):
        with pytest.raises(ToolError, match="Two tools are named 'add'"):
            refused()
    assert "Two tools are named 'add'" in run("add", tools, a=1, b=2)


def test_what_was_not_offered_does_not_run_in_the_loop(scripted, workspace):
    client, model = scripted([call("bash", command="touch made"), "Done."])
    messages = [{"role": "user", "content": "Go."}]
    agent_loop(client, model, messages, tools=[add])
    assert messages[2]["content"][0]["content"] == "Unknown tool: 'bash'. The tools are: add"
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("tools", ["add", add, 3, None, ECHO])
def test_what_is_no_list_is_refused(tools):
    with pytest.raises(ToolError, match="tools must be a list"):
        schemas_of(tools)


@pytest.mark.parametrize("tools", ["add", add, 3, None, ECHO, int])
def test_a_call_with_what_is_no_list_is_told_the_same(tools):
    assert run("add", tools, a=1, b=2).startswith(f"tools must be a list, not {type(tools).__name__}: give a dict like")


def test_below_a_cell_a_tool_error_is_one_sentence():
    with pytest.raises(ToolError) as caught:
        schemas_of([int])
    (line,) = caught.value._render_traceback_()
    assert line.startswith("ToolError: This cannot be a tool, because it is the class int: ")


def test_the_content_of_the_sdks_tool_error_is_kept_as_far_as_an_error_may_hold_it():
    @beta_tool
    def fails(how: str) -> str:
        """Fails."""
        picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
        raise SdkToolError(how if how == "words" else [{"type": "text", "text": "no"}, picture])

    assert run("fails", [fails], how="words") == "words"
    assert [block["text"] for block in run("fails", [fails], how="blocks")] == [
        "no",
        "[1 block(s) left out: an error can hold only text]",
    ]
