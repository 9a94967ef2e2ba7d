"""What holds for every check: nonsense is one sentence, what never ends is ended, a right answer with one fault fails.

The right answers are those of the solution notebooks, so that a new exercise is tried here without a line of its own.
"""

import ast
import contextlib
import copy
import functools
import json
import re
from pathlib import Path

import pytest
from answers import is_judged

from s02_tool_use.lab import check
from s02_tool_use.lab.check import exercise, trial

SOLUTIONS = Path(__file__).resolve().parents[4] / "notebooks" / "solutions"
HOMES = {name: number for number, (_, names) in check.NOTEBOOKS.items() for name in names}
EVERY = {name: getattr(check, name) for name in HOMES}
FUNCTIONS = [name for name, one in EVERY.items() if one.wants_function]


@pytest.fixture(autouse=True)
def judged(request):
    if name := getattr(request.node, "callspec", None) and request.node.callspec.params.get("name"):
        is_judged(name)


every_check = pytest.mark.parametrize("name", EVERY)
every_function = pytest.mark.parametrize("name", FUNCTIONS)


def is_quiet(part):
    """Whether a statement defines something and runs nothing, the choice of a part aside."""
    if isinstance(part, ast.Assign):
        calls = [node for node in ast.walk(part) if isinstance(node, ast.Call)]
        return all(ast.unparse(call.func) == "check.yours" for call in calls)
    return isinstance(part, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))


