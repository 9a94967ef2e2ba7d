"""The chat in a terminal: with pipes and in a pseudo-terminal, against the offline server over real HTTP."""

import contextlib
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import anthropic
import pytest
from waiting import PATIENCE_SECONDS as PATIENCE
from waiting import processes, wait_until

from s02_tool_use.lab import terminal
from s02_tool_use.lab.api.rules import validate
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import faults
from s02_tool_use.lab.understudy import Scripted

ROOT = Path(__file__).resolve().parents[2]

CODE = "import sys; from s02_tool_use.lab.terminal import main; sys.exit(main(sys.argv[1:]))"


def bash(command):
    return {"type": "tool_use", "name": "bash", "input": {"command": command}}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


class TerminalChat:
    """How to start the chat against a script: in this process, or as a child when it needs a terminal of its own."""

    def __init__(self, folder, server, monkeypatch):
        self.folder, self.server, self.monkeypatch = folder, server, monkeypatch
        self.settings = {"API_KEY": "a-key-of-nobody", "BASE_URL": server.url, "MODEL_ID": "the-model"}

    def run(self, *arguments, said="", env=None):
        """Run it to its end with `said` as input. Returns (status, stdout, stderr)."""
        data = (said.encode(), b"", b"")
        streams = [io.TextIOWrapper(io.BytesIO(one), encoding="ascii", newline="\n") for one in data]
        with self.monkeypatch.context() as changed:
            for name, value in (self.settings | (env or {})).items():
                changed.setenv(name, value)
            for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
                changed.setattr(sys, name, stream)
            changed.chdir(self.folder)
            try:
                status = terminal.main(list(arguments))
            except SystemExit as exit:  # argparse
                status = exit.code
        for stream in streams[1:]:
            stream.flush()
        return status, *(stream.buffer.getvalue().decode() for stream in streams[1:])

    def start(self, *arguments, env=None, **pipes):
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT", "TEMP") if name in os.environ}
        home = str(self.folder.parent)  # where it keeps what was typed
        ours = {
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "HOME": home,
            "USERPROFILE": home,
        }
        command = [sys.executable, "-c", CODE, *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=kept | ours | self.settings | (env or {}), **pipes)

    def requests(self):
        return [json.loads(exchange["request"]) for exchange in self.server.exchanges]


