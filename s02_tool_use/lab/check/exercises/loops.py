"""The exercises of 06: the loop against scripted models over real HTTP, what a run has used, which calls may run."""

import contextlib
import io
import json

from ....dispatch import TOOLS
from ...client.endpoint import connect
from ...conversation import api_says, blocks, plain
from ..exercise import Block, Exercise, Property, Such

MOST_TURNS = 10
_PATIENCE = 25  # requests after which the script is used up, and a loop without a limit gets a 400

# ---- loop


class Model:
    """What a scripted model does: its lines, and the words in which a learner reads them."""

    def __init__(self, about, *lines, for_ever=False):
        self.about, self.lines, self.for_ever = about, lines, for_ever

    def __repr__(self):
        return f"<a model that {self.about}>"


class LoopRun:
    """What a loop did: what it returned, the list as it left it, the requests it sent, the ids of the calls it ran."""

    attempted = True

    def __init__(self, returned, messages, requests, ran):
        self.returned, self.messages, self.requests, self.ran = returned, plain(messages), requests, ran

    def __repr__(self):
        return json.dumps(self.messages, ensure_ascii=False, default=repr)


def _play(yours, model):
    requests, ran = [], []

    def line(number):
        """The line that says the reply `number` and keeps the request for it."""

        def say(request):
            requests.append(request)
            if model.for_ever:
                return model.lines[0]
            if number < len(model.lines):
                return model.lines[number]
            return {
                "status": 400,
                "message": f"This model has said all that it had to say, {len(model.lines)} replies.",
            }

        return say

    with contextlib.redirect_stdout(io.StringIO()):  # connect says who answers; here nobody asked
        client, name = connect(script=[line(number) for number in range(_PATIENCE)])
    messages = [{"role": "user", "content": "Look at the files."}]

    def run(block):
        block = plain(block)
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            raise TypeError("run takes a tool_use block")
        id = block["id"]
        ran.append(id)
        return {"type": "tool_result", "tool_use_id": id, "content": f"output of {id}"}

    with client:
        returned = yours(client, name, messages, TOOLS, run)
    return LoopRun(returned, messages, requests, ran) if requests or returned is not None else None


def _call(command):
    return {"type": "tool_use", "name": "bash", "input": {"command": command}}


_HELLO = Model("says 'Hello.'", "Hello.")
_HALF = Model(
    "is cut off in the middle of a text", {"content": "There are four files here.", "stop_reason": "max_tokens"}
)
_ONE = Model("calls bash, then says 'Done.'", [_call("ls")], "Done.")
_TWICE = Model("calls bash, calls it again, then says 'Done.'", [_call("ls")], [_call("wc -l orders.py")], "Done.")
_PAIR = Model(
    "calls bash twice in one reply, then says 'Both done.'",
    ["I will look at both.", _call("ls"), _call("ls data")],
    "Both done.",
)
_CUT = Model(
    "is cut off in the middle of a call, then says 'Sorry.'",
    {"content": ["I will write it.", _call("echo a long text > a.txt")], "stop_reason": "max_tokens"},
    "Sorry.",
)
_CUT_PAIR = Model(
    "is cut off in the second of two calls, then says 'Sorry.'",
    {"content": [_call("ls"), _call("echo a long text > a.txt")], "stop_reason": "max_tokens"},
    "Sorry.",
)
_ENDLESS = Model("calls bash in every reply", [_call("ls")], for_ever=True)

_LOOP = (1, "The loop goes on as long as")
_ALL = (1, "All results of a reply travel in one message")
_LIMIT = (3, "So a loop has a limit")
_HALF_CALL = (3, "A call that was cut is not run")


def _ids(model):
    """The ids that the calls of the first reply get."""
    line = model.lines[0]
    content = line["content"] if isinstance(line, dict) else line
    number = sum(isinstance(block, dict) for block in content)
    return [f"toolu_{n:02}" for n in range(1, number + 1)]


