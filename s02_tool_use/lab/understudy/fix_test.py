"""How the understudy fixes a failing test: run it, read what it calls, try one small change after the other.

It knows two slips, a wrong comparison (`>` for `>=`) and a wrong number (one off, or a zero too few), and understands
nothing: a change after which fewer tests fail stays, any other is taken back. No test is ever changed.
"""

import ast
import contextlib
import io
import re
import tokenize
from typing import NamedTuple

from .plans import Plan, found_files, shown
from .prompt import Clause
from .toolbox import Call, failed, output

MAX_TRIES = 7  # changes that are tried before it gives up: two turns each, and the loop ends after 20
FAILED = re.compile(r"^(?:FAIL|FAILED|ERROR):?\s+(?:\S+::)?([\w.]+)(?:\[.*?\])?(?: \(.*?\))?(?:(?::| -) ?(.*))?$", re.M)
IMPORTED = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)|^import ([\w.]+)", re.M)
SWAPS = {">": ">=", ">=": ">", "<": "<=", "<=": "<", "==": "!=", "!=": "=="}


class Change(NamedTuple):
    """One line changed. `line` counts from 1; `rule` is a sentence of the README about the number compared with."""

    path: str
    line: int
    old: str
    new: str
    rule: str = ""


def run_tests(clause: Clause) -> Plan:
    """ "Run the tests" """
    tests, _ = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here.", "这里没有测试文件。")
    command, report = yield from run(clause, tests, clause.t("I'll run the tests.", "我来运行测试。"))
    return clause.t(f"`{command}` gave:\n{shown(output(report))}", f"`{command}` 的结果：\n{shown(output(report))}")


def fix_tests(clause: Clause) -> Plan:
    """ "Fix the failing test" """
    tests, files = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here, so there is nothing to run.", "这里没有测试文件，无法运行。")
    command, report = yield from run(clause, tests, clause.t("First I'll see what fails.", "先看看哪里失败。"))
    failures = failures_in(report, tests[0])
    if not failures and failed(report):
        said = shown(report)
        return clause.t(f"I cannot read what `{command}` said:\n{said}", f"我看不懂 `{command}` 的输出：\n{said}")
    if not failures:
        return clause.t(f"No test fails.\n{shown(output(report))}", f"没有失败的测试。\n{shown(output(report))}")
    checks, sources, rules = yield from read_around(clause, tests, files, next(iter(failures)))
    done: list[str] = []
    tried: list[Change] = []
    undo: list[Call] = []
    while failures and len(tried) < MAX_TRIES:
        likely = slips(sources, words_of(checks, next(iter(failures))), rules)
        change = next((change for change in likely if change not in tried), None)
        if change is None:
            break
        tried.append(change)
        path = change.path
        old, new = edited_texts(sources[path], change)
        say = clause.t("That did not help. I'll take it back. ", "没有用，撤回。") if undo else ""
        say += f"{change.rule} " if change.rule else ""
        say += clause.t(f"I'll change line {change.line} of {path}.", f"我修改 {path} 第 {change.line} 行。")
        edit = clause.tools.call("edit", path=path, old_text=old, new_text=new)
        *undone, result = yield say, [*undo, edit]
        if any(map(failed, undone)):
            return not_taken_back(clause, undone[0])
        undo = []
        if failed(result):
            continue
        say = clause.t("And run the tests again.", "再运行一次测试。")
        (report,) = yield say, [clause.tools.call("run", command=command)]
        left = failures_in(report, tests[0])
        if left.keys() < failures.keys() and (left or not failed(report)):
            test = next(name for name in failures if name not in left)
            done.append(what_helped(clause, test, failures[test], change))
            sources[path], failures = changed(sources[path], change), left
        else:
            undo = [clause.tools.call("edit", path=path, old_text=new, new_text=old)]
    if undo:
        (result,) = yield clause.t("That did not help either. I'll take it back.", "也没有用，撤回。"), undo
        if failed(result):
            return not_taken_back(clause, result)
    return "\n".join([*done, how_it_ended(clause, command, report, failures, len(tried))])


def find_tests(clause):
    """The test files, those that the clause names or all, and all files."""
    say = clause.t("I'll look which files there are.", "我先看看有哪些文件。")
    files = yield from found_files(clause, say, "*")
    named = [path for path in clause.paths if "test" in path]
    return named or [path for path in files if re.search(r"(^|/)(test_\w+|\w+_test|tests?)\.py$", path)], files


def run(clause, tests, say):
    """Run the test files, as a script or with pytest: the command, and what it printed."""
    commands = [f"python {tests[0]}"] if len(tests) == 1 else []
    for command in [*commands, f"python -m pytest -q {' '.join(tests)}", f"python3 {tests[0]}"]:
        (report,) = yield say, [clause.tools.call("run", command=command)]
        if output(report).strip() and not re.search(r"command not found|python3?: not found|No module named", report):
            break
        say = clause.t("That told me nothing. I'll run it another way.", "没有得到结果，我换一种方式运行。")
    return command, report


def failures_in(report, file):
    """{failing test: what it said}, in order. An error that ends the whole run counts as one, under the file's name."""
    found = {name: said.strip() for name, said in FAILED.findall(report)}
    if not found and "Traceback (most recent call last)" in report:
        found[file] = next((line for line in reversed(output(report).splitlines()) if line.strip()), "")
    return found


