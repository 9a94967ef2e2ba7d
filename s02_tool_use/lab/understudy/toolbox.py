"""The tools of one request, asked for by what is to be done: the call that reads a file, whatever that tool is called.

What no tool does, bash does, if it is offered. Tools that a learner added are found by their names and descriptions.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from .prompt import Clause
from .values import arguments_for, fitting

Call = dict[str, Any]  # {"type": "tool_use", "name", "input"}

# The schema of this one is known to both sides and is not sent.
BUILT_IN: dict[str, Any] = {"bash_20250124": {"properties": {"command": {}}}}


class Ability(NamedTuple):
    """Something that tools do. A new one is a row of ABILITIES."""

    names: tuple[str, ...]  # of tools that do it
    values: Mapping[str, tuple[str, ...]]  # for each value that it takes the names under which a schema may ask for it
    does: tuple[str, str]  # "I need a tool that ...", in English and in Chinese
    in_bash: str = ""  # the command that does it, where only bash is offered


# The program that makes an edit when only bash is there. A quoted END keeps the shell out of the text.
EDIT = """python3 - <<'END'
path, old, new = {path!r}, {old_text!r}, {new_text!r}
text = open(path, encoding="utf-8", newline="").read()
assert text.count(old) == 1, f"the old text stands in {{path}} {{text.count(old)}} times"
open(path, "w", encoding="utf-8", newline="").write(text.replace(old, new))
END"""
PATH = {"path": ("path", "file_path", "file", "filename", "file_name", "p")}  # value -> its names
TEXT = {"text": ("pattern", "text", "query", "regex", "search", "string")}
CONTENT = {**PATH, "content": ("content", "text", "contents")}
OLD = ("old_text", "old_str", "old_string", "old", "search")
NEW = ("new_text", "new_str", "new_string", "new", "replace")
EXCHANGE = {**PATH, "old_text": OLD, "new_text": NEW, "replace_all": ("replace_all",)}
RUN = ("bash", "shell", "run_bash", "run_command", "execute_command")  # names of tools
READ = ("read_file", "run_read", "read", "cat", "read_text_file")
WRITE = ("write_file", "run_write", "write", "create_file")
SEARCH = ("grep", "run_grep", "search", "search_files")
ABILITIES = {
    "run": Ability(RUN, {"command": ("command", "cmd")}, ("runs commands", "运行命令")),
    "read": Ability(READ, PATH, ("reads files", "读文件"), "cat {path}"),
    "write": Ability(WRITE, CONTENT, ("writes files", "写文件"), "printf '%s' {content} > {path}"),
    "edit": Ability(("edit_file", "run_edit", "edit", "str_replace"), EXCHANGE, ("edits files", "改文件"), EDIT),
    "files": Ability(("glob", "run_glob", "find_files"), {"pattern": ("pattern", "glob")}, ("lists files", "列出文件")),
    "search": Ability(SEARCH, TEXT, ("searches files", "搜索文件"), "grep -rnIF -- {text} ."),
    "count_lines": Ability(("count_lines", "line_count"), PATH, ("counts lines", "数行数"), "wc -l {path}"),
    "count_words": Ability(("count_words", "word_count"), PATH, ("counts words", "数单词"), "wc -w {path}"),
}
DESCRIBED = {  # how the name or the first sentence of a tool that is called otherwise says it
    "run": r"\b(runs?|execut\w+)\b.*\b(commands?|shell|bash|terminal)\b",
    "read": r"\b(read|open|view)s?\b.*\bfiles?\b|\bcontents? of (a|the) file\b",
    "write": r"\b(write|create|save)s?\b",
    "edit": r"\b(edit|replace|change)s?\b",
    "files": r"\b(glob|find|list)s?\b.*\bfiles?\b",
}


class Missing(Exception):
    """No tool that was offered can do it. `args[0]` is the ability."""


class Result(str):
    """The text of a tool_result, and whether it was marked as an error."""

    is_error = False


def failed(result: Result) -> bool:
    """True if the call did not work: marked so, an exit status that is not 0, or an error of cat, ls and the like."""
    if result.is_error or re.search(r"\[?exit(?:ed with)?(?: status| code)?:? -?[1-9]\d*\]?\s*$", result):
        return True
    return len(result) < 300 and bool(re.match(r"(Error\b|(cat|ls|wc|grep|find|bash|sh|python3?): )", result.lstrip()))


def output(result: str) -> str:
    """What a command printed, without the exit status line and without a note that it printed nothing."""
    text = re.sub(r"\n?\[exit status \d+\]\s*$", "", result)
    return "" if text.strip().lower() in ("(no output)", "(empty)") else text


class Toolbox:
    """The tools that a request offers and its tool_choice allows: `tools`, name -> tool."""

    def __init__(self, request: dict[str, Any]):
        choice = request.get("tool_choice") or {}
        self.tools: dict[str, dict[str, Any]] = {}
        for tool in request.get("tools") or []:
            schema = tool.get("input_schema", BUILT_IN.get(tool.get("type")))
            if schema is not None and choice.get("type") != "none" and choice.get("name") in (None, tool["name"]):
                self.tools[tool["name"]] = {**tool, "input_schema": schema}

    def can(self, ability: str) -> bool:
        """True if a tool, or bash, can do it."""
        return any(self._calls(ability, dict.fromkeys(("pattern", *ABILITIES[ability].values), "")))

    def call(self, ability: str, **values: Any) -> Call:
        """The call that does it: to a tool for it, else to bash, if that is offered. Raises Missing."""
        for call in self._calls(ability, values):
            return call
        raise Missing(ability)

    def _calls(self, ability, values):
        folder = f"{values['folder']}/" if values.get("folder") else ""
        asked = {"pattern": f"{folder}**/{values['pattern']}"} if ability == "files" else values
        for name in self.doing(ability):
            arguments = _arguments(self.tools[name]["input_schema"], ABILITIES[ability].values, asked)
            if arguments is not None:
                yield call_of(name, arguments)
        if ability != "run":
            yield from self._calls("run", {"command": _in_bash(ability, values)})

    def doing(self, ability: str) -> list[str]:
        """The tools that do it: those that are called so, then those that are said to."""
        does = re.compile(DESCRIBED.get(ability, r"(?!)"), re.I | re.S)
        said = {name: f"{name.replace('_', ' ')}: {tool.get('description', '')}" for name, tool in self.tools.items()}
        named = [name for name in self.tools if plain_name(name) in ABILITIES[ability].names]
        return named + [name for name in said if name not in named and does.search(said[name].partition(".")[0])]

    # Tools of the learner's

    def own_tools(self) -> dict[str, dict[str, Any]]:
        usual = {name for ability in ("run", "read", "write", "edit", "files") for name in ABILITIES[ability].names}
        return {name: tool for name, tool in self.tools.items() if plain_name(name) not in usual}

    def named(self, text: str) -> str | None:
        """The learner's tool that a text is about, or None: its name stands there, or all the words of its name do."""
        words, own = _words(text), self.own_tools()
        exact = [name for name in own if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
        spoken = [name for name in own if len(_words(name)) > 1 and _words(name) <= words]
        return next(iter(exact + spoken), None)

    def described(self, text: str) -> str | None:
        """The learner's tool whose description shares most words with a request: two at least, or None."""
        words = _words(text)
        own = {name: _words(f"{name} {tool.get('description', '')}") for name, tool in self.own_tools().items()}
        best = max(own, key=lambda name: len(words & own[name]), default="")
        return best if best and (len(words & own[best]) >= 2 or _words(best) & words) else None

    def filled(self, name: str, clause: Clause) -> tuple[Call, list[str]]:
        """The call of a tool with what a clause has for it, and the required arguments for which it has nothing."""
        schema = self.tools[name]["input_schema"]
        arguments = arguments_for(schema, clause)
        return call_of(name, arguments), [name for name in schema.get("required") or [] if name not in arguments]

    def forced(self, clause: Clause) -> Call:
        """The call when tool_choice demands one and no plan wants any, with whatever the prompt has for it."""
        prompt = clause.raw
        name = self.named(prompt) or self.described(prompt) or next(iter(self.tools))
        schema = self.tools[name]["input_schema"]
        arguments = arguments_for(schema, clause)
        if name in self.doing("run"):  # the words of a prompt are not run as a program
            arguments, prompt = {}, f"echo {shlex.quote(prompt)}"
        return call_of(name, fitting(schema, prompt, arguments))


def plain_name(name: str) -> str:
    """A name as ABILITIES spells it: Read, mcp__files__read -> read."""
    return name.lower().rpartition("__")[2]


def call_of(name: str, arguments: dict[str, Any]) -> Call:
    return {"type": "tool_use", "name": name, "input": arguments}


def _in_bash(ability, values):
    """The command that does it, as a person would type it."""
    safe = {name: shlex.quote(str(value)) for name, value in values.items()}
    if ability == "files":
        folder, pattern = safe["folder"] if values.get("folder") else ".", values["pattern"]
        name = f'"{pattern}"' if re.fullmatch(r"[\w.*-]+", pattern) else safe["pattern"]
        return f"find {folder} {'-type f' if pattern == '*' else f'-name {name}'} | sort"
    return ABILITIES[ability].in_bash.format(**values if ability == "edit" else safe)


def _arguments(schema, names_of, values):
    """The values under the names of a schema, or None if it has no place for one, or wants something else too."""
    offered, arguments = schema.get("properties") or {}, {}
    for value, names in names_of.items():
        name = next((name for name in names if name in offered), None)
        if value in values and name is not None:
            arguments[name] = values[value]
        elif value in values and value != "replace_all":
            return None
    return arguments if set(schema.get("required") or []) <= arguments.keys() else None


FILLER = re.compile("a|an|the|of|in|is|are|at|on|to|for|and|or|it|this|that|how|what|do|does|me|my|i|you|please|can")


def _words(text):
    """The words of a text, lower case, without plural s and filler: how many files -> {many, count, file}."""
    words = set(re.findall(r"[a-z]+|[\u4e00-\u9fff]", text.lower()))
    counts = {"count"} if words & {"many", "number"} else set()
    return {re.sub(r"(?<=...)s$", "", word) for word in words if not FILLER.fullmatch(word)} | counts
