"""Where the course starts but from a clone: as a package, with newer packages, on Binder, in a container.

The environments stand in temporary folders, and what they hold comes from PyPI. Left out: the machines of Binder and of
Codespaces themselves, which cannot be had here.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from copies import ROOT, copy_course, environment
from systems import posix


def run(python, *arguments, folder, **variables):
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- pip install .

LESSON = """
from s02_tool_use import TOOLS, agent_loop
from s02_tool_use.lab import connect, fresh_workspace, show_messages
client, model = connect()
fresh_workspace()
messages = [{"role": "user", "content": "Which Python files are there?"}]
agent_loop(client, model, messages)
print(show_messages(messages))
import s02_tool_use
print(s02_tool_use.__file__)
"""


def test_the_installed_package_brings_all_that_it_needs_and_runs_far_from_its_sources(tmp_path):
    source = copy_course(tmp_path / "the course")
    python = environment(tmp_path / "bare", "--constraint", "constraints.txt", str(source))
    shutil.rmtree(source)
    (tmp_path / "elsewhere").mkdir()
    said = run(python, "-c", LESSON, folder=tmp_path / "elsewhere", S02_OFFLINE="1")
    assert "Workspace: a fresh copy of the sample project:\nREADME.md" in said
    assert "tool_result" in said
    assert "orders.py" in said
    assert str(tmp_path / "bare") in said.splitlines()[-1]


# ---- the newest packages that the bounds allow

NEWEST = ("anthropic", "jupyterlab")


def test_the_course_runs_with_the_newest_sdk_and_jupyterlab_that_its_bounds_allow(tmp_path):
    course = copy_course(tmp_path / "the course")
    pins = (course / "constraints.txt").read_text("utf-8").splitlines()
    free = [line for line in pins if re.match(r"[\w-]+", line)[0] not in NEWEST]
    assert len(pins) - len(free) == len(NEWEST)
    (course / "constraints.txt").write_text("\n".join(free), "utf-8")
    python = environment(tmp_path / "newest", "-r", "requirements.txt", course=course)
    print(run(python, "-m", "jupyter", "--version", folder=course))
    print(run(python, "-c", "import anthropic; print(anthropic.__version__)", folder=course))
    tests = ["tests/lab/client", "tests/lab/api/test_wire.py", "tests/history/test_fields.py"]
    pages = [f"notebooks/{name}" for name in ("00_start_here.ipynb", "06_agent_loop.ipynb", "08_the_sdk_way.ipynb")]
    run(python, "-m", "pytest", "--nbval", *tests, *pages, folder=course)


# ---- Binder


def test_binder_installs_the_one_list_and_starts_with_the_settings_of_the_course(tmp_path):
    course = copy_course(tmp_path / "course")
    python = environment(tmp_path / "repo2docker", "jupyter-repo2docker==2026.4.0")
    command = ["-m", "repo2docker", "--no-build", "--debug", str(course)]
    done = subprocess.run([python, *command], capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    installs = re.findall(r"pip install .*", said)
    assert [line for line in installs if "requirements.txt" in line and ".binder" in line], said
    assert not [line for line in installs if re.search(r"install\s+(--\S+\s+)*\.(\s|$)", line)], installs
    assert re.search(r"3\.12", said)
    assert ".binder/start" in said


@posix("sh, which starts Binder's script")
def test_the_list_for_binder_is_the_one_list_and_its_start_hands_over(tmp_path):
    assert (ROOT / ".binder" / "requirements.txt").read_text("utf-8") == "-r ../requirements.txt\n"
    told = subprocess.run(
        [ROOT / ".binder" / "start", "sh", "-c", 'echo "$JUPYTER_CONFIG_PATH" "$@"', "sh", "a b"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told == f"{ROOT / 's02_tool_use' / 'lab' / 'start'} a b\n"


# ---- a container


def test_the_container_installs_the_one_list_and_opens_the_first_page():
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert settings["onCreateCommand"].endswith("pip install -r requirements.txt")
    (page,) = settings["customizations"]["codespaces"]["openFiles"]
    assert (ROOT / page).is_file()
    tag = re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:1-(3\.\d+)-bookworm", settings["image"])[1]
    assert tag in Path(ROOT / ".binder" / "runtime.txt").read_text("utf-8")
