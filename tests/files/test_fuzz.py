"""run_tool over the file tools with random calls on random files: it raises, hangs, leaks and loses nothing.

A second of it is a test. For longer: python tests/files/test_fuzz.py SECONDS [SEED]
"""

import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from systems import posix

import s02_tool_use
from s02_tool_use.calls import secrets

SECRET, KEY = "TOP-SECRET-31415", "sk-ant-fuzz-2718281828"
NAMES = ["a", "b", ".d", "d", "é", "x\ny", "'q'", "[id]", "\udcff", "~", "{a,b}", " ", "-rf", "a" * 255]
STEPS = [*NAMES, "..", ".", "", "out", "loop", "up", "key", "pipe", ".env", "a" * 256, "\0", "\ud800", "/"]
PARTS = [*STEPS, "*", "**", "?", "[!a]", "{..,*}", "*" * 30, "{a,{b,}}"]
PIECES = ["a", "b", "\n", "\r\n", "\r", "é", "\x1b[31m", "\ufeff", "\0", "aa", SECRET[:3], "\ud800", "x" * 5000]
RAW = [
    b"a",
    b"b\n",
    b"\r\n",
    b"\r",
    b"\xff",
    b"\xc3",
    "é漢".encode(),
    b"\0",
    b"y" * 60_000,
    b"\xef\xbb\xbf",
    b"\xff\xfe",
]
ODD = [None, 0, 1, -1, 2.0, 1.5, "2", True, [], {}, 10**30, float("nan"), "x" * 10_000]


def text(dice, pieces, most, between=""):
    return between.join(dice.choices(pieces, k=dice.randrange(most)))


def grown(dice, base):
    """A random tree below base/work, with ways out of it."""
    work = base / "work"
    shutil.rmtree(work, ignore_errors=True)
    folders = [work, work / "d", work / ".d", work / "d" / "é"]
    for folder in folders:
        folder.mkdir()
    for _ in range(dice.randrange(12)):
        path = dice.choice(folders) / dice.choice(NAMES)
        if not path.exists():
            path.write_bytes(b"".join(dice.choices(RAW, k=dice.randrange(6))))
            path.chmod(dice.choice([0o644, 0o600, 0o444, 0o755]))
    (work / "out").symlink_to(dice.choice(["..", "../secret.txt", base, "/etc"]))
    (work / "loop").symlink_to("loop")
    (work / "d" / "up").symlink_to("..")
    (work / "key").symlink_to(".env")
    (work / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\n")
    os.mkfifo(work / "pipe")
    return s02_tool_use.use_workdir(work)


def random_call(dice):
    path = "/".join(dice.choices(dice.choice([NAMES, STEPS]), k=dice.choice([1, 1, 2, 3])))
    arguments = dice.choice(
        [
            ("read_file", {"path": path}),
            ("read_file", {"path": path, "limit": dice.randrange(4), "offset": dice.randrange(5)}),
            ("read_file", {"path": path, "byte_offset": dice.randrange(70_000)}),
            ("write_file", {"path": path, "content": text(dice, PIECES, 6)}),
            ("edit_file", {"path": path, "old_text": text(dice, PIECES, 3), "new_text": text(dice, PIECES, 3)}),
            ("edit_file", {"path": path, "old_text": text(dice, PIECES, 2), "new_text": "", "replace_all": True}),
            ("glob", {"pattern": text(dice, PARTS, 6, "/")}),
        ]
    )
    name, given = arguments
    if dice.random() < 0.2:
        given[dice.choice([*given, "limit", "offset", "other"])] = dice.choice(ODD)
    return {"type": "tool_use", "id": "toolu_01", "name": name, "input": given}


def fuzz(base, dice, until, slowest=10):
    """Calls until `until(calls)` is true; returns (calls, how many did what was asked, the slowest in seconds)."""
    (base / "secret.txt").write_text(SECRET)
    calls = done = longest = 0
    while not until(calls):
        work = grown(dice, base)
        secrets.keep(file=work / ".env")
        for _ in range(40):
            block, started = random_call(dice), time.monotonic()
            result = s02_tool_use.run_tool(block)
            longest = max(longest, time.monotonic() - started)
            assert result.keys() - {"is_error"} == {"type", "tool_use_id", "content"}, block
            json.dumps(result).encode()
            result["content"].encode()
            assert SECRET not in result["content"], (block, result)
            assert KEY not in result["content"], (block, result)
            assert "Traceback" not in result["content"], (block, result)
            assert " failed: " not in result["content"], (block, result)  # no error but a ToolError
            if block["name"] == "glob" and "is_error" not in result:
                listed = [line for line in result["content"].split("\n") if line[:1] not in ("[", "'", '"')]
                assert not any(name.startswith(("/", "../")) for name in listed), (block, result)
            calls, done = calls + 1, done + ("is_error" not in result)
        assert (base / "secret.txt").read_text() == SECRET
        assert (work / ".env").read_text() == f"ANTHROPIC_API_KEY={KEY}\n"
        assert {path.name for path in base.iterdir()} == {"work", "secret.txt"}
        assert not [name for _, _, names in os.walk(work) for name in names if name.startswith(".draft")]
    assert longest < slowest
    return calls, done, longest


@posix("names of any bytes")
def test_random_calls_raise_hang_leak_and_lose_nothing(tmp_path):
    calls, done, _ = fuzz(tmp_path, random.Random(0), lambda calls: calls >= 2000, slowest=60)
    assert calls // 10 < done < calls  # most is refused, but not all


if __name__ == "__main__":
    end, seed = time.monotonic() + float(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else time.time_ns()
    print("seed", seed, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(fuzz(Path(folder).resolve(), random.Random(seed), lambda calls: time.monotonic() > end))
