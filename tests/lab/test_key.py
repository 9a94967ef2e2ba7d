"""The key goes into one header and nowhere else: a canary, looked for on every surface that the lab has.

Where a test makes the key pass by, it stands in a prompt, a reply, a result, a file or a setting, as an accident would
have it. calls/test_secrets.py has what run_tool does.
"""

import base64
import contextlib
import html
import io
import json
import os
import re
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import anthropic
import ipywidgets
import pytest
from wire_log import exchanges

from s02_tool_use import agent_loop, run_tool
from s02_tool_use.calls import secrets
from s02_tool_use.calls.secrets import CUT
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, check, show, terminal
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import faults, settings
from s02_tool_use.lab.client.endpoint import connect, departures
from s02_tool_use.lab.client.recording import Recorder
from s02_tool_use.lab.sessions.run import Run
from s02_tool_use.lab.sessions.session import Session
from s02_tool_use.lab.understudy import Scripted, Understudy

KEY = "sk-ant-canary-0123456789-AbCdEfGh_xyz"
FORMS = (KEY, KEY[:-4], KEY[4:], quote(KEY), base64.b64encode(KEY.encode()).decode()[:-3])
SAYS = f"The key is {KEY}, is it not?"
CALL = {"type": "tool_use", "name": "echo", "input": {"text": SAYS}}


def echo(text: str) -> str:
    return text


ECHO = {
    "tools": [{"name": "echo", "description": "", "input_schema": {"type": "object", "properties": {"text": {}}}}],
    "handlers": {"echo": echo},
}


def holds_no_key(text):
    """Nothing of it: not in the text, nor in what a page makes of the HTML."""
    text = str(text)
    for shown in (text, html.unescape(re.sub("<[^>]*>", "", text))):
        assert not [form for form in FORMS if form in shown], shown[:2000]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, workspace):
    """The current folder, with the key in a .env beside the workspace: an offline connect() has found it."""
    monkeypatch.chdir(workspace)
    (tmp_path / ".env").write_text(f"API_KEY={KEY}\nMODEL_ID=some-model\n")
    with contextlib.redirect_stdout(io.StringIO()):
        connect(["x"])
    return workspace


class Endpoint(ThreadingHTTPServer):
    """Keeps each body that it gets, and answers with what `say(handler)` gives: (status, body)."""

    def __init__(self, say):
        self.bodies, self.heads, self.say = [], [], say
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])).decode(errors="replace"))
        self.server.heads.append(self.headers)
        status, body = self.server.say(self)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": SAYS}],
    "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip


@pytest.fixture
def live(folder):
    """A function that makes connect() live: (client, model, endpoint) of an endpoint that answers with `say`."""
    with contextlib.ExitStack() as stack:

        def make(say=lambda handler: (200, MESSAGE), **options):
            server = stack.enter_context(Endpoint(say))
            thread = Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            (folder.parent / ".env").write_text(f"API_KEY={KEY}\nBASE_URL={server.url}\nMODEL_ID=some-model\n")
            client, model = connect(**options)
            stack.callback(client.close)
            return client, model, server

        yield make


# ---- what is sent


def user(content=SAYS):
    return [{"role": "user", "content": content}]


