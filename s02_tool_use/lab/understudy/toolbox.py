"""The tools of one request, asked for by what is to be done: the call that reads a file, whatever that tool is called.

What no tool does, bash does, if it is offered. Tools that a learner added are found by their names and descriptions,
and their arguments are filled with the words of the prompt.
"""

import re
import shlex
from typing import Any, NamedTuple

from .prompt import Clause, quoted

Call = dict[str, Any]  # {"type": "tool_use", "name", "input"}

STANDARD = {"bash", "read_file", "write_file", "edit_file", "glob"}  # the course's own; any other is the learner's
BUILT_IN: dict[str, Any] = {
    "bash_20250124": {"properties": {"command": {}}}
}  # its schema is known to both sides and is not sent


class Ability(NamedTuple):
    """Something that tools do. A new one is a row of ABILITIES."""

    names: tuple[str, ...]  # of tools that do it
    values: dict[str, tuple[str, ...]]  # for each value that it takes the names under which a schema may ask for it
    does: tuple[str, str]  # "I need a tool that ...", in English and in Chinese
    in_bash: str = ""  # the command that does it, where only bash is offered


# The program that makes an edit when only bash is there. A quoted END keeps the shell out of the text.
EDIT = """python3 - <<'END'
path, old, new = {path!r}, {old_text!r}, {new_text!r}
text = open(path, encoding="utf-8", newline="").read()
assert text.count(old) == 1, f"the old text stands in {{path}} {{text.count(old)}} times"
open(path, "w", encoding="utf-8", newline="").write(text.replace(old, new))
END"""
PATH: dict[str, tuple[str, ...]] = {"path": ("path", "file_path", "file", "filename", "file_name", "p")}
ABILITIES = {
    "run": Ability(
        names=("bash", "shell", "run_bash", "run_command", "terminal"),
        values={"command": ("command", "cmd")},
        does=("runs commands", "运行命令"),
    ),
    "read": Ability(
        names=("read_file", "run_read", "read", "cat", "open_file", "view_file"),
        values=PATH,
        does=("reads files", "读文件"),
        in_bash="cat {path}",
    ),
    "write": Ability(
        names=("write_file", "run_write", "write", "create_file", "save_file"),
        values={**PATH, "content": ("content", "text", "contents")},
        does=("writes files", "写文件"),
        in_bash="printf '%s' {content} > {path}",
    ),
    "edit": Ability(
        names=("edit_file", "run_edit", "edit", "replace_in_file", "str_replace"),
        values={
            **PATH,
            "old_text": ("old_text", "old_str", "old_string", "old", "search"),
            "new_text": ("new_text", "new_str", "new_string", "new", "replace"),
            "replace_all": ("replace_all",),
        },
        does=("edits files", "改文件"),
    ),
    "files": Ability(
        names=("glob", "run_glob", "find_files", "glob_files"),
        values={"pattern": ("pattern", "glob")},
        does=("lists files", "列出文件"),
    ),
    "search": Ability(
        names=("grep", "search", "run_grep", "search_files", "search_text", "find_text", "code_search"),
        values={"text": ("pattern", "text", "query", "regex", "search", "needle", "string")},
        does=("searches files", "搜索文件"),
        in_bash="grep -rnIF -- {text} .",
    ),
    "count_lines": Ability(
        names=("count_lines", "line_count", "wc", "lines"),
        values=PATH,
        does=("counts lines", "数行数"),
        in_bash="wc -l {path}",
    ),
    "count_words": Ability(
        names=("count_words", "word_count", "words"),
        values=PATH,
        does=("counts words", "数单词"),
        in_bash="wc -w {path}",
    ),
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

    def __bool__(self) -> bool:
        return bool(self.tools)

    def can(self, ability: str) -> bool:
        """True if a tool, or bash, can do it."""
        values: dict[str, Any] = dict.fromkeys(("pattern", *ABILITIES[ability].values), "")
        try:
            self.call(ability, **values)
        except Missing:
            return False
        return True

    def call(self, ability: str, *, own: bool = True, **values: Any) -> Call:
        """The call that does it. `own=False` passes over a learner's tool."""
        folder = f"{values['folder']}/" if values.get("folder") else ""
        asked = {"pattern": f"{folder}**/{values['pattern']}"} if ability == "files" else values
        for name in ABILITIES[ability].names:
            if name in self.tools and (own or name in STANDARD):
                arguments = _arguments(self.tools[name]["input_schema"], ABILITIES[ability].values, asked)
                if arguments is not None:
                    return call_of(name, arguments)
        if ability != "run" and self.can("run"):
            return self.call("run", command=_in_bash(ability, values))
        if ability in ("count_lines", "count_words"):  # what was read can be counted
            return self.call("read", path=values["path"])
        raise Missing(ability)

    def does(self, ability: str, call: Call) -> bool:
        """True if the call is to a tool whose own work this is, and not to bash or another way around."""
        return call["name"] in ABILITIES[ability].names

    # Tools of the learner's

    def own_tools(self) -> dict[str, dict[str, Any]]:
        return {name: tool for name, tool in self.tools.items() if name not in STANDARD}

    def fitting(self, text: str) -> str | None:
        """The learner's tool that a text is about, or None: its name stands there, or all the words of its name do."""
        for name in self.own_tools():
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                return name
        words = _words(text)
        return next((name for name in self.own_tools() if len(_words(name)) > 1 and _words(name) <= words), None)

    def described(self, text: str) -> str | None:
        """The learner's tool whose description shares most words with a request: two at least, or None."""
        words = _words(text)
        own = {name: _words(tool.get("description", "")) | _words(name) for name, tool in self.own_tools().items()}
        best = max(own, key=lambda name: len(words & own[name]), default=None)
        return best if best is not None and (len(words & own[best]) >= 2 or _words(best) & words) else None

    def filled(self, name: str, clause: Clause) -> tuple[Call, list[str]]:
        """The call of a tool with what a clause has for it, and the required arguments for which it has nothing."""
        schema = self.tools[name]["input_schema"]
        arguments = arguments_for(schema, clause)
        return call_of(name, arguments), [name for name in schema.get("required") or [] if name not in arguments]

    def forced(self, prompt: str, zh: bool) -> Call:
        """The call when tool_choice demands one and no plan wants any, with whatever the prompt has for it."""
        name = self.fitting(prompt) or self.described(prompt) or next(iter(self.tools))
        schema = self.tools[name]["input_schema"]
        arguments = arguments_for(schema, Clause(prompt, self, zh))
        if name in ABILITIES["run"].names:  # the words of a prompt are not run as a program
            arguments, prompt = {}, f"echo {shlex.quote(prompt)}"
        offered = schema.get("properties") or {}
        rest = {key: anything(offered.get(key), prompt) for key in schema.get("required") or []}
        return call_of(name, rest | arguments)


def call_of(name: str, arguments: dict[str, Any]) -> Call:
    return {"type": "tool_use", "name": name, "input": arguments}


def _in_bash(ability, values):
    """The command that does it, as a person would type it."""
    if ability == "edit":
        return EDIT.format(**values)
    safe = {name: shlex.quote(str(value)) for name, value in values.items()}
    if ability == "files":
        folder, pattern = safe["folder"] if values.get("folder") else ".", values["pattern"]
        name = f'"{pattern}"' if re.fullmatch(r"[\w.*-]+", pattern) else safe["pattern"]
        return f"find {folder} {'-type f' if pattern == '*' else f'-name {name}'} | sort"
    return ABILITIES[ability].in_bash.format(**safe)


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


FILLER = re.compile(r"(a|an|the|of|in|is|are|at|on|to|for|and|or|it|this|that|how|what|do|does|me|my|i|you|please|can)")


def _words(text):
    """The words of a text, lower case, without plural s and filler: how many files -> {many, count, file}."""
    words = {word.lower() for word in re.findall(r"[A-Za-z]+|[\u4e00-\u9fff]", text.replace("_", " "))}
    words = {
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if not FILLER.fullmatch(word)
    }
    return words | {"count"} if "many" in words or "number" in words else words


# What to send to a tool that nobody here knows

CONTAINING = r"(?:\bcontain(?:s|ing)?|\bmatching|\bwith the (?:word|text)|包含)\s*(\S.*)"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\w)")


