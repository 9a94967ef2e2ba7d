"""Which plan fits a request: a table of patterns, read from top to bottom.

A new intent is a plan in plans.py and a row in TABLE, before the rows whose words are more general. Ahead of the table
come tools of the learner's that the prompt names, after it those whose description fits, then small talk.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from . import answers, fix_test, plans
from .prompt import AND, LOOKED_AT, Clause, cut_up
from .toolbox import Missing

COMMAND = r"(\brun|\bexecute|运行|执行)\W*(the |command|命令)*\W*(`|python|pytest|bash|ls|cat|echo|pwd|git)"


def a_path(clause):
    return bool(clause.paths_or_known)


def no_path(clause):
    return all("*" in path for path in clause.paths)


def is_path(clause):
    """A file name is all that it says."""
    return clause.paths == [clause.text.strip(" .?`'\"“”")]


def only_paths(clause):
    """Nothing but files is named: "Where can I find the file a.txt?" """
    words = r"\b(find|locate|where|s|is|are|can|could|i|you|me|my|the|a|files?|called|named|located|please|and)\b"
    known = "|".join([*map(re.escape, clause.paths), words, "文件|请|在|哪里?|儿|和|找到?"])
    return bool(clause.paths) and not re.search(r"\w", re.sub(known, "", clause.text[:LOOKED_AT], flags=re.I))


class Intent(NamedTuple):
    """A plan, and the words that ask for it in English or in Chinese.

    `needs` tells whether a clause has what the plan takes.
    """

    plan: Callable[[Clause], plans.Plan]
    english: str
    chinese: str
    needs: Callable[[Clause], bool] = lambda clause: True


TABLE = [  # the first intent whose words stand in the clause decides
    Intent(
        fix_test.fix_tests,
        r"^(?=.*\b(test(s|_\w+)?|bugs?|fail\w*|errors?|broken)\b).*\b(fix|repair|mend|debug|solve|correct|make .*pass)",
        r"^(?=.*(测试|错误|缺陷|失败)).*(修复|修好|改好|修正|解决|改对)",
    ),
    Intent(
        fix_test.run_tests,
        r"\b(run|execute)\b.*\b(tests?\b|test_)|\b(do|why|which)\b.*\b(pass|fail)|\btests?\b.*\b(pass|fail)",
        r"(运行|执行|跑).*测试|测试.*(失败|通过)",
        lambda clause: not clause.has(COMMAND),
    ),
    Intent(plans.edit_file, r"\b(replace|change|edit|rename|substitute)\b", r"改成|改为|替换|换成", a_path),
    Intent(plans.write_file, r"\b(write|create|make|save|put)\b", r"写|创建|新建|保存", a_path),
    Intent(
        plans.run_command,
        r"\b(run|execute)\b",
        r"运行|执行",
        lambda clause: bool(clause.quoted or clause.has(plans.AFTER_RUN)),
    ),
    Intent(plans.find_files, r"\b(find|locate|where)\b", r"在哪|找", only_paths),
    Intent(
        plans.search,
        r"\b(search|grep|look for)\b|\bwhere (is|are|do|does)\b|\b(contain|mention)s?\b|\bfind\b(?!.*\bfiles?\b)",
        r"搜索|查找|包含|提到|哪里|在哪",
    ),
    Intent(
        plans.count,
        r"\b(count|how many|number of)\b.*\b(lines?|words?)\b|\bhow long\b",
        r"(多少|几)\s*(行|个?单词|个?词|个?字)|行数|字数|统计.*(行|词)",
        a_path,
    ),
    Intent(
        plans.list_files,
        r"\b(list|ls|dir)\b|\b(how many|count|number of|what|which|show|find|see|all)\b.*\b(files?|tests)\b"
        r"|\bwhat('s| is) (here|in (this|the) (folder|directory))",
        r"列出|(多少|几个|哪些|什么|所有|查看).*文件|文件.*(多少|几个|哪些|有什么)",
        no_path,
    ),
    Intent(plans.about_project, r"\b(what|about|explain|describe|summar).*\b(project|repo|codebase)", "项目", no_path),
    Intent(
        plans.read_files,
        r"\b(read|show|open|cat|print|display|view|see|look|tell|what|what's|summar\w*|explain|describe|contents?)\b",
        r"读|看|打开|显示|内容|什么|解释|总结|概括|介绍",
        a_path,
    ),
    Intent(plans.read_files, "", "", is_path),
]
NOT = re.compile(r"(?i)((\b(not|never|without)|n['’]t)(,? (ever|want you|to))*|(不[要用]|别|勿)([把将][^，。]*)?)\s*$")
NAMELESS = {plans.list_files, plans.search, plans.about_project}
LOOKING = {*NAMELESS, plans.read_files, plans.count, plans.find_files}  # they change nothing


def plan_for(whole: Clause) -> plans.Plan:
    """The plan, a generator, for everything that a prompt asks for, one thing after the other."""
    said = []
    for clause in clauses_of(whole):
        try:
            said.append((yield from best(clause)))
        except plans.Stuck as no:
            said.append(no.args[0])
        except Missing as no:
            said.append(answers.missing(clause, no.args[0]))
    return "\n\n".join(said)


def clauses_of(whole: Clause) -> list[Clause]:
    """The parts of a prompt, cut at "then" and "and" where another request follows."""
    first, *rest = cut_up(whole.raw)
    clauses = [whole.but(first)]
    for between, text in zip(rest[::2], rest[1::2], strict=True):
        clause = whole.but(text, clauses[-1].paths_or_known)
        looks = only_looks(clauses[-1]) and only_looks(clause)
        if looks if AND.fullmatch(between) else intended(clause) or clause.tools.named(text):
            clauses.append(clause)
        else:  # "tea now and then" is no second request
            clauses[-1] = clauses[-1].but(clauses[-1].raw + between + text)
    return clauses


def only_looks(clause: Clause) -> bool:
    """True for a request to look at something that it names: "count the lines of b.txt"."""
    plan = intended(clause)
    return plan in LOOKING and bool(clause.paths or plan in NAMELESS) and not is_path(clause)


def intended(clause: Clause) -> Callable[[Clause], plans.Plan] | None:
    """The plan in the table that fits, or None. "Don't write" is no wish to write."""
    for plan, english, chinese, needs in TABLE:
        found = clause.has(f"{english}|{chinese}")
        if found and needs(clause) and not NOT.search(clause.text[: found.start(found.lastindex or 0)]):
            return plan
    return None


def best(clause: Clause) -> plans.Plan:
    """The plan for one clause: a tool that it names, else the table, else a tool whose description fits, else talk."""
    plan, tool = intended(clause), clause.tools.named(clause.text)
    if tool is None and plan is None:
        tool = clause.tools.described(clause.text)
    if tool is not None:
        call, missing = clause.tools.filled(tool, clause)
        # These plans know such tools and use them themselves.
        if not missing and not (plan in (plans.count, plans.search, plans.read_files) and len(call["input"]) == 1):
            return (yield from plans.use_tool(clause, call))
        if missing and (plan is None or tool in clause.text):
            en = f"The tool {tool} needs {', '.join(missing)}, and I found no value for it in your message."
            return clause.t(en, f"工具 {tool} 需要 {', '.join(missing)}，但我在你的话里没有找到。")
    if plan is not None:
        return (yield from plan(clause))
    return answers.talk(clause)
