"""The understudy answers from what was asked, the tools that are offered and the results that came."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talk import BASH, FILES, Talk, tool

from s02_tool_use import TOOL_HANDLERS, TOOLS
from s02_tool_use.lab.understudy import Understudy


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
    ("Tell me about this repo", "README.md says: A tea shop keeps its orders in `data/orders.csv`."),
    ("What files are in this project?", "- report.py"),
    ("How many lines does README.md have?", "README.md has 16 lines."),
    ("Count the lines of orders.py and report.py", "orders.py has 28 lines.\nreport.py has 11 lines."),
    ("Count the words of README.md", "README.md has 75 words."),
    ("Search for Zoë", "'Zoë' stands in 3 lines:\n"),
    ("Search for 'Zoë' in data/orders.csv", "'Zoë' stands in 2 lines:\n"),
    ("Which files mention Darjeeling?", "'Darjeeling' stands in 1 line:\ndata/orders.csv:2:"),
    ("Where is subtotals defined?", "orders.py:15:def subtotals(orders):"),
    ("Find 'no such words'", "'no such words' stands in no file here."),
    ("Where is orders.csv?", "Found: data/orders.csv."),
    ("Can you find the files `orders.csv` and README?", "Found: data/orders.csv.\nFound: README.md."),
    ("Where's nothing.txt?", "There is no nothing.txt here."),
    ("Where is orders.csv mentioned?", "README.md:3:A tea shop keeps its orders in `data/orders.csv`."),
    ("Where is subtotals in orders.py?", "orders.py:15:def subtotals(orders):"),
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
    ("In README.md, change 'Tea shop' to 'Coffee shop'", "Done: 'Tea shop' is now 'Coffee shop' in README.md."),
    ("In README.md, change Tea shop to Coffee shop", "Done: 'Tea shop' is now 'Coffee shop' in README.md."),
    ("Please replace Tea shop with Coffee shop in `README.md`.", "Done: 'Tea shop' is now 'Coffee shop' in README.md."),
    ("Edit README.md and change Tea shop to Coffee shop", "Done: 'Tea shop' is now 'Coffee shop' in README.md."),
    ("Write hello.txt with the content 'Hi', then read it", "hello.txt has 1 line:\nHi"),
    ("Fix test_orders.py", "5 of 5 tests passed"),
    ("Rename report.py to r.py", "Say: replace 'old' by 'new' in report.py."),
    ("列出文件", "- data/orders.csv"),
    ("这里有多少个 Python 文件？", "这里有 3 个 Python 文件：orders.py、report.py、test_orders.py。"),
    ("README.md里有什么？", "README.md 共 16 行：\n# Tea shop"),
    ("请读取README.md的内容", "# Tea shop"),
    ("README.md 有多少行？", "README.md 有 16 行。"),
    ("搜索“龙井”", "“龙井”出现在 1 行：\ndata/orders.csv:4:"),
    ("这个项目是做什么的？", "README.md 写道：A tea shop keeps its orders in `data/orders.csv`."),
    ("orders.csv 在哪", "找到了：data/orders.csv。"),
    ("请找到文件 orders.csv", "找到了：data/orders.csv。"),
    ("运行 `echo 你好`", "`echo 你好` 的结果：\n你好"),
    ("运行测试", "4 of 5 tests passed"),
    ("写一个文件 你好.txt，内容是“你好，世界”", "完成。"),
    ("写一个文件 hello.txt，内容是“你好，世界”，然后读取它", "你好，世界"),
    ("把 README.md 里的“Tea shop”改成“茶店”", "完成：README.md 里的“Tea shop”已改成“茶店”。"),
    ("把 README.md 里的 Tea shop 改成茶店", "完成：README.md 里的“Tea shop”已改成“茶店”。"),
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
    missing = ("tool that runs commands", "能运行命令的工具", "tool that searches files", "能搜索文件的工具")
    assert part in said or any(no in said for no in missing)
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


def test_two_different_things_to_look_at_are_both_looked_at(sample):
    talk = Talk()
    said = talk.say("Count the lines of orders.py and what is in README.md?")
    assert [name for name, _ in talk.calls] == ["bash", "read_file"]
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


def test_a_text_that_is_not_there_is_said_in_the_words_of_the_tool(sample):
    said = Talk().say("Replace 'coffee' by 'tea' in README.md")
    assert said.startswith("README.md was not changed: old_text was not found")


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
    ["List the files", "Where is a.txt?", "What is this project about?", "Fix the failing test"],
)
def test_a_listing_that_failed_is_no_empty_folder(prompt):
    def broken(pattern):
        raise ValueError("not today")

    said = Talk(FILES, {**TOOL_HANDLERS, "glob": broken}).say(prompt)
    assert said.startswith("I could not list the files: ")
    assert "not today" in said


def test_a_search_that_failed_is_no_empty_result(sample):
    grep = tool("grep", "Search all files.", required=("pattern",))
    talk = Talk([grep], {"grep": lambda pattern: "Error: not today"})
    assert talk.say("Search for 'tea'") == "I could not search: Error: not today"
    talk = Talk([grep], {"grep": lambda pattern: f"No matches for {pattern}"})
    assert talk.say("Search for 'tea'") == "'tea' stands in no file here."


@pytest.mark.parametrize(
    "prompt",
    [
        "Don't write a.txt with the text 'hi'",
        "Do not run `rm README.md`",
        "Please don’t replace 'tea' by 'coffee' in README.md",
        "I do not want you to replace 'tea' by 'coffee' in README.md",
        "In README.md, do not change Tea shop to Coffee shop",
        "In README.md, change Tea shop to Coffee shop? No, don't",
        "In README.md, change Tea shop to Coffee shop, but not yet",
        "What happens if I change Tea shop to Coffee shop in README.md?",
        "Change the title to Tea shop in README.md",
        "Change tea with milk to tea in README.md",
        "Change README.md to notes.md",
        "In README.md, rename Tea shop to Coffee shop",
        f"In README.md, change Tea shop to {'Coffee ' * 400}",
        "In README.md, change Tea shop to Coffee shop. Keep the rest.",
        "把 README.md 改成 notes.md",
        "不要把 README.md 里的“Tea shop”改成“茶店”",
        "请别把 README.md 里的 Tea shop 改成茶店",
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


@settings(derandomize=True)
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


@settings(derandomize=True)
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


@pytest.mark.parametrize(
    "piece",
    ["-", "a/", "then ", "replace ", "what ", "项目", "' '", "test ", "read a.txt and ", "find a.txt and ", "change  "],
)
def test_a_very_long_prompt_takes_seconds_and_no_hours(piece):
    start = time.thread_time()
    Understudy().reply({"messages": [{"role": "user", "content": piece * (60_000 // len(piece))}], "tools": TOOLS})
    assert time.thread_time() - start < 20
