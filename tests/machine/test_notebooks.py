"""The notebooks beyond what nbval compares: another server, two at once, and never live in a test."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import fake_endpoint
import pytest
from refresh import nbformat, notebooks, read, runner, said
from systems import needs_bash
from waiting import wait_until

from s02_tool_use.__main__ import COMMANDS
from s02_tool_use.lab.api.wire import sse, stream_events

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = [path for path in notebooks() if path.parent.name == "notebooks"]


def numbered(*numbers):
    """The notebooks with these numbers."""
    return [path for path in NOTEBOOKS if path.stem[:2] in numbers]


@pytest.fixture
def endpoint():
    """The offline API as another process, as somebody else's server would be."""
    command = [sys.executable, *COMMANDS["serve"], "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        yield process.stdout.readline().strip()
        process.terminate()


@needs_bash
def test_the_agent_of_00_needs_no_change_for_another_server(endpoint, tmp_path):
    (tmp_path / ".env").write_text(f"BASE_URL={endpoint}\nMODEL_ID=understudy\n")
    before = read(NOTEBOOKS[0])
    after = read(NOTEBOOKS[0])
    runner(after, tmp_path).execute()
    first, again = said(before), said(after)
    assert first.pop("setup").startswith("Offline")
    assert again.pop("setup").startswith("Live")
    assert "model (rules)" in first.pop("s3-loop")
    assert "model (understudy)" in again.pop("s3-loop"), "the picture says who answers"
    assert again == first


def cells(*sources):
    made = [nbformat.v4.new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(sources)]
    return nbformat.v4.new_notebook(cells=made, metadata=read(NOTEBOOKS[0]).metadata)


def test_an_edited_file_of_the_package_counts_when_the_setup_cell_is_run_again(tmp_path, monkeypatch):
    house = tmp_path / "s02_tool_use"
    shutil.copytree(ROOT / house.name, house, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("S02_OFFLINE", "1")
    setup = """
from s02_tool_use import TOOL_HANDLERS, ToolError, run_tool
from s02_tool_use.lab import connect
client, model = connect()"""
    call = "call = {'type': 'tool_use', 'id': 'a', 'name': 'bash', 'input': {}}\nrun_tool(call)['content']"
    edit = """
from pathlib import Path
path = Path('s02_tool_use', 'dispatch.py')
was, held = path.read_text(encoding='utf-8'), (run_tool, ToolError, TOOL_HANDLERS)
assert 'def run_tool(' in was
_ = path.write_text(was + '\\n\\ndef run_tool(*_):\\n    raise ToolError("edited")\\n', encoding='utf-8')"""
    new = """
try:
    run_tool(call)
except ToolError as error:
    print(error, held == (run_tool, ToolError, TOOL_HANDLERS))"""
    notebook = cells(setup, call, edit, setup, new)
    runner(notebook, tmp_path).execute()
    texts = list(said(notebook).values())
    assert "command" in texts[1]
    assert texts[2].startswith("Reloaded: s02_tool_use/dispatch.py\nOffline")
    assert texts[3] == "edited True\n"


def test_a_page_says_once_who_answers_and_again_when_it_changes_or_the_cell_runs_again(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    setup = "from s02_tool_use.lab import connect, escape_room, fresh_workspace\n_ = connect()\nfresh_workspace()"
    script = "for line in 'ab':\n    _ = connect(script=[line])\nfresh_workspace()"
    room = "_ = escape_room(show=False)\nfresh_workspace()"
    caught = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as said:\n    _ = connect()"
    caught += "\nprint(said.getvalue()[:7])"
    notebook = cells(setup, script, script + "  # another cell", "_ = connect()", room, caught)
    client = runner(notebook, tmp_path)

    def run(*numbers):
        for number in numbers:
            client.execute_cell(notebook.cells[number], number)
        texts = said(notebook)
        found = [re.findall("^Off|rules|script|Workspace", texts.get(notebook.cells[n].id, "")) for n in numbers]
        return [" ".join(words) for words in found]

    with client.setup_kernel():
        rules, script = "Off rules", "Off script"
        assert run(0, 1, 2, 3, 4, 5) == [f"{rules} Workspace", script, "", rules, "Workspace", "Off"]
        assert run(3, 3, 0, 0) == [rules, rules, f"{rules} Workspace", f"{rules} Workspace"], "or it would vanish"
        assert run(2, 1, 2) == [script, script, script], "it answers again, and a cell that said it says it again"
        assert run(0, 1, 2, 3, 4, 5)[0] == f"{rules} Workspace"


@pytest.mark.skipif(os.name == "nt", reason="stopped by a signal")
def test_a_cell_that_waits_for_a_slow_endpoint_shows_it_and_can_be_stopped(tmp_path):
    ask = "client.messages.create(model=model, max_tokens=9, messages=[{'role': 'user', 'content': 'Hi'}])"
    ask += ".content[0].text"
    notebook = cells(
        "import os; from s02_tool_use.lab import connect\nclient, model = connect()\nprint(os.getpid())", ask, ask
    )
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    message |= {"content": [{"type": "text", "text": "At last."}], "usage": {"input_tokens": 1, "output_tokens": 2}}
    seen = []

    def slowly(handler):
        *begin, _, _, _ = (sse(name, event) for name, event in stream_events(message))
        yield b"".join(begin)
        cell = notebook.cells[1 + len(seen)]
        wait_until(lambda: "tokens" in said(notebook).get(cell.id, ""))
        seen.append(said(notebook)[cell.id])
        if len(seen) == 2:
            yield b"".join(sse(name, event) for name, event in stream_events(message))[len(b"".join(begin)) :]
        else:
            os.kill(int(said(notebook)["cell-0"].split()[-1]), signal.SIGINT)
            wait_until(lambda: any(output.output_type == "error" for output in cell.outputs))

    with fake_endpoint.endpoint(headers={"content-type": "text/event-stream"}, body=slowly) as url:
        (tmp_path / ".env").write_text(f"BASE_URL={url}\nMODEL_ID=the-model\n")
        running = runner(notebook, tmp_path)
        running.allow_errors = True
        running.execute()
    _, stopped, asked_again = notebook.cells
    assert seen[0].startswith("the-model is at work: ")
    assert stopped.outputs[-1].traceback == ["Stopped. Nothing of this reply is kept."]
    assert said(notebook)[asked_again.id] == "'At last.'"  # and the line that was there is gone


@needs_bash
@pytest.mark.parametrize("path", numbered("00", "01", "06", "07", "08", "09", "11"), ids=lambda path: path.stem)
def test_a_model_that_calls_no_tool_gets_sentences_and_no_errors(path, tmp_path):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    message |= {"content": [{"type": "text", "text": "Sure!"}], "usage": {"input_tokens": 1, "output_tokens": 2}}
    notebook = read(path)
    with fake_endpoint.endpoint(body=json.dumps(message).encode()) as url:
        (tmp_path / ".env").write_text(f"BASE_URL={url}\nMODEL_ID=tiny\n")
        runner(notebook, tmp_path).execute()
    warned = [text for text in said(notebook).values() if "It was offered tools and called none" in text]
    assert warned
    if path.stem.startswith("01"):
        assert "This reply calls no tool, so a call stands in for its own: bash {" in said(notebook)["s1-call"]


@needs_bash
def test_a_dotenv_does_not_reach_a_notebook_that_pytest_runs(tmp_path):
    (tmp_path / ".env").write_text("API_KEY=a-real-key\nMODEL_ID=a-model\n")
    (tmp_path / NOTEBOOKS[0].name).write_bytes(NOTEBOOKS[0].read_bytes())
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT]
    command += ["--nbval", "-n0", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@needs_bash
def test_two_notebooks_can_be_open_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("S02_OFFLINE", "1")
    pair = [read(path) for path in NOTEBOOKS[1:3]]

    async def both():
        await asyncio.gather(*(runner(notebook, ROOT / "notebooks").async_execute() for notebook in pair))

    stored = [said(notebook) for notebook in pair]
    asyncio.run(both())
    assert [said(notebook) for notebook in pair] == stored


def test_the_environment_of_the_tests_names_no_endpoint():
    assert not [name for name in os.environ if name.startswith("ANTHROPIC_") or name in ("API_KEY", "BASE_URL")]


@pytest.mark.parametrize(
    ("command", "everything"), [(["-m", "pytest"], False), (COMMANDS["test"], True)], ids=["inner", "all"]
)
def test_the_inner_loop_collects_neither_a_notebook_nor_what_needs_the_machine(command, everything):
    done = subprocess.run([sys.executable, *command, "--collect-only"], cwd=ROOT, capture_output=True, text=True)
    files = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert "tests/test_tools.py" in files
    wanted = {f"tests/machine/{path.name}" for path in (ROOT / "tests" / "machine").glob("test_*.py")}
    wanted |= {path.relative_to(ROOT).as_posix() for path in notebooks()}
    found = {file for file in files if file.endswith(".ipynb") or "/machine/" in file}
    assert found == (wanted if everything else set())
