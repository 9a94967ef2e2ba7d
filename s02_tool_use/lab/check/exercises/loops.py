"""The exercises of 06: the loop against scripted models over real HTTP, which calls may run and when, what it used."""

import contextlib
import io
import json
import threading

from ....dispatch import TOOLS
from ...client.endpoint import connect
from ...conversation import api_says, blocks, plain
from ..exercise import Given, Named, Property, Such, exercise, shown
from .parts import call, each, right_answer, row, rows_of, string_that, user

MOST_TURNS = 10
PATIENCE = 25  # requests after which the script is used up, and a loop without a limit gets a 400


class Model(Named):
    """What a scripted model does: its lines, and the words in which a learner reads them.

    `ends`: an exception that `run` raises in the second call of the first reply.
    """

    def __init__(self, about, *lines, for_ever=False, ends=None):
        super().__init__(f"<a model that {about}>", lines=lines, for_ever=for_ever, ends=ends)
        content = lines[0]["content"] if isinstance(lines[0], dict) else lines[0]
        calls = [block for block in content if isinstance(block, dict)]
        self.ids = [f"toolu_{number:02}" for number, _ in enumerate(calls, 1)]  # that those of the first reply get

    def script(self, requests):
        """A script for `connect` that puts each request into `requests`."""
        used_up = f"This model has nothing more to say after reply {len(self.lines)}."
        after = self.lines[0] if self.for_ever else {"status": 400, "message": used_up}
        lines = [*self.lines, *[after] * PATIENCE][:PATIENCE]
        return [lambda request, line=line: requests.append(request) or line for line in lines]


UNANSWERED = "no message comes after the calls"


class LoopRun:
    """What a loop did: what it returned, the list as it left it, the requests it sent, the ids of the calls it ran."""

    attempted = True

    def __init__(self, returned, messages, requests, ran, raised=None):
        self.returned, self.messages, self.requests, self.ran = returned, plain(messages), requests, ran
        self.raised = raised  # what `run` raised and the loop let through, by its name

    def __repr__(self):
        return json.dumps(self.messages, ensure_ascii=False, default=repr)

    def results(self, key):
        """What stands under `key` in the results of the third message, which answers the first reply."""
        return [block.get(key) for block in blocks(self.messages[2]) if block["type"] == "tool_result"]

    @property
    def answered(self):
        return len(self.messages) > 2

    def as_said(self):
        """What the results of the third message say, and whether one says that it is an error."""
        marks = [", is_error: True" if mark else "" for mark in self.results("is_error")]
        return [f"{said}{mark}" for said, mark in zip(self.results("content"), marks, strict=True)]

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
        if model.ends and len(ran) == 2:
            raise model.ends
        return {"type": "tool_result", "tool_use_id": block["id"], "content": f"output of {block['id']}"}

    returned, raised = None, None
    with client:
        try:
            returned = yours(client, name, messages, TOOLS, run)
        except (KeyboardInterrupt, RuntimeError) as error:
            if error is not model.ends:
                raise
            raised = type(error).__name__
    return LoopRun(returned, messages, requests, ran, raised) if requests or returned is not None else None


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


STOP = Model("calls bash twice, and you press Stop in the second call", BOTH, ends=KeyboardInterrupt())
CRASH = Model("calls bash twice, and run fails in the second call", BOTH, ends=RuntimeError("no space left"))

goes_on, everything = (1, "The loop goes on as long as"), (1, "All results of a reply travel in one message")
has_limit, half_call = (1, "So a loop has a limit"), (1, "A call that was cut is not run")
way_out = (3, "On its way out")


@row
def seen(sentence, read, models, right, see):
    return Property(sentence, read, each(*models), right, lambda run, _: see(run), _play, kept=True)


