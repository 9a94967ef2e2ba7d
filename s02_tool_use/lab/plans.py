"""What the understudy knows how to do: one plan for each kind of request. Rules, not a model.

A plan is a generator. It yields what it says before its calls and the calls, gets their results back, and returns its
final answer. Each answer is made from the results that really came. Fixing a failing test stands in fixing.py.
"""

import fnmatch
import re

from .toolbox import failed, output
from .words import quoted

KINDS = {  # what a language or a kind of file is called, and how its files are called
    r"python|\bpy\b": ("*.py", "Python files", " Python 文件"),
    r"markdown|\bmd\b": ("*.md", "Markdown files", " Markdown 文件"),
    r"\bcsv\b|\bdata files?\b|数据文件": ("*.csv", "CSV files", " CSV 文件"),
    r"\btest files?\b|\btests\b|测试": ("test_*.py", "test files", "测试文件"),
    r"\bjson\b": ("*.json", "JSON files", " JSON 文件"),
    r"\bte?xt files?\b|文本": ("*.txt", "text files", "文本文件"),
}
SHOWN_LINES = 40  # of a file or of an output, in an answer


def shown(text):
    """A text for an answer, cut to SHOWN_LINES."""
    lines = str(text).rstrip("\n").split("\n")
    return "\n".join([*lines[:SHOWN_LINES], *(["..."] if len(lines) > SHOWN_LINES else [])])


