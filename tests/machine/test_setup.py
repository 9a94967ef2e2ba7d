"""The one command, worked for real in temporary copies of the repository, with the Python under this environment.

The first start needs PyPI: without it the tests that install are skipped. Settings and runtime files of Jupyter go to
temporary folders; the caches of uv and pip are those of the machine.
"""

import ast
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from copies import BASE as PYTHON
from copies import copy_course
from waiting import PATIENCE_SECONDS
from websocket import create_connection

from s02_tool_use.lab.start import setup

ROOT = Path(__file__).resolve().parents[2]
POSIX = os.name == "posix"
pytestmark = pytest.mark.skipif(
    not find_spec("venv") and "CI" not in os.environ,
    reason="this Python has no venv module, as the embeddable one for Windows",
)
DIRECT = build_opener(ProxyHandler({}))  # to this machine, whatever proxy is set
DEAD = "http://127.0.0.1:9"  # nobody listens on the port of the discard service


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """Environment variables of a machine that has Python and nothing else."""
    home = tmp_path_factory.mktemp("machine")
    (home / "bin").mkdir()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "PYTHON", "VIRTUAL_ENV", "DISPLAY"))}
    return kept | {
        "PATH": str(home / "bin"),  # no uv, no git, no bash
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        "PIP_RETRIES": "1",  # a failure that is wanted should come soon
    }


def start(folder, *arguments, env, python=PYTHON, **options):
    """Run the command to its end in a folder."""
    return subprocess.run(
        [python, "-m", "s02_tool_use", *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        **options,
    )


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait(until):
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end, "nothing happened for a minute"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def course(tmp_path_factory, outside):
    """A copy in a folder with a difficult name, after the first start."""
    folder = copy_course(tmp_path_factory.mktemp("course") / "Übung mit Leerzeichen")
    done = start(folder, "test", "--version", env=outside)
    if "cannot be reached" in done.stderr:
        pytest.skip("PyPI cannot be reached, and the first start installs from it")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"Installing into {folder / '.venv'}")
    return folder


