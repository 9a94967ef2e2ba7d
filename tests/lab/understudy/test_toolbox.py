"""The understudy with tools of the learner's, with tools of other names, and with a tool that is forced."""

import json

import pytest
from talk import BASH, Talk, tool

from s02_tool_use import TOOL_HANDLERS, TOOLS
from s02_tool_use.lab.understudy import Understudy
from s02_tool_use.lab.understudy.toolbox import Result, failed, output


def test_a_tool_of_the_learner_s_is_used_for_what_its_name_says(sample):
    count_words = tool("count_words", "Count the words of a text file.")
    handlers = {**TOOL_HANDLERS, "count_words": lambda path: str(len((sample / path).read_text().split()))}
    talk = Talk([*TOOLS, count_words], handlers)
    assert talk.say("Count the words of README.md") == "README.md has 75 words."
    assert talk.say("How many words are in README.md?") == "README.md has 75 words."
    assert talk.calls == [("count_words", {"path": "README.md"})]


def test_a_tool_that_waits_for_a_search_is_not_called_until_it_is_found(sample):
    waiting = {**tool("count_words", "Count the words of a text file."), "defer_loading": True}
    find = tool("find_tools", "Find a tool.", required=("words",))
    asked = {"role": "user", "content": "Count the words of README.md"}
    request = {"model": "m", "max_tokens": 100, "tools": [find, waiting], "messages": [asked]}
    assert "count_words" not in str(Understudy().reply(request)["content"])
    search = {"type": "tool_use", "id": "toolu_01", "name": "find_tools", "input": {"words": "count"}}
    found = [{"type": "tool_reference", "tool_name": "count_words"}]
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": found}
    said = [{"role": "assistant", "content": [search]}, {"role": "user", "content": [result]}]
    reply = Understudy().reply({**request, "messages": [asked, *said, asked]})
    assert [block["name"] for block in reply["content"] if block["type"] == "tool_use"] == ["count_words"]


def test_its_optional_argument_is_filled_from_the_prompt(sample):
    properties = {"path": {"type": "string"}, "pattern": {"type": "string"}}
    count_lines = tool("count_lines", "Count the lines of a text file.", **properties)
    talk = Talk([*TOOLS, count_lines], {**TOOL_HANDLERS, "count_lines": lambda path, pattern="": f"{path}|{pattern}"})
    talk.say("Count the lines of data/orders.csv that contain Zoë")
    assert talk.calls == [("count_lines", {"path": "data/orders.csv", "pattern": "Zoë"})]
    talk.say("Use count_lines on README.md")
    assert talk.calls == [("count_lines", {"path": "README.md"})]


def test_a_tool_of_the_learner_s_that_fails_is_said_to_have_failed(sample):
    def broken(path):
        raise ValueError("not today")

    talk = Talk([*TOOLS, tool("count_lines")], {**TOOL_HANDLERS, "count_lines": broken})
    said = talk.say("How many lines does README.md have?")
    assert said.startswith("I could not count README.md: ")
    assert "not today" in said


def test_a_search_tool_is_preferred_to_bash(sample):
    grep = tool("grep", "Search for a pattern in all files.", required=("pattern",))
    talk = Talk([*TOOLS, grep], {**TOOL_HANDLERS, "grep": lambda pattern: f"a.txt:1:{pattern}"})
    assert talk.say("Search for tea") == "'tea' stands in 1 line:\na.txt:1:tea"


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ("What is the weather in Paris?", {"city": "Paris"}),
        ("Tell me the weather for New York.", {"city": "New York"}),
        ("get_weather city=Berlin", {"city": "Berlin"}),
        ('What is the weather in "São Paulo" in fahrenheit?', {"city": "São Paulo", "unit": "fahrenheit"}),
    ],
)
def test_a_tool_is_found_by_its_description_and_filled_from_the_words(prompt, arguments):
    unit = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    weather = tool("get_weather", "Get the weather of a city.", ("city",), city={"type": "string"}, unit=unit)
    talk = Talk([*TOOLS, weather], {**TOOL_HANDLERS, "get_weather": lambda city, unit="celsius": "sunny"})
    assert talk.say(prompt) == "get_weather gave: sunny"
    assert talk.calls == [("get_weather", arguments)]


