"""How a check judges and what it says: the smallest failing case, an error once, the same words in each run."""

import copy
import errno
import itertools
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from s02_tool_use import run_bash
from s02_tool_use.lab import check
from s02_tool_use.lab.check import exercise, lint, trial
from s02_tool_use.lab.check.exercise import (
    NOT_HERE,
    NOT_TRIED,
    NOT_YET,
    RIGHT,
    WRONG,
    Block,
    Exercise,
    Property,
    Such,
    as_read,
    clean,
    shown,
    text_with,
)
from s02_tool_use.lab.sessions import job
from s02_tool_use.lab.sessions.job import Stopped
from s02_tool_use.workspace import workdir

READ = (1, "Some words")


def doubled(**more):
    """An exercise: double a number."""
    return Exercise(
        "doubled",
        "my_double(number)",
        [
            Property("small numbers double", READ, [(0,), (1,), (5,)], lambda n: 2 * n),
            Property("texts double", READ, [("ab",)], "abab"),
        ],
        **more,
    )


def verdicts(verdict):
    return [line.verdict for line in verdict.lines]


def test_a_right_function_is_right():
    verdict = doubled()(lambda n: n + n)
    assert verdicts(verdict) == [RIGHT, RIGHT]
    assert verdict
    assert repr(verdict).startswith("doubled: all 2 right\n")


def test_the_smallest_failing_case_is_shown_with_what_is_right_and_where_to_read():
    def squared(n):
        return n * n

    verdict = doubled()(squared)
    assert verdicts(verdict) == [WRONG, WRONG]
    assert not verdict
    assert verdict.lines[0].details == [
        ("input", "squared(1)"),
        ("yours", "1"),
        ("right", "2"),
        ("read again", "section 1, “Some words ...”"),
    ]


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ("It sees the **schema**", "It sees the schema"),
        ("`stop_reason` is `tool_use` now", "stop_reason is tool_use now"),
        ("`**` hands", "** hands"),
        ("A `..` after *a* link", "A .. after a link"),
    ],
)
def test_the_words_to_read_again_stand_as_the_page_shows_them(words, seen):
    assert as_read(words) == seen


def test_an_exception_is_shown_with_the_learners_line_and_once():
    def broken(n):
        return undefined + n  # noqa: F821

    first, second = doubled()(broken).lines
    assert "NameError: name 'undefined' is not defined (line" in first.details[1][1]
    assert "return undefined + n" in first.details[1][1]
    assert second.details == [("yours", "the same NameError")]


def test_after_an_endless_loop_the_rest_is_not_tried():
    def endless(n):
        while True:
            pass

    verdict = doubled(deadline=0.2)(endless)
    assert verdicts(verdict) == [WRONG, NOT_TRIED]
    assert "stopped" in repr(verdict)


def test_a_function_that_forgot_to_return_in_one_case_is_wrong_and_asked_about_it():
    def forgot(n):  # noqa: RET503
        if n != 1:
            return n + n

    verdict = doubled()(forgot)
    assert verdicts(verdict) == [WRONG, RIGHT]
    assert ("yours", "None (is a return missing?)") in verdict.lines[0].details


def test_what_the_learner_printed_is_shown_with_the_failing_case_only():
    def prints(n):
        print("n is", n)
        return n

    verdict = doubled()(prints)
    assert ("printed", "n is 1") in verdict.lines[0].details


def test_a_function_that_changes_its_input_does_not_spoil_the_next_case():
    exercise = Exercise(
        "x", "f(list)", [Property("length", READ, [([1, 2],)], 2), Property("again", READ, [([1, 2],)], 2)]
    )
    case_list = exercise.properties[0].cases[0][0]

    def empties(items):
        number = len(items)
        items.clear()
        return number

    assert exercise(empties)
    assert case_list == [1, 2]


def test_a_result_of_another_shape_is_shown_whole():
    exercise = Exercise("x", "f()", [Property("key", READ, [()], 1, see=lambda result: result["a"])])
    assert ("yours", "[7]") in exercise(lambda: [7]).lines[0].details


def test_what_looks_right_and_is_of_another_kind_is_told_apart():
    exercise = Exercise("x", "f()", [Property("key", READ, [()], "tea", see=lambda result: result["a"])])
    assert ("yours", "'tea' (but what came back is a string)") in exercise(lambda: "tea").lines[0].details


def test_a_helper_that_cannot_go_on_shows_what_the_function_gave():
    exercise = Exercise("x", "f()", [Property("key", READ, [()], 1, run=lambda yours: yours()["a"])])
    assert ("yours", "[7]") in exercise(lambda: [7]).lines[0].details


