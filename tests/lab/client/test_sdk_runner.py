"""What notebook 08 says of the SDK's tool runner, where no cell of it shows that."""

import asyncio

import anthropic
import pytest
from systems import over_both

from s02_tool_use.lab import connect

CALL = {"type": "tool_use", "name": "book", "input": {"tea": "sencha"}}
ASKED = {"max_tokens": 1000, "messages": [{"role": "user", "content": "Book a tin."}]}


def booking(ran):
    def book(tea: str) -> str:
        """Book one tin of a tea."""
        ran.append(tea)
        return f"booked {tea}"

    return book


@over_both
@pytest.mark.parametrize(("eager", "times"), [(False, 2), (True, 1)])
def test_after_append_messages_a_tool_runs_again_unless_tools_run_eagerly(eager, times):
    client, model = connect(script=[CALL, "Done."])
    ran = []
    runner = client.beta.messages.tool_runner(
        model=model, tools=[anthropic.beta_tool(booking(ran))], stream=True, run_tools_eagerly=eager, **ASKED
    )
    for stream in runner:
        reply = stream.get_final_message()
        if reply.stop_reason == "tool_use":
            runner.append_messages(reply, runner.generate_tool_call_response(), {"role": "user", "content": "Hurry!"})
    assert reply.content[0].text == "Done."
    assert ran == ["sencha"] * times


def test_an_asynchronous_client_of_the_same_server_runs_asynchronous_tools():
    client, model = connect(script=[CALL, "Done."])
    ran = []

    async def book(tea: str) -> str:
        """Book one tin of a tea."""
        return booking(ran)(tea)

    async def run():
        async with anthropic.AsyncAnthropic(base_url=client.base_url, api_key=client.api_key) as talking:
            tools = [anthropic.beta_async_tool(book)]
            runner = talking.beta.messages.tool_runner(model=model, tools=tools, **ASKED)
            return [reply.stop_reason async for reply in runner]

    assert asyncio.run(run()) == ["tool_use", "end_turn"]
    assert ran == ["sencha"]


@over_both
def test_a_compaction_replaces_the_history_by_its_block():
    seen = []
    script = [CALL, "A tin is booked.", lambda request: seen.append(request) or "Done."]
    client, model = connect(script=script)
    tools = [anthropic.beta_tool(booking([]))]
    runner = client.beta.messages.tool_runner(model=model, tools=tools, betas=["compact-2026-09-04"], **ASKED)
    stops = []
    for reply in runner:
        stops.append(reply.stop_reason)
        if reply.stop_reason == "tool_use":
            runner.compact_before_next_turn()
    assert stops == ["tool_use", "compaction", "end_turn"]
    [message] = seen[0]["messages"]
    assert message["role"] == "assistant"
    assert [(block["type"], block["content"]) for block in message["content"]] == [("compaction", "A tin is booked.")]
