"""The tools of one request, asked for by what is to be done: the call that reads a file, whatever that tool is called.

If no tool fits, bash does it, if bash is offered. Tools that a learner added are found by their names and descriptions.
"""

import re
import shlex

# What can be done: names of tools that do it, and for each value the names under which a schema may ask for it.
PATH_NAMES = ("path", "file_path", "file", "filename", "file_name", "p")
ABILITIES = {
    "run": (("bash", "shell", "run_bash", "run_command", "terminal"), {"command": ("command", "cmd")}),
    "read": (("read_file", "run_read", "read", "cat", "open_file", "view_file"), {"path": PATH_NAMES}),
    "write": (
        ("write_file", "run_write", "write", "create_file", "save_file"),
        {"path": PATH_NAMES, "content": ("content", "text", "contents")},
    ),
    "edit": (
        ("edit_file", "run_edit", "edit", "replace_in_file", "str_replace"),
        {
            "path": PATH_NAMES,
            "old_text": ("old_text", "old_str", "old_string", "old", "search"),
            "new_text": ("new_text", "new_str", "new_string", "new", "replace"),
            "replace_all": ("replace_all",),
        },
    ),
    "files": (("glob", "run_glob", "find_files", "glob_files"), {"pattern": ("pattern", "glob")}),
    "search": (
        ("grep", "search", "run_grep", "search_files", "search_text", "find_text", "code_search"),
        {"text": ("pattern", "text", "query", "regex", "search", "needle", "string")},
    ),
    "count_lines": (("count_lines", "line_count", "wc", "lines"), {"path": PATH_NAMES}),
    "count_words": (("count_words", "word_count", "words"), {"path": PATH_NAMES}),
}
BUILT_IN = {"bash_20250124": {"properties": {"command": {}}}}  # its schema is known to both sides and is not sent
STANDARD = {"bash", "read_file", "write_file", "edit_file", "glob"}  # the course's own; any other is the learner's

# The program that makes an edit when only bash is there. A quoted END keeps the shell out of the text.
_EDIT = """python3 - <<'END'
path, old, new = {path!r}, {old_text!r}, {new_text!r}
text = open(path, encoding="utf-8", newline="").read()
assert text.count(old) == 1, f"the old text stands in {{path}} {{text.count(old)}} times"
open(path, "w", encoding="utf-8", newline="").write(text.replace(old, new))
END"""

# What each kind of thing to do is in words: an answer names what is missing.
IN_WORDS = {
    "run": ("runs commands", "运行命令"),
    "read": ("reads files", "读文件"),
    "write": ("writes files", "写文件"),
    "edit": ("edits files", "改文件"),
    "files": ("lists files", "列出文件"),
    "search": ("searches files", "搜索文件"),
    "count_lines": ("counts lines", "数行数"),
    "count_words": ("counts words", "数单词"),
}


class Missing(Exception):
    """No tool that was offered can do it. `args[0]` is the ability."""


class Result(str):
    """The text of a tool_result, and whether it was marked as an error."""

    is_error = False


def failed(result):
    """True if the call did not work: marked so, an exit status that is not 0, or an error of cat, ls and the like."""
    if result.is_error or re.search(r"\[?exit(?:ed with)?(?: status| code)?:? -?[1-9]\d*\]?\s*$", result):
        return True
    return len(result) < 300 and bool(re.match(r"(Error\b|(cat|ls|wc|grep|find|bash|sh|python3?): )", result.lstrip()))


def output(result):
    """What a command printed, without the exit status line and without a note that it printed nothing."""
    text = re.sub(r"\n?\[exit status \d+\]\s*$", "", result)
    return "" if text.strip().lower() in ("(no output)", "(empty)") else text


