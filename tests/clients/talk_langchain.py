"""LangChain: with_structured_output in both of its ways, and bound tools. python talk_langchain.py BASE_URL MODEL"""

import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from order import FILES, ORDER, Order, tell

url, model = sys.argv[1:]
chat = ChatAnthropic(model=model, base_url=url, api_key="any", max_retries=0)
patterns, counts = [], []


@tool
def glob(pattern: str) -> str:
    """Find files by pattern."""
    patterns.append(pattern)
    return "a.py\nb.py"


@tool
def reserve(count: int, sizes: list[int]) -> str:
    """Keep parts for a customer."""
    counts.append(count)
    return "kept"


history = [HumanMessage(FILES)]
while (reply := chat.bind_tools([glob]).invoke(history)).tool_calls:
    history += [reply, *(glob.invoke(call) for call in reply.tool_calls)]

forced = chat.bind_tools([glob, reserve], tool_choice="reserve").invoke(ORDER)
results = [reserve.invoke(call) for call in forced.tool_calls]  # LangChain judges the arguments
tell(
    by_tool=chat.with_structured_output(Order, method="function_calling").invoke(ORDER),
    by_format=chat.with_structured_output(Order, method="json_schema").invoke(ORDER),
    text=reply.content,
    patterns=patterns,
    forced=[result.content for result in results],
    counts=counts,
)
