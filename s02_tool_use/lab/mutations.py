"""Small changes that often mend a bug, the likeliest first: a rule of thumb for each kind of slip, no understanding.

The source is parsed, never run. Each change is inside one line: `<` for `<=`, `+` for `-`, one more, one less, a missing
strip(). What the failing test said (expected, got) and what a README says put them in order.
"""

import ast
import math
import re
from dataclasses import dataclass

COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
SWAPS = {  # an operator and what is written for it by mistake, the likelier first
    "<": ["<=", ">", ">="],
    "<=": ["<", ">=", ">"],
    ">": [">=", "<", "<="],
    ">=": [">", "<=", "<"],
    "==": ["!="],
    "!=": ["=="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/", "+"],
    "/": ["*", "//"],
    "//": ["/"],
    "%": ["//"],
    "and": ["or"],
    "or": ["and"],
    "+=": ["-=", "="],
    "-=": ["+="],
}
NAMES = {  # functions and methods that are taken for one another
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "lower": "upper",
    "upper": "lower", "lstrip": "strip", "rstrip": "strip", "startswith": "endswith", "endswith": "startswith",
    "append": "extend", "extend": "append", "keys": "values", "values": "keys",
}  # fmt: skip
BOUNDARY_WORDS = re.compile(
    r"exactly|boundary|border|edge|limit|at_least|at_most|least|inclusive|or_more|or_less|equal", re.I
)
OR_MORE = r"or (?:more|above|higher|over|older|later|longer)|and (?:more|above|over)|at least|minimum|from|及以上|以上|至少|起"
OR_LESS = r"or (?:less|below|lower|fewer|under|younger)|and (?:below|under)|at most|up to|maximum|no more than|及以下|以下|至多|最多"
MORE_THAN = r"more than|over|above|greater than|exceed|超过|大于"
LESS_THAN = r"less than|under|below|fewer than|before|少于|小于|不到"


@dataclass
class Failure:
    """What one failing test said. `expected` and `got` are Python values, or texts, or None if it did not say."""

    test: str
    message: str = ""
    expected: object = None
    got: object = None
    known: bool = False  # whether expected and got were said at all


@dataclass
class Change:
    """One change of one line. `line` counts from 1; `score` orders the changes; `rule` is a sentence that speaks for it."""

    path: str
    line: int
    old: str
    new: str
    score: float = 0
    rule: str = ""


def value_of(text):
    """The Python value that a text shows, else the text itself."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


def failures_in(report):
    """The failing tests in what a test run printed: our own style, pytest's, unittest's, or a bare traceback."""
    found = {}
    for match in re.finditer(r"^FAIL(?:ED)?:?\s+(?:\S+::)?(\w+)(?: \([^)\n]*\))?(?:(?::| -) ?(.*))?$", report, re.M):
        found.setdefault(match[1], Failure(match[1], (match[2] or "").strip()))
    for match in re.finditer(r"^ERROR:?\s+(?:\S+::)?(\w+)(?: \([^)\n]*\))?(?:(?::| -) ?(.*))?$", report, re.M):
        found.setdefault(match[1], Failure(match[1], (match[2] or "").strip()))
    if not found and "Traceback (most recent call last)" in report:
        functions = re.findall(r'File ".*", line \d+, in (\w+)', report)
        test = next((name for name in functions if name.startswith("test")), functions[0] if functions else "?")
        found[test] = Failure(test)
    last_error = re.findall(r"^(?:E\s+)?((?:\w+\.)*\w*(?:Error|Exception)\b.*)$", report, re.M)
    for failure in found.values():
        if not failure.message and last_error:
            failure.message = last_error[-1]
        _read_values(failure)
    return list(found.values())


def _read_values(failure):
    number_or_word = r"(.+?)"
    for pattern, first in (
        (rf"expected:? {number_or_word},? (?:but )?got:? (.+)$", "expected"),
        (rf"got:? {number_or_word},? (?:but )?(?:expected|wanted):? (.+)$", "got"),
        (rf"assert {number_or_word} == (.+)$", "got"),
        (rf"AssertionError: {number_or_word} != (.+?)(?: within .*| : .*)?$", "got"),
    ):
        match = re.search(pattern, failure.message)
        if match:
            one, two = value_of(match[1]), value_of(match[2].rstrip("."))
            failure.expected, failure.got = (one, two) if first == "expected" else (two, one)
            failure.known = True
            return


def functions_named(source, names):
    """The functions of a source that have one of these names, and those of the same source that they call, with distance."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    functions = {
        node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    reached, queue = {}, [(name, 0) for name in names]
    for node in tree.body:  # a class that the test makes: all of its methods
        if isinstance(node, ast.ClassDef) and node.name in names:
            queue += [(item.name, 0) for item in node.body if isinstance(item, ast.FunctionDef)]
    while queue:
        name, distance = queue.pop(0)
        if name in functions and name not in reached:
            reached[name] = distance
            queue += [(used, distance + 1) for used in names_used(functions[name])]
    return {name: (functions[name], distance) for name, distance in reached.items()}


def names_used(node):
    """Names and attributes in a piece of parsed source, each once, in order."""
    found = [
        n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute))
    ]
    return list(dict.fromkeys(found))


