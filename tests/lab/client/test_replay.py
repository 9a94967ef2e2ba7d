"""connect(replay=...): a recording answers again in its order, and says where a request departs from it."""

import json
import re
import threading
import warnings

import anthropic
import httpx2
import pytest
from systems import over_both
from wire_log import exchanges

from s02_tool_use import agent_loop
from s02_tool_use.lab.api import wire
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.client.endpoint import connect, departures
from s02_tool_use.lab.client.recording import RecordingError
from s02_tool_use.lab.client.replay import Departure, differences, message_of, response_for, said, without_retried
from s02_tool_use.lab.sessions.run import Run
from s02_tool_use.lab.understudy import Scripted

HELLO = [{"role": "user", "content": "Hello"}]
CALL = {"type": "tool_use", "name": "read_file", "input": {"path": "tea.txt"}}
SCRIPT = [["I'll read it.", CALL], "It says: Sencha. 茶", "You are welcome."]
ASKED = [{"role": "user", "content": "Read tea.txt"}]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, workspace):
    (workspace / "tea.txt").write_text("Sencha\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def say(client, model, text="Hello", **more):
    messages = [{"role": "user", "content": text}]
    return client.messages.create(model=model, max_tokens=300, messages=messages, **more)


def run(client, model, asked=ASKED, **settings):
    """The history of a run of the agent, and its last reply."""
    history = list(asked)
    reply = agent_loop(client, model, history, **settings)
    return history, reply.to_dict()


def recorded(script=SCRIPT, **settings):
    return run(*connect(script, record="run.jsonl"), **settings)


def replayed():
    return connect(replay="run.jsonl")


def refused():
    with pytest.raises(RecordingError) as caught:
        replayed()
    return str(caught.value)


# The same again


@over_both
@pytest.mark.parametrize("script", [SCRIPT, None], ids=["script", "understudy"])
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("again", [False, True], ids=["plain again", "stream again"])
def test_a_whole_run_repeats_exactly_in_either_form(script, stream, again):
    first = recorded(script, stream=stream)
    client, model = replayed()
    assert run(client, model, stream=again) == first
    assert departures(client) == []


@over_both
def test_thinking_and_a_call_that_was_cut_off_repeat_in_either_form():
    thinking = {"type": "thinking", "thinking": "Tea? " * 20}
    script = [[thinking, "Yes.", CALL], {"content": [CALL], "stop_reason": "max_tokens"}, "Done."]
    first = recorded(script)
    assert run(*replayed(), stream=True) == first


@over_both
def test_the_answers_are_the_recorded_ones_byte_for_byte():
    client, model = connect(SCRIPT, record="run.jsonl")
    run(client, model, stream=True)
    again, model = replayed()
    run(again, model, stream=True)
    wanted, got = ([(x["status"], x["request_id"], x["response"]) for x in exchanges(c)] for c in (client, again))
    assert got == wanted


def test_the_banner_names_model_date_and_number_and_says_that_no_model_answered(capsys):
    recorded(None)
    replayed()
    assert re.search(
        r"\nReplay of a recording: understudy, \d{4}-\d\d-\d\d, 2 requests\. "
        r"No language model answered in it, rules did\.\n$",
        capsys.readouterr().out,
    )
    say(*connect(["One."], record="one.jsonl"))
    connect(replay="one.jsonl")
    assert capsys.readouterr().out.endswith(
        ", 1 request. No language model answered in it, the lines of a script did.\n"
    )


def test_the_last_run_of_a_file_is_replayed(capsys):
    for text in ("One.", "Two."):
        say(*connect([text], record="run.jsonl"))
    connect(["Three."], record="run.jsonl")
    assert say(*replayed()).content[0].text == "Two."
    assert "run.jsonl holds 3 runs, this is the last one with requests." in capsys.readouterr().out


def test_requests_answer_in_the_order_in_which_they_were_sent_not_in_which_they_ended(folder):
    say(*connect(["One."], record="run.jsonl"))
    head, line = (folder / "run.jsonl").read_text().splitlines()
    second = line.replace('"n": 1', '"n": 2').replace("One.", "Two.")
    (folder / "run.jsonl").write_text("\n".join([head, second, line]))
    client, model = replayed()
    assert [say(client, model).content[0].text for _ in range(2)] == ["One.", "Two."]


@over_both
def test_a_recorded_error_comes_again_with_its_text():
    script = [{"status": 429, "message": "Slower.", "retry_after": 7}, "Fine."]
    client, model = connect(script, record="run.jsonl")
    pytest.raises(anthropic.RateLimitError, say, client, model)
    say(client, model)
    client, model = replayed()
    with pytest.raises(anthropic.RateLimitError, match="Slower.") as caught:
        say(client, model)
    assert (caught.value.response.headers["retry-after"], caught.value.request_id) == ("7", "req_01")
    assert say(client, model).content[0].text == "Fine."


def test_an_attempt_that_the_sdk_repeated_is_not_seen_again(folder):
    with Server(Scripted([{"status": 529, "retry_after": 0}, "One.", "Two."])) as server:
        (folder / ".env").write_text(f"BASE_URL={server.url}\nMODEL_ID=some-model\n")
        client, model = connect(record="run.jsonl")
        say(client, model)
        say(client, model)
    client, model = replayed()
    assert [say(client, model).content[0].text for _ in range(2)] == ["One.", "Two."]
    assert [exchange["request_id"] for exchange in exchanges(client)] == ["req_02", "req_03"]


@over_both
@pytest.mark.parametrize("fault", ["hang_up", "break_off", "stream_error"])
def test_a_stream_that_broke_breaks_again_in_the_same_way(fault):
    value = "overloaded_error" if fault == "stream_error" else True

    def outcome(client, model):
        seen = []
        try:
            with client.messages.stream(model=model, max_tokens=300, messages=HELLO) as stream:
                seen.extend(stream.text_stream)
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
        return seen

    first = outcome(*connect([{"content": "word " * 40, fault: value}], record="run.jsonl"))
    assert outcome(*replayed()) == first


@over_both
def test_a_connection_that_failed_fails_again(folder):
    for made in (lambda: connect([{"content": "One.", "hang_up": True}], record="run.jsonl"), replayed):
        client, model = made()
        with pytest.raises(anthropic.APIConnectionError) as caught:
            say(client, model)
        assert isinstance(caught.value.__cause__, httpx2.RemoteProtocolError)
    assert response_for({"status": None}, {}).status is None


def test_the_sdk_s_own_tool_runner_repeats(folder):
    @anthropic.beta_tool
    def read_file(path: str) -> str:
        """Read a file.

        Args:
            path: The file.
        """
        return "Sencha"

    def talk(client, model):
        runner = client.beta.messages.tool_runner(model=model, max_tokens=500, tools=[read_file], messages=ASKED)
        return [message.to_dict() for message in runner]

    first = talk(*connect(SCRIPT, record="run.jsonl"))
    client, model = replayed()
    assert talk(client, model) == first
    assert departures(client) == []


@over_both
def test_count_tokens_and_models_are_replayed_too():
    client, model = connect(["One."], record="run.jsonl")
    first = client.messages.count_tokens(model=model, messages=HELLO).to_dict(), client.models.list().to_dict()
    client, model = replayed()
    again = client.messages.count_tokens(model=model, messages=HELLO).to_dict(), client.models.list().to_dict()
    assert again == first


def test_a_replay_looks_at_no_setting_and_sends_nothing_to_an_endpoint(folder):
    say(*connect(["One."], record="run.jsonl"))
    (folder / ".env").write_text("API_KEY=broken key\nBASE_URL=http://127.0.0.1:9\n")
    assert say(*replayed()).content[0].text == "One."


@over_both
def test_what_the_endpoint_accepted_is_answered_though_our_rules_refuse_it(folder):
    say(*connect(["One."], record="run.jsonl"))
    path = folder / "run.jsonl"
    path.write_text(path.read_text().replace('"max_tokens": 300', '"max_tokens": 300, "new_option": 1'))
    client, model = replayed()
    assert say(client, model, extra_body={"new_option": 1}).content[0].text == "One."


# Departures


def fork(client, model):
    """Two turns; the result of the tool is edited between them."""
    history, _ = run(client, model, max_turns=1)
    history[2]["content"][0]["content"] = "Gyokuro"
    agent_loop(client, model, history)
    agent_loop(client, model, [*history, {"role": "user", "content": "Thanks"}])
    return history


@over_both
def test_an_edited_request_is_noticed_once_and_answered():
    client, model = connect(SCRIPT, record="run.jsonl")
    history, _ = run(client, model)
    run(client, model, [*history, {"role": "user", "content": "Thanks"}])
    client, model = replayed()
    with pytest.warns(Departure) as caught:
        history = fork(client, model)
    text = 'Request 2 departs from the recording at messages.2.content.0.content: recorded "Sencha", sent "Gyokuro".'
    text = text.replace('"Sencha"', json.dumps(run_result()))
    assert [str(warning.message) for warning in caught] == [text]
    assert departures(client) == [text]
    assert history[-1]["content"][0]["text"] == "It says: Sencha. 茶"


def run_result():
    from s02_tool_use import run_tool

    return run_tool({**CALL, "id": "toolu_01"})["content"]


def test_the_warning_is_one_line_with_the_line_of_the_recording_and_no_path_of_the_machine():
    say(*connect(["One."], record="run.jsonl"))
    client, model = replayed()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        say(client, model, "Goodbye")
    (w,) = caught
    assert warnings.formatwarning(w.message, w.category, w.filename, w.lineno) == (
        "<run.jsonl>:2: Departure: Request 1 departs from the recording at messages.0.content: "
        'recorded "Hello", sent "Goodbye".\n'
    )


def test_in_a_thread_nothing_is_printed_but_the_departure_is_kept():
    say(*connect(["One."], record="run.jsonl"))
    client, model = replayed()
    errors = []

    def work():
        try:
            say(client, model, "Goodbye")
        except Exception as error:  # warnings are errors here
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == []
    assert len(departures(client)) == 1


def test_a_new_departure_gets_a_line_and_one_that_the_history_brings_along_none():
    client, model = connect(["One.", "Two.", "Three."], record="run.jsonl")

    def ask(client, model, *conversations):
        for texts in conversations:
            messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
            client.messages.create(model=model, max_tokens=300, messages=messages)

    ask(client, model, "a", "abc", "abcde")
    client, model = replayed()
    with pytest.warns(Departure):
        ask(client, model, "A", "Abc", "AbCde")
    assert [line.partition(":")[0] for line in departures(client)] == [
        "Request 1 departs from the recording at messages.0.content",
        "Request 3 departs from the recording at messages.2.content",
    ]


def test_another_model_name_is_a_departure_and_the_recorded_model_answers():
    say(*connect(["One."], record="run.jsonl"))
    client, _ = replayed()
    with pytest.warns(Departure, match='at model: recorded "scripted", sent "other"'):
        assert say(client, "other").model == "scripted"


def test_more_requests_than_were_recorded_are_refused():
    say(*connect(["One."], record="run.jsonl"))
    client, model = replayed()
    say(client, model)
    said = r"The recording has 1 request, and nothing is left for this one\. connect\(replay=\.\.\.\) starts over\."
    for _ in range(2):
        with pytest.raises(anthropic.BadRequestError, match=said):
            say(client, model)


def test_an_answer_to_tool_results_is_not_given_to_a_new_conversation():
    recorded()
    client, model = replayed()
    run(client, model, max_turns=1)
    said = "Request 2 of the recording brought 1 tool result, and this one brings 0, so its answer does not fit here."
    with pytest.raises(anthropic.BadRequestError, match=said):
        run(client, model)


def test_a_call_of_a_tool_that_is_no_longer_offered_is_not_given():
    recorded()
    client, model = replayed()
    with pytest.raises(anthropic.BadRequestError, match="was answered with a call of read_file, a tool that this one"):
        run(client, model, tools=[])
    assert run(client, model)[0][0] == ASKED[0], "a refusal uses nothing up"


def test_another_kind_of_request_is_not_given_the_answer():
    say(*connect(["One."], record="run.jsonl"))
    client, model = replayed()
    with pytest.raises(anthropic.BadRequestError, match="Request 1 of the recording was POST /v1/messages, so"):
        client.messages.count_tokens(model=model, messages=HELLO)


@over_both
def test_an_edited_request_meets_the_rules_of_the_api_and_uses_nothing_up():
    recorded()
    client, model = replayed()
    history, _ = run(client, model, max_turns=1)
    with pytest.raises(anthropic.BadRequestError, match="`tool_use` ids were found without `tool_result` blocks"):
        client.messages.create(model=model, max_tokens=8000, messages=history[:2] + HELLO)
    reply = agent_loop(client, model, history)
    assert reply.content[0].text == "It says: Sencha. 茶"


def test_a_recorded_error_is_not_given_to_another_request():
    client, model = connect(["One."], record="run.jsonl")
    pytest.raises(anthropic.BadRequestError, say, client, model, "")
    say(client, model)
    client, model = replayed()
    assert say(client, model).content[0].text == "One."
    assert departures(client) == []
    pytest.raises(anthropic.BadRequestError, say, client, model).match("nothing is left")


def test_a_run_that_was_replayed_can_be_forked_in_the_stepper():
    recorded()
    walk = Run(*replayed(), ASKED)
    walk.to_end()
    while walk.stage.kind != "result":
        walk.back()
    other = walk.fork()
    other.to_end()
    assert other.stages[-1].messages == walk.stages[-1].messages


# Files


def test_a_last_line_that_was_not_written_to_its_end_is_left_out_and_said(folder, capsys):
    recorded()
    path = folder / "run.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    client, model = replayed()
    assert "1 request." in (banner := capsys.readouterr().out)
    assert banner.endswith("Line 3 of run.jsonl, the last one, was not written to its end and is left out.\n")


@pytest.mark.parametrize("broken", [b'{"run": 1}', b"{", b"[]", b"\xff\xfe"])
def test_a_broken_line_in_the_middle_is_named(folder, broken):
    recorded()
    rows = (folder / "run.jsonl").read_bytes().splitlines()
    (folder / "run.jsonl").write_bytes(b"\n".join([rows[0], broken, rows[2]]))
    assert refused() == "Line 2 of run.jsonl is broken: repair it, or take it out."


@pytest.mark.parametrize("content", [b"", b"Buy tea.", b'{"a": 1}\n', b"\x00\xff", b"[1]"])
def test_a_file_that_is_no_recording_is_said(folder, content):
    (folder / "run.jsonl").write_bytes(content)
    if content:
        assert refused() == 'run.jsonl is not a recording. connect(record="run.jsonl") makes one.'
    else:
        assert refused() == "run.jsonl has no requests yet: send some to what connect(record=...) gave."


def test_a_recording_without_requests_is_said():
    connect(["One."], record="run.jsonl")
    assert refused() == "run.jsonl has no requests yet: send some to what connect(record=...) gave."


def test_a_missing_file_is_said():
    assert refused() == 'There is no file run.jsonl here: connect(record="run.jsonl") makes it.'


def test_a_recording_of_another_version_is_said(folder):
    recorded()
    path = folder / "run.jsonl"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    assert refused() == "run.jsonl was made by another version of this course: update the course."


def test_what_an_editor_does_to_a_file_does_no_harm(folder):
    first = recorded()
    path = folder / "run.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n\r\n")
    assert run(*replayed()) == first


