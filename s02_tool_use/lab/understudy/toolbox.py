"""The tools of one request, asked for by what is to be done: the call that reads a file, whatever that tool is called.

What a tool does is seen in its name, in the first sentence of its description, and in its schema. What no tool does,
bash does, if it is offered. Tools that a learner added are found by their names and descriptions.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..api.wire import loaded_tools
from .prompt import Clause
from .values import Values, kind_of

Call = dict[str, Any]  # {"type": "tool_use", "name", "input"}

# The schemas of these are known to both sides and are not sent: the beginning of a type -> its properties.
_TEXT = {"type": "string"}
_VERBS = {"enum": ["view", "create", "str_replace"]}
BUILT_IN: dict[str, Any] = {
    "bash_": {"command": _TEXT},
    "text_editor_": {"command": _VERBS, "path": _TEXT, "file_text": _TEXT, "old_str": _TEXT, "new_str": _TEXT},
}


class Ability(NamedTuple):
    """Something that tools do. A new one is a row of ABILITIES."""

    does: tuple[str, str]  # "I need a tool that ...", in English and in Chinese
    said: str  # how a tool says that it does it
    values: Mapping[str, str]  # what it takes: for each a pattern of the names under which a schema may ask for it
    in_bash: str = ""  # the command that does it, where only bash is offered
    verb: str = ""  # what a tool that does several things has to be told


# The program that makes an edit when only bash is there. A quoted END keeps the shell out of the text.
EDIT = """python3 - <<'END'
path, old, new = {path!r}, {old_text!r}, {new_text!r}
text = open(path, encoding="utf-8", newline="").read()
assert text.count(old) == 1, f"the old text stands in {{path}} {{text.count(old)}} times"
open(path, "w", encoding="utf-8", newline="").write(text.replace(old, new))
END"""
COMMAND = {"command": r"(\w+_)?(command|cmd)s?"}
PATH = {"path": r"(\w+_)?(path|file|file_?name)|p"}
CONTENT = {**PATH, "content": r"(file_)?(contents?|text|body)"}
EXCHANGE = {**PATH, "old_text": r"old(_\w+)?|search", "new_text": r"new(_\w+)?|replace", "replace_all": "replace_all"}
FOLDER = r"(\w+_)?(path|dir|directory|folder)"
NAMES = {"pattern": r"(\w+_)?(pattern|glob|query)", "root": FOLDER}
TEXT = {"text": r"(\w+_)?(pattern|text|query|regex|string)|search", "root": FOLDER}
# How a tool says in its name, or in its first sentence, what it does.
RUNS = r"\b(bash|shell|terminal)\b|\b(run|exec\w*)s?\b.*\b(commands?|scripts?)\b"
READS = r"^(run )?(read|cat)\b|\b(read|open|view|give)\w*\b.*\bfiles?\b|\b(show|print|return|get)s?\b.*\bcontents?\b"
WRITES = r"\b(writ|creat|sav|overwrit|put|stor)(e|es|s|ing)?\b"
EDITS = r"\b(edit|replace|change|exchange|substitute|swap|update)s?\b|\bedits?\b|\bmodif"
FINDS = r"\bglob\b|\b(find|list|search|show)(s|es)?\b.*\bfiles\b"
LISTS = r"^(ls|dir|list)\b|\blists?\b.*\b(director\w+|folders?)\b"
SEARCHES = r"\bgrep\b|^search\b(?!.*\bfor files\b)|\bsearch(es)?\b.*\b(text|contents?|code)\b"
ABILITIES = {
    "run": Ability(("runs commands", "运行命令"), RUNS, COMMAND),
    "read": Ability(("reads files", "读文件"), READS, PATH, "cat {path}", "view"),
    "write": Ability(("writes files", "写文件"), WRITES, CONTENT, "printf '%s' {content} > {path}", "create"),
    "edit": Ability(("edits files", "改文件"), EDITS, EXCHANGE, EDIT, "str_replace"),
    "files": Ability(("lists files", "列出文件"), FINDS, NAMES),
    "list": Ability(("lists files", "列出文件"), LISTS, {"folder": FOLDER}),
    "search": Ability(("searches files", "搜索文件"), SEARCHES, TEXT, "grep -rnIF -- {text} .", "content"),
    "count_lines": Ability(("counts lines", "数行数"), r"^(count lines|line count)\b", PATH, "wc -l {path}"),
    "count_words": Ability(("counts words", "数单词"), r"^(count words|word count)\b", PATH, "wc -w {path}"),
}
USUAL = re.compile(  # names of tools that no learner added
    r"(run_)?(bash|shell|command|read|write|edit|glob)|execute_command|(read|read_text|write|create|edit)_file"
    r"|find_files|cat|str_replace\w*"
)
# What is said of a tool that takes the answer itself.
FINAL = re.compile(r"\bfinal|\b(answer|respon(d|se)|result|output|submit|finish|extract)", re.I)


FAULT = re.compile(r"Error\b|(cat|ls|wc|grep|find|FIND|bash|sh|python3?): |File not found - ")  # the last of Windows
NOTES = r"(?:[,;] [^\n]*)?"  # what run_bash says behind the status: a signal, another shell, no sandbox


class Missing(Exception):
    """No tool that was offered can do it. `args[0]` is the ability."""


class Result(str):
    """The text of a tool_result, and whether it was marked as an error."""

    is_error = False

    def without_numbers(self) -> "Result":
        """Itself, or, if each line begins with its number, as `cat -n` prints it, what stands behind the numbers."""
        lines = [re.match(r" *(\d+)[\t→](.*)", line) for line in self.split("\n")]
        numbers = [int(line[1]) for line in lines if line]
        if not all(lines) or numbers != list(range(numbers[0], numbers[0] + len(lines))):
            return self
        return Result("\n".join(line[2] for line in lines if line))


def failed(result: Result) -> bool:
    """True if the call did not work: marked so, an exit status that is not 0, or an error of cat, ls and the like."""
    if result.is_error or re.search(
        rf"\[?exit(?:ed with)?(?: status| code)?:? -?[1-9]\d*(?:{NOTES}\]|\]?)\s*$", result
    ):
        return True
    return len(result) < 300 and bool(FAULT.match(result.lstrip()))


def output(result: str) -> str:
    """What a command printed, without the exit status line and without a note that it printed nothing."""
    text = re.sub(rf"\n?\[exit status \d+{NOTES}\]\s*$", "", result)
    return "" if text.strip().lower() in ("(no output)", "(empty)") else text


class Toolbox:
    """The tools that a request offers, those that wait to be found aside, and its tool_choice allows: name -> tool."""

    def __init__(self, request: dict[str, Any]):
        choice = request.get("tool_choice") or {}
        self.tools: dict[str, dict[str, Any]] = {}
        for tool in loaded_tools(request):
            known = (parts for kind, parts in BUILT_IN.items() if str(tool.get("type")).startswith(kind))
            schema = tool.get("input_schema") or next(({"properties": parts} for parts in known), None)
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
        """First come tools that need nothing else, then bash, then those for which the rest is made up."""
        does, unsure = ABILITIES[ability], []
        folder = f"{values['folder']}/" if values.get("folder") else ""
        asked = {"pattern": f"{folder}**/{values['pattern']}"} if ability == "files" else values
        for name in self.doing(ability):
            schema = self.tools[name]["input_schema"]
            arguments = _arguments(schema, does, {"root": ".", **asked})
            if arguments is not None and set(schema.get("required") or []) <= arguments.keys():
                yield call_of(name, arguments)
            elif arguments is not None:
                more = Values(schema, Clause("", self, []), does.does[0], sure=True)
                unsure.append(call_of(name, more.complete(arguments)))
        if ability not in ("run", "list"):
            yield from self._calls("run", {"command": _in_bash(ability, values)})
        yield from unsure
        if ability == "files":
            yield from self._calls("list", {"folder": values.get("folder") or "."})

    def doing(self, ability: str) -> list[str]:
        """The tools that do it: first those whose names say so, then those whose descriptions do."""
        named, said, does = [], [], ABILITIES[ability]
        for name, tool in self.tools.items():
            words, description = plain_name(name).replace("_", " "), tool.get("description") or ""
            says = re.search(does.said, f"{words}: {description.partition('. ')[0]}", re.I | re.S)
            if _place_of(does.verb, tool["input_schema"]) or (says and re.search(does.said, words)):
                named.append(name)
            elif says or (ability in ("run", "write", "edit") and not description):  # the schema alone shows these
                said.append(name)
        return named + said

    # Tools of the learner's

    def own_tools(self) -> dict[str, dict[str, Any]]:
        return {name: tool for name, tool in self.tools.items() if not USUAL.fullmatch(plain_name(name))}

    def named(self, text: str) -> str | None:
        """The learner's tool that a prompt is about, or None. Its name stands there, or all words of its name do."""
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
        arguments = Values(schema, clause).found()
        return call_of(name, arguments), [name for name in schema.get("required") or [] if name not in arguments]

    def forced(self, clause: Clause, answer: str, *, ran: bool) -> Call:
        """The call when tool_choice demands one and no plan wants any: of a tool for the answer, if something `ran`.

        Any other tool gets what the prompt has for it.
        """
        prompt = clause.raw
        final = [name for name, tool in self.tools.items() if FINAL.search(f"{name}: {tool.get('description', '')}")]
        about = [name for name in (self.named(prompt), self.described(prompt)) if name]
        name = next(iter([*final, *about, *self.tools] if ran else [*about, *final, *self.tools]))
        for call in self._calls("run", {"command": f"echo {shlex.quote(prompt)}"}):
            if call["name"] == name:  # the words of a prompt are not run as a program
                return call
        schema, is_final = self.tools[name]["input_schema"], name in final
        values = Values(schema, clause, answer if is_final else prompt, sure=ran and is_final)
        return call_of(name, values.complete(values.found()))