def changes(path, source, functions, failure, rules=()):
    """The changes worth trying in one source, the likeliest first. `rules` are (file name, sentence) pairs from texts."""
    lines = source.split("\n")
    constants = _constants(source)
    found = {}
    for function, distance in functions.values():
        for node in ast.walk(function):
            for change, base in _of_node(path, lines, node):
                change.score = base - 0.5 * distance
                _weigh(change, node, failure, constants, rules)
                key = (change.line, change.new)
                if change.new != change.old and (key not in found or found[key].score < change.score):
                    found[key] = change
    return sorted(found.values(), key=lambda change: (-change.score, change.line, change.new))


def _constants(source):
    tree = ast.parse(source)
    return {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }


# The changes that one node of the syntax tree allows


def _of_node(path, lines, node):
    """Pairs (Change, how common this slip is)."""

    def replace(start, end, new):
        return _replaced(path, lines, start, end, new)

    def between(left, right, operators, new):
        return _operator(path, lines, left, right, operators, new)

    made = []
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        old = COMPARE.get(type(node.ops[0]))
        for rank, new in enumerate(SWAPS.get(old, [])):
            made.append((between(node.left, node.comparators[0], old, new), 3 - rank))
        if isinstance(node.ops[0], ast.In):
            made.append((between(node.left, node.comparators[0], "in", "not in"), 1))
        if isinstance(node.ops[0], ast.NotIn):
            made.append((between(node.left, node.comparators[0], "not in", "in"), 1))
    elif isinstance(node, ast.BinOp):
        old = ARITHMETIC.get(type(node.op))
        for rank, new in enumerate(SWAPS.get(old, [])):
            made.append((between(node.left, node.right, old, new), 2 - rank))
    elif isinstance(node, ast.BoolOp):
        old = "and" if isinstance(node.op, ast.And) else "or"
        made.append((between(node.values[0], node.values[1], old, SWAPS[old][0]), 2))
    elif isinstance(node, ast.AugAssign):
        old = f"{ARITHMETIC.get(type(node.op))}="
        for new in SWAPS.get(old, []):
            made.append((between(node.target, node.value, old, new), 1))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        made.append((replace(_start(node), _start(node.operand), ""), 2))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for new in (node.value + 1, node.value - 1, node.value * 10, node.value / 10):
            text = repr(int(new)) if isinstance(node.value, int) and new == int(new) else repr(new)
            made.append((replace(_start(node), _end(node), text), 1))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        made.append((replace(_start(node), _end(node), repr(not node.value)), 1))
    elif isinstance(node, ast.Call):
        made += _of_call(replace, node)
    elif isinstance(node, ast.Slice):
        for part in (node.lower, node.upper):
            if part is not None:
                made.append((replace(_start(part), _end(part), ""), 2))
    elif isinstance(node, (ast.For, ast.comprehension)) and not isinstance(node.iter, ast.Call):
        made.append((replace(_start(node.iter), _end(node.iter), f"sorted({_text(lines, node.iter)})"), 0))
    elif isinstance(node, ast.Return) and node.value is not None:
        text = _text(lines, node.value)
        for new in (
            f"sorted({text})",
            f"{_wrapped(node.value, text)}.strip()",
            f"abs({text})",
            f"-{_wrapped(node.value, text)}",
        ):
            made.append((replace(_start(node.value), _end(node.value), new), 0))
        for new in (f"{_wrapped(node.value, text)}.lower()", f"list(reversed({text}))", f"round({text}, 2)"):
            made.append((replace(_start(node.value), _end(node.value), new), 0))
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and isinstance(node.body[-1], ast.Expr):
        last = node.body[-1]
        made.append((replace(_start(last), _start(last), "return "), 0))
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and len(node.targets) == 1:
        made.append((between(node.targets[0], node.value, "=", "+="), 0))
    return [(change, base) for change, base in made if change is not None]


def _of_call(replace, node):
    made = []
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in NAMES:
        line, end = _end(node.func)
        made.append((replace((line, end - len(name)), (line, end), NAMES[name]), 1))
    if name == "range" and node.args:
        stop = node.args[0] if len(node.args) == 1 else node.args[1]
        made += [(replace(_end(stop), _end(stop), more), 2) for more in (" + 1", " - 1")]
    if name in ("sorted", "sort"):
        reverse = next((keyword for keyword in node.keywords if keyword.arg == "reverse"), None)
        if reverse is not None and isinstance(reverse.value, ast.Constant):
            made.append((replace(_start(reverse.value), _end(reverse.value), repr(not reverse.value.value)), 2))
        else:
            line, end = _end(node)
            comma = ", " if node.args or node.keywords else ""
            made.append((replace((line, end - 1), (line, end - 1), f"{comma}reverse=True"), 1))
    return made


def _start(node):
    return node.lineno, node.col_offset


