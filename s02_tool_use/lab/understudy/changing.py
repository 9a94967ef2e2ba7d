"""Plans that change something or run something: write, edit, run a command, use a tool of the learner's."""

import re

from .plans import shown
from .prompt import LOOKED_AT, quoted
from .toolbox import failed, output

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


def write_file(clause):
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


def edit_file(clause):
    """ "Replace A by B in F", "In F, change A to B" """
    path = clause.paths_or_known[0]
    inside = [text for text in quoted(clause.text) if text != path]
    bare = clause.text[:LOOKED_AT].replace(path, "\0")
    match = re.search(EXCHANGE, bare, re.I | re.S) or re.search(EXCHANGE_ZH, bare, re.S)
    if len(inside) >= 2:
        old, new = inside[:2]
    elif match:
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
        (text,) = yield say, [clause.tools.call("read", path=path)]
        times = 0 if failed(text) else text.count(old)
        return clause.t(
            f"{path} was not changed: {result}\n{old!r} stands in it {times} times.",
            f"没有修改 {path}：{result}\n“{old}”在其中出现 {times} 次。",
        )
    said = f" {shown(output(result))}".rstrip()
    return clause.t(f"Done: {old!r} is now {new!r} in {path}.{said}", f"完成：{path} 里的“{old}”已改成“{new}”。{said}")


def run_command(clause):
    """ "Run `ls -la`", "Execute python report.py" """
    command = next(iter(quoted(clause.text)), None)
    if command is None:
        command = re.sub(
            r"\s+(?:in|with|using)\s+(?:the\s+)?(?:bash|shell|terminal)\b.*$", "", clause.has(AFTER_RUN)[1]
        )
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


def use_tool(clause, tool, call):
    """A tool that is none of the usual ones: call it, say what it said."""
    (result,) = yield clause.t(f"I'll use {tool}.", f"我用 {tool}。"), [call]
    if failed(result):
        return clause.t(f"{tool} failed: {result}", f"{tool} 失败：{result}")
    return clause.t(f"{tool} gave: {shown(result)}", f"{tool} 的结果：{shown(result)}")