@pytest.fixture
def chat(tmp_path, monkeypatch):
    """chat(*lines of a script) -> Chat. The chat works in an empty folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    with contextlib.ExitStack() as servers:
        yield lambda *lines: TerminalChat(folder, servers.enter_context(Server(Scripted(list(lines)))), monkeypatch)


# ---- one prompt


def test_one_prompt_gives_only_the_answer_on_stdout(chat):
    run = chat(["I will look.", call("glob", pattern="*")], "There is nothing here.")
    status, out, err = run.run("-p", "What is here?")
    assert (status, out) == (0, "There is nothing here.\n")
    assert "I will look." in err
    assert "> glob" in err
    assert "the-model" in err
    assert "a-key-of-nobody" not in err


def test_one_prompt_can_come_from_stdin(chat):
    run = chat("Yes: 你好.")
    assert run.run("-p", "-", said="Can you read 你好 👍🏽?\n")[:2] == (0, "Yes: 你好.\n")
    assert run.requests()[0]["messages"] == [{"role": "user", "content": "Can you read 你好 👍🏽?\n"}]


def test_an_empty_prompt_is_said(chat):
    status, out, err = chat().run("-p", "  ")
    assert (status, out) == (2, "")
    assert "empty" in err


@pytest.mark.parametrize(
    ("lines", "status", "said"),
    [
        (["Done."], 0, ""),
        ([{"status": 401, "message": "invalid x-api-key"}], 1, "Check API_KEY"),
        ([{"content": "A long answer", "stop_reason": "max_tokens"}], 3, "cut off"),
        ([{"content": "No.", "stop_reason": "refusal"}], 3, "refuses"),
        ([[call("glob", pattern="*")]] * 20, 3, "many requests"),
    ],
)
def test_the_exit_status_says_how_it_ended(chat, lines, status, said):
    got, out, err = chat(*lines).run("-p", "Go.")
    assert got == status
    assert said in err
    assert bool(out) == (status in (0, 3) and "many" not in said)


def test_without_anybody_to_ask_nothing_is_changed_and_the_model_is_told(chat):
    run = chat([bash("touch made.txt")], "It was not allowed.")
    status, out, _ = run.run("-p", "Make a file.", said="y\n")
    assert (status, out) == (0, "It was not allowed.\n")
    assert not (run.folder / "made.txt").exists()
    result = run.requests()[1]["messages"][-1]["content"][0]
    assert result["is_error"] is True
    assert "nobody is there to allow it" in result["content"]


def test_yes_runs_what_changes_something(chat):
    run = chat([call("write_file", path="made.txt", content="ä")], "Made.")
    assert run.run("-p", "Make a file.", "--yes")[0] == 0
    assert (run.folder / "made.txt").read_text(encoding="utf-8") == "ä"


def test_workdir_is_where_the_tools_work(chat, tmp_path):
    (tmp_path / "other").mkdir()
    run = chat([call("write_file", path="made.txt", content="x")], "Made.")
    assert run.run("-p", "Go.", "--yes", "--workdir", str(tmp_path / "other"))[0] == 0
    assert (tmp_path / "other" / "made.txt").exists()


@pytest.mark.parametrize("folder", ["", "notebooks", "s02_tool_use"])
def test_in_the_folder_of_the_course_the_tools_work_in_a_copy_of_the_sample_project(chat, folder):
    run = chat([call("write_file", path="made.txt", content="x"), call("glob", pattern="*")], "Made.")
    run.folder = ROOT / folder
    status, out, err = run.run("-p", "Go.", "--yes")
    assert (status, out) == (0, "Made.\n")
    assert err.splitlines()[0] == "Workspace: a fresh copy of the sample project:"
    assert not (run.folder / "made.txt").exists()
    assert "orders.py" in err


def test_the_folder_of_the_course_can_still_be_named(chat):
    run = chat([call("glob", pattern="*.md")], "Seen.")
    assert "README.md" in run.run("-p", "Go.", "--workdir", str(ROOT))[2]


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (["-p", "x", "--workdir", "no_such_folder"], {}, "no folder no_such_folder"),
        (["-p", "x"], {"BASE_URL": "localhost:1"}, "BASE_URL"),
        (["-p", "x"], {"MODEL_ID": ""}, "MODEL_ID"),
        (["--no-such-option"], {}, "--no-such-option"),
    ],
)
def test_wrong_arguments_and_settings_are_one_sentence_and_status_2(chat, arguments, env, said):
    status, out, err = chat().run(*arguments, env=env)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_offline_asks_no_endpoint(chat):
    run = chat("never")
    status, out, err = run.run("--offline", "-p", "Hello")
    assert status == 0
    assert "Offline" in err
    assert out.strip()
    assert run.requests() == []


# ---- a conversation through pipes


def test_a_conversation_remembers_and_streams(chat):
    run = chat("First.", "Second.")
    status, out, err = run.run(said="one\n\n  \ntwo\n")
    assert status == 0
    assert err == ""
    assert out.index("First.") < out.index("Second.")
    assert [m["content"] for m in run.requests()[1]["messages"] if m["role"] == "user"] == ["one", "two"]
    assert all(request["stream"] for request in run.requests())


def test_each_reply_begins_with_who_answers(chat):
    run = chat(["I will look.", call("glob", pattern="*")], "One.", [call("glob", pattern="*")], "Two.")
    _, out, _ = run.run(said="one\ntwo\n")
    assert "Answers: the-model." in out
    assert re.findall("the-model: .*", out) == ["the-model: I will look.", "the-model: One.", "the-model: Two."]
    _, out, _ = run.run("--offline", said="Hello?\n")
    assert "Answers: rules." in out
    assert re.search("^(s02 >> )?rules: ", out, re.M)
    assert "the-model" not in out


@pytest.mark.parametrize(("answer", "made"), [("y", 1), ("yes", 1), ("n", 0), ("", 0), ("what?", 0), ("a", 2)])
def test_each_change_is_asked_for(chat, answer, made):
    run = chat([bash("echo 1 > one.txt")], [bash("echo 2 > two.txt")], "Done.")
    run.run(said=f"Make two.\n{answer}\n")
    assert len(list(run.folder.iterdir())) == made


def test_always_holds_for_that_tool_only_and_reading_is_never_asked_for(chat):
    run = chat(
        [bash("true")], [bash("true")], [call("glob", pattern="*")], [call("write_file", path="x", content="")], "Done."
    )
    _, out, _ = run.run(said="Go.\na\nn\n/messages\n")
    assert "Done." in out
    assert not (run.folder / "x").exists()
    results = [
        b
        for m in run.requests()[-1]["messages"]
        for b in m["content"]
        if isinstance(b, dict) and b["type"] == "tool_result"
    ]
    assert [block.get("is_error", False) for block in results] == [False, False, False, True]


def test_the_commands(chat):
    run = chat("Hello.", "Again.")
    status, out, _ = run.run(
        said="/help\n/tools\n/cost\nHi\n/cost\n/messages\n/reset\n/messages\nHi\n/nothing\nq\nnever\n"
    )
    assert status == 0
    for said in (
        "/save FILE",
        "read_file",
        "0 requests: no tokens",
        "1 request: ",
        "0 user\n    text: Hi\n1 assistant\n    text: Hello.",
        "No messages yet.",
        "There is no /nothing.",
    ):
        assert said in out
    assert "never" not in out
    assert len(run.requests()[1]["messages"]) == 1


def test_the_cost_is_shown_where_prices_are_known(chat):
    run = chat("Hello.")
    _, out, _ = run.run(said="Hi\n/cost\n")
    assert "output tokens. What they cost is known when .env has PRICES." in out
    run = chat("Hello.")
    _, out, _ = run.run(said="Hi\n/cost\n", env={"PRICES": '{"input_tokens": 0, "output_tokens": 500000}'})
    assert re.search(r"1 request: .*, 2 output tokens\. 1\.000000 USD at your prices\.", out)
    run = chat("Hello.")
    _, out, _ = run.run(said="Hi\n/cost\n", env={"PRICES": '{"input_tokens": 1}'})
    assert "No price for output_tokens, so the cost is not known." in out
    _, out, _ = run.run("--offline", said="Hi\n/cost\n")
    assert "output tokens. Offline they cost nothing." in out


def test_prices_in_another_form_end_the_chat_before_it_begins(chat):
    status, out, err = chat("Hello.").run(said="Hi\n", env={"PRICES": "3"})
    assert (status, out) == (2, "")
    assert err.startswith("PRICES in the environment says what a million tokens cost in USD, such as {")
    assert err.count("\n") == 1


A_FOLDER = next(f"/{name}" for name in sorted(os.listdir("/")) if name.isalpha())


@pytest.mark.parametrize("prompt", ["/etc/hosts: what is it?", "/no/such/x", A_FOLDER, f"{A_FOLDER} what is in it?"])
def test_a_prompt_that_begins_with_a_path_is_a_prompt(chat, prompt):
    run = chat("A file.")
    run.run(said=f"{prompt}\n")
    assert run.requests()[0]["messages"][0]["content"] == prompt


def test_a_command_is_one_whatever_is_called_as_it_is(chat, monkeypatch):
    monkeypatch.setattr(os.path, "lexists", lambda path: True)
    run = chat()
    assert "forget the conversation" in run.run(said="/help\n/nothing\n")[1]
    assert [request["messages"][0]["content"] for request in run.requests()] == ["/nothing"]


@pytest.mark.parametrize("leave", ["/exit", "/quit", "/q", "exit", "quit", "q"])
def test_there_are_many_words_for_leaving(chat, leave):
    run = chat("never")
    assert run.run(said=f"{leave}\nHello\n")[0] == 0
    assert run.requests() == []


@pytest.mark.parametrize("command", ["/clear", "/reset"])
def test_a_conversation_can_be_forgotten(chat, command):
    run = chat("One.", "Two.")
    assert "A new conversation." in run.run(said=f"Hi\n{command}\nHo\n")[1]
    assert [m["content"] for m in run.requests()[1]["messages"]] == ["Ho"]


def test_a_line_that_ends_with_a_backslash_goes_on_in_the_next_one(chat):
    run = chat("One.", "Two.")
    run.run(said="first \\\nsecond\\  \n\n/save it\\\nlast\\\n")
    assert [r["messages"][-1]["content"] for r in run.requests()] == ["first \nsecond", "/save it\nlast\\"]


def test_save_writes_the_conversation_and_replaces_no_file_of_others(chat):
    run = chat("你好.", "Again.")
    (run.folder / "mine.json").write_text("mine")
    _, out, _ = run.run(said="Hi\n/save\n/save mine.json\n/save no/folder.json\n/save new.json\nHi\n/save new.json\n")
    assert "/save FILE" in out
    assert "mine.json exists" in out
    assert "no/folder.json cannot be written" in out
    assert (run.folder / "mine.json").read_text() == "mine"
    saved = json.loads((run.folder / "new.json").read_text(encoding="utf-8"))
    assert [m["role"] for m in saved] == ["user", "assistant"] * 2
    assert saved[1]["content"][0]["text"] == "你好."


# ---- an endpoint that fails


FAULTS = [
    (
        {"status": 401, "message": "invalid x-api-key"},
        "does not accept the key: invalid x-api-key (401). Check API_KEY",
    ),
    ({"status": 404, "message": "model: the-model"}, "does not know this: model: the-model (404). Check MODEL_ID"),
    ({"status": 429, "message": "Slow down", "retry_after": 0}, "Too many requests: Slow down (429)."),
    ({"status": 529, "message": "Overloaded", "retry_after": 0}, "is overloaded: Overloaded (529)."),
    ({"status": 500, "message": "Internal server error", "retry_after": 0}, "failed: Internal server error (500)."),
    ({"content": "An answer that breaks", "hang_up": True}, "broke off"),
    ({"content": "An answer that breaks", "break_off": True}, "broke off"),
    ({"content": "An answer", "stream_error": "overloaded_error"}, "broke off"),
]


@pytest.mark.parametrize(("fault", "said"), FAULTS, ids=[str(n) for n in range(len(FAULTS))])
def test_a_fault_is_one_sentence_and_the_conversation_goes_on(chat, fault, said):
    times = 3 if fault.get("status", 0) in (429, 500, 529) else 1  # the SDK itself tries these three times
    run = chat("First.", *[fault] * times, "Third.")
    status, out, err = run.run(said="one\ntwo\nthree\n/messages\n")
    assert status == 0
    assert "Traceback" not in out + err
    assert said in out
    assert "Third." in out
    assert "!!" not in out
    assert (
        validate({"model": "m", "max_tokens": 1, **{k: run.requests()[-1][k] for k in ("messages", "tools")}}) is None
    )


def test_no_endpoint_at_all_is_said_with_its_address_and_the_prompt_is_not_kept(chat):
    run = chat()
    run.server.close()
    status, out, err = run.run(said="one\n/messages\n")
    assert status == 0
    assert "No connection to the endpoint at 127.0.0.1:" in out
    assert "No messages yet." in out
    assert "Traceback" not in out + err


def test_every_status_has_a_sentence_with_what_to_do():
    class Error(Exception):
        status_code, body = 400, {"error": {"message": "What the endpoint said."}}

    for status in (*faults.SENTENCES, 500, 504, 200):
        Error.status_code = status
        said = faults.explain(Error("x"))
        assert "What the endpoint said" in said
        assert said.endswith(".")


def test_retry_after_is_told():
    class Response:
        headers = {"retry-after": "7"}

    class Error(Exception):
        status_code, body, response = 429, None, Response

    assert faults.explain(Error("limit")) == "Too many requests: limit (429). Wait 7 seconds, then send it again."


def test_something_that_is_not_the_api_is_said(chat):
    assert "form of the Messages API" in faults.explain(AttributeError("'str' object has no attribute 'content'"))


# ---- pipes that close, locales


def test_a_closed_pipe_ends_it_without_a_word(chat):
    run = chat("First.", "Second.")
    reader, writer = os.pipe()
    child = run.start(stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    os.close(reader)
    _, err = child.communicate(b"one\ntwo\n", PATIENCE)
    assert (child.returncode, err) == (141, b"")


def test_it_speaks_utf_8_whatever_the_locale(chat):
    run = chat("答え: é 👍🏽")
    latin = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}
    latin["PYTHONPATH"] = str(ROOT)  # an ASCII Python finds no editable install in a folder with an é
    child = run.start(env=latin, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate("質問 é 👍🏽\n".encode(), PATIENCE)
    assert (child.returncode, err) == (0, b"")
    assert "答え: é 👍🏽" in out.decode()
    assert run.requests()[0]["messages"][0]["content"] == "質問 é 👍🏽"


def test_nothing_in_an_answer_or_a_result_gives_the_terminal_an_order(chat):
    run = chat(["\x1b[2Jgone", bash("printf '\\033]0;title\\007'")], "\x1b[31mred")
    _, out, _ = run.run("--yes", said="Go.\n/messages\n")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "␛[2Jgone" in out


# ---- a pseudo-terminal


class Screen:
    """The chat in a pseudo-terminal: type into it, wait for what it shows."""

    def __init__(self, chat, *arguments, controlling=True):
        import pty
        import termios

        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, 100)) if hasattr(termios, "tcsetwinsize") else None
        self.shown = ""

        def own_terminal():
            os.setsid()
            import fcntl

            if controlling:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.child = chat.start(*arguments, stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal)
        os.close(slave)

    def wait(self, text, seconds=PATIENCE):
        """Read until `text` is shown. Returns what was shown up to there, without the terminal's orders."""
        end = time.monotonic() + seconds
        while text not in self.plain():
            assert time.monotonic() < end, f"waited for {text!r} and got {self.plain()!r}"
            self._read()
        before, _, self.shown = self.plain().partition(text)
        return before + text

    def _read(self):
        if not select.select([self.master], [], [], 0.1)[0]:
            return
        try:
            self.shown += os.read(self.master, 65536).decode(errors="replace")
        except OSError:  # EIO: the child is gone
            raise AssertionError(f"it ended, having shown {self.plain()!r}") from None

    def plain(self):
        return re.sub(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>]|\][^\x07]*\x07)|\r", "", self.shown)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """Wait for the child's end and return its status."""
        with contextlib.suppress(AssertionError):
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                self._read()
        return self.child.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.master)


