"""Which plan fits a prompt: a table of patterns, read from top to bottom, and what to say when none fits."""

import re

from . import fixing, plans
from .toolbox import IN_WORDS, STANDARD, Missing
from .words import THEN, Clause, paths_in, quoted, speaks_chinese

READ_ONLY = {plans.list_files, plans.read_files, plans.count, plans.search, plans.about_project}


def plan_for(prompt, tools, known_paths=()):
    """The plan, a generator, for everything that a prompt asks for, one thing after the other."""
    zh = speaks_chinese(prompt)
    known = list(known_paths)
    clauses = []
    for part in parts_of(prompt):
        clauses.append(Clause(part, tools, zh, known))
        known += clauses[-1].paths
    return one_after_the_other(clauses)


def one_after_the_other(clauses):
    answers = []
    for clause in clauses:
        answers.append((yield from careful(clause)))
    return "\n\n".join(answers)


def parts_of(prompt):
    """The prompt cut at "then" and its like, outside quotation marks."""
    held = []

    def hold(match):
        held.append(match[0])
        return f"\0{len(held) - 1}\0"

    from .words import QUOTED

    masked = QUOTED.sub(hold, prompt)
    parts = [part for part in THEN.split(masked) if part.strip()] or [prompt]
    return [re.sub("\0(\\d+)\0", lambda m: held[int(m[1])], part) for part in parts]


def careful(clause):
    """The plan of one clause; what is missing for it becomes an answer."""
    try:
        return (yield from (side_by_side(clause) or best(clause)))
    except Missing as no:
        return missing(clause, no.args[0])


def side_by_side(clause):
    """ "Read a.txt and count the lines of b.txt": two things to look at, asked for in one turn. Else None."""
    halves = re.split(r"\s+and\s+|\s*(?:并且|以及|同时|和)\s*", clause.text)
    if len(halves) < 2 or quoted(clause.text):
        return None
    clauses = [Clause(half, clause.tools, clause.zh) for half in halves]
    plans_found = [intended(half) for half in clauses]
    if not all(plan in READ_ONLY for plan in plans_found):
        return None
    if not all(
        half.paths or plan in (plans.list_files, plans.search) for half, plan in zip(clauses, plans_found, strict=True)
    ):
        return None
    return plans.together([best(half) for half in clauses])


# The table: the first pattern that occurs in the clause decides. `needs` is what the clause must name besides.
TABLE = [
    (r"(?s)^(?=.*(\btests?\b|\bbugs?\b|\bfail|\bbroken|\berrors?\b|测试|错误|缺陷|失败))"
     r".*(\bfix|\brepair|\bmend|\bdebug|\bsolve|make .*pass|\bcorrect|修复|修好|改好|修正|解决|改对)", None, fixing.fix_tests),
    (r"(\brun|\bexecute|\bdo\b.*\bpass|\bwhy\b.*\bfail|\bwhich\b.*\bfail|运行|执行|跑).*(\btests?\b|\btest_\w+|测试)"
     r"|\btests?\b.*\b(pass|fail)|测试.*(失败|通过)", "no command", fixing.run_tests),
    (r"\b(replace|change|edit|rename|substitute)\b|改成|改为|替换|换成", "path", plans.edit_file),
    (r"\b(write|create|make|save|put)\b|写|创建|新建|保存", "path", plans.write_file),
    (r"\b(run|execute)\b|运行|执行", "command", plans.run_command),
    (r"\b(count|how many|number of|how long)\b.*\b(lines?|words?|long)\b|\bhow long\b|多少\s*(行|个?单?词|个?字)|几行|行数|字数|统计.*(行|词)",
     "path", plans.count),
    (r"\b(search|grep|look for)\b|\bwhere (is|are|do|does)\b|\b(contain|mention)s?\b|搜索|查找|包含|提到|哪里", None, plans.search),
    (r"\bfind\b(?!.*\bfiles?\b)", None, plans.search),
    (r"\b(what|tell|explain|describe|summar\w*)\b.*\b(project|repo\w*|code ?base|program)\b|项目.*(做|什么|介绍)|介绍.*项目",
     "no path", plans.about_project),
    (r"\b(list|ls|dir)\b|\b(how many|count|number of|what|which|show|find|see|all)\b.*\b(files?|tests)\b|\bwhat('s| is) (here|in (this|the) "
     r"(folder|directory))|列出|(多少|几个|哪些|什么|所有|查看).*文件|文件.*(多少|几个|哪些|有什么)", "no path", plans.list_files),
    (r"\b(read|show|open|cat|print|display|view|see|look|tell|what|what's|summar\w*|explain|describe|contents?)\b|读|看|打开|显示|内容|里有|"
     r"是什么|什么|解释|总结|概括|介绍", "path", plans.read_files),
]  # fmt: skip
IS_COMMAND = r"(?i)(?:\b(?:run|execute)\b|运行|执行)\s*(?:the\s+)?(?:command|命令)?\s*[:：]?\s*(?:`|python|pytest|bash|ls|cat|echo|pwd|git)"


