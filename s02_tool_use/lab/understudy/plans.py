"""What the understudy does for each kind of request: plans that look at something, then plans that change something.

A plan is a generator over a clause of the prompt. It yields a pair, what it says and the calls that it wants, gets
their results back, and returns its final answer, which is made from the results that really came. clause.t(en, zh)
picks the language, clause.tools.call(ability, ...) the tool. Which clause gets which plan stands in intents.py.
"""

import fnmatch
import re
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Any

from .prompt import LOOKED_AT, Clause
from .toolbox import Call, Result, failed, output

Plan = Generator[tuple[str, list[Call]], list[Result], Any]
Texts = tuple[str, str]  # in English and in Chinese

SHOWN_LINES = 40  # of a file or of an output, in an answer
LOOK: Texts = "I'll look which files there are.", "我先看看有哪些文件。"
HIDDEN = re.compile(r"(^|/)(\.|__pycache__/)")
REMARK = re.compile(r"[(\[]|\.\.\.|total \d|No (?:matches|files|such)\b", re.I)  # a line in a list of files or hits


# What plans share


class Stuck(Exception):
    """A plan can't go on. `args[0]` is the answer that says so."""


def use(clause: Clause, ability: str, say: Texts, no: Texts | None = None, **values: object) -> Plan:
    """Say something and call one tool. If it failed, and there are words that say what did not work, the plan ends."""
    (result,) = yield clause.t(*say), [clause.tools.call(ability, **values)]
    if no and failed(result):
        raise Stuck(clause.t(f"{no[0]}: {result}", f"{no[1]}：{result}"))
    return result


def shown(text: str) -> str:
    """A string for an answer, cut to SHOWN_LINES."""
    lines = str(text).rstrip("\n").split("\n")
    return "\n".join([*lines[:SHOWN_LINES], *(["..."] if len(lines) > SHOWN_LINES else [])])


def told(clause: Clause, name: str, result: Result, between: str = "\n") -> str:
    """What a command or a tool said, and whether it failed."""
    if failed(result):
        return clause.t(f"{name} failed:", f"{name} 失败：") + between + shown(result)
    printed = shown(output(result)) or clause.t("(nothing)", "（没有输出）")
    return clause.t(f"{name} gave:", f"{name} 的结果：") + between + printed


def found_files(clause: Clause, say: Texts = LOOK, pattern: str = "*", folder: str = "") -> Plan:
    """The files whose names fit a pattern: no folders, and hidden files only if it begins with a dot."""
    pattern = re.sub(r"^[^.*]+$", r"\g<0>*", pattern.rsplit("/", 1)[-1])  # README may be README.md
    no = "I could not list the files", "无法列出文件"
    result = yield from use(clause, "files", say, no, pattern=pattern, folder=folder)
    lines = [line.strip().removeprefix("./").rstrip("/") for line in output(result).splitlines()]
    names = [line for line in lines if line and not REMARK.match(line)]
    folders = {str(folder) for name in names for folder in PurePosixPath(name).parents}
    files = [name for name in names if name not in folders and (pattern[0] == "." or not HIDDEN.search(name))]
    return [name for name in files if fnmatch.fnmatch(name.rsplit("/", 1)[-1], pattern)]


# Plans that only look

KINDS = [  # what a kind of file is called in a request, what its files are called, and what in an answer
    (r"python|\bpy\b", "*.py", "Python files", " Python 文件"),
    (r"markdown|\bmd\b", "*.md", "Markdown files", " Markdown 文件"),
    (r"\bcsv\b|\bdata files?\b|数据文件", "*.csv", "CSV files", " CSV 文件"),
    (r"\btest files?\b|\btests\b|测试", "test_*.py", "test files", "测试文件"),
    (r"\bjson\b", "*.json", "JSON files", " JSON 文件"),
    (r"\bte?xt files?\b|文本", "*.txt", "text files", "文本文件"),
    ("", "*", "files", "文件"),
]
IN_FOLDER = (
    r"\b(?:in|of|inside|under) (?:the )?(?:folder |directory )?[`'\"]?([\w./-]+?)/?[`'\"]?(?: folder)?\W*$"
    r"|([A-Za-z0-9_./-]+?)/?\s*(?:文件夹|目录)"
)
HERE = r"|this|the|here|there|it|total|all|current|workspace|folder|directory|project|\.+"