posix = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")


@posix
def test_a_line_is_edited_as_the_reader_sees_it(chat):
    run = chat("First.", "Second.")
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("half a line\x03")  # Ctrl-C
        screen.wait("Ctrl-D leaves.")
        screen.wait("s02 >>")
        screen.type("数えて 你好👍é\x7f\x7f\x7f!\r")  # three characters are taken back, one by one
        screen.wait("First.")
        screen.wait("s02 >>")
        screen.type("\x1b[A?\r")  # the arrow key brings the last line back
        screen.wait("Second.")
        screen.wait("s02 >>")
        screen.type("/he\t")
        screen.wait("/help")
        screen.type("\r")
        screen.wait("it is kept in")
        screen.wait("s02 >>")
        screen.type("\x04")  # Ctrl-D
        assert screen.end() == 0
    first, second = run.requests()
    assert first["messages"][0]["content"] == "数えて 你!"
    assert second["messages"][-1]["content"] == "数えて 你!?"


@posix
def test_a_prompt_has_as_many_lines_as_one_types_or_pastes(chat):
    run = chat("First.", "Second.")
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("one \\\r二\x1b\r\x1b\rfour\x1b[A\x1b[A!\r")  # backslash, Alt-Enter twice, up to the second line
        assert "^J" not in screen.wait("First.")
        screen.wait("s02 >>")
        screen.type("\x1b[200~/tools\r\n  二\n\x1b[201~\r")  # what a terminal makes of a paste
        screen.wait("Second.")
        screen.wait("s02 >>")
        screen.type("/exit\r")
        assert screen.end() == 0
    assert [r["messages"][-1]["content"] for r in run.requests()] == ["one \n二!\n\nfour", "/tools\n  二"]