def test_a_notebook_shows_the_sentence_alone():
    assert RecordingError("Say which.")._render_traceback_() == ["RecordingError: Say which."]


# Parts


def call(**body):
    return {"method": "POST", "path": "/v1/messages", "request": body}


@pytest.mark.parametrize(
    ("recorded", "sent"),
    [
        (call(stream=True), call()),
        (call(a=None), call()),
        (call(messages=[{"content": "a"}]), call(messages=[{"content": [{"type": "text", "text": "a"}]}])),
        (call(system=[{"type": "text", "text": "a"}]), call(system="a")),
        (call(system="the [key removed] is"), call(system="the sk-ant is")),
        (
            call(messages=[{"content": [{"id": "a"}, {"id": "b"}]}, {"content": [{"tool_use_id": "b"}]}]),
            call(messages=[{"content": [{"id": "x"}, {"id": "y"}]}, {"content": [{"tool_use_id": "y"}]}]),
        ),
    ],
)
def test_what_cannot_change_the_answer_is_no_difference(recorded, sent):
    assert list(differences(recorded, sent)) == []


@pytest.mark.parametrize(
    ("recorded", "sent", "first"),
    [
        (call(a=1, b=2), call(b=3, c=4), "a: recorded 1, sent nothing"),
        (call(b=2), call(b=2, c=4), "c: recorded nothing, sent 4"),
        (call(a=[1, 2]), call(a=[1, 2, 3]), "a.2: recorded nothing, sent 3"),
        (call(a={"b": [{}]}), call(a={"b": 5}), 'a.b: recorded [{}], sent 5'),
        (call(system="the [key removed] is"), call(system="the key was"), "system: recorded "
         '"the [key removed] is", sent "the key was"'),
        (call(a="x" * 300 + "\n1"), call(a="x" * 300 + "\n2"), 'a: recorded "...xxxxxxxxxxxxxxxxxxx\\n1", sent '
         '"...xxxxxxxxxxxxxxxxxxx\\n2"'),
        (call(a="y" * 90), call(a=1), 'a: recorded "' + "y" * 49 + "..., sent 1"),
        (
            call(messages=[{"content": [{"id": "a"}, {"id": "b"}]}, {"content": [{"tool_use_id": "b"}]}]),
            call(messages=[{"content": [{"id": "x"}, {"id": "y"}]}, {"content": [{"tool_use_id": "x"}]}]),
            'messages.1.content.0.tool_use_id: recorded "b", sent "x"',
        ),
        (
            call(messages=[{"content": [{"input": {"id": "a"}}]}]),
            call(messages=[{"content": [{"input": {"id": "b"}}]}]),
            'messages.0.content.0.input.id: recorded "a", sent "b"',
        ),
    ],
)  # fmt: skip
def test_the_first_difference_is_said_with_its_place(recorded, sent, first):
    assert said(*next(differences(recorded, sent))) == first