def _said(run, *_):
    """The text of what was returned, if it is a reply; else the thing itself."""
    content = getattr(run.returned, "content", None)
    return run.returned if content is None else next((b.text for b in content if b.type == "text"), content)


def _last_reply(model):
    text = model.lines[-1]
    return Such(f"the reply that says {text!r}", lambda reply: reply.content[0].text == text)


def _requests(run, *_):
    return len(run.requests)


def _roles(run, *_):
    return [message["role"] for message in run.messages]


def _offered(run, *_):
    return [[tool["name"] for tool in request.get("tools", [])] for request in run.requests]


def _results(run, key):
    """What stands under `key` in the results of the third message, which answers the first reply."""
    return [block.get(key) for block in blocks(run.messages[2]) if block["type"] == "tool_result"]


def _play_on(run, *_):
    """What the API says to the list that the loop left, with another question at its end."""
    return api_says([*run.messages, {"role": "user", "content": "And now?"}])


def _seen(sentence, read, models, right, see):
    return Property(sentence, read, [(model,) for model in models], right, see=see, run=_play)


loop = Exercise(
    "06",
    "loop",
    "my_loop(client, model, messages, tools, run), a function that asks, runs and answers until no call comes",
    [
        _seen("a reply without a call ends it, after one request", _LOOP, [_HELLO, _HALF], 1, _requests),
        _seen("it returns the last reply", _LOOP, [_HELLO], _last_reply, lambda run, _: run.returned),
        _seen(
            "with a call it asks again, until a reply has none",
            _LOOP,
            [_ONE, _TWICE],
            lambda model: len(model.lines),
            _requests,
        ),
        _seen(
            "the list that it got grows: each reply, each answer, the last reply too",
            _LOOP,
            [_HELLO, _ONE, _TWICE],
            lambda model: ["user", "assistant"] * len(model.lines),
            _roles,
        ),
        _seen(
            "every request offers the tools",
            _LOOP,
            [_HELLO, _ONE],
            lambda model: [[tool["name"] for tool in TOOLS]] * len(model.lines),
            _offered,
        ),
        _seen(
            "all results of a reply are in one message, in the order of the calls",
            _ALL,
            [_ONE, _PAIR],
            lambda model: [f"output of {id}" for id in _ids(model)],
            lambda run, _: _results(run, "content"),
        ),
        _seen("each call is run once", _ALL, [_ONE, _PAIR], _ids, lambda run, _: sorted(run.ran)),
        _seen("a call in a reply that was cut is not run", _HALF_CALL, [_CUT, _CUT_PAIR], [], lambda run, _: run.ran),
        _seen(
            "but it is answered, with is_error: True, and the model is asked again",
            _HALF_CALL,
            [_CUT, _CUT_PAIR],
            lambda model: ([True] * len(_ids(model)), model.lines[-1]),
            lambda run, _: (_results(run, "is_error"), _said(run)),
        ),
        _seen(f"a model that never stops is asked {MOST_TURNS} times", _LIMIT, [_ENDLESS], MOST_TURNS, _requests),
        _seen(
            "then the last of its replies is returned",
            _LIMIT,
            [_ENDLESS],
            f"toolu_{MOST_TURNS}",
            lambda run, _: run.returned.content[0].id,
        ),
        _seen(
            "whatever ended it, the API accepts the list, and the conversation can go on",
            _LIMIT,
            [_ENDLESS, _ONE, _PAIR, _CUT],
            "accepted",
            _play_on,
        ),
    ],
    deadline=10.0,  # the first call may have to import the SDK
)

# ---- usage


class _Reply(Block):
    """A reply with nothing but its usage. As with the SDK's own, parts can be dumped."""

    def model_dump(self, **_):
        return {"type": self.type, "usage": vars(self.usage)}

    to_dict = model_dump

    def __repr__(self):
        return f"Message(usage={self.usage!r})"