@posix
def test_ctrl_c_twice_leaves_if_nothing_was_typed_in_between(chat):
    run = chat("Hello.")
    with Screen(run) as screen:
        screen.wait("s02 >>")
        for typed in ("\x03", "half\x03", "Hi\r", "\x03"):
            screen.type(typed)
            screen.wait("Hello." if typed == "Hi\r" else "Ctrl-C again or Ctrl-D leaves.")
            screen.wait("s02 >>")
        screen.type("\x03")
        assert screen.end() == 0
    assert len(run.requests()) == 1


@posix
def test_what_was_typed_is_there_in_the_next_chat_without_the_key_and_for_its_user_alone(chat):
    run = chat("No.", "No.")
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("Is 你 \\\ra-key-of-nobody?\r")
        screen.wait("No.")
        screen.wait("s02 >>")
        screen.type("/help\r")
        screen.wait("it is kept in\n")
        kept = Path(screen.wait("chat_history").replace("\n", ""))  # a row may end at a space in it
        screen.wait("s02 >>")  # before it, a Ctrl-D is nobody's
        screen.type("\x04")
        assert screen.end() == 0
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "a-key-of-nobody" not in kept.read_text(encoding="utf-8")
    assert not kept.is_relative_to(ROOT)
    kept.chmod(0o644)  # as another program may have left it
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("\x1b[A\x1b[A\r")  # /help came last
        screen.wait("No.")
    assert run.requests()[1]["messages"][0]["content"] == "Is 你 \n[key removed]?"
    assert kept.stat().st_mode & 0o777 == 0o600


