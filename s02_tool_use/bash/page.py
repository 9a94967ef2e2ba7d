"""`python FILE` where there are no processes: this Python runs the file itself, as if it were a new one.

Here is a browser page, whose files are the learner's own: the file may lie anywhere, as with bash. It finds an empty
__main__, its folder at the head of sys.path, the environment of a command and no input, and it imports the modules of
its folder anew. Afterwards the names in all modules are as before, and so are the current folder, streams and signals.
Left out: a time limit, since nothing can stop it, and the inside of an object that was there before: an attribute of a
class of the standard library stays as the script set it.
"""

import atexit
import builtins
import contextlib
import gc
import io
import linecache
import os
import re
import shlex
import signal
import sys
import sysconfig
import tempfile
import warnings
import weakref
from _sitebuiltins import Quitter
from functools import partial
from importlib.machinery import FrozenImporter, SourceFileLoader
from types import ModuleType

from ..calls.results import ToolError
from .output import Kept
from .sandbox import environment, lies_in

NO_PROCESSES = "a browser page has no processes"
REFUSED = (
    f"bash: nothing was run: {NO_PROCESSES}. Here bash runs only `python FILE`, with arguments for it if you like. "
    "For the rest use the file tools: read_file, write_file, edit_file, glob."
)
NOT_FOUND = 127  # what bash says of a program that is not there
# Words with nothing in them that bash would act on.
WORD = r"""(?:[\w@%+=:,./-]|'[^'\n]*'|"[^"$`\\\n]*"|\\[^\n])+"""
COMMAND = re.compile(rf"\s*python3?(?:[ \t]+{WORD})+\s*")
OF_NOTEBOOKS = ("get_ipython", "display", "_")  # what a notebook puts into builtins, and a script does not find there
FIRST = {"__main__", "encodings"}  # loaded before a script could put its own in their place; so is what is frozen
STATEFUL = {"logging", "random"}  # a script has its own: handlers, a seed


class _Gone(BaseException):
    """os._exit, which must not end the page: `args[0]` is the status."""


def run(command: str, work: str) -> tuple[str, int]:
    """(what the command said, its exit status)."""
    program, file, *arguments = shlex.split(command) if COMMAND.fullmatch(command) else ("", "")
    path = os.path.join(work, file)
    if not file or file.startswith("-") or os.path.isdir(path):
        return REFUSED, NOT_FOUND
    if not os.path.isdir(work):
        raise ToolError("bash could not be started: its folder is gone; is the workspace still there?")
    kept = Kept()
    with tempfile.TemporaryFile(buffering=0) as said:
        status = _run(program, path, [file, *arguments], work, said.fileno())
        said.seek(0)
        while piece := said.read(65536):
            kept.take(piece)
    kept.end()
    return kept.text(), status


def _run(program, path, words, work, said):
    """The exit status of the file at `path`. What it says goes to the descriptor `said`."""
    stops, leaving, outside = [], [], sys.exc_info()[1]
    folder, shared, modules, loaded = os.path.dirname(os.path.realpath(path)), _shared(), sys.modules, dict(sys.modules)
    base, usual, system = vars(builtins), dict(vars(builtins)), vars(sys)
    # What follows a script needs them as they were. No function of ours: the script may have set a trace.
    trust = partial(sys.settrace, sys.gettrace()), partial(base.update, usual)
    streams, put_back = [(number, os.dup(number)) for number in range(3)], _memory()

    def stop(*_):
        stops.append(1)
        raise KeyboardInterrupt

    with warnings.catch_warnings():
        saved, own = [(space, dict(space)) for space in map(_names_of, loaded.values())], False
        try:
            _hear(said)
            _look_new(path, words, work, [folder, *shared])
            own = _hide(folder, shared)
            _instead(leaving)
            with contextlib.suppress(ValueError):  # another thread, where there are any
                signal.signal(signal.SIGINT, stop)
            try:
                status = _status(program, path, trust, outside)
                _leave(leaving, outside)
            except _Gone as gone:
                status = gone.args[0]
        finally:
            for restore in trust:
                restore()
            for space, names in saved:
                if space is not system:  # its streams are in use
                    space.update(names)  # what is new there stays: it may be a submodule
            for name in base.keys() - usual.keys():
                del base[name]
            warnings.simplefilter("ignore")
            new = [name for name in [*modules] if name not in loaded]
            new = [name for name in new if own or not _is_pythons(modules[name], shared)]
            ended = [modules.get("__main__"), *map(modules.pop, reversed(new))]
            modules.update(loaded)
            _empty(module for module in ended if not any(module is one for one in loaded.values()))
            gc.collect()  # objects may speak while they are heard
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            system.update(next(names for space, names in saved if space is system))
            put_back()
            for number, stream in streams:
                with contextlib.suppress(OSError):  # the script closed it
                    os.dup2(stream, number)
                    os.close(stream)
    if stops:
        raise KeyboardInterrupt
    return status


