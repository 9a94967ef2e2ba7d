"""A run walked stage by stage: what it shows, going back, editing, forking, saved conversations, failures."""

import json

import pytest

from s02_tool_use import agent_loop
from s02_tool_use.lab.sessions.run import Run


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


TWO_CALLS = [[call("read_file", path="a.txt"), call("no_such_tool")], "Done.", "Later."]
ONE_CALL = [call("read_file", path="a.txt"), lambda request: f"It says {result_in(request)}."]


def result_in(request):
    return request["messages"][-1]["content"][0]["content"].split()[0]


@pytest.fixture
def run(scripted, workspace):
    """A function that makes a run of a script, in a workspace with a.txt."""
    (workspace / "a.txt").write_text("hello\n")

    def make(script, **settings):
        client, model = scripted(script)
        return Run(client, model, [{"role": "user", "content": "Read a.txt."}], **settings)

    return make


def kinds(run):
    return [stage.kind for stage in run.stages]


def ended(run):
    run.to_end()
    return run


def test_each_thing_that_happens_is_a_stage(run):
    assert kinds(ended(run(ONE_CALL))) == [
        "start", "built", "normalised", "sent", "reply", "lookup", "result", "appended",
        "built", "normalised", "sent", "reply", "stop",
    ]  # fmt: skip


def test_a_run_does_what_agent_loop_does(run, scripted):
    client, model = scripted(TWO_CALLS)
    messages = [{"role": "user", "content": "Read a.txt."}]
    agent_loop(client, model, messages)
    assert ended(run(TWO_CALLS)).stage.messages == messages


def test_nothing_is_sent_before_the_first_step_forward(run):
    walked = run(["Hello."])
    assert kinds(walked) == ["start"]
    assert walked._answerer._used == 0


def test_the_list_that_it_was_given_stays_as_it_was(scripted, workspace):
    client, model = scripted(["Hello."])
    messages = [{"role": "user", "content": "Hi."}]
    Run(client, model, messages).to_end()
    assert messages == [{"role": "user", "content": "Hi."}]


def test_going_back_shows_the_messages_as_they_were(run):
    walked = ended(run(ONE_CALL))
    for _ in range(5):
        walked.back()
    assert walked.stage.kind == "appended"
    assert len(walked.stage.messages) == 3
    walked.forward()
    assert walked.stage.kind == "built"


def test_going_back_from_the_start_stays_there(run):
    walked = run(["Hello."])
    walked.back()
    assert walked.at == 0


def test_going_forward_from_the_end_stays_there(run):
    walked = ended(run(["Hello."]))
    at = walked.at
    walked.forward()
    assert walked.at == at


def test_an_unknown_tool_is_no_handler_run(run):
    walked = ended(run(TWO_CALLS))
    assert [s.title for s in walked.stages if s.kind in ("lookup", "result", "unknown")][2:] == [
        "handler looked up: no_such_tool",
        "no such handler: no_such_tool",
    ]


def test_a_call_that_was_not_allowed_is_not_run(run):
    walked = ended(run(ONE_CALL, approve=lambda block: "Not today."))
    assert [s.title for s in walked.stages if s.kind == "refused"] == ["not run: read_file"]


def test_a_call_of_a_reply_that_was_cut_off_is_not_run(run):
    walked = ended(run([{"content": call("read_file", path="a.txt"), "stop_reason": "max_tokens"}, "Done."]))
    assert "lookup" not in kinds(walked)
    assert "refused" in kinds(walked)


def test_the_repairs_are_told(scripted, workspace):
    client, model = scripted(["Hello."])
    walked = Run(client, model, [{"role": "user", "content": "Hi.", "_when": "now"}])
    walked.forward()
    walked.forward()
    assert "_when" in walked.stage.says
    assert walked.stage.messages == [{"role": "user", "content": "Hi."}]


def at(run, kind, which=0):
    run.at = [n for n, stage in enumerate(run.stages) if stage.kind == kind][which]
    return run


@pytest.mark.parametrize("script", [ONE_CALL, TWO_CALLS], ids=["one call", "two calls"])
def test_a_fork_at_any_stage_comes_to_the_same_end(run, script):
    walked = ended(run(script))
    for number in range(len(walked.stages)):
        walked.at = number
        forked = ended(walked.fork())
        assert kinds(forked) == kinds(walked), number
        assert forked.stage.messages == walked.stages[-1].messages, number


