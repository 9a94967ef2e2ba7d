"""Rules that few requests meet: thinking, tools that run at the API's side, system messages in the list.

Each takes the conversation (rules.Talk) and yields (rule, message, message index, block index).
"""

from itertools import pairwise

from ...history.fields import SERVER_RESULTS, THINKING


def thinking_comes_first(conversation):
    """K1. With manual thinking, the assistant's turn that waits for these results began with its thinking."""
    loop = []
    for role, spots in reversed(conversation.turns):
        if role == "user" and not (spots and spots[0][2]["type"] == "tool_result"):
            break
        if role == "assistant" and spots:
            loop.append(spots[0])
    if (
        conversation.thinking == "enabled"
        and loop
        and not any(block["type"] in THINKING for _, _, block in (loop[0], loop[-1]))
    ):
        i, j, block = loop[0]
        text = (
            f"Expected `thinking` or `redacted_thinking`, but found `{block['type']}`. When `thinking` is enabled, "
            "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
            "and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
            "requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
        )
        yield "K1", f"messages.{i}.content.{j}.type: {text}", i, j


def thinking_is_untouched(conversation):
    """K2, K3. Thinking is signed: in the latest turn nothing of it may be changed; a wrong signature never passes."""
    latest = conversation.assistant_turns()[-1:]
    for i, j, block in conversation.spots():
        if block["type"] != "thinking" or conversation.profile.unsigned_thinking:
            continue
        forged = conversation.profile.forged is not None and conversation.profile.forged(block)
        if forged and latest and i >= latest[0][0][0]:
            text = (
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response."
            )
            yield "K2", f"messages.{i}.content.{j}: {text}", i, j
        elif forged or not block["signature"]:
            yield "K3", f"messages.{i}.content.{j}: Invalid `signature` in `thinking` block", i, j


def thinking_is_not_last(conversation):
    """K5. An assistant's turn does not end in thinking."""
    for spots in conversation.assistant_turns():
        i, j, block = spots[-1]
        if block["type"] in THINKING:
            yield "K5", f"messages.{i}: The final block in an assistant message cannot be `{block['type']}`.", i, j


def server_pairs(conversation):
    """P14. The result of a tool at the API's side follows its call; until it does, the user may only send results."""
    calls, finished = set(), set()
    for i, j, block in conversation.spots():
        kind = block["type"]
        if kind == "server_tool_use":
            calls.add(block["id"])
        elif kind in SERVER_RESULTS:
            name = block["tool_use_id"]
            if name not in calls or name in finished:
                text = (
                    f"unexpected `tool_use_id` found in `{kind}` blocks: {name}. "
                    f"Each `{kind}` block must have a corresponding `server_tool_use` block before it."
                )
                yield "P14", f"messages.{i}.content.{j}: {text}", i, j
            finished.add(name)
    for (role, spots), (_, following) in pairwise(conversation.turns):
        for i, j, block in spots if role == "assistant" else ():
            unfinished = block["type"] == "server_tool_use" and block["id"] not in finished
            if unfinished and any(other["type"] != "tool_result" for _, _, other in following):
                text = "has no result yet: the next message may only hold `tool_result` blocks"
                yield "P14", f"messages.{i}.content.{j}: `server_tool_use` {block['id']} {text}", i, j


def system_in_its_place(conversation):
    """R3. Models that take a system message take it after the user, before the assistant; not at the start."""
    form = "the directive-only form (content: [] with output_config) is accepted at any position"
    for i, message in enumerate(conversation.messages):
        if message["role"] != "system" or (message["content"] == [] and "output_config" in message):
            continue
        if not all(text.strip() for text in _texts(message["content"])):
            yield "R3", f"messages.{i}: system text blocks must contain non-whitespace text", i
        before = conversation.messages[i - 1] if i else None
        after = conversation.messages[i + 1]["role"] if i + 1 < len(conversation.messages) else "assistant"
        if before is None:
            text = f"messages.0: use the top-level 'system' parameter for the initial system prompt; {form}"
            yield "R3", text, i
        elif before["role"] != "user" and not ends_in(before, SERVER_RESULTS):
            text = "role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result"
            yield "R3", f"{text}; {form}", i
        elif after != "assistant":
            yield "R3", f"role 'system' must precede an 'assistant' message or end the array; {form}", i


def _texts(content):
    return [content] if isinstance(content, str) else [block["text"] for block in content]


def ends_in(message, kinds):
    content = message["content"]
    return message["role"] == "assistant" and isinstance(content, list) and content and content[-1]["type"] in kinds
