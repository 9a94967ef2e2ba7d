"""Who answers offline: Scripted, with lines of a notebook, and Understudy, by rules. Neither is a language model."""

import re

from .answers import forbidden, foreign_result
from .filling import forced_call
from .intents import plan_for
from .prompt import paths_in
from .scripted import Scripted
from .toolbox import Result, Toolbox

__all__ = ["Scripted", "Understudy"]

MAX_REPEATS = 3  # how often a call that was not run is asked for again
_NOT_RUN = re.compile(r"\(cancelled\)|Not run\b")
_FORBIDDEN = re.compile(r"\buser\b.*\b(not allow|refused|denied|rejected|declined)|用户.*(不允许|拒绝)", re.I)
_GO_ON = re.compile(r"(please )?(continue|go on|carry on|proceed)[.!]?|继续[。！]?", re.I)


class Understudy:
    """Answers by rules, from the request alone, and remembers nothing. It is no language model.

    It takes the last thing that the user asked for, makes a plan for it (plans.py) with the tools that were offered
    (toolbox.py), and runs that plan from its start over the results that the conversation already holds. Where they
    end, the plan says what to call next, or what to answer.
    """

    name = "understudy"

    def reply(self, request):
        """The reply dict for a Messages request: a text, or a text and calls."""
        asked = Asked(request["messages"])
        plan = plan_for(asked.prompt, Toolbox(request), asked.known_paths)
        choice = request.get("tool_choice") or {}
        try:
            say, wanted = next(plan)
            done = 0
            while len(asked.results) - done >= len(wanted):
                got = asked.results[done : done + len(wanted)]
                if [call["name"] for call in wanted] != asked.called[done : done + len(wanted)]:
                    return _text(foreign_result(asked))
                if any(result.is_error and _FORBIDDEN.search(result) for result in got):
                    return _text(forbidden(asked, asked.called[done]))
                done += len(wanted)
                say, wanted = plan.send(got)
        except StopIteration as end:
            if choice.get("type") in ("any", "tool") and not asked.results:
                return _calls("", [forced_call(asked.prompt, Toolbox(request), choice)])
            return _text(end.value)
        if len(asked.results) > done:  # some of these calls have their results already: ask for the rest
            say, wanted = "", wanted[len(asked.results) - done :]
        if choice.get("disable_parallel_tool_use"):
            wanted = wanted[:1]
        return _calls(say, wanted)


def _text(text):
    return {"content": [{"type": "text", "text": text}]}


def _calls(say, calls):
    return {"content": [*([{"type": "text", "text": say}] if say.strip() else []), *calls]}


class Asked:
    """What the understudy needs of a conversation: what was asked for last, and what was called and came back since.

    `prompt` is what was asked for, `known_paths` the files that the prompts before it named. `called` and `results` are
    the names of the tools and their Results, in the order of the calls. A call that was not run, because the reply was
    cut off or the user pressed Stop, counts as never made.
    """

    def __init__(self, messages):
        prompts = [(index, _last_text(message)) for index, message in enumerate(messages) if message["role"] == "user"]
        prompts = [(index, text) for index, text in prompts if text and not _GO_ON.fullmatch(text.strip())]
        start, self.prompt = prompts[-1] if prompts else (0, "")
        self.known_paths = [path for _, text in prompts[-3:-1] for path in paths_in(text)]  # what "it" may mean
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