def _asks_and_answers():
    def last_reply(model):
        return Such(f"the reply that says {model.lines[-1]!r}", lambda reply: reply.content[0].text == model.lines[-1])

    def roles(run):
        return [message["role"] for message in run.messages]

    def offered(run):
        return [[tool["name"] for tool in request.get("tools", [])] for request in run.requests]

    yield seen("a reply without a call ends it, after one request", goes_on)([HELLO, HALF], 1, _requests)
    yield seen("it returns the last reply", goes_on)([HELLO], last_reply, lambda run: run.returned)
    yield seen("with a call it asks again, until a reply has none", goes_on)(
        [ONE, TWICE], lambda model: len(model.lines), _requests
    )
    yield seen("the list it is given grows: each reply, each answer, the last reply too", goes_on)(
        [HELLO, ONE, TWICE], lambda model: ["user", "assistant"] * len(model.lines), roles
    )
    yield seen("every request offers the tools", goes_on)(
        [HELLO, ONE], lambda model: [[tool["name"] for tool in TOOLS]] * len(model.lines), offered
    )
    yield seen("all results of a reply are in one message, in the order of the calls", everything)(
        [ONE, PAIR], lambda model: [f"output of {id}" for id in model.ids], LoopRun.as_said
    )
    yield seen("each call is run once", everything)([ONE, PAIR], lambda model: model.ids, lambda run: sorted(run.ran))


def _has_a_limit():
    yield seen(f"a model that never stops is asked {MOST_TURNS} times", has_limit)([ENDLESS], MOST_TURNS, _requests)
    yield seen("then the last of its replies is returned", has_limit)(
        [ENDLESS], f"toolu_{MOST_TURNS}", lambda run: run.returned.content[0].id
    )


def _runs_no_half_call():
    yield seen("a call in a reply that was cut is not run", half_call)([CUT, CUT_PAIR], [], lambda run: run.ran)
    yield seen("but it is answered, with is_error: True, and the model is asked again", half_call)(
        [CUT, CUT_PAIR],
        lambda model: ([True] * len(model.ids), model.lines[-1]),
        lambda run: (run.results("is_error"), run.said()),
    )


def _goes_on_after(*models, read=has_limit):
    """What the API says to the list that the loop left, with another question at its end."""
    return seen("whatever ended it, the API accepts the list, and the conversation can go on", read)(
        models, "accepted", lambda run: api_says([*run.messages, user("And now?")])
    )


def _requests(run):
    return len(run.requests)


MY_LOOP = "my_loop(client, model, messages, tools, run), a function that asks, runs and answers until no call comes"
FIRST_SECONDS = 10.0  # of the deadline: the first call may have to import the SDK


@exercise(f"{MY_LOOP}, ten times at most", deadline=FIRST_SECONDS, own="agent_loop agent_steps")
def limit():
    yield from _asks_and_answers()
    yield from _has_a_limit()
    yield _goes_on_after(ENDLESS, ONE, PAIR)


@exercise(MY_LOOP, deadline=FIRST_SECONDS, own="agent_loop agent_steps")
def loop():
    yield from _asks_and_answers()
    yield from _runs_no_half_call()
    yield from _has_a_limit()
    yield _goes_on_after(ENDLESS, ONE, PAIR, CUT)


@exercise(f"{MY_LOOP}, or until somebody stops it", deadline=FIRST_SECONDS, own="agent_loop agent_steps")
def stop():
    yield from _asks_and_answers()
    yield from _runs_no_half_call()
    yield from _has_a_limit()
    yield seen("Stop ends it: the KeyboardInterrupt comes through", way_out)(
        [STOP], "KeyboardInterrupt", lambda run: run.raised
    )
    yield seen("what was run before has its real result in the list", way_out)(
        [STOP, CRASH], "output of toolu_01", lambda run: run.results("content")[0] if run.answered else UNANSWERED
    )
    yield seen("a call that did not finish is answered with is_error: True", way_out)(
        [STOP, CRASH],
        [False, True],
        lambda run: [bool(mark) for mark in run.results("is_error")] if run.answered else [UNANSWERED],
    )
    yield _goes_on_after(STOP, CRASH, ENDLESS, CUT, read=way_out)


GATE_SECONDS = 2.0  # in which calls that may run at the same time meet
OVERLAP_SECONDS = 0.1  # in which a call that should wait would begin


class Calls(Named):
    """The calls of one reply, by the names of their tools."""

    def __init__(self, *names):
        super().__init__(f"[{', '.join(f'a call of {name}' for name in names)}], run", names=names)
        self.only_read = set(names) <= {"read_file", "glob"}


class Played(Named):
    """What came back for some calls, how many of them ran at the same time, and the order in which they began."""

    attempted = True

    def __init__(self, results, most, begun):
        super().__init__(shown(results), results=results, most=most, begun=begun)