def _end(node):
    return node.end_lineno, node.end_col_offset


def _text(lines, node):
    if node.lineno != node.end_lineno:
        return ""
    return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()


def _wrapped(node, text):
    return text if isinstance(node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant)) else f"({text})"


def _replaced(path, lines, start, end, new):
    """The change of one piece of one line. Offsets of the syntax tree count bytes of UTF-8."""
    if start[0] != end[0]:
        return None
    old = lines[start[0] - 1]
    data = old.encode()
    return Change(path, start[0], old, (data[: start[1]] + new.encode() + data[end[1] :]).decode())


def _operator(path, lines, left, right, old, new):
    if old is None or left.end_lineno != right.lineno:
        return None
    gap = lines[left.end_lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    if gap.count(old) != 1:
        return None
    start = left.end_col_offset + len(gap[: gap.index(old)].encode())
    return _replaced(path, lines, (left.end_lineno, start), (left.end_lineno, start + len(old)), new)


# What speaks for a change


def _weigh(change, node, failure, constants, rules):
    """Add to the score of a change what the failing test and the written rules say for it."""
    expected, got = failure.expected, failure.got
    number = (int, float)
    both_numbers = failure.known and type(expected) in number and type(got) in number
    if isinstance(node, ast.Compare):
        _weigh_comparison(change, node, failure, constants, rules)
    if both_numbers:
        difference = got - expected
        if difference and got == -expected:
            change.score += 4 if isinstance(node, (ast.UnaryOp, ast.Return)) or "-" in _added(change) else 0
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.FloorDiv)
            and got == math.floor(expected) != expected
        ):
            change.score += 5
        if abs(difference) == 1 and (isinstance(node, (ast.Slice, ast.Constant)) or "range(" in change.old):
            change.score += 2
        if (
            isinstance(node, ast.Constant)
            and got
            and expected
            and math.isclose(max(got / expected, expected / got), 10)
        ):
            change.score += 4 if len(change.new) != len(change.old) else 0
        named = {
            name for name, value in constants.items() if type(value) in number and math.isclose(abs(difference), value)
        }
        if named & set(names_used(node)):  # off by exactly SHIPPING: the line that adds it, or decides about it
            change.score += 1
        if isinstance(node, ast.Return) and "round(" in change.new and round(got, 2) == expected:
            change.score += 4
    elif failure.known and isinstance(expected, str) and isinstance(got, str):
        for ending, same in ((".strip()", got.strip() == expected), (".lower()", got.lower() == expected)):
            change.score += 5 if same and ending in _added(change) else 0
        if isinstance(node, ast.Call) and got.strip() == expected.strip() and "strip" in change.new:
            change.score += 3
        if expected.upper() == got.upper() and re.search(r"upper|lower", change.new):
            change.score += 3
    elif failure.known and isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        same_items = sorted(map(repr, expected)) == sorted(map(repr, got))
        if same_items and list(got) == list(expected)[::-1] and re.search(r"revers", change.new + change.old):
            change.score += 5
        if same_items and "sorted(" in _added(change):
            change.score += 4
        if abs(len(expected) - len(got)) == 1 and (isinstance(node, ast.Slice) or "range(" in change.old):
            change.score += 3
    elif failure.known and isinstance(expected, bool) and isinstance(got, bool):
        change.score += 1 if isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp)) else 0
    if failure.known and got is None and expected is not None:
        change.score += 6 if change.new.lstrip().startswith("return ") and "return" not in change.old else 0


def _added(change):
    """What the new line has more than the old one, roughly: the part between their common start and end."""
    old, new = change.old, change.new
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return new[start : len(new) - end]


def _weigh_comparison(change, node, failure, constants, rules):
    old = COMPARE.get(type(node.ops[0]))
    boundary = (
        old in ("<", "<=", ">", ">=") and _added(change) in ("=", "") and len(change.new) - len(change.old) in (-1, 1)
    )
    if not boundary:
        return
    if BOUNDARY_WORDS.search(failure.test.replace(" ", "_")):
        change.score += 3
    right = node.comparators[0]
    limit = right.value if isinstance(right, ast.Constant) else constants.get(getattr(right, "id", None))
    if type(limit) not in (int, float):
        return
    inclusive = "=" in (
        change.new[len(change.old) - len(change.old.lstrip()) :] if len(change.new) > len(change.old) else ""
    )
    for where, sentence in rules:
        if not any(math.isclose(float(number), limit) for number in re.findall(r"\d+(?:\.\d+)?", sentence)):
            continue
        upward = old in (">", ">=")
        wanted = re.search(OR_MORE if upward else OR_LESS, sentence, re.I)
        # "under 50" speaks of the other side of the same border: what is not under 50 is 50 or more
        other = re.search(LESS_THAN if upward else MORE_THAN, sentence, re.I)
        strict = re.search(MORE_THAN if upward else LESS_THAN, sentence, re.I)
        if (inclusive and (wanted or other)) or (not inclusive and strict and not wanted):
            change.score += 4
            change.rule = f'{where} says: "{sentence}"'
            return
