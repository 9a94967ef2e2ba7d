"""normalize_messages: mend a history so that the API accepts it. Small first version: the three main passes."""

_CACHE = "cache_control"
_SERVER_RESULT = frozenset({"type", "tool_use_id", "content", _CACHE})
FIELDS = {
    "text": frozenset({"type", "text", "citations", _CACHE}),
    "image": frozenset({"type", "source", "transformations", _CACHE}),
    "document": frozenset({"type", "source", "title", "context", "citations", _CACHE}),
    "search_result": frozenset({"type", "source", "title", "content", "citations", _CACHE}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input", "caller", "toolset_name", _CACHE}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "toolset_name", _CACHE}),
    "server_tool_use": frozenset({"type", "id", "name", "input", "caller", _CACHE}),
    "web_search_tool_result": _SERVER_RESULT | {"caller"},
}
PLACEHOLDER = "(cancelled)"


def normalize_messages(messages, *, repairs=None, prefill=False, keep_unsigned_thinking=False):
    """A list of plain messages that the API accepts; the input is not changed. `repairs` gets one line for each repair."""
    note = (lambda line: None) if repairs is None else repairs.append
    result = plain_messages(messages, note)
    result = answer_every_call(result, note)
    result = merge_neighbours(result)
    if not prefill and (not result or result[-1]["role"] == "assistant"):
        result.append({"role": "user", "content": "Continue."})
        note('added "Continue."')
    return result


def plain_messages(messages, note):
    result = []
    for message in messages:
        if not isinstance(message, dict):
            message = message.model_dump(exclude_none=True)
        content = message.get("content") or []
        if not isinstance(content, str):
            content = [_plain_block(block) for block in content]
            content = [b for b in content if b.get("type") != "text" or (b.get("text") or "").strip()]
        elif not content.strip():
            content = []
        result.append({"role": message["role"], "content": content})
    return result


def _plain_block(block):
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if not isinstance(block, dict):
        block = block.model_dump(exclude_none=True)
    known = FIELDS.get(block.get("type"), block)
    return {key: value for key, value in block.items() if key in known}


def answer_every_call(messages, note):
    real, fake = {}, {}
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block.get("type") == "tool_result":
                pool = fake if block.get("content") == PLACEHOLDER else real
                pool.setdefault(block["tool_use_id"], block)
    answers = {**fake, **real}
    result, due = [], []
    for message in merge_neighbours(messages):
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        others = [b for b in blocks if b.get("type") not in ("tool_use", "tool_result")]
        if message["role"] == "assistant":
            calls = [b for b in blocks if b.get("type") == "tool_use"]
            _answer(result, due, answers, note)
            due = calls
            if others or calls:
                result.append({"role": "assistant", "content": others + calls})
        else:
            results = [_result(call, answers, note) for call in due]
            due = []
            if results or others:
                keep = content if isinstance(content, str) and not results else results + others
                result.append({"role": "user", "content": keep})
    _answer(result, due, answers, note)
    return result


def _answer(result, due, answers, note):
    if due:
        result.append({"role": "user", "content": [_result(call, answers, note) for call in due]})


def _result(call, answers, note):
    if call["id"] in answers:
        return answers[call["id"]]
    note(f"answered {call['id']}: {PLACEHOLDER}")
    return {"type": "tool_result", "tool_use_id": call["id"], "content": PLACEHOLDER, "is_error": True}


def merge_neighbours(messages):
    merged = []
    for message in messages:
        if not message["content"]:
            continue
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] = _as_blocks(merged[-1]["content"]) + _as_blocks(message["content"])
        else:
            merged.append(dict(message))
    return merged


def _as_blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
