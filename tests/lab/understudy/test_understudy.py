"""The offline answerers: Scripted says its lines, Understudy works by rules with the tools that a request offers."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s02_tool_use import TOOL_HANDLERS, TOOLS, run_tool
from s02_tool_use.lab.api.rules import STRICT, validate
from s02_tool_use.lab.understudy.fix_test import failures_in
from s02_tool_use.lab.understudy.prompt import paths_in, speaks_chinese
from s02_tool_use.lab.understudy.reply import Scripted, Understudy

SAMPLE = Path(__file__).parents[3] / "s02_tool_use" / "lab" / "data" / "sample"
BASH = [tool for tool in TOOLS if tool["name"] == "bash"]
FILES = [tool for tool in TOOLS if tool["name"] != "bash"]


def tool(name, description="", required=("path",), **properties):
    properties = properties or {name: {"type": "string"} for name in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "input_schema": schema}


class Talk:
    """A conversation with the understudy in which its calls are really run."""

    def __init__(self, tools=TOOLS, handlers=TOOL_HANDLERS, **request):
        self.tools, self.handlers, self.more = tools, handlers, request
        self.messages, self.calls, self.results = [], [], []

    def say(self, prompt, most=40):
        """The final text of the answer to a prompt. `calls` and `results` hold what happened on the way."""
        self.messages.append({"role": "user", "content": prompt})
        self.calls, self.results = [], []
        for _ in range(most):
            content = self.step()
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return content[-1]["text"]
            results = [run_tool(call, self.handlers) for call in calls]
            self.calls += [(call["name"], call["input"]) for call in calls]
            self.results += [result["content"] for result in results]
            self.messages.append({"role": "user", "content": results})
        raise AssertionError(f"no end after {most} turns: {self.calls}")

    def step(self):
        request = {"model": "m", "max_tokens": 8000, "messages": self.messages, "tools": self.tools, **self.more}
        assert validate(request, STRICT) is None
        content = [dict(block) for block in Understudy().reply(json.loads(json.dumps(request)))["content"]]
        for number, block in enumerate(content):
            if block["type"] == "tool_use":
                block["id"] = f"toolu_{len(self.messages)}_{number}"
        self.messages.append({"role": "assistant", "content": content})
        return content


@pytest.fixture
def sample(workspace):
    """The workspace holds the sample project of the notebooks."""
    shutil.copytree(SAMPLE, workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return workspace


def run_test(folder, name="test_orders.py"):
    return subprocess.run([sys.executable, "-B", name], cwd=folder, capture_output=True, timeout=60).returncode


# Scripted


def reply_of(*lines):
    return Scripted(list(lines)).reply({"messages": []})


def test_a_line_is_a_text_a_block_a_list_or_a_dict():
    call = {"type": "tool_use", "name": "bash", "input": {"command": "ls"}}
    text = {"type": "text", "text": "Hi"}
    assert reply_of("Hi") == {"content": [text]}
    assert reply_of(call) == {"content": [call]}
    assert reply_of(["Hi", call]) == {"content": [text, call]}
    assert reply_of({"content": "Hi", "stop_reason": "pause_turn"}) == {"content": [text], "stop_reason": "pause_turn"}
    assert reply_of({"status": 429}) == {"status": 429, "content": []}


def test_a_line_may_be_an_object_of_the_sdk():
    from anthropic.types import TextBlock

    assert reply_of(TextBlock(type="text", text="Hi")) == {"content": [{"type": "text", "text": "Hi"}]}


def test_a_line_may_be_a_function_of_the_request():
    script = Scripted([lambda request: f"You said {request['messages'][-1]['content']}"])
    assert script.reply({"messages": [{"content": "tea"}]})["content"][0]["text"] == "You said tea"


def test_a_script_that_is_used_up_says_how_long_it_was():
    script = Scripted(["one", "two"])
    replies = [script.reply({}) for _ in range(4)]
    assert [reply.get("status") for reply in replies] == [None, None, 400, 400]
    said = "The script has 2 lines, and this was request 4. Add a line, or run connect(script=...) again."
    assert replies[3]["message"] == said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("Hello", "A script is a list of lines"),
        ([7], "line 1: 7 is neither a text nor a content block"),
        (["Hi", {"type": "tool_use", "input": {}}], "line 2: the tool_use block needs 'name'"),
        ([{"type": "text"}], "line 1: the text block needs 'text'"),
        ([[{"type": "tool_use", "name": "bash", "input": "ls"}]], "line 1: the input of a tool_use block is a dict"),
    ],
)
def test_a_line_that_cannot_be_sent_is_named_at_once(script, said):
    with pytest.raises((TypeError, ValueError), match="^.*" + said.replace("(", r"\(")):
        Scripted(script)


# What it does with the course's tools


def test_it_counts_files_from_what_the_tool_returned(sample):
    talk = Talk()
    assert talk.say("How many Python files are here?") == (
        "There are 3 Python files here: orders.py, report.py, test_orders.py."
    )
    assert talk.calls == [("glob", {"pattern": "**/*.py"})]


def test_with_bash_alone_it_uses_bash(sample):
    talk = Talk(BASH)
    assert talk.say("How many Python files are here?").startswith("There are 3 Python files here: ")
    assert talk.calls == [("bash", {"command": 'find . -name "*.py" | sort'})]
    assert "# Tea shop" in talk.say("What is in README.md?")
    assert talk.calls == [("bash", {"command": "cat README.md"})]


def test_without_tools_it_says_that_it_cannot_look():
    talk = Talk([])
    said = talk.say("How many Python files are here?")
    assert said == "I cannot look at your files: this request offers no tools. I would need one that lists files."


def test_tool_choice_none_counts_as_no_tools(sample):
    assert "offers no tools" in Talk(tool_choice={"type": "none"}).say("What is in README.md?")


def test_it_names_the_tool_that_is_missing():
    said = Talk([tool("glob", required=("pattern",))]).say("Write a file a.txt with the text hi")
    assert said == "I need a tool that writes files, and this request offers only: glob."


PROMPTS = [
    ("List the files", "- data/orders.csv"),
    ("Which files are in data?", "The files in data:\n- data/orders.csv"),
    ("What files are in this folder?", "- README.md"),
    ("Show me the files please.", "- report.py"),
    ("How many CSV files are there?", "There is 1 CSV file here: data/orders.csv."),
    ("How many test files do you see?", "There is 1 test file here: test_orders.py."),
    ("What is in README.md?", "README.md has 16 lines:\n# Tea shop"),
    ("Can you read data/orders.csv for me?", "李雷,龙井,250,14.00"),
    ("cat report.py", "report.py has 11 lines:"),
    ("README.md", "# Tea shop"),
    ("Show me the README", "# Tea shop"),
    ("Summarize orders.py", "It defines read_orders, subtotals, total."),
    ("What does orders.py do?", "Reads the shop's orders and computes what each customer pays."),
    ("What is this project about?", "README.md says: A tea shop keeps its orders in `data/orders.csv`."),
    ("How many lines does README.md have?", "README.md has 16 lines."),
    ("Count the lines of orders.py and report.py", "orders.py has 28 lines.\nreport.py has 11 lines."),
    ("Count the words of README.md", "README.md has 75 words."),
    ("Search for Zoë", "'Zoë' stands in 3 lines:\n"),
    ("Search for 'Zoë' in data/orders.csv", "'Zoë' stands in 2 lines:\n"),
    ("Which files mention Darjeeling?", "'Darjeeling' stands in 1 line:\ndata/orders.csv:2:"),
    ("Where is subtotals defined?", "orders.py:15:def subtotals(orders):"),
    ("Find 'no such words'", "'no such words' stands in no file here."),
    ("Where is orders.csv?", "Found: data/orders.csv."),
    ("Find all Python files", "- orders.py"),
    ("Run `echo 你好`", "`echo 你好` gave:\n你好"),
    ("run python report.py", "Zoë: 31.90"),
    ("Run report.py", "Zoë: 31.90"),
    ("Execute the command: echo one two", "`echo one two` gave:\none two"),
    ("Run `exit 3`", "`exit 3` failed:"),
    ("Run the tests", "4 of 5 tests passed"),
    ("Do the tests pass?", "FAIL test_an_order_of_exactly_50_ships_free"),
    ("Write a file hello.txt with the text Hello, world!", "Done. "),
    ("Replace '4.90' by '5.90' in orders.py", "Done: '4.90' is now '5.90' in orders.py."),
    ("In README.md, change Tea shop to Coffee shop", "Done: 'Tea shop' is now 'Coffee shop' in README.md."),
    ("Write hello.txt with the content 'Hi', then read it", "hello.txt has 1 line:\nHi"),
    ("列出文件", "- data/orders.csv"),
    ("这里有多少个 Python 文件？", "这里有 3 个 Python 文件：orders.py、report.py、test_orders.py。"),
    ("README.md里有什么？", "README.md 共 16 行：\n# Tea shop"),
    ("请读取README.md的内容", "# Tea shop"),
    ("README.md 有多少行？", "README.md 有 16 行。"),
    ("搜索“龙井”", "“龙井”出现在 1 行：\ndata/orders.csv:4:"),
    ("运行 `echo 你好`", "`echo 你好` 的结果：\n你好"),
    ("运行测试", "4 of 5 tests passed"),
    ("写一个文件 你好.txt，内容是“你好，世界”", "完成。"),
    ("写一个文件 hello.txt，内容是“你好，世界”，然后读取它", "你好，世界"),
    ("把 README.md 里的“Tea shop”改成“茶店”", "完成：README.md 里的“Tea shop”已改成“茶店”。"),
]


@pytest.mark.parametrize(("prompt", "part"), PROMPTS)
def test_it_understands(sample, prompt, part):
    assert part in Talk().say(prompt)


@pytest.mark.parametrize("tools", [BASH, FILES], ids=["bash alone", "file tools alone"])
@pytest.mark.parametrize("prompt", [prompt for prompt, _ in PROMPTS])
def test_with_fewer_tools_it_does_the_same_or_says_what_is_missing(sample, prompt, tools):
    part = dict(PROMPTS)[prompt].split("\n")[-1]
    talk = Talk(tools)
    said = talk.say(prompt)
    assert part in said or "tool that runs commands" in said or "能运行命令的工具" in said
    assert {name for name, _ in talk.calls} <= {tool["name"] for tool in tools}


def test_what_it_writes_is_what_was_asked_for(sample):
    Talk().say("Write a file hello.txt with the text Hello, world!")
    assert (sample / "hello.txt").read_text() == "Hello, world!"
    Talk(BASH).say("Create notes.txt containing 'it is $HOME, not `pwd`'")
    assert (sample / "notes.txt").read_text() == "it is $HOME, not `pwd`"
    Talk().say("Create an empty file empty.txt")
    assert (sample / "empty.txt").read_text() == ""


def test_two_files_are_read_in_one_turn(sample):
    talk = Talk()
    said = talk.say("Read README.md and report.py")
    assert [call["name"] for call in talk.messages[1]["content"] if call["type"] == "tool_use"] == ["read_file"] * 2
    assert "# Tea shop" in said
    assert "def lines():" in said


def test_two_different_things_to_look_at_are_asked_for_in_one_turn(sample):
    talk = Talk()
    said = talk.say("Count the lines of orders.py and what is in README.md?")
    assert len(talk.messages) == 4
    assert "orders.py has 28 lines." in said
    assert "# Tea shop" in said


def test_disable_parallel_tool_use_is_respected(sample):
    talk = Talk(tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    said = talk.say("Read README.md and report.py")
    assert len(talk.messages) == 6
    assert "# Tea shop" in said
    assert "def lines():" in said


def test_one_thing_after_the_other_when_then_stands_between(sample):
    talk = Talk()
    talk.say("Write a.txt with the text 'now and then', then read it and then count the lines of README.md")
    assert [name for name, _ in talk.calls] == ["write_file", "read_file", "bash"]
    assert (sample / "a.txt").read_text() == "now and then"


def test_a_then_inside_a_text_starts_nothing_new(sample):
    Talk().say("Write a.txt with the text tea now and then")
    assert (sample / "a.txt").read_text() == "tea now and then"


def test_it_means_the_file_of_the_question_before(sample):
    talk = Talk()
    talk.say("How many lines does report.py have?")
    assert "def lines():" in talk.say("Show it")


# Errors, and other ways


def test_a_file_that_is_not_there_is_looked_for_elsewhere(sample):
    talk = Talk()
    assert "data/orders.csv has 7 lines" in talk.say("Read orders.csv")
    assert [name for name, _ in talk.calls] == ["read_file", "glob", "read_file"]


def test_a_file_that_is_nowhere_is_said_plainly(sample):
    said = Talk().say("Read the file no_such_file.txt")
    assert said.startswith("I could not read no_such_file.txt: ")
    assert "No such file" in Talk(BASH).say("Read the file no_such_file.txt")


def test_a_text_that_stands_there_twice_is_replaced_everywhere(sample):
    talk = Talk()
    assert talk.say("Replace 'Zoë' by 'Zoe' in data/orders.csv").startswith("Done: ")
    assert [call["replace_all"] for name, call in talk.calls if "replace_all" in call] == [True]
    assert "Zoë" not in (sample / "data" / "orders.csv").read_text(encoding="utf-8")


def test_a_text_that_is_not_there_is_said_with_what_is(sample):
    said = Talk().say("Replace 'coffee' by 'tea' in README.md")
    assert "README.md was not changed: " in said
    assert "'coffee' stands in it 0 times." in said


def test_a_refusal_by_the_user_ends_it(sample):
    talk = Talk()
    talk.messages = [{"role": "user", "content": "Run `ls`"}]
    (_, call) = talk.step()
    result = {"type": "tool_result", "tool_use_id": call["id"], "is_error": True}
    talk.messages.append({"role": "user", "content": [{**result, "content": "The user did not allow this call."}]})
    assert talk.step() == [{"type": "text", "text": "You did not allow bash, so I stop here."}]


def test_a_call_that_was_not_run_is_made_again_but_not_for_ever(sample):
    talk = Talk()
    talk.messages = [{"role": "user", "content": "What is in README.md?"}]
    for _ in range(4):
        call = talk.step()[-1]
        assert call["name"] == "read_file"
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "Not run: cut off", "is_error": True}
        talk.messages.append({"role": "user", "content": [result]})
    assert talk.step() == [{"type": "text", "text": "read_file failed: Not run: cut off"}]


def test_continue_goes_on_with_what_was_asked_before(sample):
    talk = Talk()
    talk.messages = [{"role": "user", "content": "What is in README.md?"}]
    call = talk.step()[-1]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "(cancelled)", "is_error": True}
    talk.messages.append({"role": "user", "content": [result, {"type": "text", "text": "Continue."}]})
    assert talk.step()[-1]["input"] == {"path": "README.md"}


def test_its_answer_is_made_from_the_result_it_was_given():
    talk = Talk()
    talk.messages = [{"role": "user", "content": "How many Python files are here?"}]
    call = talk.step()[-1]
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": "x.py"}]}
    talk.messages.append({"role": "user", "content": [result]})
    assert talk.step()[-1]["text"] == "There is 1 Python file here: x.py."


@pytest.mark.parametrize("prompt", ["What is in README.md?", "Read README.md and report.py"])
def test_a_result_of_a_call_it_did_not_make_is_told(prompt):
    call = {"type": "tool_use", "id": "toolu_A", "name": "get_time", "input": {}}
    talk = Talk([*TOOLS, tool("get_time", required=())])
    talk.messages = [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_A", "content": "12:00"}]},
    ]
    assert talk.step()[-1]["text"] == "get_time gave: 12:00"


@pytest.mark.parametrize(
    "prompt",
    ["List the files", "Where is a.txt?", "What is this project about?", "Search for tea", "Fix the failing test"],
)
def test_a_listing_that_failed_is_no_empty_folder(prompt):
    def broken(pattern):
        raise ValueError("not today")

    said = Talk(FILES, {**TOOL_HANDLERS, "glob": broken}).say(prompt)
    assert said.startswith("I could not list the files: ")
    assert "not today" in said


def test_a_search_that_could_not_read_a_file_says_which(sample):
    (sample / "tea.bin.txt").write_bytes(b"\xff\x00tea")
    said = Talk(FILES).say("Search for 'coffee'")
    assert said == "'coffee' stands in no file here.\nNot read: tea.bin.txt"


@pytest.mark.parametrize(
    "prompt",
    [
        "Don't write a.txt with the text 'hi'",
        "Do not run `rm README.md`",
        "Please don’t replace 'tea' by 'coffee' in README.md",
        "Do not fix the failing test",
        "不要运行 `rm README.md`",
    ],
)
def test_what_it_is_told_not_to_do_it_does_not_do(sample, prompt):
    def contents():
        return {path: path.read_bytes() for path in sample.rglob("*") if path.is_file()}

    before = contents()
    Talk().say(prompt)
    assert contents() == before


# Tools of the learner's


def test_a_tool_of_the_learner_s_is_used_for_what_its_name_says(sample):
    count_words = tool("count_words", "Count the words of a text file.")
    handlers = {**TOOL_HANDLERS, "count_words": lambda path: str(len((sample / path).read_text().split()))}
    talk = Talk([*TOOLS, count_words], handlers)
    assert talk.say("Count the words of README.md") == "README.md has 75 words."
    assert talk.say("How many words are in README.md?") == "README.md has 75 words."
    assert talk.calls == [("count_words", {"path": "README.md"})]


def test_its_optional_argument_is_filled_from_the_prompt(sample):
    properties = {"path": {"type": "string"}, "pattern": {"type": "string"}}
    count_lines = tool("count_lines", "Count the lines of a text file.", **properties)
    talk = Talk([*TOOLS, count_lines], {**TOOL_HANDLERS, "count_lines": lambda path, pattern="": f"{path}|{pattern}"})
    talk.say("Count the lines of data/orders.csv that contain Zoë")
    assert talk.calls == [("count_lines", {"path": "data/orders.csv", "pattern": "Zoë"})]
    talk.say("Use count_lines on README.md")
    assert talk.calls == [("count_lines", {"path": "README.md"})]


def test_a_tool_of_the_learner_s_that_fails_is_replaced_by_another_way(sample):
    def broken(path):
        raise ValueError("not today")

    talk = Talk([*TOOLS, tool("count_lines")], {**TOOL_HANDLERS, "count_lines": broken})
    assert talk.say("How many lines does README.md have?") == "README.md has 16 lines."
    assert [name for name, _ in talk.calls] == ["count_lines", "bash"]


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


NESTED = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 3, "maximum": 5},
        "share": {"type": "number", "exclusiveMaximum": 1},
        "when": {"type": "string", "format": "date"},
        "code": {"type": "string", "minLength": 20, "maxLength": 22},
        "kind": {"anyOf": [{"type": "null"}, {"const": "tea"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
        "owner": {"allOf": [{"$ref": "#/$defs/Owner"}]},
        "old": {"type": ["null", "boolean"]},
        "rest": {"type": "null"},
        "free": True,
    },
    "$defs": {"Owner": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    "additionalProperties": False,
}
NESTED["required"] = list(NESTED["properties"])


def test_forced_arguments_fit_the_schema():
    talk = Talk([{"name": "order", "input_schema": NESTED}], tool_choice={"type": "any"})
    talk.messages = [{"role": "user", "content": "Hello"}]
    jsonschema.Draft202012Validator(NESTED).validate(talk.step()[-1]["input"])


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
    offered = [tools[number]]
    talk = Talk(offered)
    talk.messages = [{"role": "user", "content": prompt}]
    (call,) = [block for block in talk.step() if block["type"] == "tool_use"]
    assert call["name"] == offered[0]["name"]
    assert set(call["input"]) == set(offered[0]["input_schema"]["required"])
    assert "" not in call["input"].values()


def test_the_course_s_tools_under_other_names_are_used_too(sample):
    renamed = [tool("run_read"), tool("run_glob", required=("pattern",))]
    handlers = {"run_read": TOOL_HANDLERS["read_file"], "run_glob": TOOL_HANDLERS["glob"]}
    talk = Talk(renamed, handlers)
    assert "# Tea shop" in talk.say("What is in README.md?")
    assert "3 Python files" in talk.say("How many Python files are here?")


# Talk


@pytest.mark.parametrize(
    "prompt", ["Who are you?", "Are you a language model?", "What is 2 + 2?", "Hello!", "你是谁？", "你好"]
)
def test_it_never_claims_to_be_a_model(prompt):
    said = Talk().say(prompt)
    assert "not a language model" in said or "不是语言模型" in said


def test_it_says_what_it_can_do_with_the_tools_that_are_offered():
    assert "- What is in README.md?" in Talk([tool("read_file")]).say("What can you do?")
    assert "Run `ls`" not in Talk([tool("read_file")]).say("What can you do?")
    assert "count_lines" in Talk([tool("count_lines")]).say("Please sing")


def test_it_remembers_nothing_and_repeats_itself_exactly(sample):
    assert Talk().say("List the files") == Talk().say("List the files")


WORDS = """read write a.txt README.md run the tests fix failing replace 'x' by "y" in count lines words of how many
Python files search for then and it `ls` list what is please continue with text containing weather Paris count_words
读取 写 文件 内容是 然后 把 改成 多少 行 搜索 运行 测试 “你好”
grep hello thanks 3 4.5 , . ? ： 。 ' ` \\ [ ( *""".replace("\n", " ")
SCHEMAS = [
    {"type": "object"},
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": ["integer", "null"]}},
        "required": ["path"],
    },
    {"type": "object", "properties": {"unit": {"enum": ["a", 3]}, "x": True, "flag": {"type": "boolean"}}},
    {
        "type": "object",
        "properties": {"q": {"anyOf": [{"type": "string"}]}, "l": {"type": "array"}},
        "required": ["q", "l"],
    },
]
RESULTS = ["ok", "a.py\nb.txt", "Error: no", "(cancelled)", "FAIL test_a: expected 1, got 2", "[exit status 1]", "5"]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(data=st.data())
def test_whatever_is_asked_it_calls_only_what_is_offered_and_comes_to_an_end(data):
    draw = data.draw
    offered = draw(st.lists(st.sampled_from(TOOLS), unique_by=lambda one: one["name"]))
    for name in draw(st.lists(st.sampled_from(["grep", "count_words", "get_weather", "use"]), unique=True)):
        offered.append({"name": name, "description": "Get the weather", "input_schema": draw(st.sampled_from(SCHEMAS))})
    required = {one["name"]: set(one["input_schema"].get("required", ())) for one in offered}
    messages = [
        {"role": "user", "content": "Now: " + " ".join(draw(st.lists(st.sampled_from(WORDS.split(" ")), max_size=14)))}
    ]
    for turn in range(40):
        content = Understudy().reply({"model": "m", "messages": messages, "tools": offered})["content"]
        calls = [{**block, "id": f"toolu_{turn}_{n}"} for n, block in enumerate(content) if block["type"] == "tool_use"]
        assert all(required[call["name"]] <= set(call["input"]) for call in calls)
        if not calls:
            assert content[-1]["text"].strip()
            return
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": draw(st.sampled_from(RESULTS))} | is_error
            for call in calls
            for is_error in [{"is_error": True} if draw(st.booleans()) else {}]
        ]
        messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    raise AssertionError(f"no end: {messages[0]}")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(data=st.data())
