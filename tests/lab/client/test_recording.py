"""connect(record=...): what the file holds, that no key is in it, and what is said about files that cannot be used."""

import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import anthropic
import pytest
from fake_endpoint import endpoint
from ordinary_user import as_ordinary_user
from systems import over_both
from waiting import PATIENCE_SECONDS

from s02_tool_use import agent_loop
from s02_tool_use.__main__ import COMMANDS
from s02_tool_use.calls.secrets import CUT
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client import recording
from s02_tool_use.lab.client.endpoint import connect
from s02_tool_use.lab.client.recording import Recorder, RecordingError, RecordingWarning
from s02_tool_use.lab.client.replay import message_of
from s02_tool_use.lab.understudy import Scripted

HELLO = [{"role": "user", "content": "Hello"}]
KEY = "sk-ant-api03-abcdef"
CALL = {"type": "tool_use", "name": "read_file", "input": {"path": "tea.txt"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current folder: empty, with nothing above it that names an endpoint."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def live(folder):
    """A function that makes connect() live: the URL of an endpoint goes into .env, with KEY."""

    def name(url, *lines):
        (folder / ".env").write_text("\n".join([f"API_KEY={KEY}", f"BASE_URL={url}", "MODEL_ID=some-model", *lines]))

    return name


def say(client, model, text="Hello", **more):
    messages = [{"role": "user", "content": text}]
    return client.messages.create(model=model, max_tokens=300, messages=messages, **more)


def written(path="run.jsonl"):
    return Path(path).read_text(encoding="utf-8")


def lines(path="run.jsonl"):
    return [json.loads(line) for line in written(path).split("\n") if line]


def refused(**options):
    with pytest.raises(RecordingError) as caught:
        connect(**options)
    return str(caught.value)


# What the file holds


def test_the_first_line_says_format_model_date_and_who_answered(capsys):
    connect(record="run.jsonl")
    said = capsys.readouterr().out
    assert said.endswith("rules do.\nFor a real one see .env.example.\nRecording to run.jsonl.\n")
    (head,) = lines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", head.pop("date"))
    assert head == {
        "format": "s02_tool_use recording",
        "version": 1,
        "run": 1,
        "model": "understudy",
        "answered_by": "rules",
    }


@over_both
def test_each_request_has_a_line_with_what_was_sent_and_what_came_back():
    client, model = connect(["One.", "Two."], record="run.jsonl")
    replies = [say(client, model), say(client, model, "Go on")]
    head, *rows = lines()
    assert head["answered_by"] == "script"
    assert [row["n"] for row in rows] == [1, 2]
    assert rows[1]["path"] == "/v1/messages"
    assert rows[1]["request"]["messages"] == [{"role": "user", "content": "Go on"}]
    assert [row["response"]["id"] for row in rows] == [reply.id for reply in replies]
    assert [row["headers"]["request-id"] for row in rows] == [reply._request_id for reply in replies]


def test_a_line_is_there_as_soon_as_its_answer_is():
    client, model = connect(["One.", "Two."], record="run.jsonl")
    assert len(lines()) == 1
    say(client, model)
    assert len(lines()) == 2


@over_both
def test_a_stream_still_streams_and_its_events_are_kept():
    client, model = connect([{"content": "word " * 40, "slow": 0.001}], record="run.jsonl")
    seen = []
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        for text in stream.text_stream:
            seen.append(text)
            assert len(lines()) == 1, "the line is written when the stream has ended"
    assert len(seen) > 3
    row = lines()[1]
    assert row["request"]["stream"] is True
    assert row["events"][0]["type"] == "message_start"
    assert row["events"][-1]["type"] == "message_stop"
    assert "whole" not in row


@over_both
def test_a_stream_that_the_reader_leaves_is_kept_as_far_as_it_came():
    client, model = connect([{"content": "word " * 40, "slow": 0.01}], record="run.jsonl")
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        next(iter(stream.text_stream))
    row = lines()[1]
    assert row["whole"] is False
    assert row["events"][-1]["type"] != "message_stop"


def test_errors_are_recorded_with_the_attempts_that_the_sdk_repeats(live):
    with Server(Scripted([{"status": 529, "retry_after": 0}, {"status": 400, "message": "No."}])) as server:
        live(server.url)
        client, model = connect(record="run.jsonl")
        with pytest.raises(anthropic.BadRequestError):
            say(client, model)
    assert [(row["status"], row.get("retry", 0)) for row in lines()[1:]] == [(529, 0), (400, 1)]
    assert lines()[2]["response"]["error"]["message"] == "No."


def test_a_request_that_got_no_answer_is_recorded_too(live):
    with endpoint() as url:
        live(url)
    client, model = connect(record="run.jsonl")
    with pytest.raises(anthropic.APIConnectionError):
        say(client.with_options(max_retries=0), model)
    assert (lines()[1]["status"], lines()[1]["failed"]) == (None, "ConnectError")


def test_an_answer_that_is_not_json_is_kept_as_text(live):
    with endpoint(502, {"content-type": "text/html"}, b"<h1>Bad gateway</h1>") as url:
        live(url)
        client, model = connect(record="run.jsonl")
        with pytest.raises(anthropic.InternalServerError):
            say(client.with_options(max_retries=0), model)
    assert lines()[1]["text"] == "<h1>Bad gateway</h1>"


def test_a_compressed_answer_is_kept_readable(live):
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": "茶"}]}
    with endpoint(headers={"content-encoding": "gzip"}, body=gzip.compress(json.dumps(message).encode())) as url:
        live(url)
        client, model = connect(record="run.jsonl")
        assert say(client, model).content[0].text == "茶"
    assert lines()[1]["response"] == message


@over_both
def test_text_of_every_kind_is_kept():
    text = "你好 \u2028 \x00 🙂"
    client, model = connect([text], record="run.jsonl")
    say(client, model, text)
    assert "你好" in written()
    assert lines()[1]["request"]["messages"][0]["content"] == text
    assert recording._dumped({"half": "\ud800"}) == b'{"half": "\\ud800"}\n'


def test_requests_of_several_threads_are_each_one_whole_line():
    client, model = connect([lambda request: "x" * 5000] * 40, record="run.jsonl")
    threads = [threading.Thread(target=lambda: [say(client, model) for _ in range(5)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row["n"] for row in lines()[1:]) == list(range(1, 41))


# No key


def test_the_key_is_not_in_the_file_not_even_when_an_endpoint_echoes_it(live):
    def echo(handler):
        error = {"type": "authentication_error", "message": f"wrong: {handler.headers.as_string()}"}
        return json.dumps({"type": "error", "error": error, KEY: 1}).encode()

    with endpoint(401, {"set-cookie": "session=cookie-secret", "anthropic-organization-id": "org-secret"}, echo) as url:
        live(url)
        client, model = connect(record="run.jsonl")
        with pytest.raises(anthropic.AuthenticationError, match="wrong: ") as caught:
            say(client, model)
    assert KEY not in str(caught.value)
    text = written()
    assert "wrong: " in text
    for secret in (KEY, "cookie-secret", "org-secret"):
        assert secret not in text
    assert CUT in text


def test_a_key_that_a_tool_printed_is_removed_though_it_is_not_in_use(folder, monkeypatch):
    (folder / ".env").write_text(f"API_KEY={KEY}\nBASE_URL=https://someone:pass-word-1@example.com\n")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-token-token")
    client, model = connect([f"It is {KEY}."], record="run.jsonl")
    say(client, model, "token-token-token pass-word-1")
    text = written()
    assert "It is [key removed]." in text
    assert not any(secret in text for secret in (KEY, "token-token-token", "pass-word-1"))


@over_both
@pytest.mark.parametrize("content", [f"Your key: {KEY}, is it?", [{**CALL, "input": {"path": f"a/{KEY}/b/c/d/e"}}]])
def test_a_key_that_a_stream_cuts_into_pieces_is_removed(folder, content):
    (folder / ".env").write_text(f"API_KEY={KEY}\n")
    client, model = connect([content], record="run.jsonl")
    with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
        assert KEY in stream.get_final_message().to_json()
    deltas = [event.get("delta", {}) for event in lines()[1]["events"]]
    pieces = [delta.get("text") or delta.get("partial_json") or "" for delta in deltas]
    assert "[key removed]" in "".join(pieces)
    assert KEY not in "".join(pieces)
    assert len(pieces) > 3


def test_a_short_word_that_a_local_server_takes_as_its_key_is_left_alone(live):
    with Server(Scripted(["ollama answers"])) as server:
        live(server.url, "API_KEY=ollama")
        client, model = connect(record="run.jsonl")
        say(client, model)
    assert message_of(lines()[1]["events"])[1]["content"][0]["text"] == "ollama answers"


def test_the_address_is_not_in_the_file(live):
    with Server(Scripted(["One."])) as server:
        live(server.url + "/secret-tenant")
        with contextlib.suppress(anthropic.NotFoundError):
            say(*connect(record="run.jsonl"))
        assert server.url.removeprefix("http://") not in written()
    assert lines()[1]["path"] == "/v1/messages"
    assert "secret-tenant" not in written()


# Files


def test_what_a_file_holds_stays_and_a_new_run_comes_after_it(capsys):
    for text in ("One.", "Two."):
        say(*connect([text], record="run.jsonl"))
    assert capsys.readouterr().out.endswith("Recording to run.jsonl, after 1 earlier.\n")
    assert [row["run"] for row in lines()] == [1, 1, 2, 2]
    assert [row["response"]["content"][0]["text"] for row in lines()[1::2]] == ["One.", "Two."]


def test_a_recording_goes_on_after_a_line_that_was_not_written_to_its_end():
    say(*connect(["One."], record="run.jsonl"))
    with open("run.jsonl", "a") as file:
        file.write('{"run": 1, "n": 2, "req')
    say(*connect(["Two."], record="run.jsonl"))
    _, heads, rows, note = recording.read("run.jsonl")
    assert ([head["run"] for head in heads], [row["run"] for row in rows], note) == ([1, 2], [1, 2], "")


def test_a_file_that_was_removed_meanwhile_begins_anew():
    client, model = connect(["One."], record="run.jsonl")
    os.remove("run.jsonl")
    say(client, model)
    assert [("format" in row, row["run"]) for row in lines()] == [(True, 1), (False, 1)]


def test_the_file_stays_where_it_was_named_when_the_folder_changes(folder, tmp_path, monkeypatch):
    client, model = connect(["One."], record="run.jsonl")
    monkeypatch.chdir(tmp_path)
    say(client, model)
    assert len(lines(folder / "run.jsonl")) == 2


def test_a_disk_that_is_full_is_said_once_and_the_conversation_goes_on(monkeypatch):
    client, model = connect(["One.", "Two."], record="run.jsonl")

    def full(line):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recording, "_dumped", full)
    said = "From here on the recording has gaps: the file cannot be written"
    with pytest.warns(RecordingWarning, match=said) as caught:
        assert say(client, model).content[0].text == "One."
    assert len(caught) == 1
    assert say(client, model).content[0].text == "Two."


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the size of a file")
def test_half_a_line_is_taken_back_when_the_disk_is_full():
    code = """if True:
        import os, resource
        from s02_tool_use.lab.client.recording import Recorder
        recorder = Recorder("run.jsonl", "some-model", "rules")
        most = os.path.getsize("run.jsonl") + 50
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        recorder.keep({"run": 1, "n": 1, "text": "x" * 500})
        """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.stderr.startswith("<run.jsonl>:1: RecordingWarning: From here on the recording has gaps")
    assert len(lines()) == 1


@pytest.mark.parametrize("name", [True, 3, "", b"run.jsonl"])
def test_what_is_no_file_name_is_said(name):
    assert refused(record=name) == 'record= takes the name of a file: connect(record="run.jsonl").'


def test_a_file_that_is_no_recording_is_not_touched(folder):
    (folder / "notes.txt").write_text("Buy tea.")
    assert refused(record="notes.txt") == "notes.txt is not a recording. Name another file."
    assert (folder / "notes.txt").read_text() == "Buy tea."


def test_a_folder_that_is_not_there_is_said():
    assert refused(record="no/run.jsonl") == (
        "run.jsonl cannot be written: No such file or directory. Name another file."
    )


def test_a_folder_is_said():
    os.mkdir("run.jsonl")
    assert refused(record="run.jsonl") == "run.jsonl is a folder: give the name of a file."


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_file_that_may_not_be_written_or_read_is_said():
    def said(workspace):
        path = workspace / "run.jsonl"
        path.touch()
        sentences = []
        for content, mode in ((b"", 0o444), (b"{}", 0)):
            path.chmod(0o644)
            path.write_bytes(content)
            path.chmod(mode)
            try:
                Recorder(path, "some-model", "rules")
            except RecordingError as error:
                sentences.append(str(error))
        return sentences

    assert as_ordinary_user(said) == [
        "run.jsonl cannot be written: Permission denied. Name another file.",
        "run.jsonl cannot be read: Permission denied.",
    ]


def test_both_at_once_are_refused():
    assert refused(record="a", replay="b").startswith("Give record= or replay=, not both")
    assert refused(script=["One."], replay="b").startswith("Give a script or replay=, not both")


def test_nothing_is_created_when_the_settings_cannot_work(folder):
    (folder / ".env").write_text(f"API_KEY={KEY}\n")
    pytest.raises(ValueError, connect, record="run.jsonl").match("MODEL_ID is missing")
    assert not (folder / "run.jsonl").exists()


# Against a server of its own process, as against a real endpoint


def test_a_whole_run_with_an_endpoint_named_by_dotenv_is_recorded_and_replayed(live, workspace, capsys):
    (workspace / "tea.txt").write_text("Sencha\n")
    command = [sys.executable, *COMMANDS["serve"]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    asked = [{"role": "user", "content": "Read tea.txt"}]
    try:
        live(process.stdout.readline().strip())
        client, model = connect(record="run.jsonl")
        first = list(asked)
        agent_loop(client, model, first, stream=True)
        assert client.messages.count_tokens(model=model, messages=asked).input_tokens > 0
    finally:
        process.kill()
        process.communicate()
    said = capsys.readouterr().out
    assert re.fullmatch(r"Live: some-model at .* \(API_KEY from \.env\)\.\nRecording to run\.jsonl\.\n", said)
    assert KEY not in written()

    client, model = connect(replay="run.jsonl")
    said = capsys.readouterr().out
    assert re.fullmatch(r"Replay of a recording: some-model, \d{4}-\d\d-\d\d, 3 requests\.\n", said)
    second = list(asked)
    reply = agent_loop(client, model, second, stream=True)
    assert client.messages.count_tokens(model=model, messages=asked).input_tokens > 0
    assert "Sencha" in str(first)
    assert second == first
    assert (reply.model, model) == ("some-model", "some-model")
