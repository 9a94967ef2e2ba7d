"""Plans that look and change nothing: list, find, read, count, search."""

import fnmatch
import re

from .plans import count_lines, file_names, shown
from .prompt import quoted
from .toolbox import failed, output

MOST_READ = 20  # files that are read for a search
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


def list_files(clause):
    """ "List the files", "How many Python files are here?" """
    pattern, en, zh = kind_of_files(clause)
    folder = folder_in(clause)
    say = clause.t("I'll look which files there are.", "我先看看有哪些文件。")
    (result,) = yield say, [clause.tools.call("files", pattern=pattern, folder=folder)]
    if failed(result):
        return clause.t(f"I could not list the files: {result}", f"无法列出文件：{result}")
    names = [name for name in file_names(result) if pattern == "*" or fnmatch.fnmatch(name.rsplit("/", 1)[-1], pattern)]
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


def read_files(clause):
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


def find_and_read(clause, path, error):
    """The second try, when a file is not where it was said to be: look for its name in every folder."""
    name = path.rsplit("/", 1)[-1]
    pattern = name if "." in name else f"{name}*"  # README may be README.md
    say = clause.t(f"{path} could not be read. I'll look for its name elsewhere.", f"无法读取 {path}，我找找这个名字。")
    (found,) = yield say, [clause.tools.call("files", pattern=pattern, folder="")]
    places = [] if failed(found) else file_names(found)
    places = [place for place in places if place != path and fnmatch.fnmatch(place.rsplit("/", 1)[-1], pattern)]
    if len(places) == 1:
        say = clause.t(f"It is {places[0]}.", f"找到了：{places[0]}。")
        (result,) = yield say, [clause.tools.call("read", path=places[0])]
        if not failed(result):
            return describe(clause, places[0], output(result))
    several = clause.t("\nThere are several of that name: ", "\n有几个同名文件：") + ", ".join(places) if places else ""
    return clause.t(f"I could not read {path}: {error}", f"无法读取 {path}：{error}") + several


IN_SHORT = r"\b(summar|describe|explain|what (is|does|are)\b.*\b(do|about|for)\b)|总结|概括|解释|介绍|做什么"


def describe(clause, path, text):
    """What stands in a file; if only that was asked for, what it says about itself."""
    total = count_lines(text)
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


def find_file(clause):
    """ "Where is orders.csv?" """
    name = clause.paths[0]
    say = clause.t(f"I'll look for {name}.", f"我来找 {name}。")
    (found,) = yield say, [clause.tools.call("files", pattern=name, folder="")]
    places = [] if failed(found) else file_names(found)
    if not places:
        return clause.t(f"There is no {name} here.", f"这里没有 {name}。")
    return clause.t(f"Found: {', '.join(places)}.", f"找到了：{'、'.join(places)}。")


def about_project(clause):
    """ "What does this project do?" """
    say = clause.t("I'll see which files there are.", "我先看看有哪些文件。")
    (listing,) = yield say, [clause.tools.call("files", pattern="*", folder="")]
    names = file_names(listing)
    files = clause.t(f"The files: {', '.join(names)}.", f"文件有：{'、'.join(names)}。")
    readme = next((name for name in names if name.lower().startswith("readme")), None)
    if readme is None:
        return clause.t("There is no README. ", "没有 README。") + files
    (text,) = yield clause.t("I'll read the README.", "我来读 README。"), [clause.tools.call("read", path=readme)]
    prose = [line for line in output(text).splitlines() if line.strip() and line[0] not in "#|`"]
    first = prose[0] if prose else "-"
    return clause.t(f"{readme} says: {first}\n{files}", f"{readme} 写道：{first}\n{files}")


def count(clause):
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
            number = len(output(result).split()) if words else count_lines(output(result))
        else:
            found = re.search(r"\d+", str(result))
            number = found[0] if found else str(result)
        one = en.removesuffix("s") if str(number) == "1" else en
        answers.append(clause.t(f"{path} has {number} {one}.", f"{path} 有 {number} {zh}。"))
    return "\n".join(answers)


SEARCHED = (
    r"(?:search (?:the \w+ )?for|look for|grep(?: for)?|find|mentions?|contains?|where is|where are|uses?"
    r"|搜索|查找|寻找|包含|提到)(?:一下)?\s*(?:the (?:text|word|string|name|function)\s+)?(\S[^?？。]*)"
)
AFTER_SEARCHED = r"\s+(?:in|within|inside|among)\s+|\s+(?:is\s+)?(?:defined|used|called|mentioned)\b|的"


def search(clause):
    """ "Search for TEXT", "Where is total defined?" """
    text = next(iter(quoted(clause.text)), None)
    if text is None:
        after = clause.has(SEARCHED)
        text = re.split(AFTER_SEARCHED, after[1] if after else clause.text)[0].strip(" .,!")
    hits = None
    if clause.tools.can("search"):
        say = clause.t(f"I'll search for {text!r}.", f"我来搜索“{text}”。")
        (result,) = yield say, [clause.tools.call("search", text=text)]
        if not failed(result) or re.search(r"status 1\b", result):  # grep ends with 1 when it finds nothing
            hits = [line.removeprefix("./") for line in output(result).splitlines() if text.lower() in line.lower()]
    if hits is None:
        hits = yield from search_by_reading(clause, text)
    inside = tuple(path for path in clause.paths if path not in text)
    hits = [hit for hit in hits if not inside or hit.startswith(inside)]
    if not hits:
        return clause.t(f"{text!r} stands in no file here.", f"这里没有文件包含“{text}”。")
    lines = "1 line" if len(hits) == 1 else f"{len(hits)} lines"
    where = clause.t(f"{text!r} stands in {lines}:", f"“{text}”出现在 {len(hits)} 行：")
    return shown("\n".join([where, *hits]))


def search_by_reading(clause, text):
    """Without a tool that searches: read the files and look."""
    say = clause.t("No tool here searches, so I'll read the files.", "没有可用的搜索工具，我来逐个读取文件。")
    (found,) = yield say, [clause.tools.call("files", pattern="*", folder="")]
    names = [name for name in file_names(found) if "." in name][:MOST_READ]
    results = (yield "", [clause.tools.call("read", path=name) for name in names]) if names else []
    return [
        f"{name}:{number}:{line}"
        for name, result in zip(names, results, strict=True)
        if not failed(result)
        for number, line in enumerate(output(result).splitlines(), 1)
        if text in line
    ]