def test_numbers_and_paths_reach_a_tool_of_the_learner_s():
    head = tool("head", "Show the first lines.", ("path", "n"), path={"type": "string"}, n={"type": "integer"})
    talk = Talk([head], {"head": lambda path, n: "one"})
    talk.say("Use head to show 3 lines of a.txt")
    assert talk.calls == [("head", {"path": "a.txt", "n": 3})]


def test_an_argument_that_is_not_in_the_prompt_is_named():
    said = Talk([tool("count_lines", "Count the lines of a file.")]).say("Use count_lines")
    assert said == "The tool count_lines needs path, and I found no value for it in your message."


NOTE = tool("note", "Take a note.", ("text",))
COUNTED = tool(
    "pick", "Pick.", ("n", "kind", "all"), n={"type": "integer"}, kind={"enum": ["a", "b"]}, all={"type": "array"}
)


@pytest.mark.parametrize(
    ("prompt", "tools", "choice", "calls"),
    [
        ("Hello there", [NOTE], {"type": "any"}, [("note", {"text": "there"})]),
        ("Hello there", [*TOOLS, NOTE], {"type": "tool", "name": "note"}, [("note", {"text": "there"})]),
        ("Hello there", [COUNTED], {"type": "any"}, [("pick", {"n": 1, "kind": "a", "all": []})]),
        ("What is in a.txt?", TOOLS, {"type": "any"}, [("read_file", {"path": "a.txt"})]),
        ("What is in a.txt?", TOOLS, {"type": "tool", "name": "bash"}, [("bash", {"command": "cat a.txt"})]),
        ("Count the lines of a.txt", TOOLS, {"type": "tool", "name": "read_file"}, [("read_file", {"path": "a.txt"})]),
        ("Find a.txt", TOOLS, {"type": "tool", "name": "glob"}, [("glob", {"pattern": "**/a.txt"})]),
        ("List *.txt", TOOLS, {"type": "tool", "name": "glob"}, [("glob", {"pattern": "**/*.txt"})]),
        (
            "Hello there",
            [tool("sh2", "Executes a shell command.", ("cmd",))],
            {"type": "any"},
            [("sh2", {"cmd": "echo 'Hello there'"})],
        ),
        ("What does > do?", TOOLS, {"type": "tool", "name": "bash"}, [("bash", {"command": "echo 'What does > do?'"})]),
        (
            "Read a.txt and b.txt",
            TOOLS,
            {"type": "any", "disable_parallel_tool_use": True},
            [("read_file", {"path": "a.txt"})],
        ),
    ],
)
def test_a_forced_tool_is_called_in_each_reply_and_without_a_word_before(prompt, tools, choice, calls):
    talk = Talk(tools, tool_choice=choice)
    talk.messages = [{"role": "user", "content": prompt}]
    for _ in range(3):
        content = talk.step()
        assert {block["type"] for block in content} == {"tool_use"}
        if len(talk.messages) == 2:
            assert [(block["name"], block["input"]) for block in content] == calls
        assert all(block["name"] == choice.get("name", block["name"]) for block in content)
        results = [{"type": "tool_result", "tool_use_id": block["id"], "content": "ok"} for block in content]
        talk.messages.append({"role": "user", "content": results})


def test_an_answer_in_a_form_that_was_asked_for_has_that_form(sample):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}}
    form = {"type": "json_schema", "schema": {**schema, "required": ["n", "text"], "additionalProperties": False}}
    said = json.loads(Talk(output_config={"format": form}).say("How many Python files are here?"))
    assert said == {"n": 3, "text": "There are 3 Python files here: orders.py, report.py, test_orders.py."}


def test_thinking_that_was_asked_for_says_that_nobody_thinks(sample):
    talk = Talk(thinking={"type": "enabled", "budget_tokens": 1024})
    talk.messages = [{"role": "user", "content": "Hello"}]
    thought, text = talk.step()
    assert thought == {"type": "thinking", "thinking": "(No model thinks here: the understudy follows rules.)"}
    assert text["type"] == "text"


