"""The dependency list and its pins: a reason on each line, and one version of each package for every platform."""

import itertools
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
LINES = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
REQUIREMENTS = [Requirement(line.partition("#")[0]) for line in LINES if not line.startswith("-")]
CONSTRAINTS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()]

SYSTEMS = [
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "aarch64"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
]
PYTHONS = ["3.10.0", "3.11.0", "3.11.9", "3.12.3", "3.13.0", "3.14.0"]
PLATFORMS = [
    system
    | {"python_full_version": python, "python_version": python.rpartition(".")[0], "implementation_version": python}
    | {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    for system, python in itertools.product(SYSTEMS, PYTHONS)
]


def pins(platform):
    """The version that each package has on a platform."""
    found = {}
    for pin in CONSTRAINTS:
        if pin.marker is None or pin.marker.evaluate(platform):
            (version,) = pin.specifier
            assert version.operator == "=="
            assert found.setdefault(pin.name, version.version) == version.version, f"{pin.name} has two versions"
    return found


@pytest.mark.parametrize(
    "platform", PLATFORMS, ids=lambda p: f"{p['sys_platform']}-{p['platform_machine']}-{p['python_full_version']}"
)
def test_the_constraints_satisfy_each_requirement_on_every_platform(platform):
    versions = pins(platform)
    for requirement in REQUIREMENTS:
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is not met by {version}"


def test_what_is_installed_asks_for_nothing_that_the_constraints_leave_open():
    versions = pins({})
    waiting = [(canonicalize_name(r.name), "") for r in REQUIREMENTS]
    seen = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        assert name in versions, f"{name} has no version in constraints.txt"
        for line in metadata.requires(name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                version = versions.get(canonicalize_name(needed.name))
                assert version, f"{name} needs {needed.name}, which has no version in constraints.txt"
                assert needed.specifier.contains(version, prereleases=True), f"{name} needs {needed}, not {version}"
                waiting += [(canonicalize_name(needed.name), e) for e in ["", *needed.extras]]
    assert len(seen) > 50


def test_each_requirement_has_its_reason_on_its_line():
    for line in LINES:
        assert line.startswith("-") or re.search(r"\s# \S.{10,}", line), f"no reason: {line}"


def test_the_list_begins_with_the_constraints_and_this_package():
    assert LINES[:2] == ["-c constraints.txt", "-e ."]


def test_there_is_no_second_list():
    assert "dependencies" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert not {"setup.py", "setup.cfg", "environment.yml", "Pipfile"} & {path.name for path in ROOT.iterdir()}
