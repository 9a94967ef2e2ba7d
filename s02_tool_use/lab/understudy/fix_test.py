"""How the understudy fixes a failing test: run it, read what it calls, try one small change after the other.

It knows two slips, a wrong comparison (`>` for `>=`) and a wrong number (one off, or a zero too few), and understands
nothing: a change after which fewer tests fail stays, any other is taken back. No test is ever changed, and no line
that stands there twice.
"""

import re

from .plans import Plan, Stuck, found_files, shown, told, use
from .prompt import Clause
from .toolbox import failed, output
from .values import NUMBER

MAX_TRIES = 5  # changes that are tried before it gives up: three turns each, and the loop ends after 20
TEST_FILE = re.compile(r"(^|/)(test_\w+|\w+_test|tests?)\.py$")
FAILED = re.compile(r"^(?:FAIL|FAILED|ERROR):?\s+(?:\S+::)?([\w.]+)(?:\[.*?\])?(?: \(.*?\))?(?:(?::| -) ?(.*))?$", re.M)
NO_CODE = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*", re.S)
SLIP = re.compile(r"(?<!-)[<>]=?|[=!]=|(?<![\w.])\d+(?![\w.])")
SWAPS = {">": ">=", ">=": ">", "<": "<=", "<=": "<", "==": "!=", "!=": "=="}


def run_tests(clause: Clause) -> Plan:
    """ "Run the tests" """
    *_, command, report = yield from run(clause, ("I'll run the tests.", "我来运行测试。"))
    return told(clause, f"`{command}`", report)


def fix_tests(clause: Clause) -> Plan:
    """ "Fix the failing test" """
    files, tests, command, report = yield from run(clause, ("First I'll see what fails.", "先看看哪里失败。"))
    failures = failures_in(report, tests[0])
    if not failures:
        unknown = clause.t(f"I cannot read what `{command}` said:", f"我看不懂 `{command}` 的输出：")
        none = clause.t("No test fails.", "没有失败的测试。")
        return f"{unknown if failed(report) or not output(report) else none}\n{shown(output(report))}"
    checks, sources, rules = yield from read_around(clause, files, tests, next(iter(failures)))
    helped: list[str] = []
    tried: list[tuple] = []
    while failures and len(tried) < MAX_TRIES:
        likely = slips(sources, words_of(checks, next(iter(failures))), rules)
        change = next((change for change in likely if change not in tried), None)
        if change is None:
            break
        tried.append(change)
        path, line, old, new, rule = change
        say = f"{rule}I'll change line {line} of {path}.", f"{rule}我修改 {path} 第 {line} 行。"
        if failed((yield from use(clause, "edit", say, path=path, old_text=old, new_text=new))):
            continue
        say = "And run the tests again.", "再运行一次测试。"
        report = yield from use(clause, "run", say, command=command)
        left = failures_in(report, tests[0])
        if left.keys() < failures.keys() and (left or not failed(report)):
            test = next(test for test in failures if test not in left)
            why = failures[test] or clause.t("it did not say why", "没有说明原因")
            en = f"{test} failed: {why}.\nIn {path}, line {line}, I changed `{old}` to `{new}`. {rule}"
            zh = f"{test} 失败：{why}。\n在 {path} 第 {line} 行，我把 `{old}` 改成了 `{new}`。{rule}"
            helped.append(clause.t(en, zh).rstrip())
            sources[path], failures = sources[path].replace(old, new), left
            continue
        say = "That did not help. I'll take it back.", "没有用，撤回。"
        no = "A change that did not help could not be taken back, so look at the file", "无法撤回改动，请检查文件"
        yield from use(clause, "edit", say, no, path=path, old_text=new, new_text=old)
    changes = clause.t(f"{len(tried)} change{'s' * (len(tried) != 1)} tried", f"共试了 {len(tried)} 个改动")
    last = output(report).strip().splitlines()[-1]
    en, zh = f"Now `{command}` says: {last} ({changes})", f"现在 `{command}` 显示：{last}（{changes}）"
    if failures:
        en = f"Still failing: {', '.join(failures)} ({changes}; what did not help is taken back). "
        en += "I only know common slips, such as < for <=; this one I do not know."
        zh = f"仍然失败：{'、'.join(failures)}（{changes}，没有用的都已撤回）。我只认识常见的小错误，例如把 <= 写成 <。"
    return "\n".join([*helped, clause.t(en, zh)])