class _Usage(Block):
    def __repr__(self):
        return f"Usage({', '.join(f'{key}={value}' for key, value in vars(self).items())})"


def _reply(used, written):
    return _Reply(type="message", usage=_Usage(input_tokens=used, output_tokens=written))


_SENT = (5, "Each request carries the whole list")
_THREE = [_reply(400, 20), _reply(450, 35), _reply(520, 10)]

usage = Exercise(
    "06",
    "usage",
    "my_usage(replies), a function that returns (input tokens, output tokens) of all replies together",
    [
        Property("one reply: what it says", _SENT, [([_reply(400, 20)],)], (400, 20), see=lambda pair, _: tuple(pair)),
        Property(
            "the input of every request counts, not only of the last",
            _SENT,
            [(_THREE[:2],), (_THREE,)],
            lambda replies: sum(reply.usage.input_tokens for reply in replies),
            see=lambda pair, _: tuple(pair)[0],
        ),
        Property(
            "so does the output",
            _SENT,
            [(_THREE[:2],), (_THREE,)],
            lambda replies: sum(reply.usage.output_tokens for reply in replies),
            see=lambda pair, _: tuple(pair)[1],
        ),
        Property("no reply: nothing was used", _SENT, [([],)], (0, 0), see=lambda pair, _: tuple(pair)),
    ],
)

# ---- approve

_ALLOW = (4, "An **allow-list** names what may run")
_DENY = (4, "The list knows three spellings")
_ODD = (4, "And what it cannot read, it refuses")


def _asks(name, **arguments):
    return ({"type": "tool_use", "id": "toolu_01", "name": name, "input": arguments},)


def _bash(*commands):
    return [_asks("bash", command=command) for command in commands]


_YES = Such("True", lambda verdict: verdict is True)
_NO = Such("a reason, as a text", lambda verdict: isinstance(verdict, str) and bool(verdict.strip()))

approve = Exercise(
    "06",
    "approve",
    "my_approve(block), a function that returns True for a call that may run, else the reason as a text",
    [
        Property(
            "the tools that only read may run",
            _ALLOW,
            [_asks("read_file", path="README.md"), _asks("glob", pattern="*")],
            _YES,
        ),
        Property(
            "a harmless command may run",
            _ALLOW,
            _bash(
                "ls", "cat README.md", "ls -l data", "wc -l orders.py", "grep -n total orders.py", "head -n 5 orders.py"
            ),
            _YES,
        ),
        Property(
            "the tools that write, and tools that nobody knows, may not",
            _ALLOW,
            [
                _asks("write_file", path="a.txt", content="ls"),
                _asks("edit_file", path="a.txt", old_text="a", new_text="b"),
                _asks("deploy", command="ls"),
            ],
            _NO,
        ),
        Property(
            "a program that is not on the list may not",
            _DENY,
            _bash(
                "rm -r -f data",
                "find data -delete",
                "python3 -c pass",
                "sudo ls",
                "lsof",
                "catalog --drop",
                "./ls",
                "echo cat",
                "PATH=. ls",
                "  rm README.md",
            ),
            _NO,
        ),
        Property(
            "a second command behind a harmless one may not",
            _ALLOW,
            _bash(
                "ls; rm README.md",
                "ls -l;rm README.md",
                "ls && rm README.md",
                "cat README.md | sh",
                "ls & rm README.md",
                "ls\nrm README.md",
                "cat $(rm README.md)",
                "cat `rm README.md`",
            ),
            _NO,
        ),
        Property(
            "nor may a harmless command that writes into a file",
            _ALLOW,
            _bash("ls > README.md", "cat orders.py >> README.md"),
            _NO,
        ),
        Property(
            "what makes no sense is refused, and raises nothing",
            _ODD,
            [*_bash("", "   ", "cat 'README.md"), _asks("bash"), *_bash(None)],
            _NO,
        ),
    ],
)