def test_whatever_is_asked_tool_choice_is_obeyed(data):
    draw = data.draw
    offered = draw(st.lists(st.sampled_from(TOOLS), unique_by=lambda one: one["name"], min_size=1))
    offered.append({"name": "use", "description": "Get the weather", "input_schema": draw(st.sampled_from(SCHEMAS))})
    names = [one["name"] for one in offered]
    messages = [{"role": "user", "content": " ".join(draw(st.lists(st.sampled_from(WORDS.split(" ")), max_size=14)))}]
    for turn in range(3):
        kind, alone = draw(st.sampled_from(["none", "auto", "any", "tool"])), draw(st.booleans())
        choice = {"type": kind} | ({"disable_parallel_tool_use": alone} if kind != "none" else {})
        choice |= {"name": draw(st.sampled_from(names))} if kind == "tool" else {}
        request = {"model": "m", "messages": messages, "tools": offered, "tool_choice": choice}
        content = Understudy().reply(request)["content"]
        calls = [{**block, "id": f"toolu_{turn}_{n}"} for n, block in enumerate(content) if block["type"] == "tool_use"]
        assert {call["name"] for call in calls} <= ({choice["name"]} if kind == "tool" else set(names))
        assert bool(calls) if kind in ("any", "tool") else not (calls and kind == "none")
        assert len(content) == len(calls) or kind in ("none", "auto")
        assert len(calls) <= 1 or not alone
        results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"} for call in calls]
        messages = [*messages, {"role": "assistant", "content": calls or content}]
        messages.append({"role": "user", "content": results or "Go on: List the files"})


