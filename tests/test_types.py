"""The types of the package, as its annotations claim them; the settings stand in pyproject.toml."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_mypy_has_nothing_to_say():
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "s02_tool_use"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


DOORS = ("", ".lab", ".lab.api", ".lab.client", ".lab.sessions", ".lab.show", ".lab.understudy", ".lab.widgets")


def without_annotation(function):
    """What of a function is not annotated: names of parameters, and "return"."""
    signature = inspect.signature(function)
    names = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "_")]
    says_return = function.__name__ == "__init__" or signature.return_annotation is not signature.empty
    return names if says_return else [*names, "return"]


@pytest.mark.parametrize("door", DOORS)
def test_what_a_room_offers_at_its_door_is_annotated(door):
    room = importlib.import_module(f"s02_tool_use{door}")
    missing = {}
    for name in room.__all__:
        value = getattr(room, name)
        functions = {name: value} if inspect.isroutine(value) else {}
        if inspect.isclass(value):
            theirs = {key for base in value.__mro__ if not base.__module__.startswith("s02_") for key in vars(base)}
            own = {key: f for key, f in vars(value).items() if key == "__init__" or key not in theirs}
            functions = {f"{name}.{key}": f for key, f in own.items() if inspect.isfunction(f)}
        for key, function in functions.items():
            if not key.rpartition(".")[2].startswith("_") or key.endswith("__init__"):
                missing |= {key: without_annotation(function)}
    assert {key: names for key, names in missing.items() if names} == {}
