"""Draws what the course is about: a conversation, the source of a function, the difference between two histories.

Everything is a Page: HTML without script for the notebook, the same as text for the tests. Leaves out what moves (widgets.py).
"""

import inspect
import json
from pathlib import Path

from . import page
from .page import Page, badge, bar, code, escape

REPOSITORY = Path(__file__).parents[2]


def plain(value):
    """SDK objects as the plain JSON data that they stand for; anything else as it is."""
    if hasattr(value, "model_dump"):
        return {key: item for key, item in value.model_dump(mode="json").items() if item is not None}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def blocks_of(message):
    """The content of a message as a list of block dicts; a string counts as one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def show_messages(messages):
    """Draw a conversation: turns, blocks, which result answers which call, and what the API would refuse."""
    messages = plain(messages)
    labels = _labels(messages)
    text, html = [], []
    for number, message in enumerate(messages):
        role = str(message.get("role"))
        text.append(f"{number} {role}")
        inside = f"<b>{number} {escape(role)}</b>"
        for block in blocks_of(message):
            head, body, label, error = _block(block, labels)
            mark = f"[{label}] " if label else ""
            text.append(f"    {mark}{head}{' is_error' if error else ''}: {body}".rstrip())
            colour = _colour(label)
            tags = (badge(label, colour) + " " if label else "") + escape(head)
            tags += " " + badge("is_error", page.RED) if error else ""
            inside += bar(tags + code(body), colour)
        html.append(f'<div style="margin:6px 0">{inside}</div>')
    return Page("\n".join(text), "".join(html))


def _labels(messages):
    """tool_use id -> A, B, ..., in the order of the calls."""
    ids = [b.get("id", "") for m in messages for b in blocks_of(m) if b.get("type") == "tool_use"]
    return {id: _letter(number) for number, id in enumerate(dict.fromkeys(ids))}


def _letter(number):
    return (_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def _colour(label):
    return page.COLOURS[(ord(label[-1]) - ord("A")) % len(page.COLOURS)] if label else page.GREY


def _block(block, labels):
    """(head, body, label, is_error) of a block."""
    kind = block.get("type")
    if kind == "text":
        return "text", block.get("text", ""), "", False
    if kind == "tool_use":
        body = json.dumps(block.get("input"), ensure_ascii=False)
        return f"tool_use {block.get('name')} {block.get('id')}", body, labels.get(block.get("id"), ""), False
    if kind == "tool_result":
        content = block.get("content", "")
        body = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        id = block.get("tool_use_id")
        return f"tool_result {id}", body, labels.get(id, "?"), bool(block.get("is_error"))
    return str(kind), json.dumps({k: v for k, v in block.items() if k != "type"}, ensure_ascii=False), "", False


def show_source(function):
    """The source of a function of the package (or of the reader), with its file as seen from the repository."""
    source = inspect.getsource(function).rstrip()
    file = Path(inspect.getsourcefile(function) or "")
    where = file.relative_to(REPOSITORY).as_posix() if file.is_relative_to(REPOSITORY) else "this notebook"
    return Page(f"# {where}\n{source}", f"<div>{escape(where)}</div>{code(source, fold=60)}")