def test_what_ends_a_program_is_shown_as_what_the_function_gave():
    def leaves(n):
        if n:
            raise SystemExit(3)
        return 0

    def half_done(n):
        if n:
            raise NotImplementedError
        return 0

    assert dict(doubled()(leaves).lines[0].details)["yours"].startswith("SystemExit: 3 (line")
    assert dict(doubled()(half_done).lines[0].details)["yours"].startswith("NotImplementedError (line")


def test_comparisons_that_fail_count_as_different():
    class Strange:
        def __eq__(self, other):
            raise RuntimeError

        def __repr__(self):
            raise RuntimeError

    verdict = doubled()(lambda n: Strange())
    assert verdicts(verdict) == [WRONG, WRONG]
    assert ("yours", "<Strange> (a Strange, and an int is expected)") in verdict.lines[0].details


def test_something_that_is_no_function_is_named():
    verdict = doubled()(3)
    assert not verdict
    assert (
        repr(verdict) == "check.doubled takes the function itself, check.doubled(my_double), and was given 3, an int."
    )


def test_a_run_that_takes_long_is_kept_for_the_properties_that_look_at_the_same_case():
    def talked(yours, number):
        print("hello")
        return yours(number)

    asked, two, run = [], 2, lambda see, right: Property("", READ, [(1,), (two,)], right, see, talked, kept=True)
    parts = [run(lambda said, n: said[0], lambda n: n), run(lambda said, n: said[1], lambda n: 3 * n)]
    verdict = Exercise("talk", "my_talk(number)", parts)(lambda n: asked.append(n) or (n, 2 * n))
    assert asked == [1, two]
    assert verdicts(verdict) == [RIGHT, WRONG]
    assert verdict.lines[1].details[0][1].endswith("(1)")
    assert ("printed", "hello") in verdict.lines[1].details


def test_a_check_runs_twice_with_the_same_words():
    exercise = doubled()
    assert repr(exercise(lambda n: object())) == repr(exercise(lambda n: object()))
    assert "0x" not in repr(exercise(lambda n: object()))


def test_functions_partials_and_methods_are_taken():
    import functools

    class Doubler:
        def __call__(self, n):
            return 2 * n

        def double(self, n):
            return 2 * n

    for yours in (Doubler(), Doubler().double, functools.partial(lambda a, n: a * n, 2)):
        assert doubled()(yours)


def test_html_and_text_say_the_same_and_nothing_in_them_is_markup():
    verdict = doubled()(lambda n: "<script>alert(1)</script>")
    assert "<script>" in repr(verdict)
    assert "<script>" not in verdict._repr_html_()
    assert "&lt;script&gt;" in verdict._repr_html_()
    for line in verdict.lines:
        assert line.sentence in verdict._repr_html_()


def test_the_temporary_folder_is_not_shown():
    exercise = Exercise("x", "f()", [Property("no", READ, [()], 1)])

    def where():
        import os

        return os.getcwd()

    def fails():
        open("no_such_file")  # noqa: SIM115

    def missing():
        import os

        os.stat(os.path.join(os.getcwd(), "no_such_file"))

    assert ("yours", "'WORKSPACE' (a string, and an int is expected)") in exercise(where).lines[0].details
    assert "WORKSPACE" in repr(exercise(missing))
    for function in (where, fails, missing):
        assert trial.PREFIX not in repr(exercise(function))


def test_generators_and_values_that_never_end_are_shown_by_their_kind():
    assert shown(itertools.count()) == "count(0)"
    assert "0x" not in shown(x for x in ())


def test_long_values_are_cut():
    text = shown("x" * 10_000)
    assert len(text) < 500
    assert text.endswith("more characters)")


def test_two_long_values_are_shown_around_the_place_where_they_differ():
    same = "x" * 5000
    exercise = Exercise("x", "f()", [Property("text", READ, [()], f"{same}right{same}")])
    details = dict(exercise(lambda: f"{same}wrong{same}").lines[0].details)
    assert "wrong" in details["yours"]
    assert "right" in details["right"]
    assert max(map(len, details.values())) < 500
    details = dict(exercise(lambda: same).lines[0].details)
    assert details["yours"] == "(4901 characters) ... " + "x" * 100 + "'"
    assert details["right"].startswith("(4901 characters) ... " + "x" * 100 + "right")


def test_what_another_call_gave_is_not_shown_as_the_learners():
    def once(yours, n):
        if n:
            raise KeyError("of the check's own")
        return yours(n)

    prop = Property("a", READ, [(0,)], 0), Property("b", READ, [(1,)], 1, run=once)
    (_, line) = Exercise("x", "f(n)", list(prop))(lambda n: n).lines
    assert dict(line.details)["yours"].startswith("KeyError")


def test_a_list_without_an_end_is_stopped_as_a_loop_is():
    class Endless(list):
        def __iter__(self):
            while True:
                yield 1

    properties = [Property("length", READ, [()], 3, see=lambda result: len([*result])), Property("b", READ, [()], 1)]
    verdict = Exercise("x", "f()", properties, deadline=0.1)(lambda: Endless())
    assert verdicts(verdict) == [WRONG, NOT_TRIED]
    assert "no answer after" in repr(verdict)


