"""pydantic-ai has one tool conversation. python conversation.py BASE_URL -> prints what happened as a line of JSON."""

import json
import sys

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

client = AsyncAnthropic(base_url=sys.argv[1], api_key="any", http_client=DefaultAsyncHttpxClient(trust_env=False))
agent = Agent(
    AnthropicModel("understudy", provider=AnthropicProvider(anthropic_client=client)),
    system_prompt="You are a coding agent.",
)
patterns = []


@agent.tool_plain
def glob(pattern: str) -> str:
    """Find files by pattern."""
    patterns.append(pattern)
    return "a.py\nb.py"


first = agent.run_sync("How many Python files are here?")
second = agent.run_sync("Hello", message_history=first.all_messages())
print(
    json.dumps({"patterns": patterns, "text": first.output, "second": second.output, "requests": first.usage.requests})
)
