"""Who answers offline. Scripted: lines that a notebook wrote. Understudy: rules over the last turn and the offered tools.

Neither is a language model, and neither claims to be one.
"""

import re
import threading

from .choosing import forbidden, forced_call, foreign_result, plan_for
from .toolbox import Result, Toolbox
from .words import paths_in

MAX_REPEATS = 3  # how often a call that was not run is asked for again
_NOT_RUN = re.compile(r"\(cancelled\)|Not run\b")
_FORBIDDEN = re.compile(r"\buser\b.*\b(not allow|refused|denied|rejected|declined)|用户.*(不允许|拒绝)", re.I)
_GO_ON = re.compile(r"(please )?(continue|go on|carry on|proceed)[.!]?|继续[。！]?", re.I)


class Scripted:
    """Answers with the given lines, in order, one a request.

    A line is a text, a content block, a list of texts and blocks, a dict with `content` and perhaps `stop_reason` or a
    fault, or a function that takes the request and returns one of these. Ids of tool_use blocks may be left out.

    Faults: `status` (429, 529, 500, ... with `message` and `retry_after`), `break_off` (True: the response ends in the
    middle), `stream_error` (an error type, sent in the middle of a stream), `slow` (seconds between two events).
    A `stop_reason` of max_tokens cuts the last block in the middle, as a real limit does.

    The lines are used up: after the last one each request gets a 400 that says so. connect(script=...) starts over.
    """

    name = "scripted"

    def __init__(self, lines):
        if isinstance(lines, str) or not hasattr(lines, "__iter__"):
            raise TypeError("A script is a list of lines, for example ['Hello.']")
        self.lines = [line if callable(line) else _reply(line, f"line {n}") for n, line in enumerate(lines, 1)]
        self._used = 0
        self._lock = threading.Lock()

    def reply(self, request):
        with self._lock:
            self._used += 1
            number = self._used
        if number > len(self.lines):
            lines = "1 line" if len(self.lines) == 1 else f"{len(self.lines)} lines"
            text = (
                f"The script has {lines}, and this was request {number}. Add a line, or run connect(script=...) again."
            )
            return {"status": 400, "message": text}
        line = self.lines[number - 1]
        return _reply(line(request), f"what the function of line {number} returned") if callable(line) else line


def _reply(line, where):
    """A line as a reply dict. Raises ValueError for one that cannot be sent."""
    if isinstance(line, dict) and "type" not in line:
        reply = dict(line)
    else:
        reply = {"content": line}
    content = reply.get("content", [])
    blocks = content if isinstance(content, (list, tuple)) else [content]
    reply["content"] = [_block(block, where) for block in blocks]
    return reply


def _block(block, where):
    if isinstance(block, str):
        return {"type": "text", "text": block}
    if hasattr(block, "model_dump"):
        block = block.model_dump(mode="json", exclude_none=True)
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise ValueError(f"Script, {where}: {block!r} is neither a text nor a content block (a dict with a type)")
    needed = {"text": ("text",), "tool_use": ("name",), "thinking": ("thinking",)}.get(block["type"], ())
    for key in needed:
        if not isinstance(block.get(key), str):
            raise ValueError(f"Script, {where}: the {block['type']} block needs {key!r}, a text")
    if block["type"] == "tool_use" and not isinstance(block.get("input", {}), dict):
        raise ValueError(f"Script, {where}: the input of a tool_use block is a dict")
    return block


class Understudy:
    """Answers by rules, from the request alone, and remembers nothing. It is no language model.

    It takes the last thing that the user asked for, makes a plan for it (plans.py) with the tools that were offered
    (toolbox.py), and runs that plan from its start over the results that the conversation already holds. Where they end,
    the plan says what to call next, or what to answer.
    """

    name = "understudy"

    def reply(self, request):
        """The reply dict for a Messages request: a text, or a text and calls."""
        talk = Talk(request["messages"])
        plan = plan_for(talk.prompt, Toolbox(request), talk.known_paths)
        choice = request.get("tool_choice") or {}
        try:
            say, wanted = next(plan)
            done = 0
            while len(talk.results) - done >= len(wanted):
                got = talk.results[done : done + len(wanted)]
                if [call["name"] for call in wanted] != talk.called[done : done + len(wanted)]:
                    return _text(foreign_result(talk))
                if any(result.is_error and _FORBIDDEN.search(result) for result in got):
                    return _text(forbidden(talk, talk.called[done]))
                done += len(wanted)
                say, wanted = plan.send(got)
        except StopIteration as end:
            if choice.get("type") in ("any", "tool") and not talk.results:
                return _calls("", [forced_call(talk.prompt, Toolbox(request), choice)])
            return _text(end.value)
        if len(talk.results) > done:  # some of these calls have their results already: ask for the rest
            say, wanted = "", wanted[len(talk.results) - done :]
        if choice.get("disable_parallel_tool_use"):
            wanted = wanted[:1]
        return _calls(say, wanted)


def _text(text):
    return {"content": [{"type": "text", "text": text}]}


def _calls(say, calls):
    return {"content": [*([{"type": "text", "text": say}] if say.strip() else []), *calls]}


class Talk:
    """What the understudy needs of a conversation: what was asked for last, and what was called and came back since.

    `called` and `results` are the names of the tools and their Results, in the order of the calls. A call that was not
    run, because the reply was cut off or the user pressed Stop, counts as never made.
    """

    def __init__(self, messages):
        self.prompt, self.known_paths, start = "", [], 0
        for index, message in enumerate(messages):
            text = _last_text(message) if message["role"] == "user" else ""
            if text and not _GO_ON.fullmatch(text.strip()):
                self.known_paths += paths_in(self.prompt)
                self.prompt, start = text, index
        results = {}
        calls = []
        for message in messages[start:]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_use":
                    calls.append(block)
                elif block.get("type") == "tool_result":
                    results[block["tool_use_id"]] = _result(block)
        answered = [(call["name"], results[call["id"]]) for call in calls if call["id"] in results]
        ran = [(name, result) for name, result in answered if not (result.is_error and _NOT_RUN.match(result))]
        if len(answered) - len(ran) > MAX_REPEATS:  # it would ask for the same thing for ever
            ran = answered
        self.called, self.results = [name for name, _ in ran], [result for _, result in ran]


def _last_text(message):
    content = message["content"]
    if isinstance(content, str):
        return content
    texts = [block["text"] for block in content if block.get("type") == "text"]
    return next((text for text in reversed(texts) if text.strip() and not text.startswith("<system-reminder>")), "")


def _result(block):
    content = block.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", f"[{part.get('type')}]") for part in content)
    result = Result(content)
    result.is_error = bool(block.get("is_error"))
    return result