def list_files(clause: Clause) -> Plan:
    """ "List the files", "How many Python files are here?", "Which files are in data?" """
    pattern, en, zh = next(kind for words, *kind in KINDS if clause.has(words))
    if named := clause.has(r"\*\.\w+"):
        pattern, en, zh = named[0], f"{named[0]} files", f" {named[0]} 文件"
    inside = clause.has(IN_FOLDER)
    folder = (inside[1] or inside[2]) if inside else ""
    folder = "" if re.fullmatch(HERE, folder, re.I) else folder
    names = yield from found_files(clause, LOOK, pattern, folder)
    place = clause.t(f"in {folder}" if folder else "here", f"{folder} 里" if folder else "这里")
    if not names:
        return clause.t(f"There are no {en} {place}.", f"{place}没有{zh}。")
    if clause.has(r"how many|number of|count|多少|几个|数一数|统计"):
        en = f"There are {len(names)} {en}" if len(names) > 1 else f"There is 1 {en.removesuffix('s')}"
        return clause.t(f"{en} {place}: {', '.join(names)}.", f"{place}有 {len(names)} 个{zh}：{'、'.join(names)}。")
    return clause.t(f"The {en} {place}:", f"{place}的{zh}：") + "".join(f"\n- {name}" for name in names)


def read_files(clause: Clause) -> Plan:
    """ "What is in README.md?", "Read a.txt and b.txt", "What does report.py do?" """
    paths = clause.paths_or_known
    say = clause.t(f"I'll read {' and '.join(paths)}.", f"我来读取 {'、'.join(paths)}。")
    results = yield say, [clause.tools.call("read", path=path) for path in paths]
    parts = []
    for path, result in zip(paths, results, strict=True):
        parts.append((yield from described(clause, path, result)))
    return "\n\n".join(parts)


def described(clause: Clause, path: str, result: Result) -> Plan:
    """What was read; if the file is not where it was said to be, what stands in the one of this name elsewhere."""
    if not failed(result):
        return describe(clause, path, output(result))
    no = clause.t(f"I could not read {path}: {result}", f"无法读取 {path}：{result}")
    if not clause.tools.can("files"):
        return no
    say = f"{path} could not be read. I'll look for its name elsewhere.", f"无法读取 {path}，我找找这个名字。"
    places = [place for place in (yield from found_files(clause, say, path)) if place != path]
    if len(places) > 1:
        no += clause.t("\nThere are several of that name: ", "\n有几个同名文件：") + ", ".join(places)
    if len(places) != 1:
        return no
    result = yield from use(clause, "read", (f"It is {places[0]}.", f"找到了：{places[0]}。"), path=places[0])
    return no if failed(result) else describe(clause, places[0], output(result))


def find_files(clause: Clause) -> Plan:
    """ "Where is orders.csv?", "Find a.txt" """
    answers = []
    for path in clause.paths:
        places = yield from found_files(clause, (f"I'll look for {path}.", f"我来找 {path}。"), path)
        found = clause.t(f"Found: {', '.join(places)}.", f"找到了：{'、'.join(places)}。")
        answers.append(found if places else clause.t(f"There is no {path} here.", f"这里没有 {path}。"))
    return "\n".join(answers)


def about_project(clause: Clause) -> Plan:
    """ "What is this project about?" """
    names = yield from found_files(clause)
    files = clause.t(f"The files: {', '.join(names)}.", f"文件有：{'、'.join(names)}。")
    for path in [name for name in names if name.lower().startswith("readme")][:1]:
        text = yield from use(clause, "read", (f"I'll read {path}.", f"我来读取 {path}。"), path=path)
        prose = re.search(r"^[^\s#|`].*", output(text), re.M)
        if prose and not failed(text):
            return clause.t(f"{path} says: {prose[0]}\n{files}", f"{path} 写道：{prose[0]}\n{files}")
    return clause.t("No README says what it is about. ", "没有 README 介绍它。") + files


IN_SHORT = r"\b(summar|describe|explain|what (is|does|are)\b.*\b(do|about|for)\b)|总结|概括|解释|介绍|做什么"


