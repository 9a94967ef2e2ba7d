"""Which plan fits a request: a table of patterns, read from top to bottom.

A new intent is a plan in plans.py and a row in TABLE, before the rows whose words are more general. Ahead of the table
come tools of the learner's that the prompt names, after it those whose description fits, then small talk.
"""

import re
from collections.abc import Callable, Sequence

from . import answers, fix_test, plans
from .prompt import Clause, cut_at_then, paths_in, quoted, speaks_chinese
from .toolbox import Missing, Toolbox

# What a row of the table needs besides its words


def nothing(clause):
    return True


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
    return bool(quoted(clause.text) or clause.has(plans.AFTER_RUN))


# (plan, what it needs, English words, Chinese words): the first row of which either stands in the clause decides.
TABLE = [
    (
        fix_test.fix_tests,
        nothing,
        r"^(?=.*\b(test(s|_\w+)?|bugs?|fail\w*|errors?|broken)\b).*\b(fix|repair|mend|debug|solve|correct|make .*pass)",
        r"^(?=.*(测试|错误|缺陷|失败)).*(修复|修好|改好|修正|解决|改对)",
    ),
    (
        fix_test.run_tests,
        no_command,
        r"\b(run|execute)\b.*\b(tests?\b|test_)|\b(do|why|which)\b.*\b(pass|fail)|\btests?\b.*\b(pass|fail)",
        r"(运行|执行|跑).*测试|测试.*(失败|通过)",
    ),
    (plans.edit_file, a_path, r"\b(replace|change|edit|rename|substitute)\b", r"改成|改为|替换|换成"),
    (plans.write_file, a_path, r"\b(write|create|make|save|put)\b", r"写|创建|新建|保存"),
    (plans.run_command, a_command, r"\b(run|execute)\b", r"运行|执行"),
    (plans.search, nothing, r"\b(lines?|files?)\b.*\b(contain|match|mention)", r"(行|文件).*(包含|提到)"),
    (plans.find_file, only_a_path, r"\b(find|where is|where are)\b", r"在哪"),
    (
        plans.count,
        a_path,
        r"\b(count|how many|number of)\b.*\b(lines?|words?)\b|\bhow long\b",
        r"(多少|几)\s*(行|个?单词|个?词|个?字)|行数|字数|统计.*(行|词)",
    ),
    (
        plans.search,
        nothing,
        r"\b(search|grep|look for)\b|\bwhere (is|are|do|does)\b|\b(contain|mention)s?\b|\bfind\b(?!.*\bfiles?\b)",
        r"搜索|查找|包含|提到|哪里",
    ),
    (
        plans.about_project,
        no_path,
        r"\b(what|tell|explain|describe|summar\w*)\b.*\b(project|repo\w*|code ?base|program)\b",
        r"项目.*(做|什么|介绍)|介绍.*项目",
    ),
    (
        plans.list_files,
        no_path,
        r"\b(list|ls|dir)\b|\b(how many|count|number of|what|which|show|find|see|all)\b.*\b(files?|tests)\b"
        r"|\bwhat('s| is) (here|in (this|the) (folder|directory))",
        r"列出|(多少|几个|哪些|什么|所有|查看).*文件|文件.*(多少|几个|哪些|有什么)",
    ),
    (
        plans.read_files,
        a_path,
        r"\b(read|show|open|cat|print|display|view|see|look|tell|what|what's|summar\w*|explain|describe|contents?)\b",
        r"读|看|打开|显示|内容|什么|解释|总结|概括|介绍",
    ),
]
NOT = re.compile(r"(\b(not|never|without)|n['’]t|不要|别)\s*$", re.I)
LOOKING = {plans.list_files, plans.read_files, plans.count, plans.search, plans.about_project}  # they change nothing


def plan_for(prompt: str, tools: Toolbox, known_paths: Sequence[str] = ()) -> plans.Plan:
    """The plan, a generator, for everything that a prompt asks for, one thing after the other."""
    said = []
    for clause in clauses_of(prompt, tools, known_paths):
        said.append((yield from careful(clause, side_by_side(clause) or best(clause))))
    return "\n\n".join(said)


def clauses_of(prompt: str, tools: Toolbox, known_paths: Sequence[str] = ()) -> list[Clause]:
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


def careful(clause: Clause, plan: plans.Plan) -> plans.Plan:
    """A plan, with an answer for what is missing or stops it."""
    try:
        return (yield from plan)
    except Missing as no:
        return answers.missing(clause, no.args[0])
    except plans.Stuck as no:
        return no.args[0]


def side_by_side(clause: Clause) -> plans.Plan | None:
    """ "Read a.txt and count the lines of b.txt": two things to look at, asked for in one turn. Else None."""
    halves = re.split(r"\s+and\s+|\s*(?:并且|以及|同时|和)\s*", clause.text)
    if len(halves) < 2 or quoted(clause.text):
        return None
    clauses = [Clause(half, clause.tools, clause.zh) for half in halves]
    whole = all(intended(half) in LOOKING and not is_path(half) for half in clauses)
    named = all(half.paths or intended(half) in (plans.list_files, plans.search) for half in clauses)
    return plans.together([careful(half, best(half)) for half in clauses]) if whole and named else None


def intended(clause: Clause) -> Callable[[Clause], plans.Plan] | None:
    """The plan in the table that fits, or None. "Don't write" is no wish to write."""
    for plan, needs, english, chinese in TABLE:
        found = clause.has(f"{english}|{chinese}")
        if found and needs(clause) and not NOT.search(clause.text[: found.start(found.lastindex or 0)]):
            return plan
    return plans.read_files if is_path(clause) else None


def is_path(clause: Clause) -> bool:
    """True if a file name is all that it says."""
    return clause.paths == [clause.text.strip(" .?`'\"“”")]


def best(clause: Clause) -> plans.Plan:
    """The plan for one clause: a tool that it names, else the table, else a tool whose description fits, else talk."""
    plan, named = intended(clause), clause.tools.fitting(clause.text)
    if named is not None:
        call, missing = clause.tools.filled(named, clause)
        # These plans know such tools: they use them themselves, and have another way if one fails.
        if not missing and plan in (plans.count, plans.search, plans.read_files) and len(call["input"]) == 1:
            return plan(clause)
        if not missing:
            return plans.use_tool(clause, call)
        if plan is None or named in clause.text:
            return plans.answer(answers.arguments_missing(clause, named, missing))
    if plan is not None:
        return plan(clause)
    described = clause.tools.described(clause.text)
    if described is not None:
        call, missing = clause.tools.filled(described, clause)
        if not missing:
            return plans.use_tool(clause, call)
    return plans.answer(answers.small_talk(clause) or answers.not_understood(clause))
