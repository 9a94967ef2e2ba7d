"""The agent loop: ask the model, run the tools that it asks for, send the results back, until it asks for none.

`agent_steps` is the loop. It yields each thing that happens, so that a terminal, a widget or a test can watch it and
stop it anywhere. `agent_loop` runs it to the end. Left out: retries (the SDK makes them) and the price of a run.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from .calls.results import sendable
from .calls.tool import schemas_of, table_of
from .dispatch import TOOL_HANDLERS, TOOLS, run_tool
from .history.answers import cancelled
from .history.fields import block_of
from .history.system import takes_system_messages
from .history.turns import blocks_of
from .messages import normalize_messages

SYSTEM = (
    "You are a coding agent. Work in the current folder with the tools you have. When you are done, say what you did."
)
MAX_TOKENS = 8000  # the SDK refuses 21334 and more without streaming (anthropic 2.14.0)
MAX_TURNS = 20  # a model that repeats itself would go on for ever
NOT_ALLOWED = "The user did not allow this call."

# Why a call in a reply that did not come to its end is never run, by stop_reason. Its input may be incomplete.
CUT = {
    "max_tokens": "Not run: the reply was cut off at max_tokens, so this call may be incomplete. Make a shorter call.",
    "model_context_window_exceeded": "Not run: the context window is full, so this call may be incomplete.",
    "refusal": "Not run: the model stopped in the middle of its reply.",
    None: "Not run: the reply broke off before its end, so this call may be incomplete. Make it again.",
}
FINAL = ("model_context_window_exceeded", "refusal")  # a next request would end the same way
PIECES = {"text": "text", "thinking": "thinking", "input_json": "partial_json"}  # of a stream: event -> its field


class Step(NamedTuple):
    """One thing that happened.

    | kind        | data                                                                                     |
    |-------------|------------------------------------------------------------------------------------------|
    | request     | the dict that is about to be sent                                                        |
    | text        | a piece of the answer as it arrives (only with stream=True)                              |
    | delta       | a piece of thinking or of a call's input as it arrives (only with stream=True)           |
    | reply       | the SDK's Message; messages[-1] is its plain copy, which can be edited before going on    |
    | tool_use    | the block (a dict) of a call that is about to run                                        |
    | tool_result | its result (a dict); it is sent as it is when the loop goes on, so it can be edited      |
    | stop        | why the loop ended: the reply's stop_reason, or "max_turns"                              |
    """

    kind: str
    data: Any


def agent_steps(
    client: Any,
    model: str,
    messages: list,
    *,
    tools: Sequence[Any] = TOOLS,
    handlers: Mapping[str, Any] = TOOL_HANDLERS,
    max_turns: int = MAX_TURNS,
    approve: Callable[[dict], Any] | None = None,
    stream: bool = False,
    **options: Any,
) -> Generator[Step, None, None]:
    """Run the agent on `messages`, a list that ends with the user's turn, and yield a Step for each thing that happens.

    `tools`, mixed: schema dicts, whose functions `handlers` has by their names, typed functions, and tools of the SDK.
    `approve(block)` is asked before each call: True runs it; a string is the reason why not; anything else is a no.
    Other keywords (system, max_tokens, tool_choice) go into the request. Errors of the SDK pass through.
    `messages` grows in place. Whatever ends the loop (an error, Stop, closing the generator), each call has its answer.
    """
    for _ in range(max_turns):
        request = _request(model, messages, tools, options)
        yield Step("request", request)
        reply = yield from _reply(client, request, stream)
        turn, results = _plain(reply), []
        if turn["content"]:  # an empty turn would be refused
            messages.append(turn)
        try:
            yield Step("reply", reply)
            for call in _calls(turn):
                if reply.stop_reason in CUT:
                    results.append(cancelled(call["id"], CUT[reply.stop_reason]))
                else:
                    yield Step("tool_use", call)
                    results.append(_run(call, tools, handlers, approve))
                yield Step("tool_result", results[-1])
        finally:
            results += [cancelled(call["id"]) for call in _calls(turn)[len(results) :]]
            if results:
                messages.append({"role": "user", "content": results})
        if reply.stop_reason == "pause_turn":  # goes back as it is, and the model goes on with it
            continue
        if not results or reply.stop_reason in FINAL:
            yield Step("stop", reply.stop_reason)
            return
    yield Step("stop", "max_turns")


def agent_loop(client: Any, model: str, messages: list, **settings: Any) -> Any:
    """Run agent_steps to its end and return the last reply (the SDK's Message). `messages` grows in place."""
    reply = None
    for step in agent_steps(client, model, messages, **settings):
        if step.kind == "reply":
            reply = step.data
    return reply


def _request(model, messages, tools, options):
    """What is sent: a history that the API accepts, and system messages where this model takes them."""
    request = {"model": model, "max_tokens": MAX_TOKENS, "system": SYSTEM, "tools": schemas_of(tools), **options}
    moved = []  # system messages, where the model takes none in the list
    takes = takes_system_messages(model)
    request["messages"] = normalize_messages(messages, unknown="keep", system_role=takes, system=moved)
    if moved:
        request["system"] = [*blocks_of(request["system"] or []), *moved]
    return request


def _reply(client, request, stream):
    """Send the request. With stream, yield each piece as it arrives. Returns the SDK's Message."""
    if not stream:
        return client.messages.create(**request)
    with client.messages.stream(**request) as events:
        for event in events:
            if event.type in PIECES:
                yield Step("text" if event.type == "text" else "delta", getattr(event, PIECES[event.type]))
        return events.get_final_message()


def _plain(reply):
    """The assistant's turn as plain data, without the empty texts of a broken stream, which the API would refuse."""
    content = [block_of(block, mode="json") for block in reply.content]
    return {"role": "assistant", "content": [b for b in content if b["type"] != "text" or b["text"].strip()]}


def _calls(turn):
    return [block for block in turn["content"] if block["type"] == "tool_use"]


def _run(block, tools, handlers, approve):
    verdict = True if approve is None else approve(block)
    if verdict is True:
        return run_tool(block, table_of(tools, handlers), tools)  # what was not offered is unknown
    # Nothing of what came back goes into the history, unless it is a string; type() can't be fooled by __class__.
    reason = str.__str__(verdict) if issubclass(type(verdict), str) else ""
    return cancelled(block["id"], sendable(reason) if reason.strip() else NOT_ALLOWED)
