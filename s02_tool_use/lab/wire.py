"""The wire format of the Messages API: a reply as one JSON body, and as the stream of events that tells the same story.

Pure functions, dict in and dict out; server.py puts them on a socket. Left out: citations, images in replies, batches.
"""

import hashlib
import hmac
import json
import math

# What the real API calls a failure, by HTTP status.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}

# Ours, so that a thinking block which was edited can be told from the one that was sent. Not a secret worth keeping.
_SIGNATURE_PREFIX = "offline-"


def error_body(status, message, request_id, error_type=None):
    """The JSON body of every failure. The same id stands in the `request-id` header."""
    error = {"type": error_type or ERROR_TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def count_tokens(value):
    """Roughly how many tokens a text or a JSON value has: one for four ASCII characters, one for any other character.

    A real tokenizer gives other numbers. What matters here: usage, count_tokens and max_tokens all count in this one way.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    ascii_characters = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_characters / 4) + len(text) - ascii_characters


def input_tokens(request):
    """The tokens of everything that the model would read: system, tools and messages."""
    return sum(count_tokens(request[key]) for key in ("system", "tools", "messages") if request.get(key))


def _block_text(block):
    """The part of a block that costs tokens, and that a stream sends piece by piece."""
    if block["type"] == "tool_use":
        return json.dumps(block["input"], ensure_ascii=False) if block["input"] else ""
    return block.get(block["type"]) or ""  # text blocks keep theirs under "text", thinking blocks under "thinking"


def cut(content, budget):
    """The blocks that fit into `budget` tokens, and the text of the last one as far as it got (None if nothing was cut)."""
    kept = []
    for block in content:
        text = _block_text(block)
        cost = count_tokens(text) + (count_tokens(block["name"]) if block["type"] == "tool_use" else 0)
        if cost > budget:
            rest = text[: budget * 4]
            while rest and count_tokens(rest) > budget:
                rest = rest[:-1]
            if not rest and block["type"] != "tool_use":
                return kept, ""
            # A call that was cut off has no usable input. In the stream one sees how far its JSON got.
            half = {**block, "input": {}} if block["type"] == "tool_use" else {**block, block["type"]: rest}
            return [*kept, half], rest
        kept.append(block)
        budget -= cost
    return kept, None


def sign(thinking):
    """The signature of one of our own thinking blocks."""
    return _SIGNATURE_PREFIX + hmac.new(b"not a secret", thinking.encode("utf-8"), hashlib.sha256).hexdigest()[:32]


def is_forged(block):
    """True for a thinking block that carries a signature of ours which does not fit its text."""
    signature = block.get("signature") if isinstance(block, dict) and block.get("type") == "thinking" else None
    ours = isinstance(signature, str) and signature.startswith(_SIGNATURE_PREFIX)
    return ours and signature != sign(str(block.get("thinking")))


def _history_blocks(request):
    for message in request["messages"]:
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            yield from (block for block in message["content"] if isinstance(block, dict))


def fill_blocks(content, request):
    """Completed copies of the blocks that an answerer gave: ids counted on from the history, input, caller, signature."""
    used = {block.get("id") for block in _history_blocks(request) if block.get("type") == "tool_use"}
    used |= {block.get("id") for block in content}
    number = sum(block.get("type") == "tool_use" for block in _history_blocks(request))
    filled = []
    for block in content:
        block = dict(block)
        if block["type"] == "tool_use":
            while block.get("id") is None:
                number += 1
                if f"toolu_{number:02}" not in used:
                    block["id"] = f"toolu_{number:02}"
            block = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": block.get("input", {})}
            block["caller"] = {"type": "direct"}
        elif block["type"] == "thinking":
            block.setdefault("signature", sign(block["thinking"]))
        filled.append(block)
    return filled


def message_body(request, reply):
    """The Message that answers `request`, and the text of its last block as far as it got if that was cut, else None.

    `reply` is what an answerer gave: `content`, and perhaps `stop_reason` and `stop_details`.
    """
    content = fill_blocks(reply["content"], request)
    stop_reason = reply.get("stop_reason")
    budget = request["max_tokens"]
    if stop_reason == "max_tokens" and content:  # a scenario wants the cut: in the middle of the last block
        whole = sum(count_tokens(_block_text(block)) for block in content[:-1])
        budget = min(budget, whole + count_tokens(_block_text(content[-1])) // 2)
    content, rest = cut(content, budget)
    if rest is not None:
        stop_reason = "max_tokens"
    if stop_reason is None:
        stop_reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    turns = sum(isinstance(m, dict) and m.get("role") == "assistant" for m in request["messages"])
    spent = sum(count_tokens(_block_text(block)) for block in content)
    if rest is not None and content and content[-1]["type"] == "tool_use":
        spent += count_tokens(rest)
    message = {
        "id": f"msg_{turns + 1:02}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "stop_details": reply.get("stop_details"),
        "container": None,
        "diagnostics": None,
        "usage": {
            "input_tokens": input_tokens(request),
            "output_tokens": max(spent, 1),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
            "server_tool_use": None,
            "inference_geo": "global",
        },
    }
    return message, rest


def _pieces(text, smallest, most):
    """The text in pieces, as a model writes it: cut anywhere, also inside a word. Long texts come in larger pieces."""
    size = max(smallest, math.ceil(len(text) / most))
    return [text[start : start + size] for start in range(0, len(text), size)]


def stream_events(message, rest=None):
    """The events of a stream, in order, as (name, data). `message` and `rest` are what `message_body` gave."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        last = index == len(message["content"]) - 1
        text = rest if rest is not None and last else _block_text(block)
        kind = block["type"]
        empty = {"tool_use": {"input": {}}, "text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}
        yield (
            "content_block_start",
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {**block, **empty.get(kind, {})},
            },
        )
        if index == 0:
            yield "ping", {"type": "ping"}
        if kind == "tool_use":  # the input arrives as pieces of JSON text, to be joined before it is parsed
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *_pieces(text, 8, 32)]]
        elif kind == "text":
            deltas = [{"type": "text_delta", "text": part} for part in _pieces(text, 16, 64)]
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _pieces(text, 16, 64)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:  # a server tool's block comes whole
            deltas = []
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
    usage = {"output_tokens": message["usage"]["output_tokens"]}  # the total so far, not what came since the last event
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage}
    yield "message_stop", {"type": "message_stop"}


def sse(name, data):
    """One server-sent event as bytes. A client finds the end of it by the empty line."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
