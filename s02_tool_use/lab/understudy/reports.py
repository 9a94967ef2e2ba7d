"""What a test run printed: which tests failed, what they wanted and got. Our style, pytest, unittest, tracebacks."""

import ast
import re
from dataclasses import dataclass

FAILED = re.compile(
    r"^(?:FAIL|FAILED|ERROR):?\s+(?:\S+::)?(test\w*|\w+(?=:))(?:\[[^\]\n]*\])?(?: \([^)\n]*\))?(?:(?::| -) ?(.*))?$",
    re.M,
)
SAID = (  # how a message tells the two values, and which of them comes first
    (r"expected:? (.+?),? (?:but )?got:? (.+)$", "expected"),
    (r"got:? (.+?),? (?:but )?(?:expected|wanted):? (.+)$", "got"),
    (r"assert (.+?) == (.+)$", "got"),
    (r"AssertionError: (.+?) != (.+?)(?: within .*| : .*)?$", "got"),
)


@dataclass
class Failure:
    """What one failing test said. If `known`, `expected` and `got` are the values that it named."""

    test: str
    message: str = ""
    expected: object = None
    got: object = None
    known: bool = False


def failures_in(report):
    """The failing tests in the output of a test run, each once, in order."""
    found = {}
    for match in FAILED.finditer(report):
        test, message = match[1], (match[2] or "").strip()
        if not message or message.endswith("..."):  # unittest says it below, pytest cuts it to the width of the screen
            message = _error_of(report, test, match.end()) or message
        found.setdefault(test, _failure(test, message))
    if not found and "Traceback (most recent call last)" in report:
        functions = re.findall(r'File ".*", line \d+, in (\w+)', report)
        test = next((name for name in functions if name.startswith("test")), "?")
        found[test] = _failure(test, _error_of(report, test, 0))
    return list(found.values())


def _error_of(report, test, start):
    """The error in the part of a report that is about one test."""
    ruler = rf"^_+ (?:\w+\.)*{re.escape(test)}(?:\[.*\])? _+$(.*?)(?=^_{{5,}}|^={{5,}}|\Z)"
    section = re.search(ruler, report, re.M | re.S)
    part = section[1] if section else report[start:].split("\n=====")[0]
    errors = re.findall(r"^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception)\b.*)$|^E\s+(assert .*)$", part, re.M)
    return next((error or asserted for error, asserted in errors), "")


def _failure(test, message):
    for pattern, first in SAID:
        match = re.search(pattern, message)
        if match:
            one, two = _value(match[1]), _value(match[2].rstrip("."))
            expected, got = (one, two) if first == "expected" else (two, one)
            return Failure(test, message, expected, got, known=True)
    return Failure(test, message)


def _value(text):
    """The Python value that a text shows, else the text itself."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
