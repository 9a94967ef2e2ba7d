"""Who answers offline by rules: it is no language model.

The way of a request: what was asked for last (Asked, below) is cut into clauses (prompt.py), each clause gets the plan
of the first intent that fits (intents.py), the plan says what to call next or what to answer (plans.py, fix_test.py),
toolbox.py knows which of the offered tools can do that, and values.py what to send to one that nobody here knows.
"""

import json
import re
from typing import Any

from .intents import plan_for
from .plans import Plan, told
from .prompt import Speaker, paths_in, speaks_chinese
from .toolbox import Call, Result, Toolbox
from .values import fitting

MAX_REPEATS = 3  # how often a call that was not run is asked for again
_NOT_RUN = re.compile(r"\(cancelled\)|Not run\b")
_FORBIDDEN = re.compile(r"\buser\b.*\b(not allow|refused|denied|rejected|declined)|用户.*(不允许|拒绝)", re.I)
_GO_ON = re.compile(r"(please )?(continue|go on|carry on|proceed)[.!]?|继续[。！]?", re.I)


class Understudy:
    """Answers by rules, from the request alone, and remembers nothing.

    A plan is run from its start over the results that the conversation already holds. Where they end, the plan says
    what to call next, or what to answer.
    """

    name = "understudy"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply dict for a Messages request: a text, or calls and perhaps a text before them."""
        asked, tools, choice = Asked(request["messages"]), Toolbox(request), request.get("tool_choice") or {}
        text, calls = next_step(asked, plan_for(asked.prompt, tools, asked.known_paths))
        if choice.get("type") in ("any", "tool"):  # a forced call has no text before it
            text, calls = "", calls or [tools.forced(asked.prompt, asked.zh)]
        if choice.get("disable_parallel_tool_use"):
            calls = calls[:1]
        wanted = (request.get("output_config") or {}).get("format")
        if wanted and not calls:
            text = json.dumps(fitting(wanted["schema"], text), ensure_ascii=False)
        content = [*([{"type": "text", "text": text}] if text.strip() else []), *calls]
        thinking = request.get("thinking") or {}
        if thinking.get("type") == "enabled":
            no = "(No model thinks here: the understudy follows rules.)"
            no = "" if thinking.get("display") == "omitted" else asked.t(no, "（这里没有模型在思考：替身按规则回答。）")
            content = [{"type": "thinking", "thinking": no}, *content]
        return {"content": content}


def next_step(asked: "Asked", plan: Plan) -> tuple[str, list[Call]]:
    """What a plan says after the results so far, and the calls that it wants next: none at its end."""
    done = 0
    try:
        say, wanted = next(plan)
        while True:
            got, called = asked.results[done : done + len(wanted)], asked.called[done : done + len(wanted)]
            if called != [call["name"] for call in wanted[: len(called)]]:
                return told(asked, asked.called[-1], asked.results[-1], " "), []  # it can only say what came back
            if any(result.is_error and _FORBIDDEN.search(result) for result in got):
                say = f"You did not allow {called[0]}, so I stop here."
                return asked.t(say, f"你没有允许 {called[0]}，我就停在这里。"), []
            if len(called) < len(wanted):  # if some were called one by one, the rest is asked for without a word
                return "" if called else say, wanted[len(called) :]
            done += len(wanted)
            say, wanted = plan.send(got)
    except StopIteration as end:
        return end.value, []


class Asked(Speaker):
    """What the understudy needs of a conversation: what was asked for last, and what was called and came back since.

    `prompt` is what was asked for, `zh` whether in Chinese, `known_paths` the files that the prompts before it named.
    `called` and `results` are the names of the tools and their Results, in the order of the calls. A call that was not
    run, because the reply was cut off or the user pressed Stop, counts as never made.
    """

    def __init__(self, messages: list[dict[str, Any]]):
        prompts = [(index, _last_text(message)) for index, message in enumerate(messages) if message["role"] == "user"]
        prompts = [(index, text) for index, text in prompts if text and not _GO_ON.fullmatch(text.strip())]
        self.prompt: str
        start, self.prompt = prompts[-1] if prompts else (0, "")
        self.zh = speaks_chinese(self.prompt)
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
