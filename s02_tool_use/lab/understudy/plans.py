"""What the understudy does for each kind of request: plans that look at something, then plans that change something.

A plan is a generator over a clause of the prompt. It yields a pair, what it says and the calls that it wants, gets
their results back, and returns its final answer, which is made from the results that really came. clause.t(en, zh)
picks the language, clause.tools.call(ability, ...) the tool. Which clause gets which plan stands in intents.py.
"""

import fnmatch
import re
from collections.abc import Generator

from .prompt import LOOKED_AT, Clause, quoted
from .toolbox import Call, Result, failed, output

Plan = Generator[tuple[str, list[Call]], list[Result], str]

SHOWN_LINES = 40  # of a file or of an output, in an answer
MAX_READ = 20  # files that are read for a search


# What plans share


def answer(text: str) -> Plan:
    """A plan without calls."""
    return text
    yield "", []


def together(plans: list[Plan]) -> Plan:
    """Plans that only look can run side by side: the calls of all of them go into one turn."""
    answers: dict[Plan, str] = {}
    results: dict = dict.fromkeys(plans)  # what each plan waits for: None to begin with
    while results:
        turn = {}
        for plan, got in results.items():
            try:
                turn[plan] = plan.send(got)
            except StopIteration as end:
                answers[plan] = end.value
        said = " ".join(say for say, _ in turn.values() if say)
        got = (yield said, [call for _, calls in turn.values() for call in calls]) if turn else []
        results = {plan: [got.pop(0) for _ in calls] for plan, (_, calls) in turn.items()}
    return "\n\n".join(answers[plan] for plan in plans)


def shown(text: str) -> str:
    """A text for an answer, cut to SHOWN_LINES."""
    lines = str(text).rstrip("\n").split("\n")
    return "\n".join([*lines[:SHOWN_LINES], *(["..."] if len(lines) > SHOWN_LINES else [])])


def told(clause: Clause, name: str, result: Result, between: str = "\n") -> str:
    """What a command or a tool said, and whether it failed."""
    if failed(result):
        return clause.t(f"{name} failed:", f"{name} 失败：") + between + shown(result)
    printed = shown(output(result)) or clause.t("(nothing)", "（没有输出）")
    return clause.t(f"{name} gave:", f"{name} 的结果：") + between + printed


def file_names(result: Result) -> list[str]:
    """The files in the result of glob, ls or find: no folders, no hidden files, nothing that is a remark."""
    lines = [line.strip().removeprefix("./").rstrip("/") for line in output(result).splitlines()]
    remark = re.compile(r"[(\[]|\.\.\.|total \d|No (?:matches|files|such)\b", re.I)
    names = [line for line in lines if line and not remark.match(line)]
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    return [name for name in names if name not in folders and not re.search(r"(^|/)(\.|__pycache__/)", name)]


class Stuck(Exception):
    """A plan can't go on. `args[0]` is the answer that says so."""


def found_files(
    clause: Clause, say: str, pattern: str, folder=""
) -> Generator[tuple[str, list[Call]], list[Result], list[str]]:
    """Ask for the files whose names fit a pattern."""
    (result,) = yield say, [clause.tools.call("files", pattern=pattern, folder=folder)]
    if failed(result):
        raise Stuck(clause.t(f"I could not list the files: {result}", f"无法列出文件：{result}"))
    return [name for name in file_names(result) if fnmatch.fnmatch(name.rsplit("/", 1)[-1], pattern)]


# Plans that only look


KINDS = {  # what a language or a kind of file is called, and how its files are called
    r"python|\bpy\b": ("*.py", "Python files", " Python 文件"),
    r"markdown|\bmd\b": ("*.md", "Markdown files", " Markdown 文件"),
    r"\bcsv\b|\bdata files?\b|数据文件": ("*.csv", "CSV files", " CSV 文件"),
    r"\btest files?\b|\btests\b|测试": ("test_*.py", "test files", "测试文件"),
    r"\bjson\b": ("*.json", "JSON files", " JSON 文件"),
    r"\bte?xt files?\b|文本": ("*.txt", "text files", "文本文件"),
}


