"""The tools beside the SDK's toolset, rg, head and the bare system calls; memory too.

Prints the ratios of one run and ends with 1 if one is over what it must hold: python tests/benchmarks/bench_tools.py
"""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from anthropic import beta_tool
from anthropic.lib.tools.agent_toolset import AgentToolContext, beta_glob_tool, beta_read_tool

from s02_tool_use import ToolError, run_bash, run_edit, run_glob, run_read, run_tool, run_write, use_workdir
from s02_tool_use.bash.sandbox import sandbox_status

GIB = 1 << 30
FOLDERS, FILES = 1665, 100_000  # about a fifth of the files are .py
MAX_GROWTH = 1 << 20  # bytes
MIB_30 = 30 << 20
EDIT_SECONDS, EDIT_RATIO, EDIT_MEMORY = 1, 50, 4  # at most 1 s, or 50 x bytes.replace; and 4 x the file in memory

failures = []


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = use_workdir(folder)
        asyncio.run(read(work))
        asyncio.run(glob(work))
    with tempfile.TemporaryDirectory() as folder:
        edit(use_workdir(folder))
    dispatch()
    with tempfile.TemporaryDirectory() as folder:
        use_workdir(folder)
        asyncio.run(others(Path(folder)))
    for failure in failures:
        print("OVER:", failure)
    return int(bool(failures))


async def fastest(rounds, calls, **ways):
    """Seconds of the fastest round of each way, in turns: a busy machine is hard on all, and only ever adds."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.perf_counter()
            for _ in range(calls):
                result = way()
                if asyncio.iscoroutine(result):
                    await result
            best[name] = min(best[name], (time.perf_counter() - started) / calls)
    return best


def table(title, best, unit, **limits):
    print(f"\n{title}")
    ours = best["ours"]
    factor = {"us": 1e6, "ms": 1e3}[unit]
    for name, seconds in best.items():
        limit = limits.get(name)
        held = f"  must be at most {limit}" if limit else ""
        print(f"  {name:24} {seconds * factor:10.1f} {unit}   ours / it = {ours / seconds:7.2f}{held}")
        if limit and ours > limit * seconds:
            failures.append(f"{title}: {ours / seconds:.2f} times {name}, must be at most {limit}")


async def read(work):
    big = work / "big.txt"
    with big.open("wb") as file:
        file.write(b"".join(b"line %d of a file of one gibibyte\n" % n for n in range(100_000)))
        file.truncate(GIB)
    theirs = beta_read_tool(AgentToolContext(workdir=work))

    def bare():
        file = os.open(big, os.O_RDONLY)
        os.pread(file, 4096, 0)
        os.close(file)

    best = await fastest(
        20,
        50,
        ours=lambda: run_read("big.txt", limit=10),
        sdk=lambda: theirs.call({"file_path": "big.txt", "view_range": [1, 10]}),
        head=lambda: subprocess.run(["head", "-n", "10", big], stdout=subprocess.DEVNULL, check=True),
        bare_pread=bare,
    )
    table("read 10 lines of 1 GiB", best, "us", sdk=1)
    grown = int(subprocess.run([sys.executable, "-c", GROWTH, work], capture_output=True, text=True, check=True).stdout)
    print(f"  memory grows by {grown} bytes, must be less than {MAX_GROWTH}")
    if grown >= MAX_GROWTH:
        failures.append(f"reading grew memory by {grown} bytes")
    big.unlink()


GROWTH = """
import resource, sys
import s02_tool_use
s02_tool_use.use_workdir(sys.argv[1])
open(sys.argv[1] + "/small.txt", "w").write("a\\n" * 20)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
s02_tool_use.run_read("small.txt", limit=10)
before = peak()
s02_tool_use.run_read("big.txt", limit=10)
print(peak() - before)
"""


async def glob(work):
    made = 0
    for n in range(FOLDERS):
        folder = work / f"pkg{n % 15}" / f"part{n // 15 % 11}" / f"d{n // 165}"
        folder.mkdir(parents=True)
        for i in range(FILES // FOLDERS + (n < FILES % FOLDERS)):
            (folder / f"file{i}.{'py' if made % 5 == 0 else 'txt'}").touch()
            made += 1
    assert made == FILES
    theirs = beta_glob_tool(AgentToolContext(workdir=work))

    def bare():
        found, todo = 0, [str(work)]
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    elif entry.name.endswith(".py"):
                        found += 1

    ways = {
        "ours": lambda: run_glob("**/*.py"),
        "sdk": lambda: theirs.call({"pattern": "**/*.py"}),
        "bare_scandir": bare,
    }
    limits = {"sdk": 0.2}
    if shutil.which("rg"):
        command = ["rg", "--files", "-uu", "-g", "**/*.py"]
        ways["rg"] = lambda: subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, check=True)
        limits["rg"] = 2
    else:
        print("\nrg is not installed: not compared")
    table("glob **/*.py, 100,000 files", await fastest(5, 1, **ways), "ms", **limits)


def dispatch():
    def empty(path: str) -> str:
        """An empty tool."""
        return "ok"

    tool, handlers = beta_tool(empty), {"empty": empty}
    block = {"type": "tool_use", "id": "toolu_01", "name": "empty", "input": {"path": "a.txt"}}
    offered = [tool.to_dict()]
    for title, ours in (
        ("call an empty tool", lambda: run_tool(block, handlers)),
        ("call an empty tool with its schema", lambda: run_tool(block, handlers, offered)),
        ("call an empty function that is a tool", lambda: run_tool(block, tools=[empty])),
    ):
        table(title, asyncio.run(fastest(60, 2000, ours=ours, sdk=lambda: tool.call(block["input"]))), "us", sdk=1)


def filled(unit):
    return unit * (MIB_30 // len(unit))


NEAR = "some line of texts that is much alike, number 1234567"

# name: (what the file is made of, old_text, new_text, replace_all)
EDITS = {
    "one hit": (lambda: filled(b"x" * 40 + b"\n") + b"one", "one", "two", False),
    "every comma": (lambda: filled(b"a,"), ",", ";", True),
    "every comma, shorter": (lambda: filled(b"a,b"), ",", "", True),
    "a miss, short CRLF lines": (lambda: filled(b"a\r\n"), "zz\nz", "y", False),
    "every CRLF line": (lambda: filled(b"a\r\n"), "a\n", "b\n", True),
    "every \\r of CRLF": (lambda: filled(b"a\r\n"), "\r", "", True),
    "a miss, both line ends": (lambda: filled(b"a\r\nb\n"), "zz\nz", "y", False),
    "too many, both line ends": (lambda: filled(b"a\r\na\n"), "a\n", "b\n", True),
    "many, both line ends": (lambda: filled(b"a" * 30 + b"\r\nb" * 2 + b"a\n"), "a\n", "cc\n", True),
    "near misses": (lambda: filled(b"some line of text that is much alike, number 1234567\n" * 4), NEAR, "x", False),
    "near misses, long lines": (lambda: filled(b"ab" * 99 + b"\n"), "ba" * 98 + "x", "x", False),
    "overlapping": (lambda: filled(b"a"), "aa", "b", False),
    "overlapping, long": (lambda: filled(b"a"), "a" * (1 << 20), "b", False),
    "not UTF-8 at its end": (lambda: filled("\U0001f600 text\n".encode()) + b"\xff", "text", "\xe9", True),
    "an accent in wide text": (lambda: filled(b"text\n") + "\U0001f600".encode(), "text", "t\xe9xt", True),
}

PEAK = """
import json, resource, sys
import s02_tool_use as s

