"""The dependency list and its pins: a reason on each line, and one version of each package for every platform."""

import ast
import itertools
import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[3]
LINES = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
REQUIREMENTS = [Requirement(line.partition("#")[0]) for line in LINES if line[0] not in "-#"]
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
        assert line[0] in "-#" or re.search(r"\s# \S.{10,}", line), f"no reason: {line}"


def test_the_list_begins_with_the_constraints_and_this_package():
    assert LINES[:2] == ["-c constraints.txt", "-e ."]


def test_there_is_no_second_list():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"(?m)^.*dependencies.*$", project) == [
        'dynamic = ["dependencies"]  # requirements.txt is the one list, with a reason on each line; setup.py reads it'
    ]
    named = (ROOT / "setup.py").read_text(encoding="utf-8").split()
    assert not {requirement.name for requirement in REQUIREMENTS} & set(named)
    assert not {"setup.cfg", "environment.yml", "Pipfile"} & {path.name for path in ROOT.iterdir()}


def test_the_installed_package_asks_for_the_first_part_of_the_list_and_that_brings_all_that_it_imports():
    asked = {Requirement(line).name for line in metadata.requires("s02-tool-use")}
    assert asked == {r.name for r in REQUIREMENTS} - {"nbval", "pytest", "ruff", "pytest-xdist", "mypy"}
    brought, waiting = set(), list(asked)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in brought:
            brought.add(name)
            needed = map(Requirement, metadata.requires(name) or [])
            waiting += [r.name for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})]
    owners = metadata.packages_distributions()
    imported = set()
    for path in (ROOT / "s02_tool_use").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(node.module.partition(".")[0])
    foreign = {name for name in imported - {"s02_tool_use"} if name in owners}
    assert len(foreign) > 10
    assert not {name for name in foreign if not brought & set(map(canonicalize_name, owners[name]))}