def file_names(result):
    """The files in the result of glob, ls or find: no folders, no hidden files, nothing that is a remark."""
    lines = [line.strip().removeprefix("./").rstrip("/") for line in output(result).splitlines()]
    remark = re.compile(r"[(\[]|\.\.\.|total \d|No (?:matches|files|such)\b", re.I)
    names = [line for line in lines if line and not remark.match(line)]
    folders = {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    return [name for name in names if name not in folders and not re.search(r"(^|/)(\.|__pycache__/)", name)]


def count_lines(text):
    return len(str(text).splitlines())


# Looking around


def kind_of_files(clause):
    named = clause.has(r"(\*\.\w+)")
    if named:
        return named[1], f"{named[1]} files", f" {named[1]} 文件"
    for words, kind in KINDS.items():
        if clause.has(words):
            return kind
    return "*", "files", "文件"


def list_files(clause):
    """ "List the files", "How many Python files are here?" """
    pattern, en, zh = kind_of_files(clause)
    folder = re.search(
        r"\b(?:in|of|inside|under)\s+(?:the\s+)?(?:folder\s+|directory\s+)?[`'\"]?([\w./-]+)/?[`'\"]?", clause.text
    )
    folder = folder[1].rstrip("/.") if folder else ""
    if folder.lower() in (
        "",
        "this",
        "the",
        "here",
        "current",
        "it",
        "workspace",
        "folder",
        "directory",
        "project",
        "my",
    ):
        folder = ""
    call = clause.tools.call("files", pattern=pattern, folder=folder)
    (result,) = yield clause.t("I'll look which files there are.", "我先看看有哪些文件。"), [call]
    if failed(result):
        return clause.t(f"I could not list the files: {result}", f"无法列出文件：{result}")
    names = [name for name in file_names(result) if pattern == "*" or fnmatch.fnmatch(name.rsplit("/", 1)[-1], pattern)]
    place = clause.t(f"in {folder}" if folder else "here", f"{folder} 里" if folder else "这里")
    if not names:
        return clause.t(f"There are no {en} {place}.", f"{place}没有{zh}。")
    if clause.has(r"how many|number of|count|多少|几个|数一数|统计"):
        one = en.removesuffix("s") if len(names) == 1 else en
        verb = "is" if len(names) == 1 else "are"
        return clause.t(
            f"There {verb} {len(names)} {one} {place}: {', '.join(names)}.",
            f"{place}有 {len(names)} 个{zh}：{'、'.join(names)}。",
        )
    listed = "\n".join(f"- {name}" for name in names)
    return clause.t(f"The {en} {place}:\n{listed}", f"{place}的{zh}：\n{listed}")


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
    look = clause.t(
        f"{path} could not be read. I'll look for its name elsewhere.", f"无法读取 {path}，我在别处找找这个名字。"
    )
    pattern = name if "." in name else f"{name}*"  # README may be README.md
    (found,) = yield look, [clause.tools.call("files", pattern=pattern, folder="")]
    places = [] if failed(found) else file_names(found)
    places = [place for place in places if place != path and fnmatch.fnmatch(place.rsplit("/", 1)[-1], pattern)]
    if len(places) == 1:
        (result,) = yield (
            clause.t(f"It is {places[0]}.", f"找到了：{places[0]}。"),
            [clause.tools.call("read", path=places[0])],
        )
        if not failed(result):
            return describe(clause, places[0], output(result))
    known = f" {', '.join(places)}" if places else ""
    return clause.t(
        f"I could not read {path}: {error}" + (f"\nThere are several of that name:{known}" if known else ""),
        f"无法读取 {path}：{error}" + (f"\n有几个同名文件：{known}" if known else ""),
    )


def describe(clause, path, text):
    """What stands in a file, in a few words if only those were asked for."""
    total = count_lines(text)
    head = clause.t(f"{path} has {total} line{'s' * (total != 1)}", f"{path} 共 {total} 行")
    if clause.has(
        r"\b(summar|describe|explain|what (is|does|are)\b.*\b(do|about|for)\b|purpose)|总结|概括|解释|介绍|做什么"
    ):
        about, names = "", []
        if path.endswith(".py"):
            first = re.match(r"\s*[\"']{3}(.+?)(?:[\"']{3}|\n)", text, re.S)
            about = first[1].strip() if first else ""
            names = re.findall(r"^(?:def|class) (\w+)", text, re.M)
        else:
            lines = [line.strip("# ").strip() for line in str(text).splitlines() if line.strip()]
            about = " — ".join(lines[:2])
        defines = clause.t(f" It defines {', '.join(names)}.", f"其中定义了 {'、'.join(names)}。") if names else ""
        said = clause.t(f"It says of itself: {about}", f"它这样介绍自己：{about}") if about else ""
        return f"{head}{clause.t('. ', '。')}{said}{defines}"
    return f"{head}{clause.t(':', '：')}\n{shown(text)}"


def find_file(clause):
    """ "Where is orders.csv?" """
    name = clause.paths[0]
    look = clause.t(f"I'll look for {name}.", f"我来找 {name}。")
    (found,) = yield look, [clause.tools.call("files", pattern=name, folder="")]
    places = [] if failed(found) else file_names(found)
    if not places:
        return clause.t(f"There is no {name} here.", f"这里没有 {name}。")
    return clause.t(f"Found: {', '.join(places)}.", f"找到了：{'、'.join(places)}。")


def about_project(clause):
    """ "What does this project do?" """
    (listing,) = yield (
        clause.t("I'll see which files there are.", "我先看看有哪些文件。"),
        [clause.tools.call("files", pattern="*", folder="")],
    )
    names = file_names(listing)
    readme = next((name for name in names if name.lower().startswith("readme")), None)
    if readme is None:
        return clause.t(
            f"There is no README. The files: {', '.join(names)}.", f"没有 README。文件有：{'、'.join(names)}。"
        )
    (text,) = yield clause.t("I'll read the README.", "我来读 README。"), [clause.tools.call("read", path=readme)]
    lines = [line.strip() for line in output(text).splitlines() if line.strip() and line[0] not in "#|`"]
    first = lines[0] if lines else "(nothing)"
    return clause.t(
        f"{readme} says: {first}\nThe files: {', '.join(names)}.",
        f"{readme} 写道：{first}\n文件有：{'、'.join(names)}。",
    )


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


def search(clause):
    """ "Search for TEXT", "Where is total defined?" """
    text = (quoted(clause.text) or [None])[0]
    if text is None:
        after = clause.has(
            r"(?:search (?:the \w+ )?for|look for|grep(?: for)?|find|mentions?|contains?|where is|where are|uses?"
            r"|搜索|查找|寻找|包含|提到)(?:一下)?\s*(?:the (?:text|word|string|name|function)\s+)?(\S[^?？。]*)"
        )
        text = after[1] if after else clause.text
        text = re.split(r"\s+(?:in|within|inside|among)\s+|\s+(?:is\s+)?(?:defined|used|called|mentioned)\b|的", text)[
            0
        ].strip(" .,!")
    hits = None
    if clause.tools.can("search"):
        call = clause.tools.call("search", text=text)
        (result,) = yield clause.t(f"I'll search for {text!r}.", f"我来搜索“{text}”。"), [call]
        if not failed(result) or re.search(r"status 1\b", result):  # grep ends with 1 when it finds nothing
            hits = [line.removeprefix("./") for line in output(result).splitlines() if text.lower() in line.lower()]
    if hits is None:
        hits = yield from search_by_reading(clause, text)
    inside = [path for path in clause.paths if path not in text]
    if inside:
        hits = [hit for hit in hits if hit.startswith(tuple(inside))]
    if not hits:
        return clause.t(f"{text!r} stands in no file here.", f"这里没有文件包含“{text}”。")
    where = clause.t(
        f"{text!r} stands in {len(hits)} line{'s' * (len(hits) != 1)}:", f"“{text}”出现在 {len(hits)} 行："
    )
    return shown("\n".join([where, *hits]))


def search_by_reading(clause, text):
    """Without a tool that searches: read every file and look."""
    (found,) = yield (
        clause.t("No tool here searches, so I'll read the files.", "没有可用的搜索工具，我来逐个读取文件。"),
        [clause.tools.call("files", pattern="*", folder="")],
    )
    names = [name for name in file_names(found) if "." in name][:20]
    results = (yield "", [clause.tools.call("read", path=name) for name in names]) if names else []
    return [
        f"{name}:{number}:{line}"
        for name, result in zip(names, results, strict=True)
        if not failed(result)
        for number, line in enumerate(output(result).splitlines(), 1)
        if text in line
    ]


# Changing and running


def write_file(clause):
    """ "Write a file hello.txt with the text Hello" """
    path = clause.paths_or_known[0]
    rest = clause.text[clause.text.find(path) + len(path) :] if path in clause.text else clause.text
    inside = [text for text in quoted(clause.text) if text != path]
    after = re.search(
        r"(?:(?:with|containing|saying|that says|that reads)\s*(?:the\s+)?(?:(?:text|content|contents|line|words?)\b)?"
        r"|内容(?:是|为)?|写入|写着|:|：)\s*[:：]?\s*(.+)",
        rest,
        re.S,
    )
    content = inside[-1] if inside else after[1].strip() if after else "" if clause.has(r"\bempty\b|空") else None
    if content is None:
        return clause.t(
            f"What shall stand in {path}? I found no text in your message.", f"{path} 里要写什么？我没有找到内容。"
        )
    call = clause.tools.call("write", path=path, content=content)
    (result,) = yield clause.t(f"I'll write {path}.", f"我来写 {path}。"), [call]
    if failed(result):
        return clause.t(f"{path} was not written: {result}", f"没有写成 {path}：{result}")
    said = (
        shown(result)
        if str(result).strip() and "no output" not in str(result)
        else f"{call['name']} reported no error."
    )
    return clause.t(f"Done. {said}", f"完成。{said}")


def edit_file(clause):
    """ "Replace A by B in F", "In F, change A to B" """
    path = clause.paths_or_known[0]
    inside = [text for text in quoted(clause.text) if text != path]
    if len(inside) >= 2:
        old, new = inside[:2]
    else:
        bare = clause.text.replace(path, "\0")
        match = re.search(
            r"(?:replace|change|edit|rename)\s+(.+?)\s+(?:by|with|to|into)\s+(.+?)(?:\s+(?:in|inside)\s+\0.*)?$",
            bare,
            re.I,
        )
        match = match or re.search(
            r"把?\s*\0?\s*(?:里|中)?(?:的)?\s*(.+?)\s*(?:改成|改为|替换成|替换为|换成)\s*(.+?)[。.]?$", bare
        )
        if not match:
            return clause.t(
                f"Say it as: replace 'old text' by 'new text' in {path}.",
                f"请这样说：把 {path} 里的“旧文字”改成“新文字”。",
            )
        old, new = match[1].strip(), match[2].strip().rstrip(".")
    (result,) = yield (
        clause.t(f"I'll replace {old!r} by {new!r} in {path}.", f"我把 {path} 里的“{old}”改成“{new}”。"),
        [clause.tools.call("edit", path=path, old_text=old, new_text=new)],
    )
    if failed(result) and re.search(r"replace_all|more than|times|matches|\d+ (?:places|occurrences)", str(result)):
        call = clause.tools.call("edit", path=path, old_text=old, new_text=new, replace_all=True)
        if "replace_all" in call["input"]:
            text = clause.t(
                "It stands there more than once, so I'll replace each of them.", "它不止出现一次，我全部替换。"
            )
            (result,) = yield text, [call]
    if failed(result):
        (text,) = yield (
            clause.t("That failed. I'll look at the file.", "没有成功，我看看这个文件。"),
            [clause.tools.call("read", path=path)],
        )
        times = 0 if failed(text) else str(text).count(old)
        return clause.t(
            f"{path} was not changed: {result}\n{old!r} stands in it {times} times.",
            f"没有修改 {path}：{result}\n“{old}”在其中出现 {times} 次。",
        )
    said = str(result).strip()
    said = "" if not said or "no output" in said else f" {shown(said)}"
    return clause.t(f"Done: {old!r} is now {new!r} in {path}.{said}", f"完成：{path} 里的“{old}”已改成“{new}”。{said}")


def run_command(clause):
    """ "Run `ls -la`", "Execute python report.py" """
    command = (quoted(clause.text) or [None])[0]
    if command is None:
        after = clause.has(
            r"(?:run|execute|call|运行|执行)\s*(?:the\s+)?(?:command|file|script|program|命令|文件|脚本)?\s*[:：]?\s*(.+)"
        )
        command = re.sub(r"\s+(?:in|with|using)\s+(?:the\s+)?(?:bash|shell|terminal)\b.*$", "", after[1]).strip()
        command = re.sub(r"[.?!。？！]+$", "", command)
    if re.fullmatch(r"[\w./-]+\.py", command):
        command = f"python {command}"
    (result,) = yield (
        clause.t(f"I'll run `{command}`.", f"我来运行 `{command}`。"),
        [clause.tools.call("run", command=command)],
    )
    if re.search(r"python: (?:command )?not found|No such file or directory: 'python'", str(result)):
        command = re.sub(r"^python\b", "python3", command)
        text = clause.t("There is no `python` here. I'll try `python3`.", "这里没有 `python`，我试试 `python3`。")
        (result,) = yield text, [clause.tools.call("run", command=command)]
    if failed(result):
        return clause.t(f"`{command}` failed:\n{shown(result)}", f"`{command}` 失败：\n{shown(result)}")
    return clause.t(f"`{command}` gave:\n{shown(result)}", f"`{command}` 的结果：\n{shown(result)}")


def use_tool(clause, tool, call):
    """A tool that is none of the usual ones: call it, say what it said."""
    (result,) = yield clause.t(f"I'll use {tool}.", f"我用 {tool}。"), [call]
    if failed(result):
        return clause.t(f"{tool} failed: {result}", f"{tool} 失败：{result}")
    return clause.t(f"{tool} gave: {shown(result)}", f"{tool} 的结果：{shown(result)}")


def answer(text):
    """A plan without calls."""
    return text
    yield


def together(plans):
    """Plans that only look can run side by side: the calls of all of them go into one turn."""
    answers, waiting = {}, {}

    def advance(index, results):
        try:
            waiting[index] = plans[index].send(results)
        except StopIteration as end:
            answers[index] = end.value
            waiting.pop(index, None)

    for index in range(len(plans)):
        advance(index, None)
    while waiting:
        turn = dict(waiting)
        results = yield (
            " ".join(say for say, _ in turn.values() if say),
            [c for _, calls in turn.values() for c in calls],
        )
        for index, (_, calls) in turn.items():
            advance(index, results[: len(calls)])
            results = results[len(calls) :]
    return "\n\n".join(answers[index] for index in range(len(plans)))
