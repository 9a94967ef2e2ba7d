"""The wire format of the Messages API: a reply as one JSON body, and as the stream of events that tells the same.

Pure functions, dict in and dict out; server.py puts them on a socket. Left out: citations, images in replies, batches.
"""

import bisect
import hashlib
import hmac
import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

# What the API calls a failure, by HTTP status.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(
    status: int, message: str, request_id: str, error_type: str | None = None, details: dict | None = None
) -> dict:
    """The JSON body of every failure. The same id stands in the `request-id` header."""
    fallback = "api_error" if status >= 500 else "invalid_request_error"
    error = {"type": error_type or ERROR_TYPES.get(status, fallback), "message": message}
    return {"type": "error", "error": error | ({"details": details} if details else {}), "request_id": request_id}


# Tokens


def count_tokens(value: Any) -> int:
    """Roughly how many tokens a string or a JSON value has: one for four ASCII characters, one for each other one.

    A real tokenizer gives other numbers. What matters here: usage, count_tokens and max_tokens count in the same way.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    ascii_characters = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_characters / 4) + len(text) - ascii_characters


def input_tokens(request: dict) -> int:
    """The tokens of everything that a model would read: system, tools and messages."""
    request = {**request, "tools": loaded_tools(request)}
    return sum(count_tokens(request[key]) for key in ("system", "tools", "messages") if request.get(key))


def loaded_tools(request: dict) -> list:
    """The tools without those that wait (`defer_loading`) until a result in the list refers to them."""
    tools = request.get("tools") or []
    if not any(tool.get("defer_loading") for tool in tools):
        return tools
    found = set(_references(request["messages"]))
    return [tool for tool in tools if not tool.get("defer_loading") or tool.get("name") in found]


def _references(value):
    """The names in all tool_reference blocks, however deep they lie."""
    if isinstance(value, dict):
        if value.get("type") == "tool_reference":
            yield value.get("tool_name")
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _references(part)


# The cache, as https://platform.claude.com/docs/en/build-with-claude/prompt-caching and the pages beside it tell it

CACHED_FROM = 1024  # tokens: a shorter prefix is not cached; with the real API 512 to 4,096, as the model has it
LOOKED_BACK = 20  # blocks, a marker's own included, in which an older entry is looked for


def cache_usage(request: dict, known: set[str]) -> dict:
    """The input of a request as `usage` counts it: what is read from the cache, what is written to it, and the rest.

    known: the digests of the prefixes that were marked before; those that this request marks are added. A prefix is
    what comes before a marker, in this order: tools, system, messages. Left out: the real cache forgets an entry after
    its ttl, and it holds one only when the reply to the request has begun.
    """
    waiting = {tool.get("name"): tool for tool in request.get("tools") or [] if tool.get("defer_loading")}
    tools = [tool for tool in request.get("tools") or [] if not tool.get("defer_loading")]
    system = _parts("system", request.get("system") or [])
    parts = [("tools", tool) for tool in tools] + system
    first = len(parts)  # of what stands in messages
    parts += [part for message in request["messages"] for part in _parts(message["role"], message["content"])]
    markers = {n: part.get("cache_control") for n, (_, part) in enumerate(parts) if isinstance(part, dict)}
    markers[len(parts) - 1] = markers.get(len(parts) - 1) or request.get("cache_control")

    total, tokens, prefixes, digest = input_tokens(request), 0, [], hashlib.sha256(request["model"].encode())
    last = max((n for n, marker in markers.items() if marker), default=-1)
    settings = {len(tools): _system_settings(request)}
    if last >= first:
        settings[first] = settings.get(first, "") + _message_settings(request)
    for n in range(last + 1):
        place, part = parts[n]
        block = {"type": "text", "text": part} if isinstance(part, str) else part
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        text = json.dumps(plain, sort_keys=True, ensure_ascii=False)
        digest.update(f"{settings.get(n, '')}{place} {text}".encode())
        came = [waiting.pop(name) for name in _references(part) if name in waiting]  # they stand where they were found
        tokens += sum(map(count_tokens, came)) + count_tokens(part if isinstance(part, str) else text)
        tokens = min(tokens, total)
        prefixes.append((digest.hexdigest(), tokens))

    marked = [n for n in range(len(prefixes)) if markers.get(n) and prefixes[n][1] >= CACHED_FROM]
    in_reach = {m for n in marked for m in range(max(n - LOOKED_BACK + 1, 0), n + 1)}
    read = done = max((prefixes[n][1] for n in in_reach if prefixes[n][0] in known), default=0)
    written = {"5m": 0, "1h": 0}
    for n in marked:
        name, tokens = prefixes[n]
        known.add(name)
        written[(markers[n] or {}).get("ttl") or "5m"] += max(tokens - done, 0)
        done = max(tokens, done)
    return {
        "input_tokens": total - done,
        "cache_creation_input_tokens": done - read,
        "cache_read_input_tokens": read,
        "cache_creation": {f"ephemeral_{ttl}_input_tokens": count for ttl, count in written.items()},
    }


def _parts(place, content):
    return [(place, part) for part in (content if isinstance(content, list) else [content])]


def _system_settings(request):
    """What else changes the prompt from `system` on: the form that a reply must have stands in it."""
    form = (request.get("output_config") or {}).get("format") or request.get("output_format")
    return f"{json.dumps(form, sort_keys=True)} " if form else ""


def _message_settings(request):
    """What else changes the prompt from the first message on: tool_choice, thinking, whether there are images."""
    choice, thinking = request.get("tool_choice") or {"type": "auto"}, request.get("thinking") or {"type": "disabled"}
    choice = {key: value for key, value in choice.items() if value is not False}  # parallel calls are allowed anyway
    images = '"type": "image"' in json.dumps(request["messages"])
    return json.dumps([choice, thinking, images], sort_keys=True)


# The content of a reply


def fill_blocks(content: list, request: dict) -> list[dict]:
    """Completed copies of the blocks that an answerer gave: ids, counted on from the history, `caller`, signatures."""
    said = [message["content"] for message in request["messages"] if isinstance(message.get("content"), list)]
    history = [block for blocks in said for block in blocks if block["type"] == "tool_use"]
    used = {block.get("id") for block in [*history, *content]}
    free = (name for number in itertools.count(len(history) + 1) if (name := f"toolu_{number:02}") not in used)

    filled, calls = [], 0
    for block in content:
        if block["type"] == "tool_use":
            call_id, calls = next(free) if block.get("id") is None else block["id"], calls + 1
            given = {"id": call_id, "name": block["name"], "input": block.get("input", {})}
            block = {"type": "tool_use", **given, "caller": {"type": "direct"}}
        elif block["type"] == "thinking":
            block = {"signature": sign(block["thinking"], calls), **block}
        filled.append(block)
    return filled


CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")  # blocks with an input; the last two run at the API's side


def _text(block):
    """The part of a block that costs tokens, and that a stream sends piece by piece."""
    if block["type"] in CALLS:
        return json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""
    return block.get(block["type"]) or ""  # a text block keeps it under "text", a thinking block under "thinking"


def _cost(block):
    return count_tokens(_text(block)) + (count_tokens(block["name"]) if block["type"] in CALLS else 0)


def compacted(content: list) -> tuple[str, list]:
    """What answers a request with `compaction`: the summary, and the one block that holds it."""
    said = [block.get("text") or block.get("content") for block in content if block["type"] in ("text", "compaction")]
    summary = "\n".join(filter(None, said))
    return summary, [{"type": "compaction", "content": summary, "signature": sign(summary)}]


def stop_at(content: list, sequences: list) -> tuple[list, str | None]:
    """The blocks up to the first stop sequence in their text, and that sequence; or all of them, and None."""
    for index, block in enumerate(content):
        text = block["text"] if block["type"] == "text" else ""
        found = [(text.index(sequence), sequence) for sequence in sequences if sequence and sequence in text]
        if found:
            place, sequence = min(found)
            return [*content[:index], *([{**block, "text": text[:place]}] if place else [])], sequence
    return content, None


def cut(content: list, budget: int) -> tuple[list, str | None]:
    """What fits into `budget` tokens: the blocks, the text of the last one as far as it got, or None if all fit.

    A call that was cut off has no usable input: it keeps `{}`, and only the stream shows how far its JSON got.
    """
    kept = []
    for block in content:
        if _cost(block) <= budget and budget > 0:
            kept.append(block)
            budget -= _cost(block)
            continue
        text = _text(block)
        left = max(budget - _cost(block) + count_tokens(text), 0)  # after the name of a call
        rest = text[: bisect.bisect_right(range(len(text) + 1), left, key=lambda n: count_tokens(text[:n])) - 1]
        if block["type"] in CALLS:
            return [*kept, {**block, "input": {}}], rest
        if block["type"] == "thinking":
            block = {**block, "signature": sign(rest, sum(one["type"] == "tool_use" for one in kept))}
        kept += [{**block, block["type"]: rest}] if rest else []
        return kept, _text(kept[-1]) if kept else rest
    return kept, None


def message_body(request: dict, reply: dict, known: set[str] | None = None) -> tuple[dict, str | None]:
    """The Message that answers `request`, and the text of its last block as far as it got if that was cut, else None.

    `reply` is what an answerer gave: `content` and perhaps `stop_reason`, `stop_details`. Without a `stop_reason` it is
    what the content says. A `max_tokens` that the answerer asked for cuts the last block in its middle. `known` is
    what the cache holds, as in cache_usage. Keys that only some replies have are there when the request asks for it.
    """
    content = fill_blocks(reply["content"], request)
    summary = None
    if request.get("compaction"):
        summary, content = compacted(content)
        reply = {"stop_reason": "compaction", **reply}
    content, sequence = stop_at(content, request.get("stop_sequences") or [])
    budget = request["max_tokens"]
    if reply.get("stop_reason") == "max_tokens" and content:
        budget = min(budget, sum(map(_cost, content)) - math.ceil(count_tokens(_text(content[-1])) / 2))
    whole = sum(map(_cost, content))
    content, rest = cut(content, budget)

    stop_reason = "max_tokens" if rest is not None else "stop_sequence" if sequence else reply.get("stop_reason")
    if not stop_reason:
        stop_reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    details = reply.get("stop_details")
    if stop_reason == "refusal" and details is None:
        details = {"type": "refusal", "category": None, "explanation": None}
    message = {
        "id": f"msg_{sum(message.get('role') == 'assistant' for message in request['messages']) + 1:02}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": sequence if stop_reason == "stop_sequence" else None,
        "stop_details": details,
        "container": None,
        "diagnostics": None,
        "usage": cache_usage(request, set() if known is None else known)
        | {"output_tokens": min(whole, budget), "service_tier": "standard", "inference_geo": "global"},
    }
    if summary:
        message["usage"]["output_tokens"] = count_tokens(summary)
    thoughts = [_cost(block) for block in content if block["type"] in ("thinking", "redacted_thinking")]
    if thoughts or (request.get("thinking") or {}).get("type", "disabled") != "disabled":
        message["usage"]["output_tokens_details"] = {"thinking_tokens": sum(thoughts)}
    kinds = [str(tool.get("type")) for tool in request.get("tools") or []]
    if any(kind.startswith(("advisor_", "code_execution_", "mcp_", "web_")) for kind in kinds):  # they run over there
        message["usage"]["server_tool_use"] = {"web_search_requests": 0, "web_fetch_requests": 0}
    if request.get("context_management"):
        message["context_management"] = {"applied_edits": []}
    return message, rest


# The stream


def stream_events(message: dict, rest: str | None = None) -> Iterator[tuple[str, dict]]:
    """The events of a stream, in order, as (name, data). `message` and `rest` are what `message_body` gave."""
    usage, late = message["usage"], ("output_tokens_details", "server_tool_use")
    start = {**message, "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    start["usage"] = {key: value for key, value in usage.items() if key not in late} | {"output_tokens": 1}
    edited = {key: start.pop(key) for key in ("context_management",) if key in start}
    yield "message_start", {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        is_last = index == len(message["content"]) - 1
        empty, deltas = _opened(block, rest if rest is not None and is_last else _text(block))
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": empty}
        if index == 0:
            yield "ping", {"type": "ping"}
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    delta = {key: message.get(key) for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
    once = ("cache_creation", "service_tier", "inference_geo")  # said at the start; what is counted comes in all
    usage = {key: value for key, value in usage.items() if key not in once}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": usage, **edited}
    yield "message_stop", {"type": "message_stop"}


# How a block is streamed, by its type: what is empty at its start, the type of a delta, the key in it, the smallest
# piece. The input of a call comes as JSON text: it is joined, and parsed only when the block is complete.
_STREAMED: dict[str, tuple[dict, str, str, int]] = {
    "text": ({"text": ""}, "text_delta", "text", 16),
    "thinking": ({"thinking": "", "signature": ""}, "thinking_delta", "thinking", 16),
    **dict.fromkeys(CALLS, ({"input": {}}, "input_json_delta", "partial_json", 8)),
}


def _opened(block, text):
    """A block as it starts, empty, and the deltas that fill it: its text in pieces, cut anywhere, also inside words."""
    if block["type"] not in _STREAMED:
        return block, []  # redacted thinking and what server tools found come whole
    empty, kind, key, smallest = _STREAMED[block["type"]]
    size = max(smallest, math.ceil(len(text) / (4 * smallest)))  # a long text comes in larger pieces, not in more
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    deltas = [{"type": kind, key: piece} for piece in ([""] if "input" in empty else []) + pieces]
    if "signature" in empty:
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
    return {**block, **empty}, deltas


def sse(name: str, data: dict) -> bytes:
    """One server-sent event as bytes. A client finds its end by the empty line."""
    # A lone surrogate, which UTF-8 has not, stands in JSON as backslashreplace writes it.
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode(errors="backslashreplace")


# Thinking blocks are signed, so that one that was edited or moved can be refused. No key here is secret.

_SIGNED_HERE = "offline-"


def sign(thinking: str, calls: int = 0) -> str:
    """The signature of one of our own thinking blocks, which stands behind so many calls of its reply."""
    place = f"{calls}-" if calls else ""
    digest = hmac.new(b"not a secret", (place + thinking).encode(), hashlib.sha256).hexdigest()
    return _SIGNED_HERE + place + digest[:32]


def is_forged(block: dict, calls: int | None = None) -> bool:
    """True for a thinking block with a signature of ours and another text, or with other calls before it, if they are
    given. Those from elsewhere cannot be judged.
    """
    signature = str(block.get("signature"))
    place = signature.removeprefix(_SIGNED_HERE).rpartition("-")[0]
    before = int(place) if place.isdecimal() else 0
    wrong = signature != sign(str(block.get("thinking")), before) or calls not in (None, before)
    return signature.startswith(_SIGNED_HERE) and wrong
