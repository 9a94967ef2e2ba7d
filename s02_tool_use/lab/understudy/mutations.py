"""Small changes that often mend a bug, the likeliest first: a rule of thumb for each common slip, no understanding.

The source is parsed, never run. Each change is inside one line: `<` for `<=`, one more or one less, a missing strip().
What the failing test said, and sentences with numbers from a README or a comment, decide about the order.
"""

import ast
import contextlib
import math
import os
import re
from dataclasses import dataclass

FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
SYMBOLS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip
SWAPS = {  # an operator, and what may have been meant, the likelier first
    "<": ["<=", ">", ">="], "<=": ["<", ">=", ">"], ">": [">=", "<", "<="], ">=": [">", "<=", "<"],
    "==": ["!="], "!=": ["=="], "in": ["not in"], "not in": ["in"], "and": ["or"], "or": ["and"],
    "+": ["-", "*"], "-": ["+"], "*": ["/", "+"], "/": ["*", "//"], "//": ["/"], "%": ["//"],
    "+=": ["-=", "="], "-=": ["+="], "*=": ["+=", "="], "=": ["+="],
}  # fmt: skip
NAMES = {  # functions and methods that are taken for one another
    "min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "lower": "upper",
    "upper": "lower", "lstrip": "strip", "rstrip": "strip", "startswith": "endswith", "endswith": "startswith",
    "append": "extend", "extend": "append", "keys": "values", "values": "keys",
}  # fmt: skip
WRAPS = {  # what may be missing around a returned value: it is tried if it turns what came out into what was wanted
    "{}.strip()": lambda value: value.strip(),
    "{}.lower()": lambda value: value.lower(),
    "{}.upper()": lambda value: value.upper(),
    "sorted({})": lambda value: sorted(value),
    "sorted({}, reverse=True)": lambda value: sorted(value, reverse=True),
    "{}[::-1]": lambda value: value[::-1],
    "{}[1:]": lambda value: value[1:],
    "{}[:-1]": lambda value: value[:-1],
    "not {}": lambda value: not value,
    "-{}": lambda value: -value,
    "abs({})": lambda value: abs(value),
    "round({}, 2)": lambda value: round(value, 2),
    "int({})": lambda value: int(value),
    "str({})": lambda value: str(value),
    "len({})": lambda value: len(value),
}
# Words that tell on which side of a border the border itself lies.
BORDER = re.compile(
    r"exactly|bound|border|edge|limit|at_?least|at_?most|inclusive|or_?more|or_?less|equal|_of_\d", re.I
)
OR_MORE = r"or (?:more|above|higher|over|older|later|longer)|at least|minimum|from|以上|至少|起"
OR_LESS = r"or (?:less|below|lower|fewer|under|younger)|at most|up to|maximum|no more than|以下|至多|最多"
MORE_THAN = r"more than|over|above|greater than|exceed|超过|大于"
LESS_THAN = r"less than|under|below|fewer than|before|少于|小于|不到"


@dataclass
class Change:
    """One line changed. `line` counts from 1; a higher `score` is likelier; `rule` is a sentence that speaks for it."""

    path: str
    line: int
    old: str
    new: str
    score: float = 0
    rule: str = ""

    def added(self):
        """What the new line has and the old one has not: the part between their common start and end."""
        start = len(os.path.commonprefix([self.old, self.new]))
        end = len(os.path.commonprefix([self.old[start:][::-1], self.new[start:][::-1]]))
        return self.new[start : len(self.new) - end]


def names_used(node):
    """Names and attributes in a piece of parsed source, each once, in order."""
    found = (getattr(part, "id", None) or getattr(part, "attr", None) for part in ast.walk(node))
    return list(dict.fromkeys(name for name in found if name))