def intended(clause):
    """The plan in the table that fits, or None."""
    for pattern, needs, plan in TABLE:
        if not clause.has(pattern):
            continue
        named = clause.paths_or_known
        if needs == "path" and not named:
            continue
        if needs == "no path" and any(path.rsplit("/", 1)[-1].startswith("*") is False for path in clause.paths):
            continue
        if needs == "no command" and clause.has(IS_COMMAND):
            continue
        if needs == "command" and clause.has(r"^\W*(run|execute|运行|执行)\W*$"):
            continue
        return plan
    if clause.paths and clause.text.strip(" .?`'\"") == clause.paths[0]:
        return plans.read_files
    return None


def best(clause):
    """The plan for one clause: a tool that it names, else the table, else a tool whose description fits, else talk."""
    plan = intended(clause)
    named = clause.tools.fitting(clause.text)
    if named is not None:
        arguments = arguments_for(clause.tools.tools[named], clause)
        if isinstance(arguments, dict):
            return own_tool(clause, named, arguments, plan)
        if plan is None or named in clause.text:
            return plans.answer(arguments)
    if plan is not None:
        return plan(clause)
    described = clause.tools.described(clause.text)
    if described is not None:
        arguments = arguments_for(clause.tools.tools[described], clause)
        if isinstance(arguments, dict):
            return own_tool(clause, described, arguments, None)
    return plans.answer(small_talk(clause) or not_understood(clause))


def own_tool(clause, name, arguments, plan):
    """Use the learner's tool. If it fails and the table knows another way, go that way."""
    call = {"type": "tool_use", "name": name, "input": arguments}
    if plan in (plans.count, plans.search):  # they know what such a tool gives
        return plan(clause)
    return plans.use_tool(clause, name, call)


def arguments_for(tool, clause):
    """What a tool's schema asks for, taken from the words of the clause. A text, an answer, if something is not there."""
    schema = tool["input_schema"]
    required = schema.get("required") or []
    arguments = {}
    paths = list(clause.paths_or_known)
    texts = [text for text in quoted(clause.text) if text not in paths]
    numbers = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)", clause.text)
    for name, detail in (schema.get("properties") or {}).items():
        kind = detail.get("type", "string")
        value = None
        if "enum" in detail:
            value = next((option for option in detail["enum"] if str(option).lower() in clause.text.lower()), None)
        elif kind in ("integer", "number") and numbers:
            number = numbers.pop(0)
            value = float(number) if "." in number and kind == "number" else int(float(number))
        elif kind == "boolean":
            value = True if name in required else None
        elif kind == "array":
            value = paths or texts or None
        elif kind == "string" and re.search(r"path|file", name):
            value = paths.pop(0) if paths else None
        elif kind == "string" and texts:
            value = texts.pop(0)
        elif kind == "string" and name in required:
            value = _named_thing(clause, name) or (paths.pop(0) if paths else None)
        if value is not None:
            arguments[name] = value
    missing_names = [name for name in required if name not in arguments]
    if missing_names:
        names = ", ".join(missing_names)
        return clause.t(
            f"The tool {tool['name']} needs {names}, and I found no value for it in your message.",
            f"工具 {tool['name']} 需要 {names}，但我在你的话里没有找到。",
        )
    return arguments


def _named_thing(clause, name):
    """ "the weather in Paris" -> Paris: what follows a preposition, or the parameter's own name."""
    text = clause.text.rstrip(" .?!。？！")
    for pattern in (
        rf"\b{re.escape(name)}\s+(?:of |is |to |=|:)?\s*(\S.*)",
        r"\b(?:in|of|for|at|from|about|to|named|called)\s+(?:the\s+)?(\S.*)",
    ):
        match = re.search(pattern, text, re.I)
        if match:
            return match[1].strip()
    words = re.findall(r"[\w.@-]+", text)
    return words[-1] if len(words) > 1 else None


