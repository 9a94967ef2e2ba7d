"""Who answers offline by rules: it is no language model.

The way of a request: what was asked for last (Asked, below) is cut into clauses (prompt.py), each clause gets the plan
of the first intent that fits (intents.py), the plan says what to call next or what to answer (plans.py, fix_test.py),
toolbox.py knows which of the offered tools can do that, and values.py fills in what a schema asks for.
"""

import json
import re
from typing import Any

from .intents import plan_for
from .plans import Plan, told
from .prompt import Clause, paths_in
from .toolbox import Call, Result, Toolbox
from .values import Values

SUMMED_UP = 80  # characters of each result in a summary
MAX_REPEATS = 3  # how often a call that was not run is asked for again
_NOT_RUN = re.compile(r"\(cancelled\)|Not run\b")
_FORBIDDEN = re.compile(r"\buser\b.*\b(not allow|refused|denied|rejected|declined)|用户.*(不允许|拒绝)", re.I)
_NUMBERS = re.compile(r"\bcat -n\b|\bline numbers?\b", re.I)  # said by a tool whose result has them
_GO_ON = re.compile(r"(please )?(continue|go on|carry on|proceed)[.!]?|继续[。！]?", re.I)


class Understudy:
    """Answers by rules, from the request alone, and remembers nothing.

    A plan is run from its start over the results that the conversation already holds. Where they end, the plan says
    what to call next, or what to answer.
    """

    name = "understudy"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply dict for a Messages request: text, or calls and perhaps text before them."""
        asked, choice = Asked(request), request.get("tool_choice") or {}
        if request.get("compaction"):
            return {"content": [{"type": "text", "text": asked.summary()}]}
        if request["messages"][-1]["role"] == "assistant" and (so_far := _summary(request["messages"][-1])):
            return {"content": [{"type": "text", "text": f"This is what I know from before: {so_far}"}]}
        clause, kind = asked.clause, choice.get("type")
        text, calls = next_step(asked, plan_for(clause))
        if asked.ran and not calls and kind in ("tool", "none"):  # the results may be of tools that it does not allow
            whole = Asked({**request, "tool_choice": {}})
            text, more = next_step(whole, plan_for(whole.clause))
            text = told(clause, *asked.ran[-1], " ") if more else text
        if kind in ("any", "tool") and clause.tools.tools:  # a forced call has no text before it
            text, calls = "", calls or [clause.tools.forced(clause, text, ran=bool(asked.ran))]
        if choice.get("disable_parallel_tool_use"):
            calls = calls[:1]
        form = (request.get("output_config") or {}).get("format") or request.get("output_format")
        if form:  # all that is said is in it
            values = Values(form["schema"], clause, text, sure=bool(asked.ran))
            text = "" if calls else json.dumps(values.complete(values.found()), ensure_ascii=False)
        content = [*([{"type": "text", "text": text}] if text.strip() else []), *calls]
        thinking = request.get("thinking") or {}
        if thinking.get("type") in ("enabled", "adaptive", "between_tools" if asked.ran else ""):
            no = "(No model thinks here: the understudy follows rules.)"
            no = (
                "" if thinking.get("display") == "omitted" else clause.t(no, "（这里没有模型在思考：替身按规则回答。）")
            )
            content = [{"type": "thinking", "thinking": no}, *content]
        return {"content": content}


def next_step(asked: "Asked", plan: Plan) -> tuple[str, list[Call]]:
    """What a plan says after the results so far, and the calls that it wants next: none at its end."""
    left, t = asked.ran, asked.clause.t
    try:
        say, wanted = next(plan)
        while True:
            ran, left = left[: len(wanted)], left[len(wanted) :]
            if [name for name, _ in ran] != [call["name"] for call in wanted[: len(ran)]]:
                return told(asked.clause, *asked.ran[-1], " "), []  # it can only say what came back
            for name, result in ran:
                if result.is_error and _FORBIDDEN.search(result):
                    return t(f"You did not allow {name}, so I stop here.", f"你没有允许 {name}，我就停在这里。"), []
            if len(ran) < len(wanted):  # if some were called one by one, the rest is asked for without a word
                return "" if ran else say, wanted[len(ran) :]
            say, wanted = plan.send([result for _, result in ran])
    except StopIteration as end:
        return end.value, []


class Asked:
    """What the understudy needs of a request: `clause` is what was asked for last, `ran` what came back since.

    `ran` holds pairs, the name of a tool and its Result, in the order of the calls. A call that was not run, because
    the reply was cut off or the user pressed Stop, counts as never made.
    """

    def __init__(self, request: dict[str, Any]):
        messages = request["messages"]
        prompts = [(index, _prompt(message)) for index, message in enumerate(messages) if message["role"] == "user"]
        prompts = [(index, text) for index, text in prompts if text and not _GO_ON.fullmatch(text.strip())]
        start, prompt = prompts[-1] if prompts else (0, "")
        known_paths = [path for _, text in prompts[-3:-1] for path in paths_in(text)]  # what "it" may mean
        self.clause = Clause(prompt, Toolbox(request), known_paths)
        blocks = [block for message in messages[start:] for block in _blocks(message)]
        calls = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
        results = {block["tool_use_id"]: _result(block) for block in blocks if block["type"] == "tool_result"}
        for call_id in results.keys() & calls.keys():
            if _NUMBERS.search(str(self.clause.tools.tools.get(calls[call_id], {}).get("description"))):
                results[call_id] = results[call_id].without_numbers()
        answered = [(name, results[call_id]) for call_id, name in calls.items() if call_id in results]
        self.ran = [(name, result) for name, result in answered if not (result.is_error and _NOT_RUN.match(result))]
        if len(answered) - len(self.ran) > MAX_REPEATS:  # it would ask for the same thing for ever
            self.ran = answered

    def summary(self) -> str:
        """What was asked for and what came back, in a line."""
        said = "; ".join(f"{name} gave {result.strip()[:SUMMED_UP]!r}" for name, result in self.ran)
        return f"The user asked: {self.clause.text.strip()!r}. {f'Since then {said}.' if said else 'Nothing was done.'}"


def _summary(message):
    return next((block.get("content") for block in _blocks(message) if block["type"] == "compaction"), None)


def _blocks(holder):
    content = holder.get("content") or ""
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _prompt(message):
    texts = [block["text"] for block in _blocks(message) if block["type"] == "text"]
    return next((text for text in reversed(texts) if text.strip() and not text.startswith("<system-reminder>")), "")


def _result(block):
    result = Result("\n".join(part.get("text", f"[{part.get('type')}]") for part in _blocks(block)))
    result.is_error = bool(block.get("is_error"))
    return result