class Toolbox:
    """The tools that a request offers."""

    def __init__(self, request):
        choice = request.get("tool_choice") or {}
        tools = [] if choice.get("type") == "none" else request.get("tools") or []
        self.tools = {tool["name"]: {"input_schema": BUILT_IN.get(tool.get("type")), **tool} for tool in tools}
        self.tools = {name: tool for name, tool in self.tools.items() if tool["input_schema"] is not None}

    def __bool__(self):
        return bool(self.tools)

    def can(self, ability):
        """True if a tool, or bash, can do it."""
        try:
            self.call(ability, **dict.fromkeys(("pattern", *ABILITIES[ability][1]), ""))
        except Missing:
            return False
        return True

    def call(self, ability, *, own=True, **values):
        """The call that does it: {"type": "tool_use", "name", "input"}. `own=False` passes over a learner's tool."""
        names, properties = ABILITIES[ability]
        for name in names:
            if name in self.tools and (own or name in STANDARD):
                arguments = self._arguments(self.tools[name], properties, _as_asked(ability, values))
                if arguments is not None:
                    return _call(name, arguments)
        if ability == "run":
            raise Missing(ability)
        if self.can("run"):
            return self.call("run", command=_command(ability, values))
        if ability in ("count_lines", "count_words"):
            return self.call("read", path=values["path"])
        raise Missing(ability)

    def does(self, ability, call):
        """True if the call is to a tool whose own work this is, and not to bash or another way around."""
        return call["name"] in ABILITIES[ability][0]

    def _arguments(self, tool, properties, values):
        """The values under the names of the tool's schema, or None if the schema wants something else too."""
        offered = tool["input_schema"].get("properties") or {}
        arguments = {}
        for value, names in properties.items():
            name = next((name for name in names if name in offered), None)
            if name is not None and value in values:
                arguments[name] = values[value]
            elif name is None and value in values and value != "replace_all":
                return None
        missing = set(tool["input_schema"].get("required") or []) - set(arguments)
        return None if missing else arguments

    # Tools of the learner's

    def own_tools(self):
        usual = {name for names, _ in ABILITIES.values() for name in names}
        return {name: tool for name, tool in self.tools.items() if name not in usual or name not in STANDARD}

    def fitting(self, text):
        """The learner's tool that a text is about, or None: its name stands there, or all the words of its name do."""
        words = _words(text)
        for name in self.own_tools():
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                return name
        for name in self.own_tools():
            if len(_words(name)) > 1 and _words(name) <= words:
                return name
        return None

    def described(self, text):
        """The learner's tool whose description shares most words with a request: two at least, or None."""
        words = _words(text)
        shared = {
            name: len(words & (_words(tool.get("description", "")) | _words(name)))
            for name, tool in self.own_tools().items()
        }
        best = max(shared, key=shared.get, default=None)
        return best if best is not None and (shared[best] >= 2 or _words(best) & words) else None


def _call(name, arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def _as_asked(ability, values):
    if ability != "files":
        return values
    folder = f"{values['folder']}/" if values.get("folder") else ""
    return {"pattern": f"{folder}**/{values['pattern']}"}


def _command(ability, values):
    """The same in bash, as a person would type it."""
    quoted = {name: shlex.quote(str(value)) for name, value in values.items()}
    if ability == "files":
        folder = quoted["folder"] if values.get("folder") else "."
        if values["pattern"] == "*":
            return f"find {folder} -type f | sort"
        return f'find {folder} -name "{values["pattern"]}" | sort'
    if ability == "edit":
        return _EDIT.format(**values)
    return {
        "read": "cat {path}",
        "write": "printf '%s' {content} > {path}",
        "search": "grep -rnIF -- {text} .",
        "count_lines": "wc -l {path}",
        "count_words": "wc -w {path}",
    }[ability].format(**quoted)


FILLER = re.compile(r"(a|an|the|of|in|is|are|at|on|to|for|and|or|it|this|that|how|what|do|does|me|my|i|you|please|can)")


def _words(text):
    """The words of a text, lower case, without plural s and filler: how many files -> {many, count, file}."""
    words = {word.lower() for word in re.findall(r"[A-Za-z]+|[\u4e00-\u9fff]", text.replace("_", " "))}
    words = {
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if not FILLER.fullmatch(word)
    }
    return words | {"count"} if "many" in words or "number" in words else words