def kind_of_files(clause):
    named = clause.has(r"(\*\.\w+)")
    if named:
        return named[1], f"{named[1]} files", f" {named[1]} 文件"
    for words, kind in KINDS.items():
        if clause.has(words):
            return kind
    return "*", "files", "文件"


def folder_in(clause):
    """The folder that is named, or "" for the workspace: "the files in data", "data 文件夹"."""
    named = clause.has(
        r"\b(?:in|of|inside|under) (?:the )?(?:folder |directory )?[`'\"]?([\w./-]+?)/?[`'\"]?(?: folder)?\W*$"
    )
    named = named or clause.has(r"([A-Za-z0-9_./-]+?)/?\s*(?:文件夹|目录)")
    here = r"|this|the|here|there|it|total|all|current|workspace|folder|directory|project|\.+"
    return "" if named is None or re.fullmatch(here, named[1], re.I) else named[1]


def list_files(clause: Clause) -> Plan:
    """ "List the files", "How many Python files are here?" """
    pattern, en, zh = kind_of_files(clause)
    folder = folder_in(clause)
    say = clause.t("I'll look which files there are.", "我先看看有哪些文件。")
    names = yield from found_files(clause, say, pattern, folder)
    place = clause.t(f"in {folder}" if folder else "here", f"{folder} 里" if folder else "这里")
    if not names:
        return clause.t(f"There are no {en} {place}.", f"{place}没有{zh}。")
    if clause.has(r"how many|number of|count|多少|几个|数一数|统计"):
        there_are = f"There is 1 {en.removesuffix('s')}" if len(names) == 1 else f"There are {len(names)} {en}"
        return clause.t(
            f"{there_are} {place}: {', '.join(names)}.", f"{place}有 {len(names)} 个{zh}：{'、'.join(names)}。"
        )
    listed = "".join(f"\n- {name}" for name in names)
    return clause.t(f"The {en} {place}:{listed}", f"{place}的{zh}：{listed}")


def read_files(clause: Clause) -> Plan:
    """ "What is in README.md?", "Read a.txt and b.txt" """
    paths = clause.paths_or_known
    text = clause.t(f"I'll read {' and '.join(paths)}.", f"我来读取 {'、'.join(paths)}。")
    results = yield text, [clause.tools.call("read", path=path) for path in paths]
    parts = []
    for path, result in zip(paths, results, strict=True):
        if failed(result):
            parts.append((yield from find_and_read(clause, path, result)))
        else:
            parts.append(describe(clause, path, output(result)))
    return "\n\n".join(parts)


def find_and_read(clause: Clause, path: str, error: Result) -> Plan:
    """The second try, when a file is not where it was said to be: look for its name in every folder."""
    no = clause.t(f"I could not read {path}: {error}", f"无法读取 {path}：{error}")
    if not clause.tools.can("files"):
        return no
    name = path.rsplit("/", 1)[-1]
    say = clause.t(f"{path} could not be read. I'll look for its name elsewhere.", f"无法读取 {path}，我找找这个名字。")
    places = yield from found_files(clause, say, name if "." in name else f"{name}*")  # README may be README.md
    places = [place for place in places if place != path]
    if len(places) == 1:
        say = clause.t(f"It is {places[0]}.", f"找到了：{places[0]}。")
        (result,) = yield say, [clause.tools.call("read", path=places[0])]
        if not failed(result):
            return describe(clause, places[0], output(result))
    several = clause.t("\nThere are several of that name: ", "\n有几个同名文件：") + ", ".join(places)
    return no + several if len(places) > 1 else no


IN_SHORT = r"\b(summar|describe|explain|what (is|does|are)\b.*\b(do|about|for)\b)|总结|概括|解释|介绍|做什么"


