"""The agent loop: ask the model, run the tools that it asks for, send the results back, until it asks for none.

`agent_steps` is the loop. It yields each thing that happens, so that a terminal, a widget or a test can watch it and
stop it anywhere. `agent_loop` runs it to the end. Left out: retries (the SDK makes them) and the price of a run.
"""

from typing import Any, NamedTuple

from .dispatch import TOOL_HANDLERS, TOOLS, run_tool
from .history.answers import cancelled
from .messages import normalize_messages

SYSTEM = (
    "You are a coding agent. Work in the current folder with the tools you have. When you are done, say what you did."
)
MAX_TOKENS = 8000  # the SDK refuses 21334 and more without streaming (anthropic 2.14.0)
MAX_TURNS = 20  # a model that repeats itself would go on for ever

# Why a call in a reply that did not come to its end is never run, by stop_reason. Its input may be incomplete.
CUT = {
    "max_tokens": "Not run: the reply was cut off at max_tokens, so this call may be incomplete. Make a shorter call.",
    "model_context_window_exceeded": "Not run: the context window is full, so this call may be incomplete.",
    "refusal": "Not run: the model stopped in the middle of its reply.",
    None: "Not run: the reply broke off before its end, so this call may be incomplete. Make it again.",
}
MENDABLE = ("max_tokens", None)  # the model may try again; after the other two a next request would end the same way


class Step(NamedTuple):
    """One thing that happened. kind: request, text, reply, tool_use, tool_result or stop; data: see agent_steps."""

    kind: str
    data: Any


def agent_steps(
    client,
    model,
    messages,
    *,
    tools=TOOLS,
    handlers=TOOL_HANDLERS,
    system=SYSTEM,
    max_tokens=MAX_TOKENS,
    max_turns=MAX_TURNS,
    approve=None,
    stream=False,
    **options,
):
    """Run the agent on `messages`, a list that ends with the user's turn, and yield a Step for each thing that happens.

    | kind        | data                                                                                     |
    |-------------|------------------------------------------------------------------------------------------|
    | request     | the dict that is about to be sent                                                        |
    | text        | a piece of the answer as it arrives (only with stream=True)                              |
    | reply       | the SDK's Message; messages[-1] is its plain copy, which can be edited before going on    |
    | tool_use    | the block (a dict) of a call that is about to run                                        |
    | tool_result | its result (a dict); it is sent as it is when the loop goes on, so it can be edited      |
    | stop        | why the loop ended: the reply's stop_reason, or "max_turns"                              |

    `approve(block)` is asked before each call: True runs it, False or a str (the reason) refuses it. Other keywords,
    such as tool_choice, go into the request. Errors of the SDK pass through.

    `messages` grows in place and is always a history that the API accepts: whatever ends the loop early (an exception,
    Ctrl-C, the notebook's Stop button, closing the generator), each call in it has its answer.
    """
    for _ in range(max_turns):
        request = {"model": model, "max_tokens": max_tokens, "system": system, "tools": tools, **options}
        request["messages"] = normalize_messages(messages)
        yield Step("request", request)
        if stream:
            with client.messages.stream(**request) as events:
                for text in events.text_stream:
                    yield Step("text", text)
                reply = events.get_final_message()
        else:
            reply = client.messages.create(**request)

        content = [block.model_dump(mode="json", exclude_none=True) for block in reply.content]
        turn = {"role": "assistant", "content": [block for block in content if not _is_blank(block)]}
        if turn["content"]:  # an empty turn would be refused
            messages.append(turn)
        results = []
        try:
            yield Step("reply", reply)
            for block in _calls(turn):
                if reply.stop_reason in CUT:
                    results.append(_refused(block, CUT[reply.stop_reason]))
                else:
                    yield Step("tool_use", block)
                    results.append(_run(block, handlers, approve))
                yield Step("tool_result", results[-1])
        finally:
            results += [cancelled(block["id"]) for block in _calls(turn)[len(results) :]]
            if results:
                messages.append({"role": "user", "content": results})

        goes_on = results and (reply.stop_reason not in CUT or reply.stop_reason in MENDABLE)
        if not goes_on and reply.stop_reason != "pause_turn":  # a paused turn is sent back as it is
            yield Step("stop", reply.stop_reason)
            return
    yield Step("stop", "max_turns")


def agent_loop(client, model, messages, **settings):
    """Run agent_steps to its end and return the last reply (the SDK's Message). `messages` grows in place."""
    reply = None
    for step in agent_steps(client, model, messages, **settings):
        if step.kind == "reply":
            reply = step.data
    return reply


def _is_blank(block):
    """A text without text, which the API would refuse to take back: what is left of a stream that broke off."""
    return block["type"] == "text" and not block["text"].strip()


def _calls(turn):
    return [block for block in turn["content"] if block["type"] == "tool_use"]


def _run(block, handlers, approve):
    verdict = True if approve is None else approve(block)
    if verdict is True:
        return run_tool(block, handlers)
    return _refused(block, verdict or "The user did not allow this call.")


def _refused(block, why):
    return {"type": "tool_result", "tool_use_id": block["id"], "content": why, "is_error": True}
