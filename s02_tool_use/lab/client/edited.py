"""In a notebook, an edited file of the package counts from the next cell on, without a restart. connect() begins it.

The statements of the file run again in its module, one by one. What a function or a class has become goes into the old
object, which others hold: `except ToolError` goes on to catch. A variable is set anew only if the line that sets it has
changed, or one that it uses: what the program has put there since stays. Outside of IPython nothing happens.

Left out: what a file no longer defines (it stays until a restart), and a file that was edited while it was imported.
"""

import ast
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]

_written: dict[str, int] = {}  # module -> when its file was written, as far as it has been looked at
_running: dict[str, bytes] = {}  # module -> the source that it runs
_shells: list[Any] = []  # the IPython shells that ask before each cell


def watch() -> None:
    """Look for edited files before each cell from now on."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and shell not in _shells:
        _shells.append(shell)
        reload()
        shell.events.register("pre_run_cell", lambda *_: reload())


def reload() -> None:
    """Run each file again that was edited since the last call. Prints a line for each, also for one with a mistake."""
    waiting, failed = _edited(), {}
    while waiting:
        failed = {name: error for name, source in waiting if (error := _run_again(name, source))}
        # What another file lacked may be there by now.
        again = [(name, source) for name, source in waiting if isinstance(failed.get(name), ImportError)]
        if len(again) == len(waiting):
            break
        for name in (name for name, _ in waiting if name in failed and not isinstance(failed[name], ImportError)):
            _complain(name, failed.pop(name))
        waiting = again
    for name, error in failed.items():
        _complain(name, error)


def _edited():
    """[(module, its new source)] of the files that were edited. A module that is new here is only remembered."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != PACKAGE.name or not (file := getattr(module, "__file__", None)):
            continue
        try:
            written = os.stat(file).st_mtime_ns
            if _written.get(name) == written:
                continue
            source = Path(file).read_bytes()
        except OSError:  # gone, or just being written
            continue
        _written[name] = written
        if _running.setdefault(name, source) != source:
            found.append((name, source))
    return found


def _complain(name, error):
    del _written[name]  # so that it is tried, and told, again
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == sys.modules[name].__file__]
    line = error.lineno if isinstance(error, SyntaxError) else next(iter(lines), None)
    said = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
    place = _place(name) + (f", line {line}" if line else "")
    print(f"Not reloaded: {place}: {said}. What was there before stays in force.")


def _place(name):
    return Path(sys.modules[name].__file__).relative_to(PACKAGE.parent).as_posix()


def _run_again(name, source):
    """Run the edited statements. Returns what went wrong, or None; then what was there before is in force."""
    module = sys.modules[name]
    try:
        before, after = (ast.parse(text, module.__file__).body for text in (_running[name], source))
        compile(source, module.__file__, "exec", dont_inherit=True)  # some syntax errors are found only here
    except (SyntaxError, ValueError) as error:
        return error
    try:
        _run(module, _compared(before, after))
    except Exception as error:
        _run(module, _compared(after, before))
        return error
    _running[name] = source
    print(f"Reloaded: {_place(name)}")
    return None


def _run(module, compared):
    names = vars(module)
    for statement, changed in compared:
        if changed or isinstance(statement, (*DEFINITIONS, *IMPORTS)):
            before = {key: names[key] for key in set_by(statement) if key in names}
            exec(compile(ast.Module([statement], []), module.__file__, "exec", dont_inherit=True), names)
            for key, old in before.items():
                if not isinstance(statement, IMPORTS):
                    _settle(module, key, old, names[key], changed)


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def _compared(before, after):
    """(statement, whether it or a variable that it uses has changed), for each statement."""
    known, news = {ast.dump(statement) for statement in before}, set()
    for statement in after:
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        changed = ast.dump(statement) not in known or bool(used & news)
        if changed:
            news |= set_by(statement)
        yield statement, changed


def set_by(statement: ast.stmt) -> set[str]:
    """The names that a statement sets in its module."""
    if isinstance(statement, DEFINITIONS):
        return {statement.name}
    if isinstance(statement, IMPORTS):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _settle(module, key, old, new, changed):
    """Keep the old object under its name, as the new one; or let all who imported it have the new one."""
    ours = not isinstance(old, (type, types.FunctionType)) or old.__module__ == module.__name__
    if (ours and _take_over(old, new)) or not changed:
        vars(module)[key] = old
        return
    for name, source in _running.items():
        other = sys.modules.get(name)
        if other not in (None, module) and vars(other).get(key) is old:
            body = ast.parse(source).body
            if not any(key in set_by(statement) for statement in body if not isinstance(statement, IMPORTS)):
                setattr(other, key, new)


def _take_over(old, new):
    """Make `old` what `new` is. False where that cannot be done."""
    if type(old) is not type(new):
        return False
    if isinstance(old, types.FunctionType):
        return _take_over_function(old, new)
    if isinstance(old, type):
        return _take_over_class(old, new)
    if isinstance(old, list):
        old[:] = new
    elif isinstance(old, (dict, set)):
        old.clear()
        old.update(new)
    else:
        return False
    return True


def _take_over_function(old, new):
    wrapped, inner = getattr(old, "__wrapped__", None), getattr(new, "__wrapped__", None)
    if len(old.__code__.co_freevars) != len(new.__code__.co_freevars) or (wrapped is None) != (inner is None):
        return False
    if wrapped is not None and not _take_over(wrapped, inner):
        return False
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__"):
        setattr(old, name, getattr(new, name))
    return True


def _take_over_class(old, new):
    if old.__bases__ != new.__bases__ or hasattr(old, "__members__"):  # an Enum is its members
        return False
    own = ("__dict__", "__weakref__", "_abc_impl")
    for name in [name for name in vars(old) if name not in vars(new) and name not in own]:
        delattr(old, name)
    for name, value in list(vars(new).items()):
        if name in own or isinstance(value, types.MemberDescriptorType):  # a slot belongs to its class
            continue
        if isinstance(value, types.FunctionType) and name in vars(old) and _take_over(vars(old)[name], value):
            continue
        for part in (value, *(getattr(value, part, None) for part in ("fget", "fset", "fdel", "__func__"))):
            for cell in getattr(part, "__closure__", None) or ():
                if cell.cell_contents is new:  # what `super()` means
                    cell.cell_contents = old
        setattr(old, name, value)
    return True
