"""The exercises of 06: the loop against scripted models over real HTTP, what a run has used, which calls may run."""

import contextlib
import io
import json

from ....dispatch import TOOLS
from ...client.endpoint import connect
from ...conversation import api_says, blocks, plain
from ..exercise import Given, Named, Property, Such, exercise
from .parts import call, each, right_answer, row, rows_of, string_that, user

MOST_TURNS = 10
PATIENCE = 25  # requests after which the script is used up, and a loop without a limit gets a 400


class Model(Named):
    """What a scripted model does: its lines, and the words in which a learner reads them."""

    def __init__(self, about, *lines, for_ever=False):
        super().__init__(f"<a model that {about}>", lines=lines, for_ever=for_ever)
        content = lines[0]["content"] if isinstance(lines[0], dict) else lines[0]
        calls = [block for block in content if isinstance(block, dict)]
        self.ids = [f"toolu_{number:02}" for number, _ in enumerate(calls, 1)]  # that those of the first reply get

    def script(self, requests):
        """A script for `connect` that puts each request into `requests`."""
        used_up = f"This model has said all that it had to say, {len(self.lines)} replies."
        after = self.lines[0] if self.for_ever else {"status": 400, "message": used_up}
        lines = [*self.lines, *[after] * PATIENCE][:PATIENCE]
        return [lambda request, line=line: requests.append(request) or line for line in lines]


class LoopRun:
    """What a loop did: what it returned, the list as it left it, the requests it sent, the ids of the calls it ran."""

    attempted = True

    def __init__(self, returned, messages, requests, ran):
        self.returned, self.messages, self.requests, self.ran = returned, plain(messages), requests, ran

    def __repr__(self):
        return json.dumps(self.messages, ensure_ascii=False, default=repr)

    def results(self, key):
        """What stands under `key` in the results of the third message, which answers the first reply."""
        return [block.get(key) for block in blocks(self.messages[2]) if block["type"] == "tool_result"]

    def said(self):
        """The text of what was returned, if it is a reply; else the thing itself."""
        content = getattr(self.returned, "content", None)
        return self.returned if content is None else next((b.text for b in content if b.type == "text"), content)


def _play(yours, model):
    requests, ran, messages = [], [], [user("Look at the files.")]
    with contextlib.redirect_stdout(io.StringIO()):  # connect says who answers; here nobody asked
        client, name = connect(script=model.script(requests))

    def run(block):
        block = plain(block)
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            raise TypeError("run takes a tool_use block")
        ran.append(block["id"])
        return {"type": "tool_result", "tool_use_id": block["id"], "content": f"output of {block['id']}"}

    with client:
        returned = yours(client, name, messages, TOOLS, run)
    return LoopRun(returned, messages, requests, ran) if requests or returned is not None else None


def _bash(command):
    return {"type": "tool_use", "name": "bash", "input": {"command": command}}


def _cut(*content):
    return {"content": [*content], "stop_reason": "max_tokens"}


HELLO = Model("says 'Hello.'", "Hello.")
HALF = Model("is cut off in the middle of a text", _cut("There are four files here."))
ONE = Model("calls bash, then says 'Done.'", [_bash("ls")], "Done.")
TWICE = Model("calls bash, calls it again, then says 'Done.'", [_bash("ls")], [_bash("wc -l orders.py")], "Done.")
BOTH = ["I will look at both.", _bash("ls"), _bash("ls data")]
PAIR = Model("calls bash twice in one reply, then says 'Both done.'", BOTH, "Both done.")
LONG = _bash("echo a long text > a.txt")
CUT = Model("is cut off in the middle of a call, then says 'Sorry.'", _cut("I will write it.", LONG), "Sorry.")
CUT_PAIR = Model("is cut off in the second of two calls, then says 'Sorry.'", _cut(_bash("ls"), LONG), "Sorry.")
ENDLESS = Model("calls bash in every reply", [_bash("ls")], for_ever=True)