def describe(clause, path, text):
    """What stands in a file; if only that was asked for, what it says about itself."""
    total = len(text.splitlines())
    head = clause.t(f"{path} has {total} line{'s' * (total != 1)}", f"{path} 共 {total} 行")
    if not clause.has(IN_SHORT):
        return f"{head}{clause.t(':', '：')}\n{shown(text)}"
    if path.endswith(".py"):
        docstring = re.match(r"\s*[\"']{3}(.+?)(?:[\"']{3}|\n)", text, re.S)
        about = docstring[1].strip() if docstring else ""
        names = re.findall(r"^(?:def|class) (\w+)", text, re.M)
    else:
        about = ": ".join([line.strip("# ") for line in text.splitlines() if line.strip()][:2])
        names = []
    said = clause.t(f" It says of itself: {about}", f"它这样介绍自己：{about}") if about else ""
    defines = clause.t(f" It defines {', '.join(names)}.", f"其中定义了 {'、'.join(names)}。") if names else ""
    return f"{head}{clause.t('.', '。')}{said}{defines}"


def find_file(clause: Clause) -> Plan:
    """ "Where is orders.csv?" """
    name = clause.paths[0]
    say = clause.t(f"I'll look for {name}.", f"我来找 {name}。")
    places = yield from found_files(clause, say, name.rsplit("/", 1)[-1])
    if not places:
        return clause.t(f"There is no {name} here.", f"这里没有 {name}。")
    return clause.t(f"Found: {', '.join(places)}.", f"找到了：{'、'.join(places)}。")


def about_project(clause: Clause) -> Plan:
    """ "What does this project do?" """
    say = clause.t("I'll see which files there are.", "我先看看有哪些文件。")
    names = yield from found_files(clause, say, "*")
    files = clause.t(f"The files: {', '.join(names)}.", f"文件有：{'、'.join(names)}。")
    readme = next((name for name in names if name.lower().startswith("readme")), None)
    if readme is None:
        return clause.t("There is no README. ", "没有 README。") + files
    (text,) = yield clause.t("I'll read the README.", "我来读 README。"), [clause.tools.call("read", path=readme)]
    prose = [line for line in output(text).splitlines() if line.strip() and line[0] not in "#|`"]
    first = prose[0] if prose else "-"
    return clause.t(f"{readme} says: {first}\n{files}", f"{readme} 写道：{first}\n{files}")


def count(clause: Clause) -> Plan:
    """ "How many lines does a.txt have?", "Count the words of a.txt" """
    words = bool(clause.has(r"\bwords?\b|单词|字数|词"))
    ability, en, zh = ("count_words", "words", "个词") if words else ("count_lines", "lines", "行")
    paths = clause.paths_or_known
    calls = [clause.tools.call(ability, path=path) for path in paths]
    results = yield clause.t(f"I'll count the {en}.", "我来数一数。"), calls
    answers = []
    for path, call, result in zip(paths, calls, results, strict=True):
        if failed(result) and clause.tools.does(ability, call):  # a tool of the learner's that fails
            text = clause.t(f"{call['name']} failed. I'll try another way.", f"{call['name']} 失败了，我换一种办法。")
            call = clause.tools.call(ability, path=path, own=False)
            (result,) = yield text, [call]
        if failed(result):
            answers.append(clause.t(f"I could not count {path}: {result}", f"无法统计 {path}：{result}"))
            continue
        if clause.tools.does("read", call):  # no tool counts, so what was read is counted here
            number = str(len(output(result).split() if words else output(result).splitlines()))
        else:
            found = re.search(r"\d+", result)
            number = found[0] if found else str(result)
        one = en.removesuffix("s") if number == "1" else en
        answers.append(clause.t(f"{path} has {number} {one}.", f"{path} 有 {number} {zh}。"))
    return "\n".join(answers)


SEARCHED = (
    r"(?:search (?:the \w+ )?for|look for|grep(?: for)?|find|mentions?|contains?|where is|where are|uses?"
    r"|搜索|查找|寻找|包含|提到)(?:一下)?\s*(?:the (?:text|word|string|name|function)\s+)?(\S[^?？。]*)"
)
AFTER_SEARCHED = r"\s+(?:in|within|inside|among)\s+|\s+(?:is\s+)?(?:defined|used|called|mentioned)\b|的"


