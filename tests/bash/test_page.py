"""`python FILE` as a browser page runs it, beside what a new Python says of the same file; and what is left behind."""

import atexit
import builtins
import logging
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import weakref
from pathlib import Path

import pytest
from systems import posix_alone

import s02_tool_use
from s02_tool_use import run_bash, run_tool, sandbox_status
from s02_tool_use.bash import page
from s02_tool_use.bash.output import Kept
from s02_tool_use.bash.sandbox import environment
from s02_tool_use.calls import secrets
from s02_tool_use.lab.understudy.toolbox import Result, failed

ROOT = Path(__file__).resolve().parent.parent.parent
posix_alone("descriptors and exit statuses as a page has them")


@pytest.fixture(autouse=True)
def in_a_page(monkeypatch, workspace):
    monkeypatch.setattr("s02_tool_use.IN_A_PAGE", True)
    monkeypatch.setattr(sys, "meta_path", [finder for finder in sys.meta_path if "pytest" not in str(finder)])


def write(folder, **files):
    for name, source in files.items():
        data = source if isinstance(source, bytes) else source.encode()
        (folder / f"{name}.py").write_bytes(data)


def by_a_new_python(folder, *words):
    """What a process of its own says, in its order, and how it ends: in the form of run_bash."""
    done = subprocess.run(
        [sys.executable, "-u", *words],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    kept = Kept()
    kept.take(done.stdout.replace(sys.executable.encode(), b"python"))
    kept.end()
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    text = kept.text() + "\n" * (not kept.text().endswith("\n") and bool(kept.text()))
    return f"{text}[exit status {status}{', as after signal 2 (SIGINT)' * (status == 130)}]"


SCRIPTS = r"""
#### its name, file and arguments
import sys
print(__name__, __file__, sys.argv, __spec__, __package__, sys.path[0])
#### text that is not ASCII
print('é 李雷')
import sys
sys.stdout.buffer.write(b'\xff\n')
print('\udcff')
#### both streams in their order
import sys
print('a')
print('b', file=sys.stderr)
sys.stdout.write('c')
sys.stderr.write('d')
print('e')
#### what is written past sys.stdout
import os, sys
print('a')
os.write(1, b'b\n')
print('c', file=sys.__stdout__)
os.write(2, b'd\n')
sys.__stderr__.write('e')
#### much output
for n in range(20000): print(n)
#### an error in a function
def f():
    return 1 / 0


def g():
    f()


g()
#### an error from another
try:
    1 / 0
except Exception as e:
    raise KeyError('x') from e
#### an error in the handling of another
try:
    1 / 0
except Exception as e:
    {}['a']
#### a bracket that is not closed
x = (1,
y = 2
#### no Python
print 'a'
#### no indent
if 1:
x
#### a failing assert
x = 1
assert x == 2, 'no'
#### a wrong name, and a guess
import os
print(oss)
#### a wrong attribute
import os
os.getcwdx()
#### a module that is nowhere
import nothing_of_this_name
#### a relative import
from . import x
#### a KeyboardInterrupt of its own
raise KeyboardInterrupt
#### a BaseException
raise BaseException('b')
#### exit 3
import sys
sys.exit(3)
#### exit with words
import sys
sys.exit('words')
#### exit with None
import sys
sys.exit(None)
#### exit with a tuple
raise SystemExit((1, 2))
#### exit with a number that has no room
raise SystemExit(256 + 7)
#### exit with a negative number
raise SystemExit(-1)
#### exit with True
raise SystemExit(True)
#### exit as a builtin
exit(4)
#### quit
quit()
#### os._exit
import atexit, os
atexit.register(print, 1)
try:
    os._exit(7)
finally:
    pass
#### nothing to read
import sys
print(repr(sys.stdin.read()), sys.stdin.buffer.read(), sys.stdin.isatty())
#### input
x = input('name? ')
#### input in a function
def f():
    return input()
try:
    f()
except EOFError as e:
    raise ValueError from e
#### functions for the end
import atexit
atexit.register(print, 'last')
@atexit.register
def f():
    print('first')
def never(): print('never')
atexit.register(never)
atexit.unregister(never)
raise ValueError('x')
#### an excepthook
import sys
sys.excepthook = lambda *a: print(a[0].__name__, a[2].tb_lineno)
1 / 0
#### a wrong excepthook
import sys
def h(*a):
    {}[1]
sys.excepthook = h
1 / 0
#### unittest
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(1, 2)
    def test_b(self):
        pass
if __name__ == '__main__':
    unittest.main()
#### doctest
def f():
    '''
    >>> f()
    1
    '''
import doctest
doctest.testmod()
#### argparse
import argparse
p = argparse.ArgumentParser()
p.add_argument('n', type=int)
p.parse_args()
#### classes that name their module
from dataclasses import dataclass
import pickle
@dataclass
class A:
    x: int
print(pickle.loads(pickle.dumps(A(2))))
#### the end of an object
class A:
    def __del__(self): print('gone')
a = A()
#### no notebook
for name in ('get_ipython', 'display'):
    try: print(eval(name))
    except NameError: print('none')
#### its environment
import os
print(sorted(os.environ.items()), os.getcwd())
#### no streams
import sys
sys.stdout = sys.stderr = None
print('x')
1 / 0
#### a closed stream
import sys
sys.stdout.close()
print('x')
#### another stream
import io, sys
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8')
print('kept')
#### descriptors
import os
os.dup2(1, 2)
os.write(2, b'two\n')
os.close(1)
print('q')
#### its own folder is deleted
import os, shutil
shutil.rmtree(os.getcwd())
print('ok')
#### a function that was replaced
from unittest.mock import patch
with patch('builtins.input', return_value='é'):
    print(input())
#### builtins that are gone
import builtins
for name in [*vars(builtins)]:
    if name not in ('None', 'vars', 'delattr', 'builtins'): delattr(builtins, name)
#### modules that are spoiled
import builtins, contextlib, gc, os, signal, sys, warnings
os.chdir = os.dup2 = None
contextlib.suppress = gc.collect = signal.signal = sys.modules = warnings.filters = None
builtins.len = builtins.print = builtins.isinstance = builtins.BaseException = None
#### a trace
import sys
sys.settrace(lambda *a: 1 / 0)
"""
SOURCES = dict(part.split("\n", 1) for part in SCRIPTS.split("#### ")[1:])
SOURCES |= {
    "another encoding": b"# -*- coding: latin-1 -*-\nprint('\xe9')\n",
    "a byte order mark": b"\xef\xbb\xbfprint(1)\n",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_file_says_and_ends_with_what_it_does_in_a_new_python(workspace, source):
    write(workspace, script=source)
    right = by_a_new_python(workspace, "./script.py", "a b", "--c")
    workspace.mkdir(exist_ok=True)
    write(workspace, script=source)
    said = run_bash("python ./script.py 'a b' --c")
    assert re.sub(r"in \d+\.\d+s", "", said) == re.sub(r"in \d+\.\d+s", "", right)


def test_warnings_are_seen_as_in_a_new_python(workspace):
    """pytest listens to them in this process, so another one is the page."""
    write(workspace, script="import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('user')")
    ours = "import s02_tool_use as s\ns.IN_A_PAGE = True\ns.use_workdir(r'{}')\nprint(s.run_bash('python script.py'))"
    command = [sys.executable, "-c", ours.format(workspace)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == by_a_new_python(workspace, "script.py") + "\n"
    assert "DeprecationWarning: old" in done.stdout


def test_modules_packages_and_folders_are_found_as_by_a_new_python(workspace):
    (workspace / "shop" / "tax").mkdir(parents=True)
    write(workspace / "shop", prices="from tax import rate\ndef total(): return rate()\nif __name__ == 'x': pass")
    write(workspace / "shop" / "tax", __init__="from .rates import rate", rates="def rate(): return 1 / 0")
    write(workspace / "shop", main="import prices\nprint(prices.__file__)\nprices.total()")
    assert run_bash("python shop/main.py") == by_a_new_python(workspace, "shop/main.py")
    inside = workspace / "shop" / "main.py"
    assert run_bash(f"python3 {inside}") == by_a_new_python(workspace, str(inside))


def test_what_is_being_handled_outside_led_to_nothing_in_the_script(workspace):
    write(workspace, script="try: {}[1]\nfinally: 1 / 0", last="import atexit\natexit.register(lambda: [][0])")
    try:
        raise LookupError("outside")
    except LookupError:
        assert run_bash("python script.py") == by_a_new_python(workspace, "script.py")
        said = run_bash("python last.py")
    assert "IndexError" in said
    assert "outside" not in said


def test_a_module_with_the_name_of_one_of_pythons_is_the_one_in_the_folder(workspace):
    write(workspace, json="x = 'mine'", script="import json\nprint(json.x)\nimport decimal\nprint(decimal.__name__)")
    before = sys.modules["json"]
    assert run_bash("python script.py") == "mine\ndecimal\n[exit status 0]"
    assert sys.modules["json"] is before
    assert __import__("json") is before


@pytest.mark.parametrize("words", ["missing.py", "no/folder.py", "orders.py/x.py"])
def test_a_file_that_is_not_there_ends_with_2_and_pythons_sentence(workspace, words):
    write(workspace, orders="")
    assert run_bash(f"python {words}") == by_a_new_python(workspace, words)
    assert run_bash(f"python {words}").endswith("[exit status 2]")


def test_what_was_edited_counts_even_with_the_same_size_and_time(workspace):
    write(workspace, cart="def total(): return 1", test_cart="from cart import total\nprint(total())")
    subprocess.run([sys.executable, "-c", "import cart"], cwd=workspace, check=True, env={})  # bytecode, for a moment
    assert os.path.isdir(workspace / "__pycache__")
    seen = os.stat(workspace / "cart.py")
    assert run_bash("python test_cart.py") == "1\n[exit status 0]"
    write(workspace, cart="def total(): return 2")
    os.utime(workspace / "cart.py", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert run_bash("python test_cart.py") == "2\n[exit status 0]"
    write(workspace, cart="def total(): return 1 / 0")
    assert "def total(): return 1 / 0\n" in run_bash("python test_cart.py")


def test_a_file_is_run_each_time_in_an_empty_namespace_and_writes_nothing_of_its_own(workspace):
    write(workspace, other="n = 0", script="import other\nother.n += 1\nprint(other.n, 'left' in globals())\nleft = 1")
    assert {run_bash("python script.py") for _ in range(3)} == {"1 False\n[exit status 0]"}
    assert sorted(path.name for path in workspace.iterdir()) == ["other.py", "script.py"]


def test_handlers_of_logging_and_the_state_of_chance_are_each_scripts_own(workspace):
    first = "import logging, logging.handlers, random\nlogging.basicConfig(level='DEBUG', format='first %(message)s')\n"
    write(workspace, first=f"{first}logging.debug('x')\nrandom.seed(1)")
    write(workspace, second="import logging\nlogging.basicConfig(format='second %(message)s')\nlogging.warning('y')")
    root, chance = [*logging.root.handlers], random.getstate()
    assert run_bash("python first.py") == "first x\n[exit status 0]"
    assert run_bash("python second.py") == "second y\n[exit status 0]"
    assert (logging.root.handlers, random.getstate()) == (root, chance)
    assert sys.modules["logging"] is logging


def test_a_file_that_is_left_open_is_written(workspace):
    write(workspace, script="import other\nf = open('a.txt', 'w')\nf.write('a')\nother.f = f, other")
    write(workspace, other="g = open('b.txt', 'w')\ng.write('b')\ndef h(): return g")
    assert run_bash("python script.py") == "[exit status 0]"
    assert [(workspace / f"{name}.txt").read_text() for name in "ab"] == ["a", "b"]


HOSTILE = """
import atexit, builtins, decimal, json, linecache, os, random, signal, sys, threading, time, warnings
from unittest.mock import MagicMock
sys.modules["of_nobody"] = MagicMock()
builtins.added = json.dumps = os.getcwd = time.sleep = os.chdir = threading.Thread = random.random = 5
del builtins.len, sys.modules["json"]
sys.path[:], sys.argv[:], sys.meta_path[:] = [], [], []
sys.path_importer_cache.clear()
sys.stdout = sys.stderr = sys.stdin = sys.excepthook = sys.displayhook = sys.modules = sys.path = None
os.environ.clear()
os.environ["NEW"] = "x"
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: None)
warnings.filterwarnings("error")
linecache.cache["x"] = None
sys.setrecursionlimit(5000)
sys.settrace(lambda *_: None)
sys.setprofile(lambda *_: None)
__builtins__.print = None
"""


def state():
    return {
        "modules": {name: one for name, one in sys.modules.items() if not name.startswith(("unittest", "decimal"))},
        "names": {name: dict(vars(sys.modules[name])) for name in ("builtins", "sys", "os", "json", "time", "random")},
        "lists": [[*sys.path], [*sys.argv], [*sys.meta_path], [*warnings.filters], {*sys.path_importer_cache}],
        "process": (os.getcwd(), dict(os.environ), sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "functions": (atexit.register, atexit._ncallbacks(), os._exit, [os.fstat(n).st_ino for n in range(3)]),
    }


@pytest.mark.parametrize(
    "end", ["", "1 / 0", "raise SystemExit(3)", "import os\nos._exit(1)", "(", "raise KeyboardInterrupt"]
)
def test_afterwards_all_is_as_before(workspace, monkeypatch, end):
    import decimal  # noqa: F401
    import unittest.mock  # noqa: F401

    write(workspace, script=f"{HOSTILE if end != '(' else ''}\n{end}", once="import json, random")
    run_bash("python once.py")
    before = state()
    run_bash("python script.py")
    after = state()
    for name, value in before.items():
        assert after[name] == value, name
    print("still heard")


def test_what_else_was_to_be_cleaned_up_at_the_end_of_the_page_is_left_alone(workspace):
    write(workspace, script="import atexit, tempfile\nfolder = tempfile.TemporaryDirectory()\nprint('here')")
    ended = []
    kept = tempfile.TemporaryDirectory()
    finalizer = weakref.finalize(kept, ended.append, 1)
    assert run_bash("python script.py") == "here\n[exit status 0]"
    assert os.path.isdir(kept.name)
    assert finalizer.alive
    assert not ended
    kept.cleanup()


def test_the_current_folder_may_be_gone(workspace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # to come back to
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    shutil.rmtree(gone)
    write(workspace, script="import os\nprint(os.path.basename(os.getcwd()))")
    assert run_bash("python script.py") == "work\n[exit status 0]"


def test_a_stop_passes_on_and_leaves_all_as_it_was(workspace):
    write(workspace, script="import os, signal\nprint('x')\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass")
    before = state()
    with pytest.raises(KeyboardInterrupt):
        run_bash("python script.py")
    assert state() == before


def test_output_is_cut_and_holds_no_key(workspace):
    secrets.keep(texts=["sk-of-the-test-0123456789"])
    write(workspace, script="print('sk-of-the-test-0123456789')\nprint('x' * 10**6)")
    said = run_bash("python script.py")
    assert said.startswith(f"{secrets.CUT}\nxxx")
    assert "bytes omitted" in said
    assert len(said) < 31_000


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "cat README.md", "cd shop && python script.py", "python script.py | head", "python script.py > out"),
        *("python", "python -c 'print(1)'", "python -m unittest", "python -", "python .", "python $HOME/script.py"),
        *(
            "python script.py; ls",
            "python script.py\nls",
            "python `ls`",
            'python "$(ls)"',
            "python *.py",
            "python ~/x.py",
        ),
        *("X=1 python script.py", "python script.py &", "python 'script.py", "pythonscript.py", "python2 script.py"),
        *(
            "exec python script.py",
            "python script.py #",
            "python {script,x}.py",
            "python\nscript.py",
            "echo python x.py",
        ),
    ],
)
def test_anything_else_is_refused_with_a_sentence_and_not_run(workspace, command):
    write(workspace, script="open('ran', 'w')")
    said = run_bash(command)
    assert said == f"{page.REFUSED}\n[exit status 127]"
    assert all(part in said for part in ("has no processes", "`python FILE`", "read_file", "glob"))
    assert failed(Result(said))
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python script.py", []),
        ("  python3   script.py  \n", []),
        ("python script.py é=1 --x=a,b 50% ./c", ["é=1", "--x=a,b", "50%", "./c"]),
        ("python script.py 'a b' \"c'd\" e\\ f ''", ["a b", "c'd", "e f", ""]),
        ("python 'script.py' '$HOME' '*'", ["$HOME", "*"]),
    ],
)
def test_the_words_of_a_command_arrive_as_bash_gives_them(workspace, monkeypatch, command, words):
    write(workspace, script="import sys\nprint(sys.argv[1:])")
    said = run_bash(command)
    assert said == f"{words}\n[exit status 0]"
    monkeypatch.setattr("s02_tool_use.IN_A_PAGE", False)
    assert run_bash(command) == said


def test_the_command_and_the_timeout_are_judged_as_ever_and_the_tool_answers(workspace):
    write(workspace, script="raise SystemExit(3)")
    call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "python script.py"}}
    assert run_tool(call)["content"] == "[exit status 3]"
    assert run_tool(call | {"input": {"command": " "}})["is_error"]
    assert run_tool(call | {"input": {"command": "ls"}})["content"].startswith("bash: nothing was run: a browser page")
    with pytest.raises(s02_tool_use.ToolError, match="seconds"):
        run_bash("python script.py", timeout=0)


def test_the_sandbox_says_that_there_are_no_processes():
    confined, why = sandbox_status()
    assert not confined
    assert "no processes" in why


def test_a_long_command_takes_no_longer_than_a_short_one():
    command = "python script.py " + "a " * 20_000 + "|"
    began = time.process_time()
    assert run_bash(command).startswith("bash: nothing was run")
    assert time.process_time() - began < 5


def test_builtins_are_the_same_afterwards_for_who_holds_them(workspace):
    write(workspace, script="import builtins\nbuiltins.open = None\nbuiltins.new = 1")
    own = builtins.open
    run_bash("python script.py")
    assert builtins.open is own
    assert not hasattr(builtins, "new")


def test_what_only_says_that_it_is_a_module_is_left_alone(workspace, monkeypatch):
    """As cffi puts its libraries into sys.modules."""

    class Library:
        __slots__ = ()
        __class__ = type(sys)

    monkeypatch.setitem(sys.modules, "library", Library())
    write(workspace, script="print(42)")
    assert run_bash("python script.py") == "42\n[exit status 0]"
