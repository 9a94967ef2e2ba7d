"""run_tool answers every call with one well-formed result, and TOOLS says what the functions take."""

import builtins
import dataclasses
import inspect
import json
import sys

import pytest
from anthropic.types import ToolUseBlock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s02_tool_use import TOOL_HANDLERS, TOOLS, ToolError, run_tool
from s02_tool_use.calls.arguments import TYPES
from s02_tool_use.calls.results import MAX_RESULT_CHARACTERS


def call(name, arguments, **more):
    return run_tool({"type": "tool_use", "id": "toolu_01", "name": name, "input": arguments}, **more)


def fault(name, arguments, **more):
    result = call(name, arguments, **more)
    assert result["is_error"] is True
    return result["content"]


def check_well_formed(result, id="toolu_01"):
    assert set(result) <= {"type", "tool_use_id", "content", "is_error"}
    assert (result["type"], result["tool_use_id"]) == ("tool_result", id)
    assert isinstance(result["content"], str)
    assert 0 < len(result["content"]) < MAX_RESULT_CHARACTERS + 200
    assert result.get("is_error", True) is True
    json.dumps(result["content"], ensure_ascii=False).encode()


# ---- TOOLS


@pytest.mark.parametrize("tool", TOOLS, ids=[tool["name"] for tool in TOOLS])
def test_a_schema_agrees_with_its_function(tool):
    schema, parameters = tool["input_schema"], inspect.signature(TOOL_HANDLERS[tool["name"]]).parameters
    assert list(schema["properties"]) == list(parameters)
    assert schema["required"] == [name for name, p in parameters.items() if p.default is p.empty]
    annotations = {"string": str, "integer": int | None, "number": float, "boolean": bool}
    for name, parameter in parameters.items():
        assert parameter.annotation == annotations[schema["properties"][name]["type"]]
        assert schema["properties"][name]["description"]
    assert schema["type"] == "object"
    assert tool["description"]


def test_each_tool_has_one_handler():
    assert (
        [tool["name"] for tool in TOOLS]
        == list(TOOL_HANDLERS)
        == ["bash", "read_file", "write_file", "edit_file", "glob"]
    )


# ---- faults


def test_a_call_gives_the_result_of_its_handler_under_its_id(workspace):
    for block in (
        {"type": "tool_use", "id": "toolu_01", "name": "write_file", "input": {"path": "f", "content": "é"}},
        ToolUseBlock(type="tool_use", id="toolu_01", name="write_file", input={"path": "f", "content": "é"}),
    ):
        assert run_tool(block) == {"type": "tool_result", "tool_use_id": "toolu_01", "content": "Wrote 2 bytes to f"}


@pytest.mark.parametrize("name", ["Bash", "", "read", None, 3, ["bash"], {"bash": 1}])
def test_an_unknown_tool_is_told_the_known_ones(name):
    assert fault(name, {}).endswith("The tools are: bash, read_file, write_file, edit_file, glob")


@pytest.mark.parametrize("block", [{}, {"id": 3, "name": "bash"}, {"input": {}}, None, object()])
def test_a_block_without_an_id_or_a_name_gets_a_result_that_can_be_shown(block):
    check_well_formed(run_tool(block), id="")


@pytest.mark.parametrize("given", [None, [], "path", '{"path": "f"}', 3, True])
def test_an_input_that_is_no_object_is_told_the_right_form(given):
    said = fault("read_file", given)
    assert "input must be an object" in said
    assert (
        '{"path": string, "limit": integer (optional), "offset": integer (optional), "byte_offset": integer (optional)}'
        in said
    )


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("read_file", {}, "path is missing"),
        ("read_file", {"file": "f"}, "there is no argument 'file'; path is missing"),
        ("read_file", {"path": 3}, "path must be of type string, not integer"),
        ("read_file", {"path": None}, "path must be of type string, not null"),
        ("read_file", {"path": ["f"]}, "path must be of type string, not array"),
        ("read_file", {"path": {"f": 1}}, "path must be of type string, not object"),
        ("read_file", {"path": "f", "limit": "two"}, "limit must be of type integer, not string"),
        ("read_file", {"path": "f", "limit": 1.5}, "limit must be of type integer, not number"),
        ("read_file", {"path": "f", "limit": True}, "limit must be of type integer, not boolean"),
        ("read_file", {"path": "f", "limit": float("nan")}, "limit must be of type integer"),
        ("read_file", {"path": "f", "limit": float("inf")}, "limit must be of type integer"),
        ("read_file", {"path": "f", "limit": "9" * 5000}, "limit must be of type integer"),
        ("edit_file", {"path": "f", "old_text": "a", "new_text": "b", "replace_all": "yes"}, "must be of type boolean"),
        ("edit_file", {"path": "f", "old_text": "a", "new_text": "b", "replace_all": 1}, "must be of type boolean"),
        (
            "write_file",
            {"path": "f", "content": None, "mode": 1},
            "of type string, not null; there is no argument 'mode'",
        ),
        ("bash", {"command": "true", "timeout": "soon"}, "timeout must be of type number, not string"),
        ("bash", {"command": "true", "timeout": 601}, "at most 600"),
        ("glob", {"pattern": "*", "path": "/"}, "there is no argument 'path'"),
    ],
)
def test_each_wrong_argument_is_named(workspace, name, given, said):
    assert said in fault(name, given)


