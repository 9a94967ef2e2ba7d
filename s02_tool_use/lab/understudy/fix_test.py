"""How the understudy mends a failing test: run it, read what it says and what it calls, try changes, run it again.

It tries what mutations.py lists, the likeliest first, takes back what does not help, and says how it went.
"""

import ast
import re
from dataclasses import dataclass

from .mutations import changes, functions_named, names_used, without_tests
from .plans import file_names, shown
from .reports import failures_in
from .toolbox import failed, output

MAX_TRIES = 7  # changes that are tried before it gives up: two turns each, and the loop ends after 20


def run_tests(clause):
    """ "Run the tests" """
    tests, _ = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here.", "这里没有测试文件。")
    command, report = yield from run(clause, tests, clause.t("I'll run the tests.", "我来运行测试。"))
    return clause.t(f"`{command}` gave:\n{shown(output(report))}", f"`{command}` 的结果：\n{shown(output(report))}")


def fix_tests(clause):
    """ "Fix the failing test" """
    tests, files = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here, so there is nothing to run.", "这里没有测试文件，无法运行。")
    command, report = yield from run(clause, tests, clause.t("First I'll see what fails.", "先看看哪里失败。"))
    failures = failures_in(report)
    if not failures and failed(report):
        said = shown(report)
        return clause.t(f"I cannot read what `{command}` said:\n{said}", f"我看不懂 `{command}` 的输出：\n{said}")
    if not failures:
        said = shown(output(report))
        return clause.t(f"No test fails.\n{said}", f"没有失败的测试。\n{said}")
    known = yield from read_around(clause, tests, files, failures)
    done, tried = [], 0
    while failures and tried < MAX_TRIES:
        change, report, count = yield from try_changes(clause, known, failures, command, MAX_TRIES - tried)
        tried += count
        if change is None:
            break
        done.append((failures[0], change))
        known.sources[change.path] = _with(known.sources[change.path], change)
        failures = failures_in(report)
    return _account(clause, command, done, failures, report, tried)


def find_tests(clause):
    """The test files, and all files: those that the clause names, or those that are there."""
    named = [path for path in clause.paths if "test" in path]
    if named:
        return named, clause.paths
    say = clause.t("I'll look which files there are.", "我先看看有哪些文件。")
    (listing,) = yield say, [clause.tools.call("files", pattern="*", folder="")]
    files = [] if failed(listing) else file_names(listing)
    return [path for path in files if re.search(r"(^|/)(test_\w+|\w+_test|tests?)\.py$", path)], files


def run(clause, tests, say):
    """Run the test files, as a script or with pytest: the command, and what it printed."""
    commands = [f"python {tests[0]}"] if len(tests) == 1 else []
    for command in [*commands, f"python -m pytest -q {' '.join(tests)}", f"python3 {tests[0]}"]:
        (report,) = yield say, [clause.tools.call("run", command=command)]
        if output(report).strip() and not re.search(r"command not found|python3?: not found|No module named", report):
            break
        say = clause.t("That told me nothing. I'll run it another way.", "没有得到结果，我换一种方式运行。")
    return command, report


@dataclass
class Known:
    """What was read: the sources that may be changed, the names that each failing test uses, sentences with numbers."""

    sources: dict
    used: dict
    rules: list


def read_around(clause, tests, files, failures):
    """Read the tests, then the modules that the failing ones call, and the README."""
    say = clause.t(
        f"{failures[0].test} fails. I'll read what it checks.", f"{failures[0].test} 失败了。我来看它检查什么。"
    )
    results = yield say, [clause.tools.call("read", path=path) for path in tests]
    read = dict(zip(tests, map(output, results), strict=True))
    test = next((path for path in tests if f"def {failures[0].test}(" in read[path]), tests[0])
    used = {failure.test: called_by(read[test], failure.test) for failure in failures}
    modules = imported_files(read[test], {name for names in used.values() for name in names}, files)
    texts = [path for path in files if path.rsplit("/", 1)[-1].lower().startswith("readme")][:1]
    if not modules + texts:
        return Known({test: read[test]}, used, [])
    say = clause.t("It needs these: ", "它要用到：") + ", ".join(modules + texts)
    results = yield say, [clause.tools.call("read", path=path) for path in modules + texts]
    read = {p: output(text) for p, text in zip(modules + texts, results, strict=True) if not failed(text)}
    rules = [(path, sentence) for path, text in read.items() for sentence in rules_in(path, text)]
    return Known({path: read[path] for path in modules if path in read} or {test: read.get(test, "")}, used, rules)


def called_by(source, test):
    """The names that a test uses, and those of the helpers in its file."""
    found = functions_named(source, [test])
    names = [name for function, _ in found.values() for name in names_used(function)]
    return list(dict.fromkeys(names)) or re.findall(r"\w+", source)


