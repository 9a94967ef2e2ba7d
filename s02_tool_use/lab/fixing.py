"""How the understudy mends a failing test: run it, read what it says and what it calls, try changes, run it again.

It tries what mutations.py lists, the likeliest first, takes back what does not help, and says how it went.
"""

import ast
import fnmatch
import re

from .mutations import changes, functions_named, names_used, without_tests
from .plans import file_names, shown
from .reports import failures_in
from .toolbox import failed, output

MAX_TRIES = 7  # changes that are tried before it gives up: two turns each, and the loop ends after 20


def run_tests(clause):
    """ "Run the tests" """
    tests = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here.", "这里没有测试文件。")
    command, report = yield from run(clause, tests, clause.t("I'll run the tests.", "我来运行测试。"))
    return clause.t(f"`{command}` gave:\n{shown(output(report))}", f"`{command}` 的结果：\n{shown(output(report))}")


def fix_tests(clause):
    """ "Fix the failing test" """
    tests = yield from find_tests(clause)
    if not tests:
        return clause.t("I found no test file here, so there is nothing to run.", "这里没有测试文件，无法运行。")
    command, report = yield from run(clause, tests, clause.t("First I'll see what fails.", "先看看哪里失败。"))
    failures = failures_in(report)
    if not failures and not failed(report):
        return clause.t(f"No test fails.\n{shown(output(report))}", f"没有失败的测试。\n{shown(output(report))}")
    if not failures:
        return clause.t(
            f"`{command}` failed in a way that I cannot read:\n{shown(report)}",
            f"`{command}` 失败了，但我看不懂它的输出：\n{shown(report)}",
        )
    sources, rules = yield from read_around(clause, tests[0], failures, command)
    done = []
    tried = 0
    while failures and tried < MAX_TRIES:
        change, report, count = yield from try_changes(clause, sources, failures, rules, command, MAX_TRIES - tried)
        tried += count
        if change is None:
            break
        done.append((failures[0], change))
        sources[change.path] = _with(sources[change.path], change)
        failures = failures_in(report)
    return _account(clause, command, done, failures, report, tried)


def find_tests(clause):
    named = [path for path in clause.paths if "test" in path]
    if named:
        clause.files = clause.paths
        return named
    look = clause.t("I'll look which files there are.", "我先看看有哪些文件。")
    (listing,) = yield look, [clause.tools.call("files", pattern="*", folder="")]
    clause.files = [] if failed(listing) else file_names(output(listing))
    patterns = ("test_*.py", "*_test.py", "tests.py", "test.py")
    return [f for f in clause.files if any(fnmatch.fnmatch(f.rsplit("/", 1)[-1], p) for p in patterns)]


def run(clause, tests, say):
    """Run the test files, as a script or with pytest: (command, what it printed)."""
    commands = [f"python {' '.join(tests)}"] if len(tests) == 1 else []
    commands += [f"python -m pytest -q {' '.join(tests)}", f"python3 {tests[0]}"]
    for command in commands:
        (report,) = yield say, [clause.tools.call("run", command=command)]
        says_something = output(report).strip() and not re.search(
            r"command not found|python3?: not found|No module named", report
        )
        if says_something:
            return command, report
        say = clause.t("That told me nothing. I'll run it another way.", "没有得到结果，我换一种方式运行。")
    return command, report


def read_around(clause, test_path, failures, command):
    """Read the test, then the modules whose functions the failing tests call, and the README. (sources, rules)"""
    say = clause.t(
        f"{failures[0].test} fails. I'll read what it checks.", f"{failures[0].test} 失败了。我来看它检查什么。"
    )
    (test_source,) = yield say, [clause.tools.call("read", path=test_path)]
    test_source = output(test_source)
    clause.called = {failure.test: called_by(test_source, failure.test) for failure in failures}
    wanted = {name for names in clause.called.values() for name in names}
    modules = imported_files(test_source, wanted, test_path, clause.files)
    texts = [path for path in clause.files if path.rsplit("/", 1)[-1].lower().startswith("readme")][:1]
    paths = modules + texts
    if not paths:
        return {test_path: test_source}, []
    say = clause.t("It calls these. I'll read them:", "它调用了这些，我来读：") + " " + ", ".join(paths)
    results = yield say, [clause.tools.call("read", path=path) for path in paths]
    read = {path: output(text) for path, text in zip(paths, results, strict=True) if not failed(text)}
    rules = [(path, sentence) for path, text in read.items() for sentence in rules_in(path, text)]
    return {path: text for path, text in read.items() if path.endswith(".py")}, rules


def called_by(source, test):
    """The names that a test uses, and those of the helpers in its file."""
    found = functions_named(source, [test])
    names = [name for function, _ in found.values() for name in names_used(function)]
    return list(dict.fromkeys(names)) or re.findall(r"\w+", source)


def imported_files(source, wanted, test_path, files):
    """The files from which a test imports what it calls."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and {*wanted, "*"} & {alias.name for alias in node.names}:
            modules.append((node.module or "").replace(".", "/"))
        elif isinstance(node, ast.Import):
            modules += [alias.name.replace(".", "/") for alias in node.names if (alias.asname or alias.name) in wanted]
    paths = [f"{module}.py" for module in modules]
    if files:
        paths = [next((f for f in files if f == path or f.endswith(f"/{path}")), None) for path in paths]
    return list(dict.fromkeys(path for path in paths if path))


def rules_in(path, text):
    """Sentences with a number in them: of a README all, of a source those in comments and docstrings."""
    if path.endswith(".py"):
        text = "\n".join(re.findall(r"#.*|\"\"\".*?\"\"\"", text, re.S))
    lines = [line.strip("#-*\"' \t") for line in text.splitlines()]
    return [line for line in lines if re.search(r"\d", line)]


def try_changes(clause, sources, failures, rules, command, most):
    """Try one change after the other until fewer tests fail. (what helped or None, the last report, number of tries)"""
    before = {failure.test for failure in failures}
    candidates = []
    for path, source in sources.items():
        functions = without_tests(functions_named(source, clause.called.get(failures[0].test, [])))
        candidates += changes(path, source, functions, failures[0], rules)
    candidates = sorted(candidates, key=lambda change: -change.score)[:most]
    undo, report = [], ""
    for count, change in enumerate(candidates, 1):
        call = edit_call(clause, sources[change.path], change)
        why = f"{change.rule} " if change.rule else ""
        say = clause.t(
            f"{why}I'll change line {change.line} of {change.path}.", f"{why}我修改 {change.path} 第 {change.line} 行。"
        )
        if undo:
            say = clause.t("That did not help. I'll take it back. ", "没有用，撤回。") + say
        results = yield say, [*undo, call]
        if failed(results[-1]):
            undo = []
            continue
        (report,) = yield (
            clause.t("And run the tests again.", "再运行一次测试。"),
            [clause.tools.call("run", command=command)],
        )
        after = {failure.test for failure in failures_in(report)}
        if after < before or (not after and not failed(report)):
            return change, report, count
        undo = [edit_call(clause, sources[change.path], change, back=True)]
    if undo:
        yield clause.t("That did not help either. I'll take it back.", "也没有用，撤回。"), undo
    return None, report, len(candidates)


def _with(source, change):
    lines = source.split("\n")
    lines[change.line - 1] = change.new
    return "\n".join(lines)


def edit_call(clause, source, change, back=False):
    """The call that makes a change, or takes it back, with lines around it until the old text stands there only once."""
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
