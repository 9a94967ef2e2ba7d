"""The understudy fixes a failing test, or says that it could not."""

import subprocess
import sys

import pytest
from systems import needs_bash
from talk import BASH, FILES, Talk
from waiting import PATIENCE_SECONDS

from s02_tool_use import TOOL_HANDLERS, TOOLS, run_bash
from s02_tool_use.lab.understudy.fix_test import failures_in
from s02_tool_use.loop import MAX_TURNS


def run_test(folder, name="test_orders.py"):
    return subprocess.run(
        [sys.executable, "-B", name], cwd=folder, capture_output=True, timeout=PATIENCE_SECONDS
    ).returncode


def test_the_bug_of_the_sample_is_fixed_by_rule_and_evidence(sample):
    talk = Talk()
    said = talk.say("Fix the failing test.")
    assert run_test(sample) == 0
    assert len(talk.calls) <= 8
    assert "I changed `if subtotal > FREE_SHIPPING_FROM:` to `if subtotal >= FREE_SHIPPING_FROM:`" in said
    assert 'README.md says: "An order of 50.00 or more ships free."' in said
    assert "5 of 5 tests passed" in said


@needs_bash
@pytest.mark.parametrize("tools", [BASH, [t for t in TOOLS if t["name"] in ("bash", "read_file", "write_file")]])
def test_the_bug_of_the_sample_is_fixed_with_fewer_tools(sample, tools):
    Talk(tools).say("修复失败的测试")
    assert run_test(sample) == 0


def test_where_cmd_runs_the_commands_it_tells_what_the_test_said(sample):
    def bash(command):
        return run_bash(command)[:-1] + "; there is no bash here, so this ran in cmd.exe]"

    said = Talk(handlers={**TOOL_HANDLERS, "bash": bash}).say("Fix the failing test.")
    assert "5 of 5 tests passed" in said
    assert "no bash" not in said


def test_without_bash_it_says_that_it_cannot_run_the_test(sample):
    assert "I need a tool that runs commands" in Talk(FILES).say("Fix the failing test")


def test_when_nothing_fails_it_changes_nothing(sample):
    Talk().say("Fix the failing test.")
    talk = Talk()
    assert talk.say("Fix the failing test.").startswith("No test fails.")
    assert {name for name, _ in talk.calls} == {"glob", "bash"}


MODULE = '''"""A small module of rules."""

LIMIT = 10


def is_child(age):
    """Return True if the age is at most 12."""
    return age <= 12


def countdown(n):
    return [n - i for i in range(n + 1)]


def without_header(lines):
    return lines[1:]


def boxes(n):
    return -(-n // LIMIT)


def is_even(n):
    return n % 2 == 0


def grams(kilograms):
    return kilograms * 1000


def names(people):
    return sorted(people)
'''
CHECKS = """
from rules import *


def equal(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


def test_twelve_is_a_child():
    equal(is_child(12), True)
    equal(is_child(13), False)

def test_countdown():
    equal(countdown(3), [3, 2, 1, 0])

def test_without_header():
    equal(without_header(["a", "b", "c"]), ["b", "c"])

def test_boxes():
    equal(boxes(11), 2)
    equal(boxes(10), 1)

def test_is_even():
    equal(is_even(4), True)

def test_grams():
    equal(grams(2), 2000)

def test_names():
    equal(names(["b", "a"]), ["a", "b"])
"""
RUNNER = """
if __name__ == "__main__":
    import sys
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
            except AssertionError as problem:
                failed += 1
                print(f"FAIL {name}: {problem}")
            except Exception as problem:
                failed += 1
                print(f"FAIL {name}: {type(problem).__name__}: {problem}")
    print("failed:", failed)
    sys.exit(bool(failed))
"""
SLIPS = [
    ("age <= 12", "age < 12"),
    ("n % 2 == 0", "n % 2 != 0"),
    ("range(n + 1)", "range(n + 2)"),
    ("lines[1:]", "lines[2:]"),
    ("LIMIT = 10", "LIMIT = 9"),
    ("kilograms * 1000", "kilograms * 100"),
]
UNKNOWN = [("return sorted(people)", "return people"), ("range(n + 1)", "range(1, n + 1, 2)")]


@pytest.fixture
def project(workspace):
    """A function that makes a project of MODULE with some of it replaced, and a test file, in the workspace."""

    def make(*bugs, checks=CHECKS + RUNNER):
        source = MODULE
        for right, wrong in bugs:
            assert right in MODULE
            source = source.replace(right, wrong)
        (workspace / "rules.py").write_text(source)
        (workspace / "test_rules.py").write_text(checks)
        assert run_test(workspace, "test_rules.py") == 1
        return workspace

    return make


@pytest.mark.parametrize("slip", SLIPS, ids=" -> ".join)
def test_it_finds_a_slip_by_trying(project, slip):
    folder = project(slip)
    said = Talk().say("Fix the failing test")
    assert run_test(folder, "test_rules.py") == 0, said


