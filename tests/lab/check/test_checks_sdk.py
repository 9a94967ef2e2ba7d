"""The checks of 08: right answers pass, plausible wrong ones fail with the fitting sentence, a stub says "not yet"."""

import pytest
from anthropic import beta_async_tool, beta_tool

from s02_tool_use import run_read
from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import NOT_YET, WRONG


@pytest.fixture(autouse=True)
def no_progress_file(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def count(path, pattern=""):
    return str(sum(pattern in line for line in run_read(path).splitlines()))


def make(name="count_lines", doc="Count the lines of a file that contain a text.", types=("str", "str"), default=True):
    """A decorated function, written as a learner might: from source, so that the annotations vary."""
    start = ' = ""' if default else ""
    kinds = [f": {kind}" if kind else "" for kind in types]
    head = f"def {name}(path{kinds[0]}, pattern{kinds[1]}{start}) -> str:"
    source = f'{head}\n    """{doc}"""\n    return count(path, pattern)'
    scope = {"count": count}
    exec(source, scope)
    return scope[name]


@beta_tool(name="lines_with", description="How many lines of a text file hold a text?")
def by_arguments(path: str, pattern: str = "") -> str:
    lines = run_read(path).splitlines()
    return str(len([line for line in lines if pattern in line]))


def sentences(verdict, kind=WRONG):
    return [line.sentence for line in verdict.lines if line.verdict == kind]


@pytest.mark.parametrize("tool", [beta_tool(make()), by_arguments], ids=["from the docstring", "from arguments"])
def test_a_right_tool_passes(tool):
    assert check.beta_tool(tool).passed


@beta_tool
def counts_all(path: str, pattern: str = "") -> str:
    """Count the lines of a text file."""
    return str(len(run_read(path).splitlines()))


@beta_tool
def gives_a_list(path: str, pattern: str = "") -> str:
    """Count the lines of a text file that contain a text."""
    return [line for line in run_read(path).splitlines() if pattern in line]


WRONG_TOOLS = {
    "a plain function": (make(), "it is a tool of the SDK"),
    "no docstring": (beta_tool(make(doc="")), "its description says what it does"),
    "a one-word docstring": (beta_tool(make(doc="Counts.")), "its description says what it does"),
    "path as int": (beta_tool(make(types=("int", "str"))), "path and pattern are strings"),
    "no annotations": (beta_tool(make(types=("", ""))), "path and pattern are strings"),
    "pattern without default": (beta_tool(make(default=False)), "required is what has no default: path alone"),
    "pattern ignored": (counts_all, "it counts the lines that contain the text"),
    "lines instead of their number": (gives_a_list, "it counts the lines that contain the text"),
}


@pytest.mark.parametrize(("tool", "sentence"), WRONG_TOOLS.values(), ids=WRONG_TOOLS)
def test_a_wrong_tool_fails_with_the_sentence_that_fits(tool, sentence):
    assert sentence in sentences(check.beta_tool(tool))


def test_an_asynchronous_tool_is_not_taken_for_a_right_one():
    @beta_async_tool
    async def later(path: str, pattern: str = "") -> str:
        """Count the lines of a text file that contain a text."""
        return count(path, pattern)

    verdict = check.beta_tool(later)
    assert "it counts the lines that contain the text" in sentences(verdict)


RIGHT = ["sdk", "both", "both", "both", "both", "ours", "ours"]


@pytest.mark.parametrize(
    "answers",
    [RIGHT, tuple(RIGHT), dict(enumerate(RIGHT)), [word.upper() for word in RIGHT]],
    ids=["list", "tuple", "dict", "capitals"],
)
def test_right_duties_pass_however_they_are_written(answers):
    assert check.differences(answers).passed


@pytest.mark.parametrize("number", range(7))
def test_each_wrong_duty_fails_under_its_own_line(number):
    answers = list(RIGHT)
    answers[number] = "both" if RIGHT[number] != "both" else "sdk"
    assert sentences(check.differences(answers)) == [check.DUTIES[number]]


@pytest.mark.parametrize("stub", [None, [None] * 7, []], ids=repr)
def test_unfilled_duties_are_not_yet(stub):
    assert len(sentences(check.differences(stub), NOT_YET)) == 7


def test_an_unfilled_tool_is_not_yet():
    assert len(sentences(check.beta_tool(None), NOT_YET)) == 6