def test_what_is_meant_well_is_taken(workspace):
    (workspace / "f").write_text("1\n2\n3\n")
    for limit in (2, 2.0, "2"):
        assert call("read_file", {"path": "f", "limit": limit, "offset": None})["content"].startswith("1\n2\n[")
    assert call("bash", {"command": "echo hi", "timeout": "9.5"})["content"].startswith("hi\n[exit status 0")
    edit = {"path": "f", "old_text": "1", "new_text": "2", "replace_all": None}
    assert "is_error" not in call("edit_file", edit)


# ---- handlers of others


def test_handlers_of_a_learner_are_checked_by_their_signature():
    def add(a, b=2, *, c=3):
        return a + b + c

    assert call("add", {"a": 1}, handlers={"add": add})["content"] == "6"
    assert "a is missing" in fault("add", {"b": 1}, handlers={"add": add})
    said = fault("add", {"a": 1, "d": 1}, handlers={"add": add})
    assert "there is no argument 'd'" in said
    assert '{"a": any, "b": any (optional), "c": any (optional)}' in said


def test_a_lambda_that_takes_anything_is_checked_by_the_schema():
    handlers = {"bash": lambda **kw: kw["command"]}
    assert call("bash", {"command": "x"}, handlers=handlers)["content"] == "x"
    assert "command is missing" in fault("bash", {"cmd": "x"}, handlers=handlers)
    assert "command is missing" in fault("bash", {}, handlers=handlers)
    assert call("other", {"x": 1}, handlers={"other": lambda **kw: kw})["content"] == '{"x": 1}'


def test_a_key_error_of_a_handler_is_not_an_unknown_tool():
    assert fault("f", {}, handlers={"f": lambda: {}["key"]}) == "f failed: KeyError: 'key'"


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    "error", [ValueError("no"), Unprintable(), RecursionError(), MemoryError(), OSError(2, "gone"), TypeError()]
)
def test_whatever_a_handler_raises_becomes_a_result(error):
    def broken():
        raise error

    result = call("f", {}, handlers={"f": broken})
    check_well_formed(result)
    assert type(error).__name__ in result["content"] or isinstance(error, OSError)


since_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no groups and no notes")


@since_3_11
def test_the_notes_of_an_error_stand_behind_its_message():
    def noted():
        error = ValueError("no such row")
        error.add_note("Rows begin at 1.")
        raise error

    assert fault("f", {}, handlers={"f": noted}) == "f failed: ValueError: no such row\nRows begin at 1."


@since_3_11
def test_a_group_of_errors_tells_each_of_them():
    group = builtins.ExceptionGroup

    def both():
        raise group("unhandled", [ValueError("a"), group("inner", [KeyError("b")])])

    said = fault("f", {}, handlers={"f": both})
    assert said.startswith(
        "f failed: ExceptionGroup: unhandled (2 sub-exceptions): ValueError: a; ExceptionGroup: inner"
    )
    assert said.endswith(": KeyError: 'b'")


def test_a_syntax_error_is_told_without_its_place_in_a_file():
    assert (
        fault("f", {}, handlers={"f": lambda: compile("1 +", "x", "eval")}) == "f failed: SyntaxError: invalid syntax"
    )


def test_a_tool_error_is_told_in_its_own_words():
    def refuse():
        raise ToolError("not today")

    assert fault("f", {}, handlers={"f": refuse}) == "not today"


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_passes_through(signal):
    def stop():
        raise signal

    with pytest.raises(signal):
        call("f", {}, handlers={"f": stop})


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        ("", "(no output)"),
        (None, "(done, no output)"),
        (3, "3"),
        (["a", 1], '["a", 1]'),
        ("half \ud83d", "half \\ud83d"),
        ("é😀", "é😀"),
    ],
)
def test_whatever_a_handler_returns_can_be_sent(returned, content):
    result = call("f", {}, handlers={"f": lambda: returned})
    check_well_formed(result)
    assert result["content"] == content


