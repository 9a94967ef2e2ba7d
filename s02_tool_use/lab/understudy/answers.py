"""What the understudy says when it does not call a tool: who it is, what it can do, what is missing."""

from .toolbox import ABILITIES

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
NO_TOOLS = "This request offers me no tools, so I can only talk.\nWith tools "


def talk(clause):
    """The answer to what asks for nothing to be done, or to what was not understood: what it can do, as examples."""
    if clause.has(r"\b(who|what) are you\b|\bare you\b|你是谁|你是.*吗|你是什么"):
        en = "I am the understudy: a set of rules, not a language model. I answer when no real model is connected."
        return clause.t(en, "我是替身：一组写好的规则，不是语言模型。没有连接真正的模型时，由我来回答。")
    help_asked = r"\b(what|how) can you (do|help)|\bhelp\b|你能做什么|你会什么|帮助"
    if clause.has(rf"{help_asked}|^\W*(hello|hi|hey|good (morning|evening|afternoon))\b|^\W*(你好|您好|嗨)"):
        said = clause.t("Hello. I am a set of rules, not a language model.", "你好。我是一组规则，不是语言模型。")
    elif clause.has(r"\b(thanks?|thank you|bye|goodbye)\b|谢谢|再见"):
        return clause.t("You are welcome.", "不客气。")
    else:
        en = "I did not understand that: I am a set of rules, not a language model."
        said = clause.t(en, "我没有听懂：我是一组规则，不是语言模型。")
    tools = clause.tools
    no = "" if tools.tools else clause.t(NO_TOOLS, "这个请求没有提供工具，所以我只能说话。有了工具，")
    can = [clause.t(en, zh) for ability, en, zh in EXAMPLES if not tools.tools or tools.can(ability)]
    own = [name + clause.t(": name it and what it needs", "：说出它的名字和参数") for name in tools.own_tools()]
    understood = clause.t("I understand requests such as:", "我能听懂这样的请求：")
    return "\n- ".join([f"{said} {no}{understood}", *can, *own])


def missing(clause, ability):
    """No tool that was offered can do it."""
    need = clause.t(*ABILITIES[ability].does)
    if not clause.tools.tools:
        en = f"I cannot look at your files: this request offers no tools. I would need one that {need}."
        return clause.t(en, f"我看不到你的文件：这个请求没有提供工具。我需要一个能{need}的工具。")
    names = ", ".join(clause.tools.tools)
    en = f"I need a tool that {need}, and this request offers only: {names}."
    return clause.t(en, f"我需要一个能{need}的工具，而这个请求只提供：{names}。")