def imported_files(source, wanted, files):
    """The files from which a source imports the names that are wanted."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and {*wanted, "*"} & {alias.name for alias in node.names}:
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names if (alias.asname or alias.name) in wanted]
    paths = [f"{module.replace('.', '/')}.py" for module in modules]
    if len(files) > 1:  # the whole list is known
        paths = [next((file for file in files if file == path or file.endswith(f"/{path}")), None) for path in paths]
    return list(dict.fromkeys(path for path in paths if path))


def rules_in(path, text):
    """Sentences with a number in them: of a README all, of a source those in comments and docstrings."""
    if path.endswith(".py"):
        text = "\n".join(re.findall(r"#.*|\"\"\".*?\"\"\"", text, re.S))
    lines = [line.strip("#-*\"' \t") for line in text.splitlines()]
    return [line for line in lines if re.search(r"\d", line)]


def try_changes(clause, known, failures, command, most):
    """Try one change after the other until fewer tests fail: what helped or None, the last report, how many tries."""
    before, candidates = {failure.test for failure in failures}, []
    for path, source in known.sources.items():
        functions = without_tests(functions_named(source, known.used.get(failures[0].test, [])))
        candidates += changes(path, source, functions, failures[0], known.rules)
    candidates = sorted(candidates, key=lambda change: -change.score)[:most]
    undo, report = [], ""
    for count, change in enumerate(candidates, 1):
        say = clause.t("That did not help. I'll take it back. ", "没有用，撤回。") if undo else ""
        say += f"{change.rule} " if change.rule else ""
        say += clause.t(
            f"I'll change line {change.line} of {change.path}.", f"我修改 {change.path} 第 {change.line} 行。"
        )
        results = yield say, [*undo, edit_call(clause, known.sources[change.path], change)]
        undo = []
        if failed(results[-1]):
            continue
        say = clause.t("And run the tests again.", "再运行一次测试。")
        (report,) = yield say, [clause.tools.call("run", command=command)]
        after = {failure.test for failure in failures_in(report)}
        if after < before and (after or not failed(report)):
            return change, report, count
        undo = [edit_call(clause, known.sources[change.path], change, back=True)]
    if undo:
        yield clause.t("That did not help either. I'll take it back.", "也没有用，撤回。"), undo
    return None, report, len(candidates)


def _with(source, change):
    lines = source.split("\n")
    lines[change.line - 1] = change.new
    return "\n".join(lines)


def edit_call(clause, source, change, back=False):
    """The call that makes a change, or takes it back; with lines around it until the old text stands there once."""
    lines, changed = source.split("\n"), _with(source, change).split("\n")
    if back:
        lines, changed = changed, lines
    first, last = change.line - 1, change.line
    while "\n".join(lines).count("\n".join(lines[first:last])) > 1 and (first > 0 or last < len(lines)):
        first, last = max(first - 1, 0), min(last + 1, len(lines))
    old, new = "\n".join(lines[first:last]), "\n".join(changed[first:last])
    if last - first == 1:  # the indentation need not be shown
        old, new = _trimmed("\n".join(lines), old, new)
    return clause.tools.call("edit", path=change.path, old_text=old, new_text=new)


def _trimmed(text, old, new):
    indent = len(old) - len(old.lstrip())
    if text.count(old[indent:]) == 1 and old[:indent] == new[:indent]:
        return old[indent:], new[indent:]
    return old, new


def _account(clause, command, done, failures, report, tried):
    """What was found, what was changed, and how: from the results, and without a claim to have understood it."""
    parts = []
    for failure, change in done:
        why = f" {change.rule}" if change.rule else ""
        parts.append(
            clause.t(
                f"{failure.test} failed: {failure.message}.\nIn {change.path}, line {change.line}, I changed "
                f"`{change.old.strip()}` to `{change.new.strip()}`.{why}",
                f"{failure.test} 失败：{failure.message}。\n在 {change.path} 第 {change.line} 行，我把 "
                f"`{change.old.strip()}` 改成了 `{change.new.strip()}`。{why}",
            )
        )
    if failures:
        names = ", ".join(failure.test for failure in failures)
        parts.append(
            clause.t(
                f"Still failing: {names}. I tried {tried} small changes and took back those that did not help. I only "
                "know common slips, such as < for <=; this one I do not know.",
                f"仍然失败：{names}。试了 {tried} 个小改动，没有用的都已撤回。我只认识常见的小错误，例如把 <= 写成 <。",
            )
        )
    else:
        last = next((line for line in reversed(output(report).splitlines()) if line.strip()), "")
        tries = clause.t(f"{tried} change{'s' * (tried != 1)} tried", f"共试了 {tried} 个改动")
        parts.append(clause.t(f"Now `{command}` says: {last} ({tries})", f"现在 `{command}` 显示：{last}（{tries}）"))
    return "\n".join(parts)