def _memory():
    """A function that puts back what is the process's own: environment, current folder, signals, depth of calls."""
    environ, variables = os.environ, dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    limit, profile = sys.getrecursionlimit(), sys.getprofile()
    try:
        here = os.getcwd()
    except OSError:
        here = "/"

    def put_back():
        environ.clear()
        environ.update(variables)
        sys.setrecursionlimit(limit)
        sys.setprofile(profile)
        with contextlib.suppress(OSError):  # it is gone
            os.chdir(here)
        for number, handler in handlers.items():
            if signal.getsignal(number) != handler:
                with contextlib.suppress(OSError, TypeError, ValueError):
                    signal.signal(number, handler)

    return put_back


def _hear(said):
    """From now on what is printed goes to `said`, at once, and nothing can be read."""
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(said, 1)
    os.dup2(said, 2)
    errors = {"stdin": "surrogateescape", "stdout": "surrogateescape", "stderr": "backslashreplace"}
    for number, (name, policy) in enumerate(errors.items()):
        stream = _stream(number, "w" if number else "r", policy)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(number, mode, errors):
    raw = io.FileIO(number, mode, closefd=False)
    stream = io.TextIOWrapper(io.BufferedReader(raw) if mode == "r" else raw, "utf-8", errors, write_through=True)
    stream.mode = mode
    return stream


def _look_new(path, words, work, places):
    """What a script finds in `sys`, `os.environ`, `builtins` and __main__ when it begins."""
    os.chdir(work)
    variables = environment()
    os.environ.clear()
    os.environ.update(variables)
    sys.argv, sys.path, sys.meta_path, sys.path_hooks = words, places, [*sys.meta_path], [*sys.path_hooks]
    importers = sys.path_importer_cache.items()
    sys.path_importer_cache = {place: found for place, found in importers if place in places[1:]}
    sys.dont_write_bytecode, sys.pycache_prefix = True, os.path.join(os.devnull, "none")  # what is cached may be old
    for name in ("excepthook", "displayhook", "unraisablehook"):
        setattr(sys, name, getattr(sys, f"__{name}__"))
    linecache.cache = {}
    main = sys.modules["__main__"] = ModuleType("__main__")
    vars(main).update(__file__=path, __builtins__=builtins, __loader__=SourceFileLoader("__main__", path))
    warnings.resetwarnings()
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")


def _instead(leaving):
    """What would reach the page, or the notebook, is replaced by what a script expects."""
    for name in OF_NOTEBOOKS:
        vars(builtins).pop(name, None)
    vars(builtins).update(input=_input, exit=Quitter("exit", "Ctrl-D"), quit=Quitter("quit", "Ctrl-D"))
    weakref.finalize._registered_with_atexit = True  # else it ends those of the page too

    def register(function, /, *arguments, **named):
        leaving.append((function, arguments, named))
        return function

    def unregister(function):
        leaving[:] = [one for one in leaving if one[0] != function]

    def gone(status):
        raise _Gone(status & 0xFF)

    atexit.register, atexit.unregister, os._exit = register, unregister, gone


def _input(prompt="", /):
    print(prompt, end="", flush=True)
    if line := sys.stdin.readline():
        return line.removesuffix("\n")
    raise EOFError("EOF when reading a line")