def test_a_method_that_changes_a_list_and_gives_none_is_named():
    def appends(n):
        doubles = []
        return doubles.append(2 * n)

    def goes_on(n):
        doubles = []
        doubles = doubles.append(2 * n)
        return doubles[0]

    for function in (appends, goes_on):
        assert "do not assign what it returns" in dict(doubled()(function).lines[0].details)["yours"]


def test_the_packages_own_function_is_seen_though_it_is_given_itself():
    exercise = Exercise(
        "dirs", "f()", [Property("a", READ, [(), ()], Such("a path", lambda path: path))], own="workdir"
    )
    assert repr(exercise(workdir)).startswith("dirs: all 1 right. But this is the package's workdir")
    assert repr(exercise(lambda: workdir())).startswith("dirs: all 1 right. But it calls the package's workdir")
    assert exercise.name in repr(exercise(lambda: "a"))
    assert "package" not in repr(exercise(lambda: "a"))


def test_shown_names_functions_and_keeps_the_shape():
    assert (
        shown({"a": [len, (1,)], "b": Block(type="tool_use", id="x")})
        == "{'a': [len, (1,)], 'b': ToolUseBlock(id='x')}"
    )


def test_clean_takes_addresses_out():
    assert clean("<object at 0x7f00>") == "<object>"


def test_a_block_has_attributes_and_no_keys():
    block = Block(type="text", text="x")
    with pytest.raises(TypeError, match="'TextBlock' object is not subscriptable"):
        block["text"]
    assert repr(copy.deepcopy(block)) == "TextBlock(text='x')"
    assert block.model_dump() == block.to_dict() == {"type": "text", "text": "x"}


def test_such_says_what_it_is_like():
    assert Such("a number", lambda v: isinstance(v, int)) == 3
    assert repr(text_with("a", "b")) == "a string with 'a' and 'b' in it"
    assert text_with("a") != 3
    assert text_with("a", "b") == "ba"


def test_the_learners_workspace_is_back_after_a_check(workspace):
    doubled()(lambda n: n)
    assert workdir() == workspace


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to a whole console")
@pytest.mark.parametrize("ends", [True, False])
def test_ctrl_c_during_a_check_ends_the_learners_loop_too_and_is_one_sentence(ctrl_c, workspace, monkeypatch, ends):
    waits, before, free = threading.Event(), threading.active_count(), threading.Event()
    monkeypatch.setattr(trial, "_memory", lambda: waits.set() or 0)  # asked while it waits for the learner's function
    if not ends:  # as if it slept
        monkeypatch.setattr(job, "interrupt", lambda thread, exception: None)
        monkeypatch.setattr(job, "GRACE_SECONDS", 0.1)

    def endless(n):
        while not free.is_set():
            pass

    ctrl_c(waits)
    with pytest.raises(Stopped) as stopped:
        doubled()(endless)
    how = "stopped" if ends else "it could not be stopped, and runs until the kernel is restarted"
    assert stopped.value._render_traceback_() == [f"doubled: {how}. Nothing was judged."]
    assert workdir() == workspace
    if not ends:
        free.set()
    while threading.active_count() > before + 1:  # the one that sent it may still be there
        time.sleep(0.01)


def test_a_long_word_is_shown_as_soon_as_any_other():
    word = "x" * 1_000_000  # a pattern that is tried from each letter would take a quarter of an hour
    assert (
        clean(f"/tmp/{trial.PREFIX}12345678/{word}", limit=20) == f"WORKSPACE/{'x' * 10} ... (999990 more characters)"
    )


def test_a_function_that_does_its_work_and_returns_nothing_is_no_stub():
    def forgets(n):
        number = 2 * n  # noqa: F841

    def prints(n):
        print(3 * n + 1)

    assert dict(doubled()(forgets).lines[0].details)["yours"] == "None (is a return missing?)"
    details = dict(doubled()(prints).lines[0].details)
    assert (details["yours"], details["printed"]) == ("None (printed, and not returned?)", "1")


def test_what_an_answer_is_made_of_cannot_break_the_check():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    def raises(n):
        raise Broken

    def holds_itself(n):
        found = []
        found.append(found)
        return found

    assert dict(doubled()(raises).lines[0].details)["yours"].startswith("Broken (line")
    assert ("yours", "<list> (a list, and an int is expected)") in doubled()(holds_itself).lines[0].details


# ---- what cannot be judged in a browser page


def partly(**more):
    """The exercise about doubles, with a property that needs threads."""
    threads = Property("doubles at the same time", READ, [(3,)], 6, needs="threads")
    return replace(doubled(**more), properties=[*doubled().properties, threads])


