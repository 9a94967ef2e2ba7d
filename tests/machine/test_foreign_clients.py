"""Clients that nobody here wrote work with the offline server as they are: no option of theirs is changed for it.

They are installed apart from the course, so that they cannot disturb its pinned versions:

    python tests/clients/install.py
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from clients import install
from clients.install import HERE
from clients.order import Order

from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.rooms import copy_sample
from s02_tool_use.lab.understudy import Understudy

ANSWER = "There are 2 Python files here: a.py, b.py."
# Clients decide by the name of a model what to send: to one that they do not know, and to one that has most options.
MODELS = pytest.mark.parametrize("model", ["understudy", "claude-sonnet-5"])


@pytest.fixture
def server():
    if why := install.missing():
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)  # .ci/run installs them
    with Server(Understudy()) as running:
        yield running


def run(server, *command, cwd=HERE, **variables):
    """What a client printed, as JSON. It sees no key and no proxy of this machine."""
    hidden = ("ANTHROPIC_", "CLAUDE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(hidden)}
    ends = {"capture_output": True, "text": True, "encoding": "utf-8", "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, **ends, timeout=300, cwd=cwd, env=environment | variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def refusals(server):
    """What the server refused so far, without its standing answer to the SDKs' offer to keep conversations there."""
    asked = [seen for seen in server.exchanges if seen["path"].startswith("/v1/messages")]
    assert asked
    errors = [json.loads(seen["response"])["error"] for seen in asked if seen["status"] != 200]
    return [error["message"] for error in errors if error.get("details", {}).get("unsupported") != ["thread"]]


def talk(server, name, model):
    """What the program tests/clients/talk_NAME says of its conversations."""
    runner = "node" if name.endswith(".mjs") else install.PYTHON
    return run(server, runner, HERE / f"talk_{name}", server.url, model)


def counts(*said):
    """The count in each object, which has to be a whole Order: 3 were ordered, and 2 files found."""
    return [Order(**one["Order"]).count for one in said]


@MODELS
def test_the_python_sdk_parses_and_its_runners_run_tools_append_and_compact(server, model):
    said = talk(server, "anthropic.py", model)
    assert counts(said["parsed"], said["streamed"], said["with_tools"]) == [3, 3, 2]
    assert (said["texts"], said["patterns"]) == ([ANSWER] * 3, ["**/*.py"] * 6)  # once more after append_messages
    assert said["stops"] == ["tool_use", "compaction", "end_turn"]
    assert not refusals(server)


@MODELS
def test_the_typescript_sdk_streams_runs_tools_and_reads_errors(server, model):
    said = talk(server, "typescript.mjs", model)
    streamed, runner, refused = said["streamed"], said["runner"], said["refused"]
    assert streamed["stop"] == ["tool_use", "end_turn"]
    assert [(call["id"], call["name"], call["input"]) for call in streamed["calls"]] == [
        ("toolu_01", "glob", {"pattern": "**/*.py"})
    ]
    assert streamed["events"][0] == "message_start"
    assert streamed["events"][-1] == "message_stop"
    assert streamed["text"] == ANSWER
    assert runner == {"inputs": [{"pattern": "**/*.py"}], "stop": "end_turn", "text": ANSWER}
    assert (refused["status"], refused["name"]) == (400, "BadRequestError")
    assert refused["requestID"].startswith("req_")
    assert len(refusals(server)) == 1


@MODELS
def test_langchain_gets_its_structured_output_and_runs_tools(server, model):
    said = talk(server, "langchain.py", model)
    assert counts(said["by_tool"], said["by_format"]) == [3, 3]
    assert (said["text"], said["patterns"]) == (ANSWER, ["**/*.py"])
    assert (said["forced"], said["counts"]) == (["kept"], [3])
    assert not refusals(server)


@MODELS
def test_instructor_gets_its_response_model(server, model):
    assert counts(talk(server, "instructor.py", model)["order"]) == [3]
    assert not refusals(server)


@MODELS
def test_pydantic_ai_runs_tools_continues_its_history_and_gets_its_output_type(server, model):
    said = talk(server, "pydantic_ai.py", model)
    assert (said["text"], said["requests"], said["patterns"]) == (ANSWER, 2, ["**/*.py"] * 2)
    assert said["second"].startswith("Hello. I am a set of rules")
    assert counts(said["order"]) == [2]
    assert not refusals(server)


@MODELS
def test_vercel_generates_an_object_and_runs_tools(server, model):
    said = talk(server, "vercel.mjs", model)
    assert counts({"Order": said["object"]}, {"Order": said["output"]}) == [3, 2]
    assert (said["text"], said["inputs"]) == (ANSWER, [{"pattern": "**/*.py"}] * 2)
    assert not refusals(server)


@pytest.mark.parametrize(
    ("prompt", "said", "tools"),
    [
        ("What is in notes.txt?", "The kettle is green-4711.", ["Read"]),
        ("Fix the failing test", "5 of 5 tests passed", ["Glob", "Bash", "Read", "Read", "Read", "Edit", "Bash"]),
    ],
)
def test_claude_code_runs_its_tools_with_all_its_betas(server, tmp_path, prompt, said, tools):
    copy_sample(tmp_path / "work")
    (tmp_path / "work" / "notes.txt").write_text("The kettle is green-4711.\n")
    own = {name: str(tmp_path) for name in ("HOME", "USERPROFILE")}  # no settings of whoever runs the tests
    own |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "any"}
    own["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"  # such as telemetry: it leaves this machine
    own["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])  # Debian has no `python`
    claude = shutil.which("claude", path=HERE / "node_modules" / ".bin")
    ask = ("-p", prompt, "--allowedTools", "Read,Glob,Edit,Bash", "--output-format", "json")
    end = run(server, claude, *ask, cwd=tmp_path / "work", **own)
    assert said in end["result"]
    asked = [json.loads(seen["request"]) for seen in server.exchanges if seen["path"].startswith("/v1/messages")]
    blocks = [block for message in asked[-1]["messages"] for block in message["content"] if isinstance(block, dict)]
    used = [block["name"] for block in blocks if block["type"] == "tool_use"]
    assert used == tools
    # After a refusal it sends the same again with fewer betas: what they allow stands in each request.
    assert not refusals(server)
    assert all("context_management" in request for request in asked)