@posix
def test_where_nothing_can_be_kept_a_chat_works_all_the_same(chat):
    run = chat("First.", "Second.")
    run.settings["HOME"] = os.devnull
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("Hi\r")
        screen.wait("First.")
        screen.wait("s02 >>")
        screen.type("\x1b[A?\r")
        screen.wait("Second.")
    assert run.requests()[1]["messages"][-1]["content"] == "Hi?"


@posix
@pytest.mark.parametrize("arguments", [[], ["-p", "Write."]], ids=["talk", "one prompt"])
def test_a_turn_that_takes_long_says_how_far_it_is_and_can_be_stopped(chat, arguments):
    slow = {"content": ["I write.", call("write_file", path="a.txt", content="word " * 400)], "slow": 1.5}
    with Screen(chat(slow), *arguments) as screen:
        if not arguments:
            screen.wait("s02 >>")
            screen.type("Write.\r")
        screen.wait("s. Ctrl-C stops.")
        screen.wait("tokens. Ctrl-C stops.")  # of a call that nobody sees yet
        screen.type("\x03")
        screen.wait("Stopped.")


def test_through_a_pipe_a_turn_that_takes_long_says_nothing_of_it(chat):
    _, out, err = chat({"content": "One two three.", "slow": 0.6}).run(said="Go.\n")
    assert "One two three." in out
    assert "Ctrl-C" not in (out + err).replace("/help lists the commands, Ctrl-D leaves.", "")