def test_what_a_property_needs_changes_nothing_where_it_is_there():
    assert verdicts(partly()(lambda n: n + n)) == [RIGHT, RIGHT, RIGHT]


@pytest.mark.usefixtures("in_a_page")
def test_what_cannot_be_judged_is_neither_right_nor_wrong_and_its_line_says_so():
    called = []
    verdict = partly()(lambda n: called.append(n) or n + n)
    assert verdicts(verdict) == [RIGHT, RIGHT, NOT_HERE]
    assert verdict
    assert 3 not in called
    first, *_, last = verdict.text.split("\n")
    assert first.endswith("doubled: all 2 right, 1 not checked here, because a browser page has only one thread")
    assert last == "  not here   doubles at the same time"
    wrong = partly()(lambda n: n)
    assert not wrong
    assert "doubled: 0 of 2 right, 1 not checked here" in wrong.text


@pytest.mark.usefixtures("in_a_page")
@pytest.mark.parametrize("yours", [lambda n: n + n, lambda n: None, None])
def test_an_exercise_of_which_nothing_can_be_judged_is_neither_passed_nor_tried(yours):
    verdict = doubled(needs="processes")(yours)
    assert verdicts(verdict) == [NOT_HERE, NOT_HERE]
    assert not verdict.passed
    assert not verdict.tried
    assert "doubled: not checked here, because a browser page has no processes." in verdict.text


@pytest.mark.parametrize("name", ["bash", "bash_tool"])
def test_without_bash_its_exercises_are_not_judged(name, monkeypatch):
    monkeypatch.setattr(exercise, "which_bash", lambda: None)
    verdict = getattr(check, name)(run_bash)
    assert {line.verdict for line in verdict.lines} == {NOT_HERE}
    assert verdict.text.startswith(f"{name}: not checked here, because there is no bash here")


@pytest.mark.usefixtures("in_a_page")
def test_a_stub_is_not_yet_whatever_else_cannot_be_judged():
    def stub(n):
        raise NotImplementedError

    assert verdicts(partly()(stub)) == [NOT_YET, NOT_YET, NOT_HERE]


@pytest.mark.usefixtures("in_a_page")
@pytest.mark.parametrize("name", ["bash", "bash_tool", "together"])
def test_what_starts_a_command_or_a_thread_is_not_judged_in_a_page(name):
    verdict = getattr(check, name)(lambda *_: "anything")
    assert {line.verdict for line in verdict.lines} == {NOT_HERE}


@pytest.mark.usefixtures("in_a_page")
def test_a_lint_in_a_page_does_not_say_that_calls_end_in_time():
    def shout(words: str) -> str:
        """Writes words in capital letters. Use it for headings. Returns the words.

        Args:
            words: What is to be written.
        """
        return words.upper() or "nothing"

    lines = {line.sentence: line.verdict for line in check.my_tool(shout).lines}
    assert lines.pop("every call ends in time") == NOT_HERE
    assert NOT_HERE not in lines.values()


@pytest.fixture
def no_processes(monkeypatch):
    """Where a page is, it has none."""

    def refuse(*_, **__):
        raise OSError(errno.EOPNOTSUPP, "emscripten does not support processes.")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def compiled(path: str) -> str:
    """Compile a Python file. Use it after an edit. Returns what the compiler says.

    Args:
        path: The file.
    """
    done = subprocess.run([sys.executable, "-m", "py_compile", path], capture_output=True, text=True)
    return done.stderr or "no errors"


@pytest.mark.usefixtures("in_a_page", "no_processes")
def test_an_answer_that_starts_a_command_by_itself_is_neither_wrong_nor_passed_in_a_page():
    verdict = doubled()(lambda n: subprocess.run(["expr", n, "*", "2"]) if n == "ab" else n + n)
    assert verdicts(verdict) == [RIGHT, NOT_HERE]
    assert not verdict
    assert "doubled: 1 of 2 right, 1 not checked here, because a browser page has no processes" in verdict.text
    assert f"yours: OSError: [Errno {errno.EOPNOTSUPP}] emscripten does not support processes. (line " in verdict.text


@pytest.mark.usefixtures("in_a_page", "no_processes")
def test_a_tool_that_starts_a_command_is_not_judged_by_what_it_does_in_a_page(workspace):
    called = {line.verdict for line in check.my_tool(compiled).lines[-len(lint.CALLED) :]}
    assert called == {NOT_HERE}
    verdict = check.project(compiled, [{"path": "README.md"}])
    assert set(verdicts(verdict)) == {NOT_HERE}
    assert "project: not checked here, because a browser page has no processes" in verdict.text


@pytest.mark.usefixtures("no_processes")
def test_elsewhere_a_command_that_cannot_start_is_a_fault_as_ever():
    assert WRONG in verdicts(doubled()(lambda n: subprocess.run(["expr"])))