OTHER_NAMES = {
    "a coding agent's": [
        tool("Bash", "", ("command",)),
        tool("Read", "", ("file_path",)),
        tool("Write", "", ("file_path", "content")),
        tool("Edit", "", ("file_path", "old_string", "new_string")),
        tool("Glob", "", ("pattern",)),
    ],
    "an MCP server's": [
        tool("mcp__os__execute_command", "", ("command",)),
        tool("mcp__fs__read_text_file", "", ("path",)),
        tool("mcp__fs__write_file", "", ("path", "content")),
        tool("mcp__fs__edit", "", ("path", "old", "new")),
        tool("mcp__fs__find_files", "", ("pattern",)),
    ],
    "known by what is said of them": [
        tool("sh2", "Executes a shell command.", ("cmd",)),
        tool("peek", "Reads a file.", ("filename",)),
        tool("put", "Create a file, or write it again.", ("filename", "text")),
        tool("swap", "Replaces a text in a file.", ("filename", "old", "new")),
        tool("look", "Find the files that a pattern names.", ("glob",)),
    ],
}


@pytest.mark.parametrize("tools", OTHER_NAMES.values(), ids=OTHER_NAMES)
@pytest.mark.parametrize(
    ("number", "prompt"),
    [
        (0, "Run `ls`"),
        (1, "Read README.md"),
        (2, "Write a file a.txt with the text hi"),
        (3, "Replace 'tea' by 'coffee' in README.md"),
        (4, "List the files"),
    ],
)
def test_a_tool_of_another_name_is_known_for_what_it_does(tools, number, prompt):
    wanted = tools[number]
    for offered in ([wanted], tools):
        talk = Talk(offered)
        talk.messages = [{"role": "user", "content": prompt}]
        (call,) = [block for block in talk.step() if block["type"] == "tool_use"]
        assert call["name"] == wanted["name"]
        assert set(call["input"]) == set(wanted["input_schema"]["required"])
        assert "" not in call["input"].values()


EDITOR = tool(
    "str_replace_based_edit_tool",
    "Custom tool for viewing, creating and editing files.",
    ("command", "path"),
    command={"enum": ["view", "create", "str_replace", "insert"]},
    **{name: {"type": "string"} for name in ("path", "file_text", "old_str", "new_str")},
)
BUILT_IN = [{"type": "bash_20250124", "name": "bash"}, {"type": "text_editor_20250728", "name": EDITOR["name"]}]
TEXTS, FLAG = {"type": "array", "items": {"type": "string"}}, {"type": "boolean"}
PATH, OLD, NEW = {"description": "The path"}, {"description": "The old text"}, {"description": "The new text"}
PUZZLES = [  # nothing in their names
    tool("zap", "Runs it in the shell.", "x", x={"type": "string", "description": "The command"}),
    tool("ink", "Puts it into a file.", "ab", a={"description": "The content"}, b=PATH),
    tool("mix", "Exchanges one for another.", "abc", a=PATH, b=OLD, c=NEW),
]
READ, WRITE, SWAP = "Read a.txt", "Write a file a.txt with the text hi", "Replace 'tea' by 'mate' in a.txt"


@pytest.mark.parametrize(
    ("tools", "prompt", "arguments"),
    [
        ([EDITOR], READ, {"command": "view", "path": "a.txt"}),
        ([EDITOR], WRITE, {"command": "create", "path": "a.txt", "file_text": "hi"}),
        ([EDITOR], SWAP, {"command": "str_replace", "path": "a.txt", "old_str": "tea", "new_str": "mate"}),
        (BUILT_IN, READ, {"command": "view", "path": "a.txt"}),
        (BUILT_IN, "Run `ls`", {"command": "ls"}),
        ([tool("shell", command=TEXTS, required=("command",))], "Run `ls`", {"command": ["bash", "-c", "ls"]}),
        (
            [tool("run_in_terminal", command={}, isBackground=FLAG, required=("command", "isBackground"))],
            "Run `ls`",
            {"command": "ls", "isBackground": False},
        ),
        ([tool("replaceInFile", required=("filePath", "oldString", "newString"))], SWAP,
         {"filePath": "a.txt", "oldString": "tea", "newString": "mate"}),
        ([tool("search_files", "Search for files by a pattern.", ("path", "pattern"))], "List *.txt",
         {"path": ".", "pattern": "**/*.txt"}),
        ([tool("list_directory", "List a directory.")], "List the files", {"path": "."}),
        ([tool("Grep", "Content search.", ("pattern",), pattern={}, output_mode={"enum": ["count", "content"]})],
         "Search for 'tea'", {"pattern": "tea", "output_mode": "content"}),
        (PUZZLES, "Run `ls`", {"x": "ls"}),
        (PUZZLES, WRITE, {"b": "a.txt", "a": "hi"}),
        (PUZZLES, SWAP, {"a": "a.txt", "b": "tea", "c": "mate"}),
    ],
)  # fmt: skip
def test_a_tool_is_known_by_its_schema_and_what_it_says(tools, prompt, arguments):
    talk = Talk(tools)
    talk.messages = [{"role": "user", "content": prompt}]
    (call,) = [block for block in talk.step() if block["type"] == "tool_use"]
    assert call["input"] == arguments