def test_a_fork_runs_no_tool_again_whose_result_it_has(run, workspace):
    walked = ended(run(ONE_CALL))
    forked = at(walked, "result").fork()
    (workspace / "a.txt").write_text("changed\n")
    assert ended(forked).stage.messages[-1]["content"][0]["text"] == "It says hello."


def test_a_fork_calls_no_handler_for_what_it_knows(run):
    paths = []

    def read_file(path):
        paths.append(path)
        return "hello"

    walked = ended(run(ONE_CALL, handlers={"read_file": read_file}))
    ended(at(walked, "result").fork())
    assert paths == ["a.txt"]
    ended(at(walked, "lookup").fork())
    assert paths == ["a.txt", "a.txt"]


@pytest.mark.parametrize("kind", ["lookup", "result", "appended"])
def test_the_calls_of_later_turns_run_in_a_fork(run, workspace, kind):
    (workspace / "b.txt").write_text("other\n")
    forked = at(ended(run([*ONE_CALL[:1], call("read_file", path="b.txt"), "Done."])), kind).fork()
    assert ended(forked).stage.messages[3]["content"][0]["input"] == {"path": "b.txt"}
    assert "other" in forked.stage.messages[4]["content"][0]["content"]


def test_a_fork_goes_on_where_the_answers_are_streamed(run):
    walked = ended(run(ONE_CALL, stream=True))
    assert kinds(ended(at(walked, "result").fork())) == kinds(walked)


def test_a_fork_leaves_the_run_that_it_comes_from_as_it_was(run):
    walked = ended(run(ONE_CALL))
    stages = list(walked.stages)
    forked = at(walked, "result").fork()
    forked.edit(json.dumps({**forked.stage.editable, "content": "goodbye"}))
    ended(forked)
    assert walked.stages == stages
    assert walked.stage.kind == "result"


def test_an_edited_result_is_what_the_model_gets(run):
    walked = run(ONE_CALL)
    while walked.stage.kind != "result":
        walked.forward()
    walked.edit(json.dumps({**walked.stage.editable, "content": "goodbye"}))
    assert ended(walked).stage.messages[-1]["content"][0]["text"] == "It says goodbye."


def test_an_edited_reply_makes_another_call(run, workspace):
    (workspace / "b.txt").write_text("other\n")
    walked = run(ONE_CALL)
    while walked.stage.kind != "reply":
        walked.forward()
    walked.edit(json.dumps(walked.stage.editable).replace("a.txt", "b.txt"))
    assert ended(walked).stage.messages[-1]["content"][0]["text"] == "It says other."


def test_a_call_taken_out_of_a_reply_ends_the_run(run):
    walked = run(ONE_CALL)
    while walked.stage.kind != "reply":
        walked.forward()
    walked.edit('[{"type": "text", "text": "No need."}]')
    assert kinds(ended(walked))[-2:] == ["reply", "stop"]


def test_an_edit_drops_what_came_after_it(run):
    walked = at(ended(run(ONE_CALL)), "result")
    walked.edit(json.dumps({**walked.stage.editable, "content": "goodbye"}))
    assert kinds(walked)[-1] == "result"
    assert ended(walked).stage.messages[-1]["content"][0]["text"] == "It says goodbye."


@pytest.mark.parametrize("text", ["{", "[]", '"text"', "null"])
def test_what_is_no_result_is_not_taken_for_one(run, text):
    walked = at(ended(run(ONE_CALL)), "result")
    with pytest.raises(ValueError, match="JSON|one block"):
        walked.edit(text)


def test_only_replies_and_results_can_be_edited(run):
    with pytest.raises(ValueError, match="Only a reply or a result"):
        run(ONE_CALL).edit("[]")


# ---- failures


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 401, "message": "invalid x-api-key"}, "API_KEY"),
        ({"status": 404, "message": "model: nothing"}, "MODEL_ID"),
        ({"status": 429, "message": "rate", "retry_after": 7}, "7 seconds"),
        ({"status": 529, "message": "Overloaded"}, "overloaded"),
        ({"content": "Hello.", "break_off": True}, "broke off"),
    ],
    ids=["401", "404", "429", "529", "broken off"],
)
def test_a_failed_request_is_a_stage_and_forward_tries_again(run, fault, said):
    walked = run([fault, "Hello."])
    walked.to_end()
    assert walked.stage.kind == "failed"
    assert walked.stage.title == "the request failed"
    assert said in walked.stage.says
    assert kinds(ended(walked))[-1] == "stop"
    assert walked.stage.messages[-1]["content"][0]["text"] == "Hello."