def _play_all(yours, given):
    """Give `yours` these calls. Each waits until all have begun, or for a while; then the last one ends first."""
    calls = [call(number, name, path="tea.txt") for number, name in enumerate(given.names, 1)]
    ids, begun, at_once, most = [call["id"] for call in calls], [], 0, 0
    lock, everybody, ended = threading.Lock(), threading.Event(), [threading.Event() for _ in calls]
    seconds = GATE_SECONDS if given.only_read else OVERLAP_SECONDS

    def run(block):
        nonlocal at_once, most
        number = ids.index(plain(block)["id"])
        with lock:
            begun.append(number + 1)
            at_once += 1
            most = max(most, at_once)
        if len(begun) == len(calls):
            everybody.set()
        elif everybody.wait(seconds) and number + 1 < len(calls):
            ended[number + 1].wait(seconds)
        with lock:
            at_once -= 1
        ended[number].set()
        return {"type": "tool_result", "tool_use_id": ids[number], "content": f"output {number + 1}"}

    results = yours(calls, run)
    return Played(results, most, begun) if begun or results is not None else None


@exercise(
    "my_run_all(calls, run), a function that returns the results of all calls, in their order",
    deadline=FIRST_SECONDS,
    needs="threads",
)
def together():
    def numbers(given):
        return list(range(1, len(given.names) + 1))

    def results(given):
        return [f"output {number}" for number in numbers(given)]

    def contents(played, _):
        return [result["content"] for result in played.results]

    @row
    def tried(sentence, read, names, right, see):
        return Property(sentence, read, each(*(Calls(*some) for some in names)), right, see, _play_all)

    may, order = (4, "So only calls that change nothing"), (4, "`pool.map` gives the results")
    reading = [["read_file", "glob"], ["glob", "read_file", "read_file"]]
    mixed = [["write_file", "read_file"], ["read_file", "edit_file"], ["bash", "bash"], ["glob", "send_mail"]]
    yield tried("each call is run once, and its result is in the list", order)(
        [["read_file"], ["bash"]], results, contents
    )
    yield tried("the results stand in the order of the calls, whichever ended first", order)(reading, results, contents)
    yield tried("calls that only read run at the same time", may)(
        reading, lambda given: len(given.names), lambda played, _: played.most
    )
    yield tried("if one of them may change something, they run one after another", may)(
        mixed, 1, lambda played, _: played.most
    )
    yield tried("and then in the order in which the model wrote them", may)(
        mixed, numbers, lambda played, _: played.begun
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
            raise TypeError("a pair is expected")
        return tuple(result)

    sent, tokens = (5, "Each request carries the whole list"), [(400, 20), (450, 35), (520, 10)]
    three = [Message(type="message", usage=Usage(input_tokens=read, output_tokens=made)) for read, made in tokens]
    several = each(three[:2], three)
    yield same("one reply: what it says", sent)(each(three[:1]), pair)
    yield same("the input of every request counts, not only of the last", sent)(several, lambda *given: pair(*given)[0])
    yield same("so does the output", sent)(several, lambda *given: pair(*given)[1])
    yield same("no replies: nothing was used", sent)(each([]), pair)


@exercise("my_approve(block), a function that returns True for a call that may run, else the reason as a string")
def approve():
    def bash(*commands):
        return [call(1, command=command) for command in commands]

    may = rows_of(Such("True", lambda verdict: verdict is True))
    may_not = rows_of(string_that("a reason, as a string"))
    allow, deny = (2, "An **allow-list** names what may run"), (2, "The list knows three spellings")
    odd = (2, "And what it cannot read, it refuses")
    look = "ls, cat README.md, ls -l data, wc -l orders.py, grep -n total orders.py, head -n 5 orders.py"
    others = (
        "rm -r -f data, find data -delete, python3 -c pass, sudo ls, lsof, catalog --drop, ./ls, echo cat, PATH=. ls"
    )
    hidden = (
        "ls; rm README.md, ls -l;rm README.md, ls && rm README.md, cat README.md | sh, ls & rm README.md, "
        "ls\nrm README.md, ls\r\nrm README.md, cat $(rm README.md), cat `rm README.md`, cat <(rm README.md), "
        'ls || rm README.md, ls |& sh, grep "$(rm README.md)" orders.py, (rm README.md), wc -l >(rm README.md)'
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
    yield may_not("nonsense is refused, and raises nothing", odd)(
        *bash("", "   ", "cat 'README.md"), call(1) | {"input": {}}, *bash(None)
    )
