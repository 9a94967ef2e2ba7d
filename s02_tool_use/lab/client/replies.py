"""What a page needs of a reply, and what it shows when the model did not give it."""

from typing import Any

NO_TEXT = "[No text: the model said nothing, or was cut off before it did. Ask again, or allow more tokens.]"


def text_of(said: Any) -> str:
    """The text of a reply, or of the reply that ends a conversation; if it has none, a sentence that says so."""
    message = said[-1] if isinstance(said, list) else {"role": said.role, "content": said.content}
    content = message["content"] if message["role"] == "assistant" else []
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [block if isinstance(block, dict) else block.to_dict() for block in content]
    return "\n".join(block["text"] for block in blocks if block["type"] == "text").strip() or NO_TEXT


def with_call(reply: Any, name: str, **arguments: Any) -> Any:
    """`reply`, if it calls a tool; else a copy of it that also makes this call, and a line that says so."""
    plain = reply.to_dict()
    if any(block["type"] == "tool_use" for block in plain["content"]):
        return reply
    print(f"This reply calls no tool, so a call stands in for its own: {name} {arguments}")
    print("README names models that call tools.")
    call = {"type": "tool_use", "id": "toolu_stand_in", "name": name, "input": arguments}
    return type(reply).construct(**{**plain, "content": [*plain["content"], call], "stop_reason": "tool_use"})


def sdk_blocks(*blocks: dict) -> list[Any]:
    """These blocks as the SDK gives them in the content of a reply."""
    from anthropic.types import Message

    return Message.construct(content=list(blocks)).content