def plain_name(name: str) -> str:
    """A name as one writes it here: Read, mcp__files__read -> read, readFile -> read_file."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", name).lower().rpartition("__")[2]


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


def _arguments(schema, ability, values):
    """The values under the names that a schema has for them, by these names or by what it says of them.

    None if it has no place for one.
    """
    verb_at = _place_of(ability.verb, schema)
    arguments = {verb_at: ability.verb} if verb_at else {}
    for value, names in ability.values.items():
        if value not in values:
            continue
        free = {name: part for name, part in _parts(schema).items() if name not in arguments and "enum" not in part}
        called = [name for name in free if re.fullmatch(names, plain_name(name))]
        if value == "root":  # given only where it has to be: all is searched
            called = [name for name in called if name in (schema.get("required") or [])]
        elif value != "replace_all":
            called += [name for name in free if re.search(rf"\b({names})\b", free[name].get("description", ""), re.I)]
            if not called:
                return None
        for name in called[:1]:
            given = values[value]
            in_list = ["bash", "-c", given] if value == "command" else [given]
            arguments[name] = in_list if kind_of(free[name]) == "array" else given
    return arguments


def _parts(schema):
    """The properties of an object, each a schema in the form of a dict."""
    return {name: part if isinstance(part, dict) else {} for name, part in (schema.get("properties") or {}).items()}


def _place_of(verb, schema):
    """The property that says which of several things a tool is to do, if `verb` is one of them."""
    return next((name for name, part in _parts(schema).items() if verb and verb in part.get("enum", ())), None)


FILLER = re.compile("a|an|the|of|in|is|are|at|on|to|for|and|or|it|this|that|how|what|do|does|me|my|i|you|please|can")


def _words(text):
    """The words of a string, lower case, without plural s and filler: how many files -> {many, count, file}."""
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[\u4e00-\u9fff]", text)}
    counts = {"count"} if words & {"many", "number"} else set()
    return {re.sub(r"(?<=...)s$", "", word) for word in words if not FILLER.fullmatch(word)} | counts