def search(clause: Clause) -> Plan:
    """ "Search for TEXT", "Where is total defined?" """
    text = next(iter(quoted(clause.text)), None)
    if text is None:
        after = clause.has(SEARCHED)
        text = re.split(AFTER_SEARCHED, after[1] if after else clause.text)[0].strip(" .,!")
    hits, unread = None, []
    if clause.tools.can("search"):
        say = clause.t(f"I'll search for {text!r}.", f"我来搜索“{text}”。")
        (result,) = yield say, [clause.tools.call("search", text=text)]
        if not failed(result) or re.search(r"status 1\b", result):  # grep ends with 1 when it finds nothing
            hits = [line.removeprefix("./") for line in output(result).splitlines() if text.lower() in line.lower()]
    if hits is None:
        hits, unread = yield from search_by_reading(clause, text)
    inside = tuple(path for path in clause.paths if path not in text)
    hits = [hit for hit in hits if not inside or hit.startswith(inside)]
    lines = "1 line" if len(hits) == 1 else f"{len(hits)} lines"
    found = clause.t(f"{text!r} stands in {lines}:", f"“{text}”出现在 {len(hits)} 行：")
    if not hits:
        found = clause.t(f"{text!r} stands in no file here.", f"这里没有文件包含“{text}”。")
    left = clause.t("\nNot read: ", "\n没有读：") + ", ".join(unread) if unread else ""
    return shown("\n".join([found, *hits])) + left


def search_by_reading(clause, text):
    """Without a tool that searches: read the files and look. Returns the lines, and the files that were not read."""
    say = clause.t("No tool here searches, so I'll read the files.", "没有可用的搜索工具，我来逐个读取文件。")
    files = yield from found_files(clause, say, "*")
    names = [name for name in files if "." in name][:MAX_READ]
    results = (yield "", [clause.tools.call("read", path=name) for name in names]) if names else []
    read = {name: output(result) for name, result in zip(names, results, strict=True) if not failed(result)}
    lines = [(name, number, line) for name in read for number, line in enumerate(read[name].splitlines(), 1)]
    hits = [f"{name}:{number}:{line}" for name, number, line in lines if text in line]
    return hits, [name for name in files if name not in read]


# Plans that change or run something

WITH_TEXT = (
    r"(?:\b(?:with|containing|saying|that says|that reads)\s+(?:the\s+)?(?:(?:text|contents?|line|words?)\b)?"
    r"|内容(?:是|为)?|写入|写着|:|：)\s*[:：]?\s*(.+)"
)
EXCHANGE = r"\b(?:replace|change|edit|rename)\s+(.+?)\s+(?:by|with|to|into)\s+(.+?)(?:\s+(?:in|inside)\s+\0.*)?$"
EXCHANGE_ZH = r"把?\s*\0?\s*(?:里|中)?(?:的)?\s*(.+?)\s*(?:改成|改为|替换成|替换为|换成)\s*(.+?)[。.]?$"
NO_PYTHON = r"python: (?:command )?not found"
AFTER_RUN = (
    r"(?:run|execute|运行|执行)\s*(?:the\s+)?(?:command|file|script|program|命令|文件|脚本)?\s*[:：]?\s*"
    r"(?![.?!。？！\s]*$)(\S.*)"
)


def write_file(clause: Clause) -> Plan:
    """ "Write a file hello.txt with the text Hello" """
    path = clause.paths_or_known[0]
    inside = [text for text in quoted(clause.text) if text != path]
    after = re.search(WITH_TEXT, clause.text.partition(path)[2] or clause.text, re.S)
    if inside:
        content = inside[-1]
    elif after:
        content = after[1].strip()
    elif clause.has(r"\bempty\b|空"):
        content = ""
    else:
        return clause.t(f"What shall stand in {path}? I found no text.", f"{path} 里要写什么？我没有找到内容。")
    call = clause.tools.call("write", path=path, content=content)
    (result,) = yield clause.t(f"I'll write {path}.", f"我来写 {path}。"), [call]
    if failed(result):
        return clause.t(f"{path} was not written: {result}", f"没有写成 {path}：{result}")
    said = shown(output(result)) or clause.t(f"{call['name']} reported no error.", f"{call['name']} 没有报错。")
    return clause.t(f"Done. {said}", f"完成。{said}")