RESULT = [
    *user("Go."),
    {"role": "assistant", "content": [{**CALL, "id": "toolu_1"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": SAYS}]},
]
TOOL = {"name": "a", "description": SAYS, "input_schema": {"type": "object", "properties": {KEY: {"const": KEY}}}}


@pytest.mark.parametrize("way", ["create", "stream", "count_tokens", "batch", "raw", "with_options"])
@pytest.mark.parametrize(
    "body",
    [
        {"messages": user()},
        {"messages": user([{"type": "text", "text": SAYS}])},
        {"messages": user(f"{KEY[:9]}\n{KEY[9:]}")},
        {"messages": user(base64.b64encode(f"API_KEY={KEY}\n".encode()).decode())},
        {"messages": RESULT},
        {"messages": user("é 你好"), "system": f"“{SAYS}”"},
        {"messages": user("Hello"), "tools": [TOOL]},
    ],
)
def test_no_body_that_is_sent_holds_the_key_and_one_header_does(live, way, body):
    client, model, endpoint = live()
    request = {"model": model, "max_tokens": 10, **body}
    with contextlib.suppress(Exception):  # the endpoint answers in one form only
        if way == "create":
            client.messages.create(**request)
        elif way == "stream":
            with client.messages.stream(**request) as stream:
                stream.get_final_message()
        elif way == "count_tokens":
            client.messages.count_tokens(**{key: value for key, value in request.items() if key != "max_tokens"})
        elif way == "batch":
            client.messages.batches.create(requests=[{"custom_id": "a", "params": request}])
        elif way == "raw":
            client.messages.with_raw_response.create(**request)
        else:
            client.with_options(timeout=20).messages.create(**request)
    assert endpoint.bodies
    for sent, head in zip(endpoint.bodies, endpoint.heads, strict=True):
        holds_no_key(sent)
        assert CUT in sent
        assert "é 你好" in sent or "system" not in body
        json.loads(sent)
        assert len([name for name, value in head.items() if KEY in value]) == 1


def test_a_file_that_is_uploaded_has_no_key_either(live):
    client, _, endpoint = live(lambda handler: (200, {"id": "file_1", "type": "file"}))
    client.beta.files.upload(file=("a.bin", b"\xff\x00" + SAYS.encode() + b"\xfe", "application/octet-stream"))
    holds_no_key(endpoint.bodies[0])
    assert CUT in endpoint.bodies[0]


def test_a_request_that_the_sdk_sends_again_is_cut_each_time(live):
    answers = iter([(529, {}), (200, MESSAGE)])
    client, model, endpoint = live(lambda handler: next(answers))
    client.with_options(max_retries=2).messages.create(model=model, max_tokens=10, messages=user())
    assert len(endpoint.bodies) == 2
    holds_no_key(endpoint.bodies)


def test_a_conversation_into_which_the_key_was_pasted_goes_on(live):
    client, model, endpoint = live()
    messages = user()
    for _ in range(2):
        agent_loop(client, model, messages, **ECHO)
        messages.append({"role": "user", "content": "And now?"})
    assert len(endpoint.bodies) == 2
    holds_no_key(endpoint.bodies)


def test_a_body_without_the_key_is_sent_as_it_is(live):
    client, model, endpoint = live()
    client.messages.create(model=model, max_tokens=10, messages=user("sk-ant-other é"))
    assert json.loads(endpoint.bodies[0])["messages"] == user("sk-ant-other é")


def test_the_log_of_the_sdk_has_no_key_of_a_prompt(live, caplog):
    client, model, _ = live()
    with caplog.at_level("DEBUG"):  # as ANTHROPIC_LOG=debug sets it
        client.messages.create(model=model, max_tokens=10, messages=user())
    assert "Request options" in caplog.text
    assert CUT in caplog.text
    holds_no_key(caplog.text)


# ---- what comes back


def quoting(handler):
    """An endpoint that quotes all that it got: as a proxy does that somebody debugs."""
    error = {"type": "authentication_error", "message": f"invalid: {handler.headers.as_string()} {KEY}"}
    return 401, {"type": "error", "error": error, KEY: KEY}


def test_an_error_that_quotes_the_key_comes_without_it(live):
    client, model, _ = live(quoting)
    for stream in (False, True):
        with pytest.raises(anthropic.AuthenticationError) as caught:
            client.messages.create(model=model, max_tokens=10, messages=user("Hello"), stream=stream)
        error = caught.value
        for text in (error, repr(error), error.body, error.response.text, faults.explain(error, client)):
            holds_no_key(text)
        assert CUT in str(error)
        assert error.status_code == 401


def test_a_reply_that_quotes_the_key_comes_without_it(live):
    client, model, _ = live()
    reply = client.messages.create(model=model, max_tokens=10, messages=user("Hello"))
    assert reply.content[0].text == f"The key is {CUT}, is it not?"
    assert reply.usage.input_tokens == 1


@pytest.mark.parametrize(
    "error",
    [ValueError(SAYS), RuntimeError(KEY), type("APIStatusError", (Exception,), {"status_code": 400})(f"x {KEY}")],
)
def test_no_sentence_about_a_fault_holds_the_key(error):
    holds_no_key(faults.explain(error))
    assert CUT in faults.explain(error)


# ---- what is drawn


def own_source():
    return "sk-ant-canary-0123456789-AbCdEfGh_xyz"


HISTORY = [*RESULT, {"role": "assistant", "content": [{"type": "text", "text": "x " * 9_990 + SAYS}]}]
LONG = [{"role": "user", "content": "\n".join(["x" * (590 - n) + KEY + "y" * 50 for n in range(30)])}]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: show.show_messages(HISTORY),
        lambda: show.show_messages(LONG),
        lambda: show.show_messages(user("x" * 45 + KEY + "\n" * 20)),  # its beginning is what is shown folded
        lambda: show.show_messages([{"role": "user", "content": [{"type": KEY, "x": KEY}], KEY: KEY}, KEY]),
        lambda: show.show_diff(HISTORY, LONG),
        lambda: show.show_table([KEY, "b"], [[SAYS, {KEY: 1}]]),
        lambda: show.show_source(own_source),
        lambda: check.write(lambda path, content: SAYS),
        lambda: check.write(lambda path, content: print(SAYS) or 1),
        lambda: check.write(lambda path, content: "x" * 370 + KEY),
        lambda: check.write(lambda path, content: int(SAYS)),
    ],
)
def test_no_drawing_holds_the_key(draw):
    page = draw()
    for text in (repr(page), page._repr_html_()):
        holds_no_key(text)
        assert CUT in text


def every(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every(child)


def chat(client, model, folder):
    panel = Chat(client, model, ask_before=(), **ECHO)
    panel.prompt.value = SAYS
    panel._submit()
    panel.join()
    panel._export()
    link = re.search('base64,([^"]*)', panel.link.value)[1]
    holds_no_key(base64.b64decode(link))
    return panel


def stepper(client, model, folder):
    panel = Stepper(client, model, user(), **ECHO)
    texts = [str(part.get_state()) for part in every(panel)]
    for _ in range(12):
        panel._forward()
        for view in panel.view.options:
            panel.view.value = view
            texts += [str(part.get_state()) for part in every(panel)]
    holds_no_key("\n".join(texts))
    return panel


def bench(client, model, folder):
    (folder / "copy").write_text(SAYS)
    panel = ToolBench()
    panel.tool.value = "read_file"
    panel.fields["path"].value = "copy"
    panel._run()
    return panel


def path_lab(client, model, folder):
    panel = PathLab()
    panel.text.value = f"../{KEY}"
    return panel


MAKERS = {
    "Chat": chat,
    "Stepper": stepper,
    "Stepper of a saved list": lambda *_: Stepper(messages=HISTORY),
    "HistoryLab": lambda *_: HistoryLab(HISTORY),
    "ToolBench": bench,
    "PathLab": path_lab,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_no_widget_shows_or_keeps_the_key(kind, folder):
    client, model = connect([[{"type": "text", "text": SAYS}, CALL], SAYS])
    panel = MAKERS[kind](client, model, folder)
    bundle = panel._repr_mimebundle_()
    typed = (ipywidgets.Text,) if kind == "PathLab" else ()  # what a person typed stays in its field
    states = [part.get_state() for part in every(panel) if not isinstance(part, typed)]
    for text in (bundle["text/plain"], bundle["text/html"], repr(panel), json.dumps(states, default=repr)):
        holds_no_key(text)
    assert CUT in bundle["text/plain"]


# ---- a terminal


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("single", [False, True])
def test_no_line_of_the_terminal_holds_the_key_at_any_time(single, folder, capsys):
    client, model = connect([[{"type": "text", "text": SAYS}, CALL], {"content": f"{SAYS} {KEY}", "slow": 0.0001}])
    lines = iter([SAYS, "/messages", "/save talk.json", f"/save {KEY}/x", "/tools", "/cost", f"/{KEY}", f"/x{KEY}"])
    screen, shown = Screen(), []
    screen.flush = lambda: shown.append(screen.getvalue())

    def read(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    talk = terminal.TerminalChat(client, model, read=read, ask=lambda text: "y", out=screen, single=single)
    if single:
        talk.answer(SAYS)
    else:
        talk.talk()
        holds_no_key((folder / "talk.json").read_text())
    # Not even while it arrives: a beginning of the key that is long enough to be known.
    for text in [*shown, capsys.readouterr().out]:
        assert KEY[:12] not in text
    holds_no_key(screen.getvalue())


def test_the_program_itself_prints_no_key(folder, monkeypatch, capsys):
    script = [[{"type": "text", "text": SAYS}, {**CALL, "name": "glob", "input": {"pattern": KEY}}], SAYS]
    with Server(Scripted(script)) as server:
        (folder.parent / ".env").write_text(f"API_KEY={KEY}\nBASE_URL={server.url}\nMODEL_ID=m\n")
        assert terminal.main(["-p", SAYS]) == 0
        holds_no_key(server.exchanges)
    printed = capsys.readouterr()
    holds_no_key(printed.out + printed.err)
    assert CUT in printed.out


# ---- a session


@pytest.mark.parametrize("stream", [True, False])
def test_a_session_shows_no_key_not_even_a_beginning_of_it(stream):
    client, model = connect([{"content": f"{SAYS} s", "slow": 0.0001}])
    seen = []
    session = Session(client, model, watch=lambda kind, data: seen.append((kind, data)), stream=stream)
    session.send("Hello")
    session.join()
    text = ""
    for kind, data in seen:
        text += data if kind == "text" else ""
        assert KEY[:12] not in text
    assert text == (f"The key is {CUT}, is it not? s" if stream else "")


# ---- files


def test_a_recording_and_what_a_replay_says_hold_no_key(folder, capsys):
    client, model = connect([[{"type": "text", "text": SAYS}, CALL], SAYS, SAYS], record="run.jsonl")
    agent_loop(client, model, user(), stream=True, **ECHO)
    client.messages.create(model=model, max_tokens=10, messages=user(), system=KEY)
    holds_no_key(Path("run.jsonl").read_text())
    holds_no_key(exchanges(client)[-1]["request"])
    client, model = connect(replay="run.jsonl")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        agent_loop(client, model, user(f"Other {KEY}"), **ECHO)
    assert departures(client)
    assert caught
    holds_no_key([str(one.message) for one in caught] + departures(client) + [capsys.readouterr().out])


def test_no_banner_holds_the_key_not_even_in_the_name_of_a_file(folder, capsys):
    for _ in range(2):
        connect(["x"], record=f"{KEY}.jsonl")[0].messages.create(model="m", max_tokens=9, messages=user())
    connect(replay=f"{KEY}.jsonl")
    printed = capsys.readouterr().out
    holds_no_key(printed)
    assert printed.count(CUT) == 3


def test_a_recording_that_was_made_before_the_key_was_known_replays_without_it(folder, capsys):
    secrets._forms, known = (), secrets._forms
    (folder.parent / ".env").rename(folder.parent / "env")
    client, model = connect([[{"type": "text", "text": SAYS}, CALL], SAYS], record="run.jsonl")
    agent_loop(client, model, user(), **ECHO)
    assert KEY in Path("run.jsonl").read_text()
    secrets._forms = known
    client, model = connect(replay="run.jsonl")
    messages = user()
    agent_loop(client, model, messages, **ECHO)
    holds_no_key(messages[1:])
    assert departures(client) == []


# ---- settings


@pytest.mark.parametrize(
    "line",
    [
        f"API_KEY={KEY} x",
        f"API_KEY='\"{KEY}\"'",
        f"API_KEY=“{KEY}”",
        f"BASE_URL={KEY}",
        f"BASE_URL=https://{KEY}@:x",
        f"BASE_URL=https://me:{KEY}@host/v1",
        f"BASE_URL=me:{KEY}@host",
        f"BASE_URL=htp://me:{KEY}@host",
        f"MODEL_ID={KEY}",
        f"ANTHROPIC_AUTH_TOKEN= {KEY} é",
    ],
)
def test_no_error_about_a_setting_repeats_the_key(line, folder):
    (folder.parent / ".env").write_text(f"API_KEY=another-key-0123\nMODEL_ID=m\n{line}\n")
    secrets._forms = ()
    with pytest.raises(settings.SettingsError) as caught:
        connect()
    holds_no_key(caught.value)
    holds_no_key(caught.value._render_traceback_())


def test_a_short_password_of_an_address_is_not_repeated_either(folder):
    (folder.parent / ".env").write_text("BASE_URL=https://me:pw@host/v1\nMODEL_ID=m\n")
    with pytest.raises(settings.SettingsError, match=r"write https://\.\.\.@host$"):
        connect()


@pytest.mark.parametrize("line", [f"BASE_URL={KEY}", f"MODEL_ID='{KEY}'"])
def test_a_key_in_the_wrong_line_is_said(line, folder):
    (folder.parent / ".env").write_text(f"API_KEY=another-key-0123\nMODEL_ID=m\n{line}\n")
    with pytest.raises(settings.SettingsError, match="in .env holds a key: move it behind API_KEY"):
        connect()


OTHER = "another-secret-0123456789"


WAYS = [{}, {"offline": True}, {"script": ["x"]}, {"S02_OFFLINE": "1"}, {"replay": "run.jsonl"}, {"record": "r.jsonl"}]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_each_way_to_connect_keeps_the_file_and_its_keys_from_the_tools(options, folder, monkeypatch):
    connect(["x"], record="run.jsonl")[0].messages.create(model="m", max_tokens=9, messages=user())
    file = folder.parent / ".env"
    lines = [
        f"# API_KEY={KEY}-old", f"export ANTHROPIC_API_KEY='{KEY}-2' # mine", f"OPENAI_API_KEY={OTHER}",
        "MODEL_ID=m", "DATABASE_URL=postgres://someone:pass%2Fword-0@host/db", "API_KEY=",
        f"SSL_KEY={__file__}", "NAME=ordinary-name",
    ]  # fmt: skip
    file.write_text("\n".join(lines))
    secrets._forms, secrets._files = (), set()
    monkeypatch.setenv("HF_TOKEN", "hf-0123456789")
    if "S02_OFFLINE" in options:
        monkeypatch.setenv(*options.popitem())
    connect(**options)
    assert secrets.files() == [file]
    for text in (f"{KEY}-old", f"{KEY}-2", OTHER, "pass%2Fword-0", "pass/word-0", "hf-0123456789"):
        assert secrets.cut(f"a {text} b") == f"a {CUT} b"
    for text in ("someone", "postgres", __file__, "ordinary-name", "mine"):
        assert secrets.cut(text) == text


@pytest.mark.parametrize("key", [settings.PLACEHOLDER, settings.NO_KEY, "lm-studio", "ollama", "abc"])
def test_what_is_no_secret_is_not_cut(key, folder):
    (folder.parent / ".env").write_text(f"API_KEY={key}\nBASE_URL=http://localhost:1\nMODEL_ID=m\n")
    connect()
    assert secrets.cut(f"about {key} itself") == f"about {key} itself"


def test_the_password_of_something_else_is_cut_unless_it_is_a_word_that_may_stand_anywhere(monkeypatch):
    for name, value in [
        ("DB_PASSWORD", "assistant"),
        ("DB_URL", "db://me:postgres@host"),
        ("PW_SECRET", "open-sesame"),
    ]:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("API_KEY", "OpenSesame")
    connect(offline=True)
    assert secrets.cut("assistant postgres open-sesame OpenSesame") == f"assistant postgres {CUT} {CUT}"


@pytest.mark.parametrize("make", [lambda file: file.write_bytes(b"\xff\xfeA\0"), lambda file: file.mkdir()])
def test_a_file_that_cannot_be_read_does_not_keep_anybody_from_working_offline(make, folder):
    (folder.parent / ".env").unlink()
    make(folder.parent / ".env")
    assert connect(["x"])[1] == "scripted"


# ---- our own objects, and where else a key might lie


def test_no_object_of_ours_shows_the_key_in_its_repr(folder):
    client, model = connect(offline=True)
    (folder.parent / ".env").write_text(f"API_KEY={KEY}\nBASE_URL=http://127.0.0.1:9\nMODEL_ID=m\n")
    real, name = connect(record="run.jsonl")
    with Server(Understudy()) as server:
        pass
    things = [
        client,
        real,
        Session(real, name),
        Run(real, name, user()),
        Recorder("run.jsonl", name, "rules"),
        Scripted([SAYS]),
    ]
    things += [server, Chat(real, name), settings.SettingsError(SAYS)]
    for thing in things:
        holds_no_key(repr(thing))
        holds_no_key(str(thing))


def result(name, **given):
    return run_tool({"type": "tool_use", "id": "toolu_1", "name": name, "input": given})["content"]


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="this system has no /proc")
def test_the_environment_of_the_kernel_does_not_reach_a_tool(folder, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY + "-env")
    monkeypatch.setenv("ANTHROPIC_MODEL", "m")
    connect(offline=True)
    (folder / "link").symlink_to("/proc/self/environ")
    for text in (
        result("bash", command="env; set; export -p; cat /proc/self/environ; printenv ANTHROPIC_API_KEY"),
        result("bash", command=f"cat /proc/{os.getpid()}/environ /proc/$PPID/environ | tr '\\0' '\\n'"),
        result("bash", command=f"cat ../.env {folder.parent}/.env; base64 ../.env; cat ../.env | fold -w 9"),
        result("read_file", path="/proc/self/environ"),
        result("read_file", path="link"),
        result("glob", pattern="/proc/self/*"),
    ):
        holds_no_key(text)


def test_what_is_recorded_of_an_exercise_is_its_name_and_when_it_was_tried(folder, monkeypatch):
    from s02_tool_use.lab.check import record

    monkeypatch.delenv("PYTEST_VERSION", raising=False)
    monkeypatch.setattr(record, "_here", [])  # other tests of this process have done it already
    check.write(lambda path, content: SAYS)
    record.record("write")
    assert re.fullmatch(r"\?write \d+\nwrite\n", (folder / record.FILE).read_text())
    record.reset()