def functions_named(source, names):
    """The functions of these names, and those of the same source that they call: {name: (node, calls in between)}."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FUNCTION)}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in names]
    methods = [item.name for node in classes for item in node.body if isinstance(item, FUNCTION)]
    reached, queue = {}, [(name, 0) for name in [*names, *methods]]
    while queue:
        name, distance = queue.pop(0)
        if name in functions and name not in reached:
            reached[name] = functions[name], distance
            queue += [(used, distance + 1) for used in names_used(functions[name])]
    return reached


def without_tests(functions):
    """Those that check nothing themselves: a test is never changed to make it pass."""

    def checks(name, node):
        return name.startswith("test") or any(isinstance(part, ast.Assert) for part in ast.walk(node))

    return {name: (node, distance) for name, (node, distance) in functions.items() if not checks(name, node)}


def changes(path, source, functions, failure, rules=()):
    """The changes of one source that are worth trying for a failing test, the likeliest first.

    `functions` is what `functions_named` gave; `rules` are (file name, sentence) pairs.
    """
    if not functions:
        return []
    tree, lines = ast.parse(source), source.split("\n")
    constants = {name: node.value.value for node in tree.body if (name := _constant_name(node))}
    used = {name for function, _ in functions.values() for name in names_used(function)}
    parts = [(part, distance) for function, distance in functions.values() for part in ast.walk(function)]
    parts += [(node.value, 1) for node in tree.body if _constant_name(node) in used]
    found = {}
    for change in _misspelt(path, lines, failure):
        found[change.line, change.new] = change
    for node, distance in parts:
        for start, end, new, score in _edits(node, lines, failure):
            change = _replaced(path, lines, start, end, new)
            if change is None or change.new == change.old:
                continue
            change.score = score - 0.5 * distance
            _weigh(change, node, failure, constants, rules)
            if found.setdefault((change.line, change.new), change).score < change.score:
                found[change.line, change.new] = change
    return sorted(found.values(), key=lambda change: (-change.score, change.line, change.new))


def _constant_name(node):
    simple = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    return node.targets[0].id if simple and isinstance(node.targets[0], ast.Name) else None


# What one node of the syntax tree allows: (start, end, new text, how common the slip is)


def _edits(node, lines, failure):
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _swapped(lines, node.left, node.comparators[0], SYMBOLS.get(type(node.ops[0])), 3)
    elif isinstance(node, ast.BinOp):
        yield from _swapped(lines, node.left, node.right, SYMBOLS.get(type(node.op)), 2)
    elif isinstance(node, ast.BoolOp):
        yield from _swapped(lines, node.values[0], node.values[1], SYMBOLS[type(node.op)], 2)
    elif isinstance(node, ast.AugAssign):
        yield from _swapped(lines, node.target, node.value, f"{SYMBOLS.get(type(node.op))}=", 1)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield from _swapped(lines, node.targets[0], node.value, "=", 0)
    elif isinstance(node, ast.UnaryOp):
        yield _start(node), _start(node.operand), "", 2
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield _start(node), _end(node), repr(not node.value), 1
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for new in (node.value + 1, node.value - 1, node.value * 10, node.value / 10):
            text = repr(int(new)) if isinstance(node.value, int) and new == int(new) else repr(new)
            yield _start(node), _end(node), text, 1
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Slice):
        for part in filter(None, (node.lower, node.upper)):
            yield _start(part), _end(part), "", 2
    elif isinstance(node, ast.Return) and node.value is not None and failure.known:
        text = _text(lines, node.value)
        simple = isinstance(node.value, (ast.Name, ast.Call, ast.Attribute, ast.Subscript, ast.Constant))
        for wrap, does in WRAPS.items():
            with contextlib.suppress(Exception):  # what cannot be done to this value is not what is missing
                if does(failure.got) == failure.expected:
                    inner = text if simple or wrap.endswith("({})") else f"({text})"
                    yield _start(node.value), _end(node.value), wrap.format(inner), 6
    elif isinstance(node, FUNCTION) and isinstance(node.body[-1], ast.Expr):
        missing = failure.known and failure.got is None
        yield _start(node.body[-1]), _start(node.body[-1]), "return ", 8 if missing else 0


def _swapped(lines, left, right, old, common):
    """The operator between two operands, replaced by each that may have been meant."""
    if left.end_lineno != right.lineno or old not in SWAPS:
        return
    line = lines[left.end_lineno - 1].encode()  # the offsets of a syntax tree count bytes
    between = line[left.end_col_offset : right.col_offset].decode()
    if between.count(old) == 1:
        start = left.end_col_offset + len(between[: between.index(old)].encode())
        for rank, new in enumerate(SWAPS[old]):
            yield (left.end_lineno, start), (left.end_lineno, start + len(old)), new, common - rank


def _of_call(node):
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    line, end = _end(node.func)
    if name in NAMES:
        yield (line, end - len(name)), (line, end), NAMES[name], 1
    if name == "range" and node.args:
        stop = node.args[0] if len(node.args) == 1 else node.args[1]
        yield _end(stop), _end(stop), " + 1", 2
        yield _end(stop), _end(stop), " - 1", 2
    if name in ("sorted", "sort"):
        reverse = next((keyword.value for keyword in node.keywords if keyword.arg == "reverse"), None)
        if reverse is None:
            line, end = _end(node)
            yield (
                (line, end - 1),
                (line, end - 1),
                ", reverse=True" if node.args or node.keywords else "reverse=True",
                1,
            )


def _start(node):
    return node.lineno, node.col_offset


def _end(node):
    return node.end_lineno, node.end_col_offset


def _text(lines, node):
    whole = node.lineno == node.end_lineno
    return lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode() if whole else ""


def _replaced(path, lines, start, end, new):
    if start[0] != end[0]:
        return None
    line = lines[start[0] - 1].encode()
    return Change(path, start[0], line.decode(), (line[: start[1]] + new.encode() + line[end[1] :]).decode())


def _misspelt(path, lines, failure):
    """Python itself says which name was meant: Did you mean: 'total'?"""
    names = re.search(r"'(\w+)'[^']*Did you mean:? '(\w+)'", failure.message)
    if names:
        wrong = re.compile(rf"\b{names[1]}\b")
        for number, line in enumerate(lines, 1):
            if wrong.search(line):
                yield Change(path, number, line, wrong.sub(names[2], line), score=8)


# What speaks for a change


def _weigh(change, node, failure, constants, rules):
    """Raise the score of a change by what the failing test and the written rules say for it."""
    if isinstance(node, ast.Compare):
        _weigh_comparison(change, node, failure, constants, rules)
    expected, got = failure.expected, failure.got
    if not failure.known:
        return
    if type(expected) in (int, float) and type(got) in (int, float):
        off = abs(got - expected)
        if got == -expected and isinstance(node, (ast.UnaryOp, ast.BinOp)):
            change.score += 3
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and got == math.floor(expected):
            change.score += 5
        if off == 1 and (isinstance(node, (ast.Slice, ast.Constant)) or "range(" in change.old):
            change.score += 2
        if (
            isinstance(node, ast.Constant)
            and got
            and expected
            and math.isclose(max(got / expected, expected / got), 10)
        ):
            change.score += 4 if str(node.value * 10) in change.new or str(node.value / 10) in change.new else 1
        numbers = {
            name for name, value in constants.items() if type(value) in (int, float) and math.isclose(off, value)
        }
        if numbers & set(names_used(node)):  # off by exactly SHIPPING: the line that adds it, or decides about it
            change.score += 1
    elif isinstance(expected, str) and isinstance(got, str):
        same_letters = expected.strip().lower() == got.strip().lower()
        change.score += 3 if same_letters and re.search(r"strip|upper|lower", change.added() + change.old) else 0
    elif isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        same_items = sorted(map(repr, expected)) == sorted(map(repr, got))
        change.score += 5 if same_items and "revers" in change.new + change.old else 0
        near = abs(len(expected) - len(got)) == 1
        change.score += 3 if near and (isinstance(node, ast.Slice) or "range(" in change.old) else 0


def _weigh_comparison(change, node, failure, constants, rules):
    """`<` or `<=`: the name of the test may speak of the border, and a written rule may say where it lies."""
    old, new = SYMBOLS.get(type(node.ops[0])), change.added()
    if old not in ("<", "<=", ">", ">=") or new not in ("=", ""):
        return
    change.score += 3 if BORDER.search(failure.test) else 0
    right = node.comparators[0]
    limit = right.value if isinstance(right, ast.Constant) else constants.get(getattr(right, "id", None))
    upward = old in (">", ">=")
    for where, sentence in rules if type(limit) in (int, float) else ():
        if not any(math.isclose(float(number), limit) for number in re.findall(r"\d+(?:\.\d+)?", sentence)):
            continue
        inclusive = re.search(OR_MORE if upward else OR_LESS, sentence, re.I)
        # "under 50" speaks of the other side of the same border: what is not under 50 is 50 or more.
        other_side = re.search(LESS_THAN if upward else MORE_THAN, sentence, re.I)
        exclusive = re.search(MORE_THAN if upward else LESS_THAN, sentence, re.I)
        if (new == "=" and (inclusive or other_side)) or (new == "" and exclusive and not inclusive):
            change.score += 4
            change.rule = f'{where} says: "{sentence}"'
            return