@pytest.mark.parametrize("bug", UNKNOWN, ids=" -> ".join)
def test_what_did_not_help_is_taken_back_and_it_says_that_it_failed(project, bug):
    folder, talk = project(bug), Talk()
    said = talk.say("Fix the failing test")
    assert "Still failing: test_" in said
    assert len(talk.messages) <= 2 * MAX_TURNS  # it answers before the loop ends
    assert (folder / "rules.py").read_text() == MODULE.replace(*bug)


@pytest.mark.parametrize(
    "checks",
    [
        "import unittest\nfrom rules import is_child\n\n\nclass Rules(unittest.TestCase):\n"
        "    def test_at_twelve(self):\n        self.assertEqual(is_child(12), True)\n\n\nunittest.main()\n",
        "import rules\n\nassert rules.is_child(12)\nprint('fine')\n",
    ],
    ids=["unittest", "bare asserts"],
)
def test_it_reads_what_other_test_runners_print(project, checks):
    folder = project(("age <= 12", "age < 12"), checks=checks)
    said = Talk().say("Fix the failing test")
    assert "age <= 12" in (folder / "rules.py").read_text()
    assert "failed: ." not in said


def test_two_bugs_are_fixed_one_after_the_other(project):
    folder = project(("age <= 12", "age < 12"), ("kilograms * 1000", "kilograms * 100"))
    said = Talk().say("Fix the failing tests")
    assert run_test(folder, "test_rules.py") == 0
    assert said.count("I changed") == 2


def test_tests_for_pytest_are_run_by_it_and_a_line_that_stands_there_twice_is_left_alone(workspace):
    source = "def first(a):\n    return a > 1\n\n\ndef second(a):\n    return a > 1\n\n\nLIMIT = 2\n"
    (workspace / "rules.py").write_text(source)
    (workspace / "test_rules.py").write_text(
        "from rules import *\n\n\ndef test_second():\n    assert second(LIMIT - 1)\n"
    )
    plugins = "-p no:anyio -p no:hypothesispytest -p no:nbval -p no:xdist -p no:xdist.looponfail"
    (workspace / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins}")  # they take longer than all the rest
    assert "I changed `LIMIT = 2` to `LIMIT = 3`" in Talk().say("Fix the failing test")
    assert (workspace / "rules.py").read_text() == source.replace("LIMIT = 2", "LIMIT = 3")


def test_a_change_that_cannot_be_taken_back_is_said(project):
    project(UNKNOWN[1])
    edits = []

    def edit_once(**arguments):
        edits.append(arguments)
        if len(edits) > 1:
            raise ValueError("the disk is full")
        return TOOL_HANDLERS["edit_file"](**arguments)

    said = Talk(handlers={**TOOL_HANDLERS, "edit_file": edit_once}).say("Fix the failing test")
    assert said.startswith("A change that did not help could not be taken back, so look at the file: ")


def test_a_run_that_says_nothing_of_tests_is_shown_and_nothing_is_changed(project):
    project(SLIPS[0])
    talk = Talk(
        handlers={**TOOL_HANDLERS, "bash": lambda command: "bash: python: command not found\n[exit status 127]"}
    )
    assert talk.say("Fix the failing test").startswith("I cannot read what `python test_rules.py` said:")
    assert "edit_file" not in [name for name, _ in talk.calls]


def test_a_test_is_never_changed_to_make_it_pass(workspace):
    source = "def double(n):\n    return n * 2\n\n\ndef test_double():\n    assert double(2) == 5, 'expected 5'\n"
    (workspace / "test_one.py").write_text(source + RUNNER)
    assert "Still failing: test_double" in Talk().say("Fix the failing test")
    assert (workspace / "test_one.py").read_text() == source + RUNNER


def test_a_source_that_does_not_parse_is_left_alone(workspace):
    (workspace / "rules.py").write_text("def f(:\n")
    (workspace / "test_rules.py").write_text("import rules\nrules.f()\n")
    assert "Still failing" in Talk().say("Fix the failing test")
    assert (workspace / "rules.py").read_text() == "def f(:\n"


REPORTS = [
    ("FAIL test_a: expected 50.0, got 54.9", {"test_a": "expected 50.0, got 54.9"}),
    ("FAILED test_x.py::test_a - assert 54.9 == 50.0", {"test_a": "assert 54.9 == 50.0"}),
    ("FAILED tests/test_x.py::T::test_a[3] - AssertionError: 1", {"test_a": "AssertionError: 1"}),
    ("FAIL: test_a (test_x.T.test_a)\n---\nTraceback (most recent call last):\nAssertionError: 2 != 3", {"test_a": ""}),
    ("ERROR test_x.py - ImportError: no", {"test_x.py": "ImportError: no"}),
    ('Traceback (most recent call last):\n  File "t.py", line 3\nAssertionError: no', {"t.py": "AssertionError: no"}),
    ("5 of 5 tests passed", {}),
]


@pytest.mark.parametrize(("report", "failures"), REPORTS)
def test_a_report_tells_which_tests_failed_and_what_they_said(report, failures):
    assert failures_in(report, "t.py") == failures
