"""A small course and a clone of it, for the tests of what is done to a learner's files."""

import json
import os
import shutil
import subprocess

import pytest

from s02_tool_use.lab.start import reset

IDENTITY = ["-c", "user.name=A Learner", "-c", "user.email=learner@example.org"]


def page(text):
    return json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}], "nbformat": 4}, indent=1) + "\n"


def git(folder, *arguments):
    if not shutil.which("git") and not os.environ.get("CI"):
        pytest.skip("needs git")
    command = ["git", "-C", str(folder), *IDENTITY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commit(folder, said="changes"):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", said)


@pytest.fixture
def hermetic(monkeypatch):
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)


@pytest.fixture
def course(tmp_path, monkeypatch, hermetic):
    """A small course without git, as a zip file would give it. It is the current folder."""
    root = tmp_path / "course"
    (root / "notebooks" / "solutions").mkdir(parents=True)
    for name in ("00_start_here", "03_file_tools", "solutions/03_file_tools"):
        (root / "notebooks" / f"{name}.ipynb").write_text(page(f"shipped {name}"), encoding="utf-8")
    monkeypatch.setattr(reset, "ROOT", root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def clone(course, tmp_path, monkeypatch):
    """The same as a clone, with its origin beside it."""
    git(course, "init", "-qb", "main")
    (course / ".gitignore").write_text("*.mine*\n")
    commit(course, "the course")
    git(tmp_path, "clone", "-q", str(course), "clone")
    monkeypatch.setattr(reset, "ROOT", tmp_path / "clone")
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def edit(root, text="mine", name="03_file_tools"):
    path = root / "notebooks" / f"{name}.ipynb"
    path.write_text(page(text), encoding="utf-8")
    return path


def texts(folder):
    """name -> what the notebook says, for each notebook of a folder."""
    read = {path: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.ipynb")}
    return {path.name: notebook["cells"][0]["source"][0] for path, notebook in read.items()}
