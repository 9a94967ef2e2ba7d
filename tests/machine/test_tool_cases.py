"""Public bug reports about other agents' tools, each rewritten as files, calls and what must be there afterwards."""

import base64
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from systems import ON_WINDOWS, posix
from waiting import processes

CASES = json.loads((Path(__file__).parents[1] / "data" / "tool_cases.json").read_text(encoding="utf-8"))["cases"]

# Each case has a process of its own: it may set the environment, is measured, and must not hang the test run.
AGENT = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import s02_tool_use

case = json.load(sys.stdin)
run_tool = s02_tool_use.run_tool  # imported before the clock runs
s02_tool_use.use_workdir(sys.argv[1])

def text(value):
    return "".join(unit * count for unit, count in value["$cat"]) if isinstance(value, dict) else value

def run(name, arguments, options=None):
    if name == "parallel":
        with ThreadPoolExecutor(len(arguments)) as threads:
            return [one for one in threads.map(lambda one: run(*one), arguments)][-1]
    given = {key: text(value) for key, value in arguments.items()} | (options or {})
    return run_tool({"id": "t", "name": name, "input": given})

started = time.process_time()  # not what others do on this machine
results = [run(*call) for call in case["calls"]]
seconds = time.process_time() - started
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
except OSError:
    peak = 0
json.dump({"results": results, "seconds": seconds, "peak": peak}, sys.stdout)
"""


def content(spec):
    if "cat" in spec:
        return "".join(unit * count for unit, count in spec["cat"]).encode()
    if "fill" in spec:
        return (spec["fill"] * spec["size"])[: spec["size"]].encode()
    return base64.b64decode(spec.get("b64", ""))


def build(work, files):
    for name, spec in files.items():
        path = work / name
        path.parent.mkdir(exist_ok=True)
        if "tmpfs" in spec:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={spec['tmpfs']}", "tmpfs", str(path.parent)]
            if subprocess.run(mount, capture_output=True, check=False).returncode:
                pytest.skip("only root mounts a small disk")
        if "symlink" in spec:
            path.symlink_to(spec["symlink"])
        elif spec.get("sparse"):
            path.write_bytes(spec["head"].encode())
            os.truncate(path, spec["size"])
        else:
            path.write_bytes(content(spec))
        if "mode" in spec:
            path.chmod(int(spec["mode"], 8))


def marks(case):
    """What a case needs of the system."""
    if case["tool"] == "bash":
        return posix("bash with these signals and processes")
    files = str(case["files"])
    return posix("modes of files") if "'mode'" in files else posix("small disk to mount") if "'tmpfs'" in files else ()


@pytest.fixture
def work(tmp_path):
    yield tmp_path
    if not ON_WINDOWS:
        subprocess.run(["umount", tmp_path / "tiny"], capture_output=True, check=False)


IN_BASH = [case for case in CASES if case["tool"] == "bash"]
WITH_SANDBOX = [pytest.param(case, "auto", id=case["id"], marks=marks(case)) for case in CASES]
WITHOUT = [pytest.param(case, "off", id=f"{case['id']}-unconfined", marks=marks(case)) for case in IN_BASH]


@pytest.mark.parametrize(("case", "sandbox"), WITH_SANDBOX + WITHOUT)
def test_a_bug_reported_elsewhere_is_not_here(case, sandbox, work):
    expect = case["expect"]
    for _ in range(case.get("repeat", 1)):
        build(work, case["files"])
        agent = subprocess.run(
            [sys.executable, "-c", AGENT, work],
            input=json.dumps(case),
            env={**os.environ, **case.get("env", {}), "S02_SANDBOX": sandbox},
            capture_output=True,
            text=True,
            timeout=60,  # as long as the commands here would sleep if nobody ended them
            check=False,
        )
        report = f"{case['id']}: {case['right']}\n{case['issue']}\n{agent.stdout[-3000:]}{agent.stderr}"
        assert agent.returncode == 0, report
        done = json.loads(agent.stdout)
        for result, wanted in zip(done["results"], expect["results"], strict=True):
            check_result(result, wanted, report)
        check_files(work, expect, report)
        assert done["seconds"] < expect.get("max_seconds", 60), report
        assert done["peak"] < expect.get("max_rss_mb", 1000), report
        assert not processes(expect.get("no_process")), report


def check_result(result, wanted, report):
    assert set(result) <= {"type", "tool_use_id", "content", "is_error"}, report
    said = result["content"]
    if "ok" in wanted:
        assert wanted["ok"] is not result.get("is_error", False), report
    for part in wanted.get("contains", ()):
        assert part in said, report
    for part in wanted.get("not_contains", ()):
        assert part not in said, report
    assert re.search(wanted.get("regex", ""), said), report
    assert not re.search(wanted.get("not_regex", "(?!)"), said), report
    assert len(said) <= wanted.get("max_len", len(said)), report
    for key in ("lines", "lines_exact"):
        assert said.splitlines() == wanted.get(key, said.splitlines()), report


def check_files(work, expect, report):
    for name, spec in expect.get("files", {}).items():
        path = work / name
        if "symlink" in spec:
            assert os.readlink(path) == spec["symlink"], report
            continue
        assert path.read_bytes() == content(spec), report
        if "mode" in spec:
            assert stat.S_IMODE(path.stat().st_mode) == int(spec["mode"], 8), report
    for name, specs in expect.get("files_any", {}).items():
        assert (work / name).read_bytes() in [content(spec) for spec in specs], report
    for name in expect.get("absent", ()):
        assert not (work / name).exists(), report
