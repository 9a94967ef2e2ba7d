"""Which plan fits a prompt: a table of patterns, read from top to bottom.

Before the table come tools of the learner's that the prompt names, after it those whose description fits.
"""

import re

from . import answers, changing, fix_test, looking, plans
from .filling import arguments_for, missing_arguments
from .prompt import Clause, cut_at_then, paths_in, quoted, speaks_chinese
from .toolbox import Missing


def plan_for(prompt, tools, known_paths=()):
    """The plan, a generator, for everything that a prompt asks for, one thing after the other."""
    return one_after_the_other(clauses_of(prompt, tools, known_paths))


def clauses_of(prompt, tools, known_paths=()):
    """The parts of a prompt, cut at "then" and its like where something to do follows."""
    zh, known = speaks_chinese(prompt), list(known_paths)
    first, *rest = cut_at_then(prompt)
    parts = [first]
    for between, part in zip(rest[::2], rest[1::2], strict=True):
        known_then = known + [path for earlier in parts for path in paths_in(earlier)]
        if intended(Clause(part, tools, zh, known_then)) or tools.fitting(part):
            parts.append(part)
        else:  # "tea now and then" is no second request
            parts[-1] += between + part
    clauses = []
    for part in parts:
        clauses.append(Clause(part, tools, zh, known))
        known += clauses[-1].paths
    return clauses


def one_after_the_other(clauses):
    answers = []
    for clause in clauses:
        answers.append((yield from careful(clause)))
    return "\n\n".join(answers)


def careful(clause):
    """The plan of one clause; what is missing for it becomes an answer."""
    try:
        return (yield from (side_by_side(clause) or best(clause)))
    except Missing as no:
        return answers.missing(clause, no.args[0])


def side_by_side(clause):
    """ "Read a.txt and count the lines of b.txt": two things to look at, asked for in one turn. Else None."""
    halves = re.split(r"\s+and\s+|\s*(?:并且|以及|同时|和)\s*", clause.text)
    if len(halves) < 2 or quoted(clause.text):
        return None
    clauses = [Clause(half, clause.tools, clause.zh) for half in halves]
    whole = all(intended(half) in LOOKING and not is_path(half) for half in clauses)
    named = all(half.paths or intended(half) in (looking.list_files, looking.search) for half in clauses)
    return plans.together([best(half) for half in clauses]) if whole and named else None


# What a row of the table needs besides its words


def a_path(clause):
    return bool(clause.paths_or_known)


def only_a_path(clause):
    return bool(clause.paths) and not quoted(clause.text)


def no_path(clause):
    return all("*" in path for path in clause.paths)


def no_command(clause):
    return not clause.has(
        r"(\brun|\bexecute|运行|执行)\W*(the |command|命令)*\W*(`|python|pytest|bash|ls|cat|echo|pwd|git)"
    )


def a_command(clause):
    return bool(quoted(clause.text) or clause.has(changing.AFTER_RUN))


# (plan, what it needs, English words, Chinese words): the first row of which either stands in the clause decides.
TABLE = [
    (
        fix_test.fix_tests,
        None,
        r"^(?=.*\b(tests?|bugs?|fail\w*|broken|errors?)\b).*\b(fix|repair|mend|debug|solve|correct|make .*pass)",
        r"^(?=.*(测试|错误|缺陷|失败)).*(修复|修好|改好|修正|解决|改对)",
    ),
    (
        fix_test.run_tests,
        no_command,
        r"\b(run|execute)\b.*\b(tests?\b|test_)|\b(do|why|which)\b.*\b(pass|fail)|\btests?\b.*\b(pass|fail)",
        r"(运行|执行|跑).*测试|测试.*(失败|通过)",
    ),
    (changing.edit_file, a_path, r"\b(replace|change|edit|rename|substitute)\b", r"改成|改为|替换|换成"),
    (changing.write_file, a_path, r"\b(write|create|make|save|put)\b", r"写|创建|新建|保存"),
    (changing.run_command, a_command, r"\b(run|execute)\b", r"运行|执行"),
    (looking.search, None, r"\b(lines?|files?)\b.*\b(contain|match|mention)", r"(行|文件).*(包含|提到)"),
    (looking.find_file, only_a_path, r"\b(find|where is|where are)\b", r"在哪"),
    (
        looking.count,
        a_path,
        r"\b(count|how many|number of)\b.*\b(lines?|words?)\b|\bhow long\b",
        r"(多少|几)\s*(行|个?单词|个?词|个?字)|行数|字数|统计.*(行|词)",
    ),
    (
        looking.search,
        None,
        r"\b(search|grep|look for)\b|\bwhere (is|are|do|does)\b|\b(contain|mention)s?\b|\bfind\b(?!.*\bfiles?\b)",
        r"搜索|查找|包含|提到|哪里",
    ),
    (
        looking.about_project,
        no_path,
        r"\b(what|tell|explain|describe|summar\w*)\b.*\b(project|repo\w*|code ?base|program)\b",
        r"项目.*(做|什么|介绍)|介绍.*项目",
    ),
    (
        looking.list_files,
        no_path,
        r"\b(list|ls|dir)\b|\b(how many|count|number of|what|which|show|find|see|all)\b.*\b(files?|tests)\b"
        r"|\bwhat('s| is) (here|in (this|the) (folder|directory))",
        r"列出|(多少|几个|哪些|什么|所有|查看).*文件|文件.*(多少|几个|哪些|有什么)",
    ),
    (
        looking.read_files,
        a_path,
        r"\b(read|show|open|cat|print|display|view|see|look|tell|what|what's|summar\w*|explain|describe|contents?)\b",
        r"读|看|打开|显示|内容|什么|解释|总结|概括|介绍",
    ),
]
LOOKING = {
    looking.list_files,
    looking.read_files,
    looking.count,
    looking.search,
    looking.about_project,
}  # they change nothing


def intended(clause):
    """The plan in the table that fits, or None."""
    for plan, needs, english, chinese in TABLE:
        if clause.has(f"{english}|{chinese}") and (needs is None or needs(clause)):
            return plan
    return looking.read_files if is_path(clause) else None


def is_path(clause):
    """True if a file name is all that it says."""
    return clause.paths == [clause.text.strip(" .?`'\"“”")]


def best(clause):
    """The plan for one clause: a tool that it names, else the table, else a tool whose description fits, else talk."""
    plan = intended(clause)
    named = clause.tools.fitting(clause.text)
    if named is not None:
        arguments = arguments_for(clause.tools.tools[named], clause)
        if not (missing := missing_arguments(clause.tools.tools[named], arguments)):
            return with_own_tool(clause, named, arguments, plan)
        if plan is None or named in clause.text:
            return plans.answer(answers.arguments_missing(clause, named, missing))
    if plan is not None:
        return plan(clause)
    described = clause.tools.described(clause.text)
    if described is not None:
        arguments = arguments_for(clause.tools.tools[described], clause)
        if not missing_arguments(clause.tools.tools[described], arguments):
            return with_own_tool(clause, described, arguments, None)
    return plans.answer(answers.small_talk(clause) or answers.not_understood(clause))


def with_own_tool(clause, name, arguments, plan):
    """Use the learner's tool. A plan that knows such tools uses it itself, and has another way if it fails."""
    if plan in (looking.count, looking.search, looking.read_files) and len(arguments) == 1:
        return plan(clause)
    return changing.use_tool(clause, name, {"type": "tool_use", "name": name, "input": arguments})