class Lab:
    """A JupyterLab that the command started: its address, and what it printed."""

    def __init__(self, folder, env, *arguments):
        self.keyboard, terminal = os.openpty()  # Jupyter looks whether a person sits there
        self.process = subprocess.Popen(
            [PYTHON, "-m", "s02_tool_use", *arguments],
            cwd=folder,
            env=env,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        os.close(terminal)
        self.output, self.url = "", None
        for line in self.process.stdout:
            self.output += line
            if found := re.search(r"http://127\S+", line):
                self.url = found[0]
                self.port = int(found[0].split("/")[2].split(":")[1])
                break

    def __enter__(self):
        assert self.url, self.output
        wait(lambda: is_open(self.port))  # the address is printed a moment before
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        os.close(self.keyboard)

    def ask(self, path, data=None, method=None):
        """A request to the server's own interface, as the page in the browser makes it."""
        headers = {"Authorization": "token " + self.url.partition("token=")[2]}
        body = json.dumps(data).encode() if data else None
        with DIRECT.open(
            Request(f"http://127.0.0.1:{self.port}{path}", body, headers, method=method), timeout=30
        ) as reply:
            return json.load(reply)

    def run(self, kernel, code):
        """Run a cell, as the page does. Returns what it prints."""
        token = self.url.partition("token=")[2]
        channels = f"ws://127.0.0.1:{self.port}/api/kernels/{kernel}/channels?session_id=page&token={token}"
        header = {"msg_id": "cell", "msg_type": "execute_request", "session": "page", "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell"}
        printed = ""
        with closing(create_connection(channels, timeout=PATIENCE_SECONDS)) as page:
            page.send(json.dumps(message | {"content": {"code": code, "silent": False}}))
            done = False
            while not done:
                said = json.loads(page.recv())
                assert said["msg_type"] != "error", said["content"]
                if said["channel"] == "iopub" and said["parent_header"].get("msg_id") == "cell":
                    printed += said["content"].get("text", "")
                    done = said["content"].get("execution_state") == "idle"
        return printed

    def interrupt(self):
        """Ctrl-C, once. Returns the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.output += self.process.communicate(timeout=PATIENCE_SECONDS)[0]
        return self.process.returncode


# ---- what works


@pytest.fixture(scope="module")
def lab(course, outside):
    """A second start, with a dead proxy and the poorest locale: neither matters once the course is installed."""
    if not POSIX:
        pytest.skip("sends the signal of Ctrl-C")
    dead = {"HTTP_PROXY": DEAD, "HTTPS_PROXY": DEAD, "http_proxy": DEAD, "LC_ALL": "C"}
    with Lab(course, outside | dead | {"PYTHONWARNINGS": "error::UserWarning"}) as lab:
        yield lab


def test_the_second_start_installs_nothing(lab):
    assert "Installing" not in lab.output


def test_it_opens_jupyterlab_at_the_first_notebook_in_the_folder_of_the_course(lab):
    assert "/lab/tree/notebooks/00_start_here.ipynb?token=" in lab.url
    with DIRECT.open(lab.url, timeout=30) as page:
        assert page.status == 200
    assert lab.ask("/api/contents/notebooks/00_start_here.ipynb")["type"] == "notebook"


def test_it_asks_no_question_about_news(lab):
    settings = {setting["id"]: setting["schema"] for setting in lab.ask("/lab/api/settings")["settings"]}
    news = settings["@jupyterlab/apputils-extension:notification"]["properties"]
    assert news["fetchNews"]["default"] == "false"
    assert news["checkForUpdates"]["default"] is False


def test_a_cell_runs_beside_its_notebook_and_finds_the_course(lab, course):
    page = {"path": "notebooks/00_start_here.ipynb", "type": "notebook", "name": "", "kernel": {"name": "python3"}}
    kernel = lab.ask("/api/sessions", page)["kernel"]["id"]
    assert lab.run(kernel, "import os, s02_tool_use; print(os.getcwd())") == f"{course / 'notebooks'}\n"


def test_a_notebook_is_saved_without_its_widgets(lab, course):
    data = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/html": "<p>", "text/plain": "p"}
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    cell = {"cell_type": "code", "id": "a", "source": "", "metadata": {}, "execution_count": 1, "outputs": [output]}
    notebook = {"cells": [cell], "metadata": {"widgets": {}}, "nbformat": 4, "nbformat_minor": 5}
    lab.ask("/api/contents/own.ipynb", {"type": "notebook", "content": notebook}, "PUT")
    saved = json.loads((course / "own.ipynb").read_text())
    assert list(saved["cells"][0]["outputs"][0]["data"]) == ["text/html", "text/plain"]
    assert "widgets" not in saved["metadata"]


def test_every_jupyter_of_the_environment_does_the_same_without_the_courses_settings(lab, course, outside):
    python = course / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    listed = subprocess.run(
        [python, "-m", "jupyter", "server", "extension", "list"], env=outside, capture_output=True, text=True
    )
    assert "save_hook" in listed.stdout + listed.stderr


@pytest.mark.skipif(not POSIX, reason="sends the signal of Ctrl-C")
def test_one_ctrl_c_ends_it_with_its_kernels_and_it_has_warned_of_nothing(course, outside):
    with Lab(course, outside | {"PYTHONWARNINGS": "error::UserWarning"}) as lab:
        kernel = lab.ask("/api/kernels", {"name": "python3"})["id"]
        pid = int(lab.run(kernel, "import os; print(os.getpid())"))
        assert lab.interrupt() == 0
        assert not is_open(lab.port)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        said = re.sub(r"\[C [^]]*\] Shutting down\.\.\.", "", lab.output.partition(lab.url)[2])
        assert said.strip() == ""


def test_arguments_of_test_go_to_pytest_and_its_closing_line_is_the_last(course, outside):
    done = start(course, "test", "tests/lab/start/test_requirements.py", "-k", "reason", env=outside)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"\d+ passed", done.stdout.splitlines()[-1])
    assert done.stderr == ""


def test_an_environment_that_was_made_for_the_course_is_used_and_said(course, outside, tmp_path):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", tmp_path / "own"], check=True, env=outside)
    own = tmp_path / "own" / setup.BIN.name / "python"
    uv = shutil.which("uv", path=course / ".venv" / setup.BIN.name)
    command = [uv, "pip", "install", "--quiet", "--python", own, "-r", "requirements.txt"]
    subprocess.run(command, cwd=course, check=True, env=outside)
    (course / ".venv").rename(tmp_path / "put-away")
    try:
        done = start(course, "test", "--version", python=own, env=outside)
        assert done.returncode == 0, done.stderr
        assert done.stderr == f"Using the environment that was made for the course: {tmp_path / 'own'}\n"
        assert done.stdout == f"pytest {pytest.__version__}\n"
        assert not (course / ".venv").exists()
    finally:
        (tmp_path / "put-away").rename(course / ".venv")


@pytest.mark.skipif(not POSIX, reason="sends the signal of Ctrl-C")
def test_an_install_that_was_interrupted_is_taken_up_again(course, outside, tmp_path):
    folder = copy_course(tmp_path)
    process = subprocess.Popen(
        [PYTHON, "-m", "s02_tool_use", "test", "--version"],
        cwd=folder,
        env=outside,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (folder / ".venv" / setup.BIN.name / "python").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert sentences(said) == "Stopped. The next start goes on from here.\n"
    assert process.returncode == 1

    done = start(folder, "test", "--version", env=outside)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"pytest {pytest.__version__}"), done.stderr
    assert "Installing" in done.stderr
    again = start(folder, "test", "--version", env=outside)
    assert (again.stdout, again.stderr) == (f"pytest {pytest.__version__}\n", "")


def test_a_python_with_neither_pip_nor_ensurepip_is_served(course, outside, tmp_path):
    folder = copy_course(tmp_path / "course")
    (tmp_path / "less").mkdir()
    for name in ("pip", "ensurepip"):
        (tmp_path / "less" / f"{name}.py").write_text(f"raise SystemExit('No module named {name}')")
    done = start(folder, "test", "--version", env=outside | {"PYTHONPATH": str(tmp_path / "less")})
    assert done.returncode == 0, done.stderr


# ---- what does not work, and what is said then


def refused(folder, *arguments, env):
    """The sentence with which the command refuses. Never a traceback."""
    done = start(folder, *arguments, env=env)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return sentences(done.stderr)


def sentences(said):
    """What was said, without the lines that say what is being made."""
    return re.sub(r"(?m)^(?:Installing into|The .venv found there) .*\n", "", said)


@pytest.fixture
def copy(tmp_path):
    return copy_course(tmp_path / "course")


@pytest.mark.parametrize("version", ["3.6", "3.7", "3.8", "3.9"])
def test_an_old_python_is_told_its_age(version):
    places = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    found = [p for p in places if p and subprocess.run([p, "-c", ""], capture_output=True).returncode == 0]
    if not found:
        pytest.skip(f"there is no Python {version} on this machine")
    done = subprocess.run([found[0], "-B", "-m", "s02_tool_use"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Python 3.10 or newer is needed, this is {version}. Get one from https://")


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py", "lab/__init__.py"])
def test_what_an_old_python_reads_first_is_in_its_syntax(name):
    ast.parse((ROOT / "s02_tool_use" / name).read_text(encoding="utf-8"), feature_version=(3, 6))


def test_no_network_and_no_cache(copy, outside, tmp_path):
    env = outside | {
        "HTTPS_PROXY": DEAD,
        "https_proxy": DEAD,
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "PIP_NO_CACHE_DIR": "1",
    }
    said = refused(copy, env=env)
    assert said.startswith("The first start installs from PyPI, which cannot be reached. Connect to the internet")
    assert str(copy / "wheels") in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "sentence"), [(["venv"], "has no venv module"), (["pip", "ensurepip"], "has no pip")]
)
def test_a_python_without_its_parts_names_the_package_of_debian(missing, sentence, copy, outside, tmp_path):
    for name in missing:
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    said = refused(copy, env=outside | {"PYTHONPATH": str(tmp_path), "HTTPS_PROXY": DEAD, "https_proxy": DEAD})
    assert sentence in said
    assert f"sudo apt install python3.{sys.version_info[1]}-venv" in said


def in_a_namespace(command, folder, env):
    """Run with file systems of its own. Needs root, or the test is skipped."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount file systems")
    start = f"{command}; exec '{PYTHON}' -B -m s02_tool_use"
    return subprocess.run(["unshare", "-m", "sh", "-c", start], cwd=folder, env=env, capture_output=True, text=True)