def test_a_stop_in_the_middle_of_a_tool_leaves_every_call_answered(scripted, workspace):
    def interrupted(path):
        raise KeyboardInterrupt

    client, model = scripted([call("read_file", path="a.txt"), "Go on."])
    walked = Run(client, model, [{"role": "user", "content": "Hi."}], handlers={"read_file": interrupted})
    walked.to_end()
    assert walked.stage.kind == "failed"
    assert walked.stage.title == "stopped", "nothing failed"
    assert walked.stage.messages[-1]["content"][0]["content"] == "(cancelled)"
    assert kinds(ended(walked))[-1] == "stop"


@pytest.mark.parametrize("kind", ["start", "built", "normalised", "sent", "reply", "lookup", "result", "appended"])
def test_a_run_that_was_interrupted_between_two_stages_goes_on_with_every_call_answered(run, kind):
    walked = run([TWO_CALLS[0], "Go on."])
    while walked.stage.kind != kind:
        walked.forward()
    for _ in range(2):
        walked.fail(KeyboardInterrupt())
    assert [stage.kind for stage in walked.stages].count("failed") == 1
    calls = [m["content"] for m in walked.stage.messages if m["role"] == "assistant"]
    results = [m["content"] for m in walked.stage.messages[2:]]
    assert [len(content) for content in results] == [len(content) for content in calls]
    assert "Stopped. Forward goes on." in walked.stage.says
    assert ended(walked).stage.kind == "stop"


# ---- saved conversations

USER = {"role": "user", "content": "Read a.txt."}
CALL = {"role": "assistant", "content": [{**call("read_file", path="a.txt"), "id": "toolu_01"}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_01", "content": "hello"}]}
ANSWER = {"role": "assistant", "content": "It says hello."}


def saved(history, client=None, model=None):
    return Run(client, model, history, saved=True)


def test_a_saved_conversation_has_the_same_stages():
    walked = saved([USER, CALL, RESULT, ANSWER])
    assert kinds(walked) == [
        "start", "user", "built", "normalised", "sent", "reply", "lookup", "result", "appended",
        "built", "normalised", "sent", "reply", "end",
    ]  # fmt: skip


def test_a_call_without_a_result_is_seen_and_the_refusal_told():
    walked = saved([USER, CALL, {"role": "user", "content": "Never mind."}, ANSWER])
    assert "missing" in kinds(walked)
    assert "refuses" in at(walked, "sent", 1).stage.says
    assert "toolu_01" in at(walked, "normalised", 1).stage.says


def test_a_result_in_the_wrong_place_is_named():
    walked = saved([USER, CALL, {"role": "user", "content": "Wait."}, ANSWER, RESULT])
    assert "message 4" in at(walked, "result").stage.says


def test_anything_in_a_list_can_be_walked_through():
    odd = [
        None,
        {"role": "assistant"},
        {"content": 3},
        "text",
        {"role": "assistant", "content": [None, {"type": "tool_use"}]},
    ]
    for history in ([item] for item in odd):
        assert kinds(saved(history))[-1] == "end"
    assert kinds(saved(odd))[-1] == "end"


def test_a_saved_conversation_goes_on_with_a_model_from_a_fork(scripted, workspace):
    client, model = scripted(["And now?"])
    walked = at(saved([USER, CALL, RESULT, ANSWER], client, model), "appended")
    assert ended(walked.fork()).stage.messages[-1]["content"][0]["text"] == "And now?"
    assert len(walked.stages) == 14


def test_a_saved_conversation_without_a_client_says_what_a_fork_needs():
    with pytest.raises(ValueError, match="Give the Stepper a client"):
        saved([USER]).fork()


def test_a_run_of_nothing_says_what_to_give(scripted):
    client, model = scripted([])
    with pytest.raises(ValueError, match="user message"):
        Run(client, model, [])


def test_a_live_model_that_calls_no_tool_is_told_where_the_loop_ends(live):
    walked = ended(Run(*live(["Hello."]), [{"role": "user", "content": "Read a.txt."}]))
    assert walked.stage.says.endswith("take a model that calls tools: the README names some.")
    walked = ended(Run(*live(ONE_CALL), [{"role": "user", "content": "Read a.txt."}]))
    assert walked.stage.says.endswith("there is nothing more to do.")
