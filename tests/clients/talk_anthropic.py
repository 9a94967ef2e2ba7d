"""The newest Python SDK: parse, and its three tool runners. python talk_anthropic.py BASE_URL MODEL"""

import asyncio
import sys

import anthropic
from order import FILES, ORDER, Order, tell

url, model = sys.argv[1:]
options = {"base_url": url, "api_key": "any", "max_retries": 0}
client = anthropic.Anthropic(**options)
request = {"model": model, "max_tokens": 1000}
order = {**request, "messages": [{"role": "user", "content": ORDER}], "output_format": Order}
files = {**request, "messages": [{"role": "user", "content": FILES}]}
patterns = []


def glob(pattern: str) -> str:
    """Find files by pattern."""
    patterns.append(pattern)
    return "a.py\nb.py"


async def aglob(pattern: str) -> str:
    """Find files by pattern."""
    return glob(pattern)


async def run_async():
    async with anthropic.AsyncAnthropic(**options) as client:
        tools = [anthropic.beta_async_tool(aglob, name="glob")]
        return await client.beta.messages.tool_runner(tools=tools, **files).until_done()


tools = [anthropic.beta_tool(glob)]
runners = [
    client.beta.messages.tool_runner(tools=tools, **files).until_done(),
    next(reversed(list(client.beta.messages.tool_runner(tools=tools, stream=True, **files)))).get_final_message(),
    asyncio.run(run_async()),
]
with client.messages.stream(**order) as stream:
    streamed = stream.get_final_message().parsed_output
# A tool and a format in one conversation: the text of a turn that calls the tool would be parsed too.
both = client.beta.messages.tool_runner(tools=tools, output_format=Order, **files).until_done()
compacting, stops = client.beta.messages.tool_runner(tools=tools, betas=["compact-2026-09-04"], **files), []
for reply in compacting:
    stops.append(reply.stop_reason)
    if reply.stop_reason == "tool_use":
        compacting.compact_before_next_turn()
        compacting.append_messages(reply, compacting.generate_tool_call_response())
tell(
    parsed=client.messages.parse(**order).parsed_output,
    streamed=streamed,
    with_tools=both.parsed_output,
    texts=[reply.content[-1].text for reply in runners],
    patterns=patterns,
    stops=stops,
)