def test_a_full_disk(copy, outside):
    (copy / ".venv").mkdir()
    done = in_a_namespace("mount -t tmpfs -o size=20k none .venv", copy, outside | {"PATH": os.environ["PATH"]})
    assert sentences(done.stderr).startswith("The disk is full: .venv needs 400 MB."), done.stderr
    assert done.returncode == 1


def test_a_folder_that_is_not_writable(copy, outside):
    if POSIX and os.geteuid():
        copy.chmod(0o555)
        said = refused(copy, env=outside)
    else:
        command = 'mount --bind . . && mount -o remount,ro,bind . && cd "$PWD"'
        said = sentences(in_a_namespace(command, copy, outside | {"PATH": os.environ["PATH"]}).stderr)
    assert said == f"The folder {copy} is not writable: copy the course to a folder of your own and start there.\n"


def test_a_port_that_is_taken(course, outside):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refused(course, "--port", str(port), env=outside)
    assert said == f"Port {port} is taken, perhaps by another JupyterLab: end that, or choose another port.\n"


def test_a_package_without_its_folder(tmp_path, outside):
    shutil.copytree(ROOT / "s02_tool_use", tmp_path / "s02_tool_use")
    assert "start in the folder that git clone made" in refused(tmp_path, env=outside)


# ---- how it decides, without an install


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The module as it would be in another folder, with an empty .venv of this Python."""
    root = copy_course(tmp_path / "course")
    monkeypatch.setattr(setup, "ROOT", root)
    monkeypatch.setattr(setup, "VENV", root / ".venv")
    monkeypatch.setattr(setup, "BIN", root / ".venv" / setup.BIN.name)
    monkeypatch.setattr(setup, "WHEELS", root / "wheels")
    monkeypatch.setattr(setup, "PYTHON", str(setup.BIN / Path(setup.PYTHON).name))
    monkeypatch.setattr(setup, "STAMP", root / ".venv" / setup.STAMP.name)
    monkeypatch.setattr(setup, "FILES", [root / file.name for file in setup.FILES])
    setup.create()
    return root


def test_a_venv_of_this_python_in_this_folder_is_kept(here):
    assert setup.is_usable()


def test_a_venv_without_its_python_is_made_anew(here):
    Path(setup.PYTHON).unlink()
    assert not setup.is_usable()


@pytest.mark.skipif(not POSIX, reason="puts a shell script in the place of Python")
@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "MZ of another system"])
def test_a_venv_of_another_version_or_system_is_made_anew(script, here):
    Path(setup.PYTHON).unlink()
    Path(setup.PYTHON).write_text(script)
    Path(setup.PYTHON).chmod(0o755)
    assert not setup.is_usable()


def test_a_venv_that_was_copied_from_another_folder_is_made_anew(here, monkeypatch):
    script = setup.BIN / "activate"
    script.write_text(script.read_text().replace(str(setup.VENV), "/somewhere/else/.venv"))
    assert not setup.is_usable()


@pytest.mark.parametrize(
    "change", ["requirements.txt", "constraints.txt", "pyproject.toml", "setup.py", "python", "folder"]
)
def test_the_stamp_holds_the_four_files_the_python_and_the_folder(change, here, monkeypatch):
    setup.STAMP.write_text(setup.fingerprint())
    assert setup.is_ready()
    if change == "python":
        monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    elif change == "folder":
        monkeypatch.setattr(setup, "ROOT", here.parent)
    else:
        with (here / change).open("a") as file:
            file.write("# a new line\n")
    assert not setup.is_ready()


@pytest.mark.parametrize(("stamp", "made"), [(None, 0), ("of older files", 1)])
def test_inside_its_own_venv_the_stamp_decides_and_one_made_by_hand_needs_none(stamp, made, here, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(sys, "prefix", str(setup.VENV))
    monkeypatch.setattr(setup, "has_everything", lambda: True)
    monkeypatch.setattr(setup, "make", lambda: calls.append("made"))
    if stamp:
        setup.STAMP.write_text(stamp)
    assert setup.environment() == (setup.PYTHON if made else sys.executable)
    assert len(calls) == made
    assert capsys.readouterr().out == ""


@pytest.fixture
def commands(here, monkeypatch):
    """What setup would run: each command as a line. Those with a word of `fail` in them fail."""
    seen = []

    def run(*command):
        seen.append(" ".join(command).replace(str(setup.BIN) + os.sep, "").replace(sys.executable, "outer"))
        return next((word for word in run.fail if word in seen[-1]), "")

    def which(name, path=None):
        return "uv" if path or run.uv else None

    run.fail, run.uv, run.seen = [], False, seen
    monkeypatch.setattr(setup, "run", run)
    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return run


def test_uv_is_installed_by_pip_and_then_installs(commands):
    setup.install()
    assert commands.seen == [
        "outer -m pip --python python --version",
        "outer -m pip --python python install uv",
        "uv pip install --python python pip -r requirements.txt",
    ]


def test_a_uv_that_is_there_is_used_and_without_network_its_cache(commands):
    commands.uv, commands.fail = True, ["requirements.txt"]
    with pytest.raises(setup.SetupError, match="Installing failed"):
        setup.install()
    assert commands.seen[:2] == [
        "uv pip install --python python pip -r requirements.txt",
        "uv pip install --python python pip -r requirements.txt --offline",
    ]
    assert commands.seen[-1] == "outer -m pip --python python install pip -r requirements.txt"


def test_with_a_folder_of_wheels_all_comes_from_it(commands):
    setup.WHEELS.mkdir()
    setup.install()
    assert commands.seen[1:] == [
        f"outer -m pip --python python install --no-index --find-links {setup.WHEELS.as_uri()} uv",
        f"uv pip install --python python --no-index --find-links {setup.WHEELS.as_uri()} pip -r requirements.txt",
    ]


def test_what_the_folder_of_wheels_has_not_is_said_and_comes_from_pypi(commands, capsys):
    setup.WHEELS.mkdir()
    commands.uv, commands.fail = True, ["--no-index"]
    setup.install()
    assert commands.seen[-1] == "uv pip install --python python pip -r requirements.txt"
    said = capsys.readouterr().err
    assert re.search(r"wheels is not complete for Python 3\.\d+ on [\w-]+ \(\S+ \S+ is missing, and \d+ more\)\.", said)
    assert f"room wheels --platform {setup.system()} --python 3.{sys.version_info[1]}\n" in said


def test_a_full_disk_is_not_blamed_on_the_folder_of_wheels(commands, monkeypatch):
    setup.WHEELS.mkdir()
    monkeypatch.setattr(setup, "run", lambda *command: "No space left on device")
    with pytest.raises(setup.SetupError, match="The disk is full"):
        setup.install()


def test_a_python_without_pip_takes_the_one_in_the_folder_of_wheels(commands):
    setup.WHEELS.mkdir()
    (setup.WHEELS / "pip-26.3-py3-none-any.whl").touch()
    commands.fail = ["--python python --version", "ensurepip"]
    assert setup.find_pip() == [setup.PYTHON, str(setup.WHEELS / "pip-26.3-py3-none-any.whl" / "pip")]


def test_pip_installs_where_uv_cannot(commands):
    commands.fail = ["uv"]
    setup.install()
    assert commands.seen[-1] == "outer -m pip --python python install pip -r requirements.txt"


def test_a_pip_too_old_for_another_environment_leaves_it_to_ensurepip(commands):
    commands.fail = ["--python python --version"]
    assert setup.find_pip() == [setup.PYTHON, "-m", "pip"]
    assert commands.seen[-1] == "python -m ensurepip"


def test_where_python_stores_no_bytecode_uv_does(commands, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    setup.install()
    assert "--compile-bytecode" in commands.seen[-1]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("error: failed to write: No space left on device (os error 28)", "The disk is full"),
        ("OSError: [Errno 122] Disk quota exceeded", "The disk is full"),
        ("[Errno 30] Read-only file system: '.venv'", "is not writable"),
        ("[WinError 5] Access is denied", "is not writable"),
        ("Retrying after connection broken by 'NewConnectionError(...)'", "cannot be reached"),
        ("ProxyError('Cannot connect to proxy.')", "cannot be reached"),
        ("SSL: CERTIFICATE_VERIFY_FAILED", "cannot be reached"),
        ("ERROR: ResolutionImpossible", ""),
    ],
)
def test_a_failed_install_is_put_into_words(said, told):
    assert told in setup.cause(said)
    assert bool(told) == bool(setup.cause(said))


@pytest.mark.parametrize("name", ["anthropic", "prompt_toolkit"])
def test_an_environment_with_another_version_was_not_made_for_the_course(name, monkeypatch):
    from importlib import metadata

    if not setup.has_everything():
        pytest.skip("these tests run in an environment that was not made for the course")
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda asked: "0.0" if asked == name else real(asked))
    assert not setup.has_everything()


def test_an_environment_of_another_copy_of_the_course_is_not_used(here):
    assert not setup.has_everything()
