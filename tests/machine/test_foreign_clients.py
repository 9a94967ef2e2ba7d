"""Clients that nobody here wrote have a whole tool conversation with the offline server: TypeScript SDK, pydantic-ai.

They are installed apart from the course, so that they cannot disturb its pinned versions:

    npm ci --prefix tests/clients
    python3 -m venv tests/clients/.venv && tests/clients/.venv/bin/pip install -r tests/clients/requirements.txt
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.understudy.reply import Understudy

CLIENTS = Path(__file__).parents[1] / "clients"
ANSWER = "There are 2 Python files here: a.py, b.py."


@pytest.fixture
def server():
    with Server(Understudy()) as running:
        yield running


def talk(*command):
    """What a client printed about its conversation. It sees no key and no proxy of this machine."""
    hidden = ("ANTHROPIC_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    environment = {name: value for name, value in os.environ.items() if not name.upper().startswith(hidden)}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def typescript(server):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    if not (CLIENTS / "node_modules" / "@anthropic-ai" / "sdk").is_dir():
        pytest.skip("the TypeScript SDK is not installed: npm ci --prefix tests/clients")
    return talk("node", str(CLIENTS / "conversation.mjs"), server.url)


def test_the_typescript_sdk_streams_runs_tools_and_reads_errors(typescript):
    streamed, runner, refused = typescript["streamed"], typescript["runner"], typescript["refused"]
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


def test_pydantic_ai_runs_tools_and_continues_its_history(server):
    folder = "Scripts" if os.name == "nt" else "bin"
    python = CLIENTS / ".venv" / folder / ("python.exe" if os.name == "nt" else "python")
    if not python.exists():
        pytest.skip("pydantic-ai is not installed in tests/clients/.venv; how is said above")
    said = talk(str(python), str(CLIENTS / "conversation.py"), server.url)
    assert (said["patterns"], said["text"], said["requests"]) == (["**/*.py"], ANSWER, 2)
    assert said["second"].startswith("Hello. I am a set of rules")
