"""pydantic-ai: a tool and a second turn, and output_type. python talk_pydantic_ai.py BASE_URL MODEL"""

import sys

from anthropic import AsyncAnthropic
from order import FILES, Order, tell
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

url, model = sys.argv[1:]
client = AsyncAnthropic(base_url=url, api_key="any", max_retries=0)
patterns = []


def glob(pattern: str) -> str:
    """Find files by pattern."""
    patterns.append(pattern)
    return "a.py\nb.py"


def agent(output_type=str):
    chat = AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client))
    return Agent(chat, system_prompt="You are a coding agent.", tools=[glob], output_type=output_type)


first = agent().run_sync(FILES)
second = agent().run_sync("Hello", message_history=first.all_messages())
typed = agent(Order).run_sync(FILES)
tell(
    text=first.output,
    requests=first.usage.requests,
    second=second.output,
    order=typed.output,
    patterns=patterns,
)