@posix
def test_ctrl_c_stops_a_tool_a_question_and_an_answer_and_the_history_stays_valid(chat):
    run = chat(
        [bash("touch started; sleep 300; touch finished"), bash("touch second")],
        [call("write_file", path="third", content="")],
        {"content": "word " * 200, "slow": 0.05},
        [call("write_file", path="fourth", content="")],
        "Here I am.",
    )
    with Screen(run) as screen:
        screen.wait("s02 >>")
        screen.type("Wait.\r")
        screen.wait("a(lways):")
        screen.type("a\r")
        wait_until((run.folder / "started").exists)
        screen.type("\x03")  # in the middle of a tool
        screen.wait("Stopped.")
        screen.wait("s02 >>")
        screen.type("Go on.\r")
        screen.wait("a(lways):")
        screen.type("\x03")  # at a question
        screen.wait("Stopped.")
        screen.wait("s02 >>")
        screen.type("Talk.\r")
        screen.wait("word word")
        screen.type("\x03")  # in the middle of an answer
        screen.wait("Stopped.")
        screen.wait("s02 >>")
        screen.type("Are you there?\r")
        screen.wait("a(lways):")
        screen.type("\x04")  # Ctrl-D at a question is a no
        screen.wait("Here I am.")
        screen.wait("s02 >>")
        screen.type("/messages\r")
        assert "!!" not in screen.wait("tokens")
    assert [path.name for path in run.folder.iterdir()] == ["started"]
    messages = run.requests()[-1]["messages"]
    results = [b for m in messages for b in m["content"] if isinstance(b, dict) and b["type"] == "tool_result"]
    assert [result["is_error"] for result in results] == [True] * 4
    assert "Talk." not in repr(messages)  # nothing answered it, so it is not part of the conversation