def describe(clause: Clause, path: str, text: str) -> str:
    """What stands in a file; if only that was asked for, what it says about itself."""
    total = len(text.splitlines())
    head = clause.t(f"{path} has {total} line{'s' * (total != 1)}", f"{path} 共 {total} 行")
    if not clause.has(IN_SHORT):
        return f"{head}{clause.t(':', '：')}\n{shown(text)}"
    about = re.match(r"(?:\"{3}|'{3}|[#\s]*)(.+?)(?:\"{3}|'{3}|\n|$)", text.lstrip())  # a docstring or a title
    names = re.findall(r"^(?:def|class) (\w+)", text, re.M)
    said = clause.t(f" It says of itself: {about[1]}", f"它这样介绍自己：{about[1]}") if about else ""
    defines = clause.t(f" It defines {', '.join(names)}.", f"其中定义了 {'、'.join(names)}。") if names else ""
    return f"{head}{clause.t('.', '。')}{said}{defines}"


def count(clause: Clause) -> Plan:
    """ "How many lines does a.txt have?", "Count the words of a.txt" """
    words = bool(clause.has(r"\bwords?\b|单词|字数|词"))
    ability, en, zh = ("count_words", "words", "个词") if words else ("count_lines", "lines", "行")
    ability = ability if clause.tools.can(ability) else "read"  # what was read is counted here
    calls = [clause.tools.call(ability, path=path) for path in clause.paths_or_known]
    results = yield clause.t(f"I'll count the {en}.", "我来数一数。"), calls
    answers = []
    for path, result in zip(clause.paths_or_known, results, strict=True):
        if failed(result):
            answers.append(clause.t(f"I could not count {path}: {result}", f"无法统计 {path}：{result}"))
            continue
        number = next(iter(re.findall(r"\d+", result)), result)
        if ability == "read":
            number = str(len(output(result).split() if words else output(result).splitlines()))
        one = en.removesuffix("s") if number == "1" else en
        answers.append(clause.t(f"{path} has {number} {one}.", f"{path} 有 {number} {zh}。"))
    return "\n".join(answers)


SEARCHED = (
    r"(?:search (?:the \w+ )?for|look for|grep(?: for)?|find|mentions?|contains?|where is|where are|uses?"
    r"|搜索|查找|寻找|包含|提到)(?:一下)?\s*(?:the (?:text|word|string|name|function)\s+)?(\S[^?？。]*)"
)
AFTER_SEARCHED = r"\s+(?:in|within|inside|among)\s+|\s+(?:is\s+)?(?:defined|used|called|mentioned)\b|的|\s*在哪"


def search(clause: Clause) -> Plan:
    """ "Search for TEXT", "Where is total defined?" """
    after = clause.has(SEARCHED)
    bare = re.split(AFTER_SEARCHED, after[1] if after else clause.text)[0].strip(" .,!")
    text = next(iter(clause.quoted), bare)
    result = yield from use(clause, "search", (f"I'll search for {text!r}.", f"我来搜索“{text}”。"), text=text)
    if failed(result) and not re.search(r"status 1\b", result):  # grep ends with 1 when it finds nothing
        return clause.t(f"I could not search: {result}", f"无法搜索：{result}")
    inside = tuple(path for path in clause.paths if path not in text)
    lines = [line.removeprefix("./") for line in output(result).splitlines() if not REMARK.match(line)]
    hits = [line for line in lines if text.lower() in line.lower() and (not inside or line.startswith(inside))]
    if not hits:
        return clause.t(f"{text!r} stands in no file here.", f"这里没有文件包含“{text}”。")
    number = "1 line" if len(hits) == 1 else f"{len(hits)} lines"
    found = clause.t(f"{text!r} stands in {number}:", f"“{text}”出现在 {len(hits)} 行：")
    return shown("\n".join([found, *hits]))


# Plans that change or run something

