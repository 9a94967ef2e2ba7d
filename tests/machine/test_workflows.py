"""The workflow that publishes the page, as far as it can be judged without GitHub: its form, and its rights."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from clients import install

from s02_tool_use.__main__ import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
SITE = GITHUB / "workflows" / "site.yml"
BIN = install.PYTHON.parent
# Both bring what they compare with, so no network is asked. The strictest of zizmor's personas.
LINTERS = {
    "check-jsonschema": ["--builtin-schema", "vendor.github-workflows"],
    "zizmor": ["--offline", "--no-progress", "--persona=auditor", "--config", GITHUB / "zizmor.yml"],
}


def judged(name, workflow):
    """(exit status, what it said) of a linter."""
    if why := install.missing():
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)  # .ci/run installs them
    command = [shutil.which(name, path=BIN), *LINTERS[name], workflow]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", LINTERS)
@pytest.mark.parametrize("workflow", sorted(SITE.parent.iterdir()), ids=lambda path: path.name)
def test_a_linter_finds_nothing_in_a_workflow(name, workflow):
    status, said = judged(name, workflow)
    assert status == 0, said


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("check-jsonschema", "runs-on", "run-on"),
        ("check-jsonschema", "on: workflow_dispatch", "on: workflow_dispach"),
        ("zizmor", "permissions: {}", "permissions: write-all"),
        ("zizmor", "actions/setup-python@v6", "somebody/setup-python@v6"),
        ("zizmor", "persist-credentials: false", "persist-credentials: true"),
    ],
)
def test_a_linter_would_say_so(name, right, wrong, tmp_path):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = SITE.read_text(encoding="utf-8")
    assert right in text
    (folder / "site.yml").write_text(text.replace(right, wrong), encoding="utf-8")
    assert judged(name, folder / "site.yml")[0] != 0


def test_the_page_is_built_by_our_command_and_only_when_somebody_asks_for_it():
    workflow = yaml.safe_load(SITE.read_text(encoding="utf-8"))
    assert workflow[True] == "workflow_dispatch"  # to YAML 1.1 `on` is a truth
    build, publish = workflow["jobs"].values()
    assert (build["permissions"], publish["permissions"].keys()) == ({"contents": "read"}, {"pages", "id-token"})
    (command,) = [step["run"] for step in build["steps"] if "run" in step]
    *start, name, folder = shlex.split(command)
    assert (start, name in COMMANDS) == (["python3", "-m", "s02_tool_use"], True)
    assert build["steps"][-1]["with"]["path"] == folder