def forced_call(prompt, tools, choice):
    """The call when tool_choice demands one and no plan wants any: the tool with whatever the prompt gives for it."""
    clause = Clause(prompt, tools, speaks_chinese(prompt))
    name = choice.get("name") or tools.fitting(prompt) or tools.described(prompt) or next(iter(tools.tools), None)
    if name not in tools.tools:
        return {"type": "tool_use", "name": name, "input": {}}
    arguments = arguments_for(tools.tools[name], clause)
    if not isinstance(arguments, dict):
        required = tools.tools[name]["input_schema"].get("required") or []
        arguments = {key: clause.text for key in required}
    return {"type": "tool_use", "name": name, "input": arguments}


# When there is nothing to do


EXAMPLES = [
    ("run", "Fix the failing test", "修复失败的测试"),
    ("files", "How many Python files are here?", "这里有多少个 Python 文件？"),
    ("read", "What is in README.md?", "README.md 里有什么？"),
    ("count_lines", "Count the lines of README.md", "README.md 有多少行？"),
    ("search", "Search for 'total'", "搜索“total”"),
    ("write", "Write a file hello.txt with the text 'Hello'", "写一个文件 hello.txt，内容是“你好”"),
    ("edit", "Replace 'Hello' by 'Goodbye' in hello.txt", "把 hello.txt 里的“你好”改成“再见”"),
    ("run", "Run `ls`", "运行 `ls`"),
]


def abilities(clause):
    """What it can do with the tools of this request, as examples."""
    if not clause.tools:
        return clause.t(
            "This request offers me no tools, so I can only talk. With tools I understand requests such as:",
            "这个请求没有提供工具，所以我只能说话。有了工具，我能听懂这样的请求：",
        ) + "".join(clause.t(f"\n- {en}", f"\n- {zh}") for _, en, zh in EXAMPLES)
    can = [clause.t(en, zh) for ability, en, zh in EXAMPLES if clause.tools.can(ability)]
    own = [name for name in clause.tools.tools if name not in STANDARD]
    can += [clause.t(f"{name}: name it and what it needs", f"{name}：说出它的名字和参数") for name in own]
    return clause.t("I understand requests such as:", "我能听懂这样的请求：") + "".join(
        f"\n- {example}" for example in can
    )


def small_talk(clause):
    if clause.has(r"\b(who|what) are you\b|\bare you\b|你是谁|你是.*吗|你是什么"):
        return clause.t(
            "I am the understudy: a set of written rules, not a language model. I answer when no real model is connected.",
            "我是替身：一组写好的规则，不是语言模型。没有连接真正的模型时，由我来回答。",
        )
    if clause.has(r"\b(what|how) can you (do|help)|\bhelp\b|你能做什么|你会什么|帮助"):
        return f"{_hello(clause)} {abilities(clause)}"
    if clause.has(r"^\W*(hello|hi|hey|good (morning|evening|afternoon)|你好|您好|嗨)\b|^\W*(你好|您好|嗨)"):
        return f"{_hello(clause)} {abilities(clause)}"
    if clause.has(r"\b(thanks?|thank you|bye|goodbye)\b|谢谢|再见"):
        return clause.t("You are welcome.", "不客气。")
    return None


def _hello(clause):
    return clause.t("Hello. I am a set of rules, not a language model.", "你好。我是一组规则，不是语言模型。")


def not_understood(clause):
    sorry = clause.t(
        "I did not understand that: I am a set of rules, not a language model.",
        "我没有听懂：我是一组规则，不是语言模型。",
    )
    return f"{sorry} {abilities(clause)}"


def missing(clause, ability):
    en, zh = IN_WORDS[ability]
    if not clause.tools:
        return clause.t(
            f"I cannot look at your files: this request offers no tools. I would need one that {en}.",
            f"我看不到你的文件：这个请求没有提供工具。我需要一个能{zh}的工具。",
        )
    names = ", ".join(clause.tools.tools)
    return clause.t(
        f"I need a tool that {en}, and this request offers only: {names}.",
        f"我需要一个能{zh}的工具，而这个请求只提供：{names}。",
    )


def foreign_result(talk):
    """The conversation holds a call that the understudy did not make: all it can do is to say what came back."""
    zh = speaks_chinese(talk.prompt)
    name, result = talk.called[-1], plans.shown(talk.results[-1])
    if zh:
        return f"{name} 的结果：{result}"
    return f"{name} {'failed' if talk.results[-1].is_error else 'gave'}: {result}"


def forbidden(talk, name):
    if speaks_chinese(talk.prompt):
        return f"你没有允许 {name}，我就停在这里。"
    return f"You did not allow {name}, so I stop here."