def read_around(clause, tests, files, test):
    """Read the tests, the modules that the failing one uses, and the README.

    Returns the text of the tests, {path: source} of what may be changed, and the sentences of the README.
    """
    say = clause.t(f"{test} fails. I'll read what it checks.", f"{test} 失败了。我来看它检查什么。")
    results = yield say, [clause.tools.call("read", path=path) for path in tests]
    checks = "\n".join(map(output, results))
    words = {"*", *words_of(checks, test)}
    imports = [(module or plain, names or plain) for module, names, plain in IMPORTED.findall(checks)]
    used = [f"{module.replace('.', '/')}.py" for module, names in imports if words & set(re.findall(r"\w+|\*", names))]
    sources = [path for name in used for path in files if f"/{path}".endswith(f"/{name}") and path not in tests]
    readme = [path for path in files if path.rsplit("/", 1)[-1].lower().startswith("readme")][:1]
    paths = list(dict.fromkeys(sources + readme))
    say = clause.t("It needs these: ", "它要用到：") + ", ".join(paths)
    results = (yield say, [clause.tools.call("read", path=path) for path in paths]) if paths else []
    read = {path: output(result) for path, result in zip(paths, results, strict=True) if not failed(result)}
    says = clause.t('{} says: "{}"', "{} 写道：“{}”")
    rules = [says.format(path, line.strip("#-* ")) for path in readme for line in read.pop(path, "").splitlines()]
    return checks, read, rules


def words_of(checks, test):
    """The words of one test, or of the whole file if it holds no test of this name."""
    function = re.search(rf"^ *def {re.escape(test)}\b.*?(?=^ *def |^[^\W\d]|\Z)", checks, re.M | re.S)
    return set(re.findall(r"\w+", function[0] if function else checks))


def slips(sources, words, rules):
    """The changes that are worth trying: comparisons before numbers, and first where the failing test calls."""
    found = []
    for path, source in sources.items():
        lines, constants = f"{source}\n".split("\n"), dict(re.findall(r"^(\w+) = ([\d.]+)", source, re.M))
        function = before = ""
        with contextlib.suppress(tokenize.TokenError, SyntaxError):  # what is not Python is left alone
            for kind, text, (row, start), (_, end), _ in tokenize.generate_tokens(io.StringIO(source).readline):
                function, before = text if before == "def" else function, text
                line, rule, meant = lines[row - 1], "", []
                if text in SWAPS:
                    compared = " ".join(constants.get(word, word) for word in re.findall(r"[\w.]+", line))
                    rule = next((rule for rule in rules if numbers_in(rule) & numbers_in(compared)), "")
                    meant = [SWAPS[text]]
                elif kind == tokenize.NUMBER:
                    value = ast.literal_eval(text)
                    meant = [repr(value + 1), repr(value - 1), repr(value * 10)]
                rank = text not in SWAPS, function not in words, not rule
                found += [(rank, Change(path, row, line, line[:start] + new + line[end:], rule)) for new in meant]
    return [change for _, change in sorted(found, key=lambda one: one[0])]


def numbers_in(text):
    return {float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)", text)}


def changed(source, change):
    lines = source.split("\n")
    return "\n".join([*lines[: change.line - 1], change.new, *lines[change.line :]])


def edited_texts(source, change):
    """The old and the new text of an edit, with lines around the change until each stands there once."""
    before, after = source, changed(source, change)
    old, new, around = change.old.strip(), change.new.strip(), 0
    while before.count(old) > 1 or after.count(new) > 1:
        around += 1
        part = slice(max(change.line - 1 - around, 0), change.line + around)
        old, new = ("\n".join(text.split("\n")[part]) for text in (before, after))
    return old, new


# What it says: from the results, and without a claim to have understood them


def what_helped(clause, test, said, change):
    old, new, why = change.old.strip(), change.new.strip(), f" {change.rule}" if change.rule else ""
    said = said and clause.t(f": {said}", f"：{said}")  # unittest names a test without a word
    return clause.t(
        f"{test} failed{said}.\nIn {change.path}, line {change.line}, I changed `{old}` to `{new}`.{why}",
        f"{test} 失败{said}。\n在 {change.path} 第 {change.line} 行，我把 `{old}` 改成了 `{new}`。{why}",
    )


def how_it_ended(clause, command, report, failures, tried):
    names, changes = ", ".join(failures), f"change{'s' * (tried != 1)}"
    if failures:
        return clause.t(
            f"Still failing: {names}. I tried {tried} small {changes} and took back those that did not help. "
            "I only know common slips, such as < for <=; this one I do not know.",
            f"仍然失败：{names}。试了 {tried} 个小改动，没有用的都已撤回。我只认识常见的小错误，例如把 <= 写成 <。",
        )
    last = next((line for line in reversed(output(report).splitlines()) if line.strip()), "")
    return clause.t(
        f"Now `{command}` says: {last} ({tried} {changes} tried)",
        f"现在 `{command}` 显示：{last}（共试了 {tried} 个改动）",
    )


def not_taken_back(clause, result):
    return clause.t(
        f"A change that did not help could not be taken back, so look at the file: {result}",
        f"一个没有用的改动无法撤回，请检查文件：{result}",
    )