@functools.cache
def solved(number):
    """The names that the solution notebook of this number defines, and the check cells: exercise -> what is given."""
    (path,) = [path for path in SOLUTIONS.glob(f"{number}_*.ipynb") if ".mine" not in path.name]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names, given = {}, {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and re.match(r"ex\d-check", cell["id"]):
            name, what = re.fullmatch(r"check\.(\w+)\((.*)\)", source.strip(), re.S).groups()
            given[name] = names.get(what)
        elif cell["cell_type"] == "code":
            tree = ast.parse(source)
            for part in tree.body:
                # Of the rest of the page what a solution may stand on, without running it.
                if re.match(r"ex\d-solution", cell["id"]) or is_quiet(part):
                    with contextlib.suppress(NameError):
                        exec(compile(ast.Module([part], []), f"<{path.name}, {cell['id']}>", "exec"), names)
    return given


def solution(name):
    return solved(HOMES[name])[name]


def like(function, change):
    """The function, with `change(result)` for each of its results."""

    @functools.wraps(function)
    def changed(*args, **named):
        return change(function(*args, **named))

    del changed.__wrapped__  # a function of its own
    changed.__signature__ = exercise.inspect.signature(function)
    return changed


def verdict_of(name, answer):
    verdict = EVERY[name](answer)
    assert "Traceback" not in repr(verdict)
    assert trial.PREFIX not in repr(verdict)
    return verdict


# ---- what makes no sense


class Something:
    """A class that is no function."""


async def later(*args):
    return args


def one_by_one(*args):
    yield args


def takes_nine(a, b, c, d, e, f, g, h, i):
    return a


def is_one_sentence(verdict):
    assert not verdict.passed
    (line,) = repr(verdict).split("\n")
    assert len(line) < 400
    assert line.endswith(".")
    return True


@every_check
@pytest.mark.parametrize("values", [(), (4, 5, 6), (len, len, len)], ids=["none", "numbers", "functions"])
def test_a_wrong_number_of_answers_is_one_sentence(name, values):
    assert is_one_sentence(EVERY[name](*values))


@every_check
def test_an_answer_with_a_name_before_it_is_one_sentence(name):
    assert is_one_sentence(EVERY[name](answer=len))


@pytest.mark.parametrize("name", [name for name, one in EVERY.items() if not one.as_value])
@pytest.mark.parametrize("value", [4, 4.5, True, b"x", {1}, Something], ids=repr)
def test_a_value_that_makes_no_sense_is_one_sentence(name, value):
    assert is_one_sentence(EVERY[name](value))


@every_function
@pytest.mark.parametrize(
    "value", [later, one_by_one, takes_nine, "text", [1], {"a": 1}, object()], ids=lambda v: type(v).__name__
)
def test_what_cannot_be_called_as_the_exercise_says_is_one_sentence(name, value):
    verdict = EVERY[name](value)
    assert is_one_sentence(verdict)
    assert " at 0x" not in repr(verdict)


@pytest.mark.parametrize("name", [name for name, one in EVERY.items() if not one.as_value and name not in FUNCTIONS])
def test_a_none_where_a_value_is_asked_for_is_explained_and_not_called_untouched(name):
    verdict = EVERY[name](None)
    assert "x = some_list.append(...)" in repr(verdict) or "takes 2 values" in repr(verdict)
    assert is_one_sentence(verdict)


# ---- what never ends


def endless(*args):
    while True:
        pass


def endless_and_deaf(*args):
    while True:
        try:
            sum(args[:0])
        except Exception:
            continue


def endless_recursion(*args):
    return endless_recursion(*args)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@every_function
@pytest.mark.parametrize("function", [endless, endless_and_deaf])
def test_an_endless_loop_is_stopped_and_said_once(name, function, monkeypatch):
    monkeypatch.setattr(EVERY[name], "deadline", 0.02)
    monkeypatch.setattr(trial, "STEP_SECONDS", 0.01)
    verdict = verdict_of(name, function)
    lines = [line for line in verdict.lines if line.verdict == exercise.WRONG]
    assert [dict(line.details)["yours"].split(",")[0].startswith("no answer after") for line in lines] == [True]
    assert verdict.lines[-1].verdict in (exercise.NOT_TRIED, exercise.WRONG)


@every_function
def test_endless_recursion_is_named(name):
    assert "RecursionError: it calls itself without end (line" in repr(verdict_of(name, endless_recursion))


# ---- stubs


@every_function
def test_a_stub_is_not_yet_and_a_function_that_does_something_is_not(name):
    def stub(*args):
        """Not written yet."""
        raise NotImplementedError

    def computes(*args):
        args * 2

    def prints(*args):
        print("hello")

    assert {line.verdict for line in verdict_of(name, stub).lines} == {exercise.NOT_YET}
    for function, said in ((computes, "is a return missing?"), (prints, "printed, and not returned?")):
        verdict = verdict_of(name, function)
        assert exercise.WRONG in {line.verdict for line in verdict.lines}
        assert said in repr(verdict)


def an_earlier_part():
    raise NotImplementedError


@every_function
def test_an_earlier_exercise_that_is_still_a_stub_is_named(name):
    function = solution(name)

    def leans_on_it(*args, **named):
        an_earlier_part()
        return function(*args, **named)

    said = repr(verdict_of(name, leans_on_it))
    assert "it calls an_earlier_part, which is still to be written" in said
    assert not said.startswith(f"{name}: not yet")


# ---- a right answer, and one thing that is wrong with it


@every_function
def test_the_solution_passes(name):
    assert verdict_of(name, solution(name)).passed


@every_function
def test_a_right_answer_that_is_printed_in_place_of_returned_is_told_so(name):
    verdict = verdict_of(name, like(solution(name), print))
    assert not verdict.passed
    assert "not yet" not in repr(verdict)
    said = repr(verdict)
    assert "printed, and not returned?" in said or "it prints the right result" in said


@every_function
def test_a_right_answer_without_its_return_is_told_so(name):
    verdict = verdict_of(name, like(solution(name), lambda result: None))
    assert not verdict.passed
    assert "not yet" not in repr(verdict)
    assert "is a return missing?" in repr(verdict)


OTHERS = {
    str: str.encode,
    list: repr,
    tuple: repr,
    dict: lambda result: list(result.items()),
    bool: repr,
    int: lambda n: [n],
}


@every_function
def test_a_right_answer_of_another_type_fails(name):
    verdict = verdict_of(name, like(solution(name), lambda result: OTHERS.get(type(result), repr)(result)))
    assert not verdict.passed


def first_result_only(function):
    """What the function gave at first, each time."""
    results = []

    def constant(*args, **named):
        if not results:
            results.append(function(*args, **named))
        return copy.deepcopy(results[0])

    constant.__signature__ = exercise.inspect.signature(function)
    return constant


@every_function
def test_a_constant_passes_nowhere(name):
    constants = [None, True, False, "", [], {}, 0, (0, 0), *rights(name)]
    for constant in constants:
        assert not verdict_of(name, lambda *args, constant=constant: copy.deepcopy(constant)).passed, constant
    assert not verdict_of(name, first_result_only(solution(name))).passed


def rights(name):
    """The right results of an exercise, as far as they are values; and one string with all that strings should hold."""
    found = []
    for prop in EVERY[name].properties:
        for case in prop.cases:
            with contextlib.suppress(Exception):
                found.append(prop.right_for(case))
    words = " ".join(re.findall(r"'([^']*)'", " ".join(map(repr, found))))
    values = [value for value in found if not isinstance(value, exercise.Named)]
    return [words, *{repr(value): value for value in values}.values()]


def changed_results(value, change):
    """The value, with `change(block)` for each tool_result in it."""
    value = copy.deepcopy(value)
    for block in exercise.results_in(value):
        change(block)
    return value


@every_function
def test_a_tool_result_with_is_error_each_time_or_with_another_key_fails(name):
    for fault in ({"is_error": True}, {"name": "bash"}):
        seen = []  # for each tool_result, whether the fault is new to it

        def mark(block, fault=fault, seen=seen):
            seen.append({**block, **fault} != block)
            block.update(fault)

        verdict = verdict_of(name, like(solution(name), lambda result, mark=mark: changed_results(result, mark)))
        assert not verdict.passed or not any(seen), fault
        if not seen:
            return  # nor does the other fault find a tool_result


# ---- what a verdict shows


@every_function
def test_a_verdict_shows_20_lines_of_print_at_most(name):
    def talks(*args):
        for number in range(1000):
            print("line", number)
        return ["nothing of use"]

    said = repr(verdict_of(name, talks))
    shown = [line for line in said.split("\n") if re.match(r" +(printed: )?line \d+$", line)]
    assert 1 <= len(shown) <= 20
    assert "more lines)" in said


@every_function
def test_the_smallest_case_is_the_one_that_is_shown(name):
    for prop in EVERY[name].properties:
        if prop.run is None:
            line = exercise._Trial(EVERY[name], lambda *args: Something, True)
            line.stdin = None
            given = dict(line._line(prop).details).get("input")
            smallest = min(prop.cases, key=exercise.size)
            assert given == f"<lambda>({', '.join(map(exercise.shown, smallest))})"
            return


# ---- the package's own functions


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if exercise.package_functions(EVERY[name])])
def test_a_call_of_the_packages_own_function_is_seen_and_said(name):
    function = solution(name)
    (own, *_) = exercise.package_functions(EVERY[name])

    def looks_there(*args, **named):
        with contextlib.suppress(BaseException):
            own(*[None] * own.__code__.co_argcount)
        return function(*args, **named)

    assert f"But it calls the package's {own.__name__}, which does the work" in repr(EVERY[name](looks_there))
    assert "the package's" not in repr(EVERY[name](function))