@posix
def test_one_prompt_asks_beside_stdout_and_ctrl_c_is_status_130(chat):
    words = f"sleep 44{os.getpid()}"
    with Screen(chat([bash(words)]), "-p", "Wait.") as screen:
        screen.wait("a(lways): ")
        screen.type("y\r")
        wait_until(lambda: processes(words))
        screen.type("\x03")
        screen.wait("Stopped.")
        assert screen.end() == 130


HANGING_UP = {
    "as it is": "",
    "ignored": "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); ",  # as under nohup
    "blocked": "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP}); ",
}


@posix
@pytest.mark.parametrize("first", HANGING_UP.values(), ids=HANGING_UP)
def test_a_terminal_that_goes_away_takes_the_chat_with_it_and_what_it_runs(chat, monkeypatch, first):
    monkeypatch.setattr(sys.modules[__name__], "CODE", first + CODE)
    words = f"sleep 43{os.getpid()}"
    run = chat([bash(words)])
    screen = Screen(run, "--yes")
    screen.wait("s02 >>")
    screen.type("Wait.\r")
    wait_until(lambda: processes(words))
    os.close(screen.master)
    assert screen.child.wait(PATIENCE) in (141, -signal.SIGHUP)
    wait_until(lambda: not processes(words))


@posix
def test_a_terminal_that_goes_away_without_a_signal_ends_the_chat_at_its_prompt(chat):
    with Screen(chat(), controlling=False) as screen:
        screen.wait("s02 >>")
        os.close(screen.master)
        assert screen.child.wait(PATIENCE) == 141
        screen.master = os.open(os.devnull, os.O_RDONLY)  # for the end of the test to close


@posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_standard_stream_that_is_closed_is_no_error(closed, tmp_path):
    line = f'exec "$0" -m s02_tool_use chat --offline --workdir "$1" -p Hello {closed}'
    done = subprocess.run(["bash", "-c", line, sys.executable, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", ""))


def test_the_help_names_every_option_and_exit_status(chat):
    status, out, _ = chat().run("--help")
    assert status == 0
    for said in ("-p", "--workdir", "--yes", "--offline", "130"):
        assert said in out


def test_shown_lines_of_a_result_are_few(chat):
    run = chat([bash('python -c "print(*range(1, 1001), sep=chr(10))"')], "Done.")
    _, out, _ = run.run("--yes", said="Count.\n")
    assert "... 991 more lines" in out
    assert "\n  10\n" in out
    assert "\n  11\n" not in out


def test_when_it_says_stopped_every_call_has_its_answer():
    script = Scripted([[bash("true"), bash("true")]])
    with Server(script) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="x")
        said = []

        class Interrupted(terminal.TerminalChat):
            def draw(self, kind, data):
                if kind == "tool_use":
                    raise KeyboardInterrupt

            def say(self, text, style=""):
                said.append((text, len(self.session.messages)))

        chat = Interrupted(client, "m", read=None, ask=None, out=io.StringIO(), yes=True)
        assert chat.turn("Go.") == terminal.STOPPED
        client.close()
    assert said == [("Stopped.", 3)]
    assert [block["content"] for block in chat.session.messages[-1]["content"]] == ["(cancelled)"] * 2