def arguments_for(schema: dict[str, Any], clause: Clause) -> dict[str, Any]:
    """The arguments that a clause has for a tool: file names, quotations, numbers, what follows a preposition."""
    required = schema.get("required") or []
    paths = list(clause.paths_or_known)
    texts = [text for text in quoted(clause.text) if text not in paths]
    numbers = NUMBER.findall(clause.text)
    arguments: dict[str, Any] = {}
    value: Any
    for name, wanted in (schema.get("properties") or {}).items():
        kind, value = kind_of(wanted), None
        if isinstance(wanted, dict) and "enum" in wanted:
            value = next((option for option in wanted["enum"] if str(option).lower() in clause.text.lower()), None)
        elif kind in ("integer", "number") and numbers:
            number = float(numbers.pop(0))
            value = int(number) if kind == "integer" or number.is_integer() else number
        elif kind == "boolean" and name in required:
            value = True
        elif kind == "array":
            value = paths or texts or None
        elif kind == "string" and re.search(r"path|file", name):
            value = paths.pop(0) if paths else None
        elif kind == "string" and texts:
            value = texts.pop(0)
        elif kind == "string" and (text := clause.has(CONTAINING)):
            value = text[1].strip(" .?!")
        elif kind == "string" and name in required:
            value = thing_named(clause, name) or (paths.pop(0) if paths else None)
        if value is not None:
            arguments[name] = value
    return arguments


def kind_of(schema):
    """The JSON type that a property asks for; a string if it does not say."""
    kind = schema.get("type", "string") if isinstance(schema, dict) else "string"
    return next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind


def thing_named(clause, name):
    """ "the weather in Paris" -> Paris: what follows the parameter's own name or a preposition, else the last word."""
    text = clause.text.rstrip(" .?!。？！")
    own_name = rf"\b{re.escape(name)}\s*(?:of |is |to |=|:)?\s*(\S.*)"
    preposition = r"\b(?:in|of|for|at|from|about|to|named|called)\s+(?:the\s+)?(\S.*)"
    match = re.search(own_name, text, re.I) or re.search(preposition, text, re.I)
    if match:
        return match[1].strip()
    words = re.findall(r"[\w.@-]+", text)
    return words[-1] if len(words) > 1 else None


def anything(schema, text):
    """A value of the type that a property asks for, for want of a better one."""
    if isinstance(schema, dict) and schema.get("enum"):
        return schema["enum"][0]
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}.get(kind_of(schema), text)