def peak():
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on a Mac
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

s.use_workdir(sys.argv[1])
old, new, replace_all = json.load(sys.stdin)
s.run_write("small.txt", old)
for call in [(old, new + "0"), ("zzzzz", "")]:  # a miss loads what a hint needs
    try:
        s.run_edit("small.txt", *call)
    except s.ToolError:
        pass
before = peak()
try:
    s.run_edit("big.txt", old, new, replace_all)
except s.ToolError:
    pass
print(peak() - before)
"""


def edit(work):
    print("\nedit 30 MiB, hit or miss")
    big = work / "big.txt"
    for name, (make, old, new, replace_all) in EDITS.items():
        raw, ours, bare = make(), [], []
        for _ in range(2):
            big.write_bytes(raw)
            started = time.perf_counter()
            with contextlib.suppress(ToolError):
                run_edit("big.txt", old, new, replace_all)
            ours.append(time.perf_counter() - started)
            started = time.perf_counter()
            raw.replace(old.encode(), new.encode())
            bare.append(time.perf_counter() - started)
        big.write_bytes(raw)
        command, call = [sys.executable, "-c", PEAK, work], json.dumps([old, new, replace_all])
        grown = int(subprocess.run(command, input=call, capture_output=True, text=True, check=True).stdout) / len(raw)
        seconds, ratio = min(ours), min(ours) / min(bare)
        print(
            f"  {name:28} {seconds * 1000:7.0f} ms   {ratio:6.1f} x bytes.replace   {grown:4.1f} x the file in memory"
        )
        if seconds > max(EDIT_SECONDS, EDIT_RATIO * min(bare)) or grown > EDIT_MEMORY:
            failures.append(f"edit, {name}: {seconds:.1f} s, {ratio:.1f} x bytes.replace, {grown:.1f} x the file")
    big.unlink()


async def others(work):
    """A bash call is held to its number; the rest is good to know."""
    (work / "a.txt").write_text("x" * 4000 + "\none\n")
    best = await fastest(
        10,
        5,
        ours=lambda: run_bash(":"),
        bare_bash=lambda: subprocess.run(["bash", "-c", ":"], capture_output=True, check=True),
    )
    confined, why = sandbox_status()
    table(f"bash -c : ({why})", best, "ms", **({"bare_bash": 24} if confined else {}))

    def both_ways():
        run_edit("a.txt", "one", "two")
        run_edit("a.txt", "two", "one")

    table("edit 4 kB, twice", await fastest(10, 10, ours=both_ways), "us")
    table("write 1 byte", await fastest(10, 10, ours=lambda: run_write("b.txt", "x")), "us")


if __name__ == "__main__":
    sys.exit(main())