WITH_TEXT = (
    r"(?:\b(?:with|containing|saying|that says|that reads)\s+(?:the\s+)?(?:(?:text|contents?|line|words?)\b)?"
    r"|内容(?:是|为)?|写入|写着|:|：)\s*[:：]?\s*(.+)"
)
# An edit without quotation marks, \0 being the name of the file: the whole request, with one meaning only.
STOP = r"\b(?:to|by|with|into|in|on|at|for|from|and|or|but|so|if|not|only|line|please|everywhere)\b|n['’]t\b|\.\s"
PLAIN = rf"((?! )(?:(?!{STOP})(?:[^\0\s,;?!，。；？！吗吧呢]| (?=\S)))+?)"
EXCHANGE = (
    r"\W*(?:(?:please|now|and|the|file|in|edit|open|(?:can|could|would) you)\W+)*(?:replace|change|substitute)\s+"
    rf"(?:the (?:word|text) )?(?!(?:the|all|each|every|it|its|this|that)\b){PLAIN}\s+(?:by|with|to|into)\s+{PLAIN}"
    r"(?:\s+in(?: the)?(?: file)?\W*(?:\0|\bit\b)\W*)?(?:\s*please)?[\s.!?]*"
    r"|(?:请|帮我|[\s`])*(?:[在把将][\s`]*)?(?:\0[\s`]*(?:文件)?(?:里面?|中)?的?\s*)?(?:，\s*[把将]\s*)?"
    rf"{PLAIN}\s*(?:改成|改为|替换成|替换为|换成)\s*{PLAIN}[\s.。！]*"
)
AFTER_RUN = (
    r"(?:run|execute|运行|执行)\s*(?:the\s+)?(?:command|file|script|program|命令|文件|脚本)?\s*[:：]?\s*"
    r"(?![.?!。？！\s]*$)(\S.*)"
)


def write_file(clause: Clause) -> Plan:
    """ "Write a file hello.txt with the text Hello" """
    path = clause.paths_or_known[0]
    inside = [text for text in clause.quoted if text != path]
    after = re.search(WITH_TEXT, clause.text.partition(path)[2] or clause.text, re.S)
    if not (inside or after or clause.has(r"\bempty\b|空")):
        return clause.t(f"What shall stand in {path}? I found no text.", f"{path} 里要写什么？我没有找到内容。")
    content = inside[-1] if inside else after[1].strip() if after else ""
    say, no = (f"I'll write {path}.", f"我来写 {path}。"), (f"{path} was not written", f"没有写成 {path}")
    result = yield from use(clause, "write", say, no, path=path, content=content)
    said = shown(output(result)) or clause.t("No error was reported.", "没有报错。")
    return clause.t(f"Done. {said}", f"完成。{said}")


def edit_file(clause: Clause) -> Plan:
    """ "Replace A by B in F", "In F, change A to B" """
    path = clause.paths_or_known[0]
    inside = [text for text in clause.quoted if text != path]
    if not inside and len(clause.text) <= LOOKED_AT:
        plain = re.fullmatch(EXCHANGE, clause.text.replace(path, "\0"), re.I)
        inside = list(filter(None, plain.groups())) if plain else []
    if len(inside) < 2:
        return clause.t(f"Say: replace 'old' by 'new' in {path}.", f"请这样说：把 {path} 里的“旧文字”改成“新文字”。")
    old, new = inside[:2]
    exchange: dict[str, Any] = {"path": path, "old_text": old, "new_text": new}
    say = f"I'll replace {old!r} by {new!r} in {path}.", f"我把 {path} 里的“{old}”改成“{new}”。"
    result = yield from use(clause, "edit", say, **exchange)
    if failed(result) and "replace_all" in result:
        say = "It stands there more than once. I'll replace each.", "它不止出现一次，我全部替换。"
        result = yield from use(clause, "edit", say, **exchange, replace_all=True)
    if failed(result):
        return clause.t(f"{path} was not changed: {result}", f"没有修改 {path}：{result}")
    said = f" {shown(output(result))}".rstrip()
    return clause.t(f"Done: {old!r} is now {new!r} in {path}.{said}", f"完成：{path} 里的“{old}”已改成“{new}”。{said}")


def run_command(clause: Clause) -> Plan:
    """ "Run `ls -la`", "Execute python report.py" """
    command = next(iter(clause.quoted), "")
    if not command and (said := clause.has(AFTER_RUN)):
        command = re.sub(r"[.?!。？！\s]+$", "", said[1])
    if re.fullmatch(r"[\w./-]+\.py", command):
        command = f"python {command}"
    result = yield from use(clause, "run", (f"I'll run `{command}`.", f"我来运行 `{command}`。"), command=command)
    return told(clause, f"`{command}`", result)


def use_tool(clause: Clause, call: Call) -> Plan:
    """A tool that is none of the usual ones: call it, say what it said."""
    (result,) = yield clause.t(f"I'll use {call['name']}.", f"我用 {call['name']}。"), [call]
    return told(clause, call["name"], result, " ")