def test_a_result_that_is_too_long_is_cut_in_the_middle_and_says_so():
    content = call("f", {}, handlers={"f": lambda: "a" * MAX_RESULT_CHARACTERS + "b" * MAX_RESULT_CHARACTERS})[
        "content"
    ]
    assert content.startswith("a" * 100)
    assert content.endswith("b" * 100)
    assert f"truncated: {MAX_RESULT_CHARACTERS} of {2 * MAX_RESULT_CHARACTERS} characters" in content
    assert len(content) < MAX_RESULT_CHARACTERS + 100
    check_well_formed(call("f", {}, handlers={"f": lambda: "\ud800" * (MAX_RESULT_CHARACTERS // 6)}))


@pytest.mark.parametrize("function", [print, len, dict, "text".join, int])
def test_functions_written_in_c_work_or_fail_politely(function):
    for arguments in ({}, {"x": 1}, None):
        check_well_formed(call("f", arguments, handlers={"f": function}))


def test_a_handler_may_be_any_callable():
    @dataclasses.dataclass
    class Greeter:  # equal by value, so without a hash
        greeting: str

        def __call__(self, name):
            return f"{self.greeting} {name}"

    assert call("greet", {"name": "you"}, handlers={"greet": Greeter("hi")})["content"] == "hi you"


@pytest.mark.parametrize(
    "block", [{}, {"name": "bash"}, None, "tool_use", 3, {"id": 7, "name": "glob", "input": {"pattern": "*"}}]
)
def test_a_block_that_is_none_gets_a_result(workspace, block):
    check_well_formed(run_tool(block), id="")


# ---- anything a model can send

TEXT = st.text(max_size=30) | st.text(st.characters(categories=["Cs", "Cc", "Lu"]), max_size=5)
HOSTILE = st.sampled_from(
    [
        "..",
        "/",
        "a.txt",
        "sub",
        "pipe",
        "link",
        "~",
        "a\0b",
        "\ud800",
        "x" * 5000,
        "*",
        "**/*",
        "{a,b}",
        "../*",
        "9" * 400,
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | HOSTILE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = sorted({name for tool in TOOLS for name in tool["input_schema"]["properties"]} - {"command"})
INPUTS = JSON | st.dictionaries(st.sampled_from(ARGUMENTS) | TEXT, JSON, max_size=5)
COMMANDS = st.fixed_dictionaries(
    {"command": st.none() | st.integers() | st.just("a\0b") | st.just("\ud800") | st.just(" ")}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(list(TOOL_HANDLERS)) | JSON, arguments=INPUTS | COMMANDS)
def test_anything_that_a_model_can_send_gets_one_well_formed_result(workspace, name, arguments):
    (workspace / "a.txt").write_text("a")
    (workspace / "sub").mkdir(exist_ok=True)
    check_well_formed(call(name, arguments))


@st.composite
def near_misses(draw):
    """Calls that are nearly right: an argument is left out, added, or of another type."""
    tool = draw(st.sampled_from([tool for tool in TOOLS if tool["name"] != "bash"]))
    right = {"string": HOSTILE, "integer": st.integers(-2, 9) | st.just("2"), "boolean": st.booleans()}
    arguments = {
        name: draw(st.one_of(right[value["type"]], right[value["type"]], JSON))
        for name, value in tool["input_schema"]["properties"].items()
        if name in tool["input_schema"]["required"] or draw(st.booleans())
    }
    return tool["name"], arguments


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(near=near_misses())
def test_a_call_that_is_nearly_right_gets_one_well_formed_result(workspace, near):
    (workspace / "a.txt").write_text("a")
    (workspace / "sub").mkdir(exist_ok=True)
    if not (workspace / "link").is_symlink():
        (workspace / "link").symlink_to("..")
    check_well_formed(call(*near))


def test_every_json_type_has_a_python_type():
    assert set(TYPES) == {"string", "boolean", "integer", "number", "array", "object"}


def test_a_deeply_nested_input_is_answered():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for name in ("glob", deep):
        check_well_formed(call(name, {"pattern": deep}))
        check_well_formed(call(name, deep))
    while deep:  # else taking it apart would recurse
        deep = deep.pop()