@pytest.mark.parametrize("piece", ["-", "a/", "then ", "replace ", "what ", "项目", "' '", "test ", "read a.txt and "])
def test_a_very_long_prompt_takes_seconds_and_no_hours(piece):
    start = time.thread_time()
    Understudy().reply({"messages": [{"role": "user", "content": piece * (60_000 // len(piece))}], "tools": TOOLS})
    assert time.thread_time() - start < 20


# Fixing a failing test


def test_the_bug_of_the_sample_is_fixed_by_rule_and_evidence(sample):
    talk = Talk()
    said = talk.say("Fix the failing test.")
    assert run_test(sample) == 0
    assert len(talk.calls) <= 8
    assert "I changed `if subtotal > FREE_SHIPPING_FROM:` to `if subtotal >= FREE_SHIPPING_FROM:`" in said
    assert 'README.md says: "An order of 50.00 or more ships free."' in said
    assert "5 of 5 tests passed" in said


@pytest.mark.parametrize("tools", [BASH, [t for t in TOOLS if t["name"] in ("bash", "read_file", "write_file")]])
def test_the_bug_of_the_sample_is_fixed_with_fewer_tools(sample, tools):
    Talk(tools).say("修复失败的测试")
    assert run_test(sample) == 0


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
    folder = project(bug)
    said = Talk().say("Fix the failing test")
    assert "Still failing: test_" in said
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
    Talk().say("Fix the failing test")
    assert "age <= 12" in (folder / "rules.py").read_text()


def test_two_bugs_are_fixed_one_after_the_other(project):
    folder = project(("age <= 12", "age < 12"), ("kilograms * 1000", "kilograms * 100"))
    said = Talk().say("Fix the failing tests")
    assert run_test(folder, "test_rules.py") == 0
    assert said.count("I changed") == 2


def test_a_line_that_stands_there_twice_is_changed_where_it_is_wrong(workspace):
    source = "def first(a):\n    return a > 1\n\n\ndef second(a):\n    return a > 1\n"
    (workspace / "rules.py").write_text(source)
    (workspace / "test_rules.py").write_text("from rules import second\n\n\ndef test_second():\n    assert second(1)\n")
    Talk().say("Fix the failing test")
    assert (workspace / "rules.py").read_text() == source[:-3] + "= 1\n"


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
    assert talk.say("Fix the failing test").startswith("I cannot read what `python3 test_rules.py` said:")
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


# Words


def test_file_names_are_found_in_a_text():
    assert paths_in("Read README.md, data/orders.csv and `名单.txt`, e.g. version 3.11 or http://a.b/c.html.") == [
        "README.md",
        "data/orders.csv",
        "名单.txt",
    ]
    assert paths_in("请读取README.md的内容") == ["README.md"]
    assert paths_in("Show me ./orders.py's tests") == ["orders.py"]
    assert paths_in("Replace '4.90' by '5.90'") == []


def test_the_language_is_that_of_the_words_around_names_and_quotations():
    assert speaks_chinese("README.md 里有什么？")
    assert speaks_chinese("`ls` 是什么")
    assert not speaks_chinese("Search for 龙井")
    assert not speaks_chinese("")
