"""`room hub` for real, with two learners; tests/benchmarks/bench_room.py takes thirty. Needs PyPI and npm."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from benchmarks import bench_room
from waiting import wait_until

from s02_tool_use.lab.room import hub

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="learners are kept apart by bubblewrap, on Linux")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A hub's folder, after two learners went through notebook 00."""
    folder = tmp_path_factory.mktemp("room") / "Übung mit Leerzeichen"
    try:
        numbers, faults = bench_room.room(folder, 2)
    except AssertionError as error:
        missing = [why for why in ("cannot be reached", "apt install bubblewrap") if why in str(error)]
        if missing and "CI" not in os.environ:
            pytest.skip(f"the hub is not installed here: {missing[0]}")
        raise
    assert faults == []
    assert numbers["done"] == 2
    return folder


@pytest.fixture
def again(folder):
    """The hub after a second start."""
    running = bench_room.Hub(folder, 2)
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait()


def processes(folder):
    """The processes that run from this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (path / "cmdline").read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


def listening(folder):
    """The addresses at which these processes wait, as the kernel writes them."""
    waiting = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                waiting[f"socket:[{words[9]}]"] = words[1].split(":")[0]
    links = [os.readlink(fd) for path in processes(folder) for fd in (path / "fd").iterdir() if fd.is_symlink()]
    return [waiting[link] for link in links if link in waiting]


def test_learners_run_notebook_00_to_its_end_and_nobody_sees_what_is_anothers(folder):
    assert (folder / "homes" / "seat02" / "mine.txt").read_text() == bench_room.SECRET.format("seat02")


def test_when_it_has_ended_nothing_of_it_is_left(folder):
    wait_until(lambda: not processes(folder))


def test_a_second_start_goes_on_with_the_same_seats_and_files(folder, again, capsys):
    assert again.passwords == {}
    assert hub.main(["--folder", str(folder), "--new-password", "seat02"]) == 0  # while it runs
    word = re.search(r"(?m)^seat02 +(\S+)$", capsys.readouterr().out)[1]
    learner = bench_room.Learner(again.url, "seat02")
    assert not learner.sign_in("wrong")
    assert learner.sign_in(word)
    assert learner.open_lab() == 200
    assert learner.read("mine.txt")["content"] == bench_room.SECRET.format("seat02")
    assert learner.read("s02_tool_use/loop.py")["type"] == "file"
    kernel = learner.start_kernel()
    [(_, printed, error)] = learner.run(
        kernel, ["import os, s02_tool_use; print(os.getcwd(), os.access('/', os.W_OK))"]
    )
    assert (printed, error) == ("/home/seat02/notebooks False\n", None)
    found = set(listening(folder))
    assert found == {"0100007F"}, "only this machine may reach it"
    os.kill(again.process.pid, signal.SIGKILL)
    wait_until(lambda: not processes(folder))
