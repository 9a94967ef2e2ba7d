"""What a page needs of a reply, and what it shows when the model did not give it."""

from typing import Any

NO_TEXT = "[No text: the model said nothing, or was cut off before it did. Ask again, or allow more tokens.]"


def text_of(said: Any) -> str:
    """The text of a reply, or of the reply that ends a conversation; if it has none, a sentence that says so."""
    message = said[-1] if isinstance(said, list) else {"role": said.role, "content": said.content}
    blocks = message["content"] if message["role"] == "assistant" else []
    blocks = [block if isinstance(block, dict) else block.to_dict() for block in blocks]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text").strip() or NO_TEXT


def with_call(reply: Any, name: str, **arguments: Any) -> Any:
    """`reply`, if it calls a tool; else a copy of it that also makes this call, and a line that says so."""
    plain = reply.to_dict()
    if any(block["type"] == "tool_use" for block in plain["content"]):
        return reply
    print("The model called no tool, as small ones do; README names models that call them.", end=" ")
    print(f"So that you can go on, this call stands in for its own: {name} {arguments}")
    call = {"type": "tool_use", "id": "toolu_stand_in", "name": name, "input": arguments}
    return type(reply).construct(**{**plain, "content": [*plain["content"], call], "stop_reason": "tool_use"})