def _shared():
    """The parts of sys.path that are Python's own, and not the notebook's."""
    homes = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    homes[-1] = os.path.dirname(homes[-1])  # a zip file lies beside it
    homes = [os.path.commonpath([home]) for home in homes]  # "//lib" in a page
    return [place for place in sys.path if os.path.isabs(place) and any(lies_in(place, home) for home in homes)]


def _names_of(module):
    """The names in a module, whatever its __getattr__ does; none in what only says that it is one, as cffi's do."""
    return object.__getattribute__(module, "__dict__") if issubclass(type(module), ModuleType) else {}


def _is_pythons(module, shared):
    """Whether a module comes with Python or was installed beside it; None if it does not say where it is from."""
    spec = _names_of(module).get("__spec__")
    try:
        home = next(iter(getattr(spec, "submodule_search_locations", None) or [getattr(spec, "origin", None)]), None)
    except Exception:  # a part of a package without __init__.py, which is gone
        return None
    if not isinstance(home, str):
        return None
    return home in ("built-in", "frozen") or (os.path.isabs(home) and any(lies_in(home, place) for place in shared))


def _hide(folder, shared):
    """Take out of sys.modules what the script would find elsewhere. True if a module of Python's own is among it."""
    names = set()
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py") or os.path.isfile(os.path.join(entry.path, "__init__.py")):
                names.add(entry.name.removesuffix(".py"))
    names = {name for name in names - FIRST if not FrozenImporter.find_spec(name)} - set(sys.builtin_module_names)
    judged = [(name, _is_pythons(module, shared)) for name, module in sys.modules.items()]
    hidden = {name: own for name, own in judged if own is False or name.partition(".")[0] in names | STATEFUL}
    for name in hidden:
        del sys.modules[name]
    return any(own for name, own in hidden.items() if name.partition(".")[0] in names)


def _empty(modules):
    """As Python does at its end, one name after the other: files that were not closed are written then."""
    for space in map(_names_of, modules):
        for name in [*space]:
            if name != "__builtins__":
                space[name] = None


def _status(program, path, trust, outside):
    """Run the file, as Python does: what it says at the end, and the status that it ends with."""
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"{program}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        return 2
    main = sys.modules["__main__"]
    try:
        try:
            exec(compile(source, path, "exec", dont_inherit=True), vars(main))
        finally:
            for restore in trust:
                restore()
    except SystemExit as error:
        return _exited(error.code)
    except _Gone:
        raise
    except BaseException as error:
        _show(error, outside)
        return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exited(code):
    if isinstance(code, int):
        return code & 0xFF
    if code is None:
        return 0
    with contextlib.suppress(Exception):
        print(code, file=sys.stderr or sys.__stderr__)
    return 1


def _leave(leaving, outside):
    """What the script asked atexit for, the last first."""
    while leaving:
        function, arguments, named = leaving.pop()
        try:
            function(*arguments, **named)
        except _Gone:
            raise
        except BaseException as error:
            with contextlib.suppress(Exception):
                print(f"Exception ignored in atexit callback {function!r}:", file=sys.stderr)
                sys.__excepthook__(*_without_us(error, outside))


def _show(error, outside):
    shown, fault = _without_us(error, outside), None
    with contextlib.suppress(Exception):
        try:
            sys.excepthook(*shown)
        except Exception as other:
            fault = other
            fault.__context__ = None
        if fault:
            print("Error in sys.excepthook:", file=sys.stderr)
            sys.__excepthook__(*_without_us(fault, outside))
            print("\nOriginal exception was:", file=sys.stderr)
            sys.__excepthook__(*shown)


def _without_us(error, outside):
    """What an excepthook is given: type, error, traceback. No line of this file is in it, nor in what led to it; and
    `outside`, an error that was being handled when the script began, led to nothing here."""
    todo, seen = [error], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        places, place = [], one.__traceback__
        while place:
            places += [place] * (place.tb_frame.f_code.co_filename != __file__)
            place = place.tb_next
        for place, following in zip(places, [*places, None][1:], strict=True):
            place.tb_next = following
        one.__traceback__ = next(iter(places), None)
        if one.__context__ is outside:
            one.__context__ = None
        todo += [one.__cause__, one.__context__]
    return type(error), error, error.__traceback__