def test_a_search_for_names_is_no_search_in_files():
    talk = Talk([tool("search_files", "Search for files by a pattern.", ("path", "pattern"))])
    assert talk.say("Search for 'tea'").startswith("I need a tool that searches files")


def test_what_is_said_of_a_tool_after_its_first_sentence_does_not_count(sample):
    remove = tool("remove", "Deletes it for good. Reads no file before.")
    talk = Talk([*BASH, remove])
    assert "# Tea shop" in talk.say("What is in README.md?")
    assert [name for name, _ in talk.calls] == ["bash"]


def test_the_course_s_tools_under_other_names_are_used_too(sample):
    renamed = [tool("run_read"), tool("run_glob", required=("pattern",))]
    handlers = {"run_read": TOOL_HANDLERS["read_file"], "run_glob": TOOL_HANDLERS["glob"]}
    talk = Talk(renamed, handlers)
    assert "# Tea shop" in talk.say("What is in README.md?")
    assert "3 Python files" in talk.say("How many Python files are here?")


@pytest.mark.parametrize(
    ("description", "start", "said"),
    [
        ("Reads a file, in the format of cat -n.", 1, "a.txt has 2 lines:\n7\tgreen\n8\tblack"),
        ("Reads a file. Results have line numbers.", 4, "a.txt has 2 lines:\n7\tgreen\n8\tblack"),
        ("Reads a file.", 1, "a.txt has 2 lines:\n1\t7\tgreen\n2\t8\tblack"),
    ],
)
def test_the_line_numbers_that_a_tool_says_it_adds_are_no_part_of_the_file(description, start, said):
    numbered = f"{start}\t7\tgreen\n{start + 1}\t8\tblack"
    talk = Talk([tool("Read", description)], {"Read": lambda path: numbered})
    assert talk.say("What is in a.txt?") == said


def test_a_file_whose_lines_only_begin_with_numbers_stays_as_it_is():
    talk = Talk([tool("Read", "Reads a file, with line numbers.")], {"Read": lambda path: "7\tgreen\n9\tblack"})
    assert talk.say("What is in a.txt?") == "a.txt has 2 lines:\n7\tgreen\n9\tblack"


NOTE = "; there is no bash here, so this ran in cmd.exe]"


@pytest.mark.parametrize(
    ("result", "said", "is_fault"),
    [
        (f"5 of 5 tests passed\n[exit status 0{NOTE}", "5 of 5 tests passed", False),
        (f"no\n[exit status 1{NOTE}", "no", True),
        ("no\n[exit status 137, as after signal 9 (SIGKILL)]", "no", True),
        ("ok\n[exit status 0; not confined: no bubblewrap (it said: [x]): bash can reach all]", "ok", False),
        (f"[exit status 0{NOTE}", "", False),
        (f"FIND: Parameter format not correct\n[exit status 0{NOTE}", "FIND: Parameter format not correct", True),
        (f"File not found - *.PY\n[exit status 0{NOTE}", "File not found - *.PY", True),
        ("exit 3, or so it is said", "exit 3, or so it is said", False),
    ],
)
def test_the_status_of_a_command_is_read_whatever_note_stands_beside_it(result, said, is_fault):
    assert output(result) == said
    assert failed(Result(result)) is is_fault