@exercise(
    "my_loop(client, model, messages, tools, run), a function that asks, runs and answers until no call comes",
    deadline=10.0,  # the first call may have to import the SDK
)
def loop():
    @row
    def seen(sentence, read, models, right, see):
        return Property(sentence, read, each(*models), right, lambda run, _: see(run), _play)

    def last_reply(model):
        return Such(f"the reply that says {model.lines[-1]!r}", lambda reply: reply.content[0].text == model.lines[-1])

    def requests(run):
        return len(run.requests)

    def roles(run):
        return [message["role"] for message in run.messages]

    def offered(run):
        return [[tool["name"] for tool in request.get("tools", [])] for request in run.requests]

    def play_on(run):
        """What the API says to the list that the loop left, with another question at its end."""
        return api_says([*run.messages, user("And now?")])

    goes_on, everything = (1, "The loop goes on as long as"), (1, "All results of a reply travel in one message")
    limit, half_call = (3, "So a loop has a limit"), (3, "A call that was cut is not run")
    yield seen("a reply without a call ends it, after one request", goes_on)([HELLO, HALF], 1, requests)
    yield seen("it returns the last reply", goes_on)([HELLO], last_reply, lambda run: run.returned)
    yield seen("with a call it asks again, until a reply has none", goes_on)(
        [ONE, TWICE], lambda model: len(model.lines), requests
    )
    yield seen("the list that it got grows: each reply, each answer, the last reply too", goes_on)(
        [HELLO, ONE, TWICE], lambda model: ["user", "assistant"] * len(model.lines), roles
    )
    yield seen("every request offers the tools", goes_on)(
        [HELLO, ONE], lambda model: [[tool["name"] for tool in TOOLS]] * len(model.lines), offered
    )
    yield seen("all results of a reply are in one message, in the order of the calls", everything)(
        [ONE, PAIR], lambda model: [f"output of {id}" for id in model.ids], lambda run: run.results("content")
    )
    yield seen("each call is run once", everything)([ONE, PAIR], lambda model: model.ids, lambda run: sorted(run.ran))
    yield seen("a call in a reply that was cut is not run", half_call)([CUT, CUT_PAIR], [], lambda run: run.ran)
    yield seen("but it is answered, with is_error: True, and the model is asked again", half_call)(
        [CUT, CUT_PAIR],
        lambda model: ([True] * len(model.ids), model.lines[-1]),
        lambda run: (run.results("is_error"), run.said()),
    )
    yield seen(f"a model that never stops is asked {MOST_TURNS} times", limit)([ENDLESS], MOST_TURNS, requests)
    yield seen("then the last of its replies is returned", limit)(
        [ENDLESS], f"toolu_{MOST_TURNS}", lambda run: run.returned.content[0].id
    )
    yield seen("whatever ended it, the API accepts the list, and the conversation can go on", limit)(
        [ENDLESS, ONE, PAIR, CUT], "accepted", play_on
    )


class Usage(Given): ...


class Message(Given): ...  # a reply with nothing but its usage


@exercise("my_usage(replies), a function that returns (input tokens, output tokens) of all replies together")
def usage():
    @right_answer
    def same(replies):
        return tuple(sum(getattr(reply.usage, name) for reply in replies) for name in ("input_tokens", "output_tokens"))

    def pair(result, _):
        if isinstance(result, (str, dict)):
            raise TypeError("a pair is asked for")
        return tuple(result)

    sent, tokens = (5, "Each request carries the whole list"), [(400, 20), (450, 35), (520, 10)]
    three = [Message(type="message", usage=Usage(input_tokens=read, output_tokens=made)) for read, made in tokens]
    several = each(three[:2], three)
    yield same("one reply: what it says", sent)(each(three[:1]), pair)
    yield same("the input of every request counts, not only of the last", sent)(several, lambda *given: pair(*given)[0])
    yield same("so does the output", sent)(several, lambda *given: pair(*given)[1])
    yield same("no reply: nothing was used", sent)(each([]), pair)


@exercise("my_approve(block), a function that returns True for a call that may run, else the reason as a text")
def approve():
    def bash(*commands):
        return [call(1, command=command) for command in commands]

    may = rows_of(Such("True", lambda verdict: verdict is True))
    may_not = rows_of(string_that("a reason, as a string"))
    allow, deny = (4, "An **allow-list** names what may run"), (4, "The list knows three spellings")
    odd = (4, "And what it cannot read, it refuses")
    look = "ls, cat README.md, ls -l data, wc -l orders.py, grep -n total orders.py, head -n 5 orders.py"
    others = (
        "rm -r -f data, find data -delete, python3 -c pass, sudo ls, lsof, catalog --drop, ./ls, echo cat, PATH=. ls"
    )
    hidden = (
        "ls; rm README.md, ls -l;rm README.md, ls && rm README.md, cat README.md | sh, ls & rm README.md, "
        "ls\nrm README.md, cat $(rm README.md), cat `rm README.md`"
    )
    yield may("the tools that only read may run", allow)(
        call(1, "read_file", path="README.md"), call(1, "glob", pattern="*")
    )
    yield may("a harmless command may run", allow)(*bash(*look.split(", ")))
    yield may_not("the tools that write, and tools that nobody knows, may not", allow)(
        call(1, "write_file", path="a.txt", content="ls"),
        call(1, "edit_file", path="a.txt", old_text="a", new_text="b"),
        call(1, "deploy", command="ls"),
    )
    yield may_not("a program that is not on the list may not", deny)(*bash(*others.split(", "), "  rm README.md"))
    yield may_not("a second command behind a harmless one may not", allow)(*bash(*hidden.split(", ")))
    yield may_not("nor may a harmless command that writes into a file", allow)(
        *bash("ls > README.md", "cat orders.py >> README.md")
    )
    yield may_not("what makes no sense is refused, and raises nothing", odd)(
        *bash("", "   ", "cat 'README.md"), call(1) | {"input": {}}, *bash(None)
    )