def test_a_repeated_attempt_takes_only_its_own_one_away():
    rows = [
        {"request": "a", "status": 529},
        {"request": "b", "status": 200},
        {"request": "a", "retry": 1, "status": 529},
        {"request": "a", "status": 200},
        {"request": "a", "retry": 2, "status": 200},
    ]
    assert without_retried(rows) == [rows[1], rows[3], rows[4]]


def test_a_call_that_was_cut_off_in_a_stream_has_no_input():
    message, rest = wire.message_body({"model": "m", "max_tokens": 6, "messages": HELLO}, {"content": [CALL]})
    assert rest
    events = [data for _, data in wire.stream_events(message, rest)]
    assert message_of(events)[1]["content"][0]["input"] == {}


def test_a_stream_without_an_end_has_no_message_and_one_with_an_error_has_its_status():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}
    assert message_of([{"type": "message_start", "message": {}}]) == (None, None)
    assert message_of([{"type": "message_start", "message": {}}, error]) == (529, error)


def test_a_reply_of_another_endpoint_that_lacks_keys_can_be_streamed():
    body = {"type": "message", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Hi"}]}
    answer = response_for({"status": 200, "response": {**body, "stop_reason": "end_turn"}}, {"stream": True})
    events = [json.loads(piece.decode().partition("data: ")[2]) for piece in answer.pieces]
    assert message_of(events)[1]["content"][1] == {"type": "text", "text": "Hi"}


def test_what_a_stream_says_in_its_own_ways_is_in_the_message():
    def delta(index, **pieces):
        return {"type": "content_block_delta", "index": index, "delta": {"type": "a_delta", **pieces}}

    def start(index, **block):
        return {"type": "content_block_start", "index": index, "content_block": block}

    managed = {"applied_edits": []}
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        start(0, type="text", text="", citations=None),
        start(1, type="compaction", content=None),
        delta(0, text="One."),
        delta(1, content="So far."),
        delta(0, citation={"n": 1}),
        delta(0, citation={"n": 2}),
        delta(1, encrypted_content=None),
        {"type": "message_delta", "delta": {"stop_reason": "x"}, "usage": {}, "context_management": managed},
        {"type": "message_stop"},
    ]
    assert message_of(events)[1] == {
        "usage": {"input_tokens": 3, "output_tokens": 1},
        "content": [
            {"type": "text", "text": "One.", "citations": [{"n": 1}, {"n": 2}]},
            {"type": "compaction", "content": "So far.", "encrypted_content": None},
        ],
        "stop_reason": "x",
        "context_management": managed,
    }