def edit_file(clause: Clause) -> Plan:
    """ "Replace A by B in F", "In F, change A to B" """
    path = clause.paths_or_known[0]
    inside = [text for text in quoted(clause.text) if text != path]
    bare = clause.text[:LOOKED_AT].replace(path, "\0")
    match = re.search(EXCHANGE, bare, re.I | re.S) or re.search(EXCHANGE_ZH, bare, re.S)
    if len(inside) >= 2:
        old, new = inside[:2]
    elif match and "\0" not in match[1] + match[2]:  # a file is not renamed by an edit
        old, new = match[1].strip(), match[2].strip().rstrip(".")
    else:
        return clause.t(f"Say: replace 'old' by 'new' in {path}.", f"请这样说：把 {path} 里的“旧文字”改成“新文字”。")
    say = clause.t(f"I'll replace {old!r} by {new!r} in {path}.", f"我把 {path} 里的“{old}”改成“{new}”。")
    (result,) = yield say, [clause.tools.call("edit", path=path, old_text=old, new_text=new)]
    if failed(result) and re.search(r"replace_all|more than|times|matches|\d+ (?:places|occurrences)", result):
        call = clause.tools.call("edit", path=path, old_text=old, new_text=new, replace_all=True)
        if "replace_all" in call["input"]:
            say = clause.t("It stands there more than once. I'll replace each.", "它不止出现一次，我全部替换。")
            (result,) = yield say, [call]
    if failed(result):
        say = clause.t("That failed. I'll look at the file.", "没有成功，我看看这个文件。")
        no = clause.t(f"{path} was not changed: {result}", f"没有修改 {path}：{result}")
        if not clause.tools.can("read"):
            return no
        (text,) = yield say, [clause.tools.call("read", path=path)]
        times = text.count(old)
        stands = clause.t(f"{old!r} stands in it {times} times.", f"“{old}”在其中出现 {times} 次。")
        return no if failed(text) else f"{no}\n{stands}"
    said = f" {shown(output(result))}".rstrip()
    return clause.t(f"Done: {old!r} is now {new!r} in {path}.{said}", f"完成：{path} 里的“{old}”已改成“{new}”。{said}")


def run_command(clause: Clause) -> Plan:
    """ "Run `ls -la`", "Execute python report.py" """
    command = next(iter(quoted(clause.text)), "")
    if not command and (said := clause.has(AFTER_RUN)):
        command = re.sub(r"\s+(?:in|with|using)\s+(?:the\s+)?(?:bash|shell|terminal)\b.*$", "", said[1])
        command = re.sub(r"[.?!。？！\s]+$", "", command)
    if re.fullmatch(r"[\w./-]+\.py", command):
        command = f"python {command}"
    say = clause.t(f"I'll run `{command}`.", f"我来运行 `{command}`。")
    (result,) = yield say, [clause.tools.call("run", command=command)]
    if re.search(NO_PYTHON, result):
        command = re.sub(r"^python\b", "python3", command)
        say = clause.t("There is no `python` here. I'll try `python3`.", "这里没有 `python`，我试试 `python3`。")
        (result,) = yield say, [clause.tools.call("run", command=command)]
    if failed(result):
        return clause.t(f"`{command}` failed:\n{shown(result)}", f"`{command}` 失败：\n{shown(result)}")
    printed = shown(output(result)) or clause.t("(nothing)", "（没有输出）")
    return clause.t(f"`{command}` gave:\n{printed}", f"`{command}` 的结果：\n{printed}")


def use_tool(clause: Clause, call: Call) -> Plan:
    """A tool that is none of the usual ones: call it, say what it said."""
    tool = call["name"]
    (result,) = yield clause.t(f"I'll use {tool}.", f"我用 {tool}。"), [call]
    if failed(result):
        return clause.t(f"{tool} failed: {result}", f"{tool} 失败：{result}")
    return clause.t(f"{tool} gave: {shown(result)}", f"{tool} 的结果：{shown(result)}")