def run(clause, say):
    """Run the tests that the clause names, or all. Returns all files, the test files, the command, what it printed."""
    files = yield from found_files(clause)
    tests = [path for path in clause.paths if "test" in path] or list(filter(TEST_FILE.search, files))
    if not tests:
        raise Stuck(clause.t("I found no test file here.", "这里没有测试文件。"))
    commands = [f"python {tests[0]}"] if len(tests) == 1 else []
    for command in [*commands, f"python -m pytest -q {' '.join(tests)}"]:
        report = yield from use(clause, "run", say, command=command)
        if output(report).strip():
            break
        say = "That told me nothing. I'll run it another way.", "没有得到结果，我换一种方式运行。"
    return files, tests, command, report


def failures_in(report, file):
    """{failing test: what it said}, in order. An error that ends the whole run counts as one, under the file's name."""
    found = {name: said.strip() for name, said in FAILED.findall(report)}
    if not found and "Traceback (most recent call last)" in report:
        found[file] = output(report).strip().splitlines()[-1]
    return found


def read_around(clause, files, tests, test):
    """Read the tests, the modules that the failing one uses, and the README: (text, {path: source}, sentences)."""
    say = clause.t(f"{test} fails. I'll read what it checks.", f"{test} 失败了。我来看它检查什么。")
    results = yield say, [clause.tools.call("read", path=path) for path in tests]
    checks = "\n".join(map(output, results))
    words = {"*", *words_of(checks, test)}
    imports = [set(re.findall(r"\w+|\*", line)) for line in re.findall(r"^(?:from|import) .+", checks, re.M)]
    used = {f"{name}.py" for names in imports if names & words for name in names}
    readme = [path for path in files if re.match(r"readme\b", path, re.I)][:1]
    paths = [*(path for path in files if path.rsplit("/", 1)[-1] in used and path not in tests), *readme]
    say = clause.t("It needs these: ", "它要用到：") + ", ".join(paths)
    results = (yield say, [clause.tools.call("read", path=path) for path in paths]) if paths else []
    read = {path: output(result) for path, result in zip(paths, results, strict=True) if not failed(result)}
    says = clause.t('{} says: "{}" ', "{} 写道：“{}”")
    rules = [says.format(path, line.strip("#-* ")) for path in readme for line in read.pop(path, "").splitlines()]
    return checks, read, rules


def words_of(checks, test):
    """The words of one test, or of the whole file if it holds no test of this name."""
    function = re.search(rf"^ *def {re.escape(test)}\b.*?(?=^ *def |^[^\W\d]|\Z)", checks, re.M | re.S)
    return set(re.findall(r"\w+", function[0] if function else checks))


def slips(sources, words, rules):
    """The changes that are worth trying: first where the failing test calls, comparisons before numbers.

    A change is (path, line from 1, old text, new text, the rule about the number that it compares with, or "").
    """
    ranked = []
    for path, source in sources.items():
        constants, function = dict(re.findall(r"^(\w+) = ([\d.]+)", source, re.M)), ""
        code = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)
        for number, (line, plain) in enumerate(zip(source.split("\n"), code.split("\n"), strict=True), 1):
            function = next(iter(re.findall(r"\bdef (\w+)", plain)), function)
            compared = {constants.get(word, word) for word in re.findall(r"[\w.]+", plain)}
            rule = next((rule for rule in rules if compared & set(NUMBER.findall(rule))), "")
            for slip in SLIP.finditer(plain):
                compares, wrong = slip[0] in SWAPS, slip[0]
                for right in [SWAPS[wrong]] if compares else [int(wrong) + 1, int(wrong) - 1, f"{wrong}0"]:
                    old, new = line.strip(), f"{line[: slip.start()]}{right}{line[slip.end() :]}".strip()
                    if source.count(old) == 1 and new not in source:
                        rank = function not in words, not compares, not rule
                        ranked.append((rank, (path, number, old, new, rule if compares else "")))
    return [change for _, change in sorted(ranked, key=lambda one: one[0])]
