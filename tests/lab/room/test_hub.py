"""The hub's seats: passwords, homes, what is handed out, what a seat sees. That it runs is proven in tests/machine."""

import os
import re
import runpy
import shutil
import socket
import sys

import pytest
from copies import copy_course
from jupyter_server.auth.security import passwd_check
from systems import needs_links

from s02_tool_use.lab.room import hub, seat
from s02_tool_use.lab.start import setup

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="learners are kept apart by bubblewrap, on Linux")


# ---- passwords


def passwords(capsys):
    """What was shown: seat -> password."""
    return dict(re.findall(r"(?m)^(seat\d\d) +(\S+)$", capsys.readouterr().out))


def opens(folder, name, password):
    return passwd_check(hub.read_seats(folder)[name], password)


def test_a_password_is_printed_once_and_only_its_hash_is_kept(tmp_path, capsys):
    hub.renew(tmp_path, {}, ["seat01", "seat02"])
    fresh = passwords(capsys)
    assert fresh.keys() == {"seat01", "seat02"}
    assert len(set(fresh.values())) == 2
    kept = (tmp_path / "seats.json").read_text()
    assert not any(word in kept for word in fresh.values())


def test_a_seat_opens_with_its_own_password_and_no_other(tmp_path, capsys):
    hub.renew(tmp_path, {}, ["seat01", "seat02"])
    fresh = passwords(capsys)
    assert opens(tmp_path, "seat01", fresh["seat01"])
    for wrong in (fresh["seat02"], fresh["seat01"].upper(), "", hub.read_seats(tmp_path)["seat01"], "a" * 10_000):
        assert not opens(tmp_path, "seat01", wrong)


def test_a_new_password_takes_the_place_of_the_old_and_touches_no_other(tmp_path, capsys):
    hub.renew(tmp_path, {}, ["seat01", "seat02"])
    before = passwords(capsys)
    assert hub.main(["--folder", str(tmp_path), "--new-password", "seat01"]) == 0
    now = passwords(capsys)
    assert now.keys() == {"seat01"}
    assert opens(tmp_path, "seat01", now["seat01"])
    assert not opens(tmp_path, "seat01", before["seat01"])
    assert opens(tmp_path, "seat02", before["seat02"])


@on_linux
def test_nobody_else_on_the_machine_reads_the_hashes(tmp_path):
    hub.renew(tmp_path, {}, ["seat01"])
    assert (tmp_path / "seats.json").stat().st_mode & 0o077 == 0


# ---- what is refused


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--users", "0"], "--users 0: from 1 to 99."),
        (["--users", "-3"], "--users -3: from 1 to 99."),
        (["--users", "100"], "--users 100: from 1 to 99."),
        (["--new-password", "seat09"], "There is no seat seat09. There are none yet."),
    ],
)
def test_what_cannot_be_is_one_sentence(argv, said, tmp_path):
    assert hub.main(["--folder", str(tmp_path / "hub"), *argv]) == said
    assert not (tmp_path / "hub").exists()


def test_seats_that_cannot_be_read_are_one_sentence(tmp_path):
    (tmp_path / "seats.json").write_text("{")
    assert hub.main(["--folder", str(tmp_path)]).startswith("The seats of this hub cannot be read (")


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_elsewhere_than_on_linux_it_says_what_to_take_instead(system, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    said = "Learners are kept apart as only Linux can: take a machine with Linux, or WSL on Windows."
    assert hub.main(["--folder", str(tmp_path)]) == said


@on_linux
@pytest.mark.parametrize(
    ("ip", "port"), [("127.0.0.1", None), ("127.0.0.1", 99999), ("203.0.113.7", 8765), ("no where", 8765)]
)
def test_where_it_cannot_listen_it_says_so_before_it_installs(ip, port, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "install", None)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1] if port is None else port
        said = hub.main(["--folder", str(tmp_path), "--ip", ip, "--port", str(port)])
    assert said.startswith(f"Cannot listen on {ip}, port {port}: ")
    assert said.endswith(" Choose another --port or --ip.")


@on_linux
def test_without_bubblewrap_it_says_what_that_means(tmp_path, monkeypatch):
    monkeypatch.setattr(hub.sandbox, "PLACES", [])
    monkeypatch.setattr(hub, "install", lambda folder: None)
    said = hub.main(["--folder", str(tmp_path), "--port", "0"])
    assert "apt install bubblewrap" in said
    assert not (tmp_path / "seats.json").exists()


@on_linux
def test_where_bubblewrap_does_not_work_its_own_words_are_told(tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setattr(hub.sandbox, "PLACES", [str(tmp_path)])
    monkeypatch.setattr(hub, "install", lambda folder: None)
    said = hub.main(["--folder", str(tmp_path / "hub"), "--port", "0"])
    assert "does not work here: bwrap: setting up uid map: Permission denied. Try it as root." in said


@on_linux
def test_no_learner_becomes_root(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert hub.uid_of("seat07") == 60607
    assert "--reuid=60607" in hub.confined(tmp_path, "seat07")


@on_linux
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "npm error network request to the registry failed, reason: connect ECONNREFUSED; connection",
            "This installs from PyPI and from npm, which",
        ),
        ("No space left on device", "The disk is full"),
        ("npm error EINTEGRITY", "npm error EINTEGRITY\nInstalling failed."),
    ],
)
def test_an_install_that_fails_is_a_sentence(said, told, tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "run", lambda *command: said)
    with pytest.raises(setup.SetupError) as error:
        hub.install(tmp_path)
    assert str(error.value).startswith(told)
    assert (tmp_path / "installed.txt").read_text() == ""
    with pytest.raises(setup.SetupError):
        hub.install(tmp_path)  # begins again


@on_linux
def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    root = copy_course(tmp_path / "course")
    before = sorted(root.rglob("*"))
    said = hub.main(["--folder", str(root), "--port", "0"])
    assert said == f"In {root} there is something else: name a folder that is new or empty."
    assert sorted(root.rglob("*")) == before


# ---- what a seat sees


def mounted(line):
    """The folders and files of this machine that a command line of bubblewrap shows."""
    return [line[at + 1] for at, word in enumerate(line) if word in ("--bind", "--ro-bind", "--ro-bind-try")]


@on_linux
def test_a_seat_sees_its_own_home_and_nothing_else_of_the_hub(tmp_path):
    shown = mounted(hub.confined(tmp_path / "hub", "seat01"))
    of_the_hub = [path for path in shown if path.startswith(str(tmp_path))]
    assert of_the_hub == [str(tmp_path / "hub" / name) for name in ("env", "notebooks", "homes/seat01")]


@on_linux
def test_a_seat_sees_the_course_without_its_env_file(tmp_path):
    shown = mounted(hub.confined(tmp_path, "seat01"))
    assert str(setup.ROOT / "s02_tool_use") in shown
    assert not {str(setup.ROOT), str(setup.ROOT / ".env"), str(setup.ROOT / ".git")} & set(shown)


# ---- what is handed out


def test_what_is_handed_out_is_as_it_was_shipped_and_not_as_the_teacher_worked_in_it(tmp_path, monkeypatch):
    root = copy_course(tmp_path / "course")
    page = root / "notebooks" / "00_start_here.ipynb"
    shipped = page.read_bytes()
    monkeypatch.setattr(setup, "ROOT", root)
    monkeypatch.setattr(hub.reset, "ROOT", root)
    hub.reset.keep_copy()
    page.write_text("solved")
    page.with_name("00_start_here.mine.ipynb").write_text("mine")
    (root / "notebooks" / ".progress").write_text("mine")
    (tmp_path / "hub").mkdir()
    for _ in range(2):
        hub.reset.hand_out(tmp_path / "hub" / "notebooks")
        given = tmp_path / "hub" / "notebooks"
        assert (given / page.name).read_bytes() == shipped
        assert (given / "solutions" / "01_hardcoded_bash.ipynb").is_file()
        there = {path.name for path in (root / "notebooks").iterdir() if not path.name.startswith(".")}
        assert {path.name for path in given.iterdir()} == there - {"00_start_here.mine.ipynb"}


@pytest.fixture
def course(tmp_path):
    notebooks = tmp_path / "course"
    (notebooks / "solutions").mkdir(parents=True)
    (notebooks / "00.ipynb").write_text("first")
    (notebooks / "solutions" / "00.ipynb").write_text("solved")
    (notebooks / ".progress").write_text("mine")
    (notebooks / ".ipynb_checkpoints").mkdir()
    (notebooks / ".ipynb_checkpoints" / "00.ipynb").write_text("old")
    return notebooks


@needs_links
def test_a_new_home_gets_the_notebooks_and_not_what_the_teacher_did_in_them(course, tmp_path):
    seat.hand_out(tmp_path, course)
    copied = {
        p.relative_to(tmp_path / "notebooks").as_posix() for p in (tmp_path / "notebooks").rglob("*") if p.is_file()
    }
    assert copied == {"00.ipynb", "solutions/00.ipynb"}
    assert (tmp_path / "s02_tool_use" / "loop.py").is_file()


def test_what_a_learner_has_changed_is_never_written_again(course, tmp_path):
    seat.hand_out(tmp_path, course)
    mine = tmp_path / "notebooks" / "00.ipynb"
    mine.write_text("mine")
    for update in ("second", "third"):
        (course / "00.ipynb").write_text(update)
        seat.hand_out(tmp_path, course)
        assert mine.read_text() == "mine"


def test_what_a_learner_has_not_touched_follows_the_course(course, tmp_path):
    seat.hand_out(tmp_path, course)
    for update in ("second", "third"):
        (course / "00.ipynb").write_text(update)
        seat.hand_out(tmp_path, course)
        assert (tmp_path / "notebooks" / "00.ipynb").read_text() == update


def test_what_a_learner_has_deleted_comes_back_at_the_next_start(course, tmp_path):
    seat.hand_out(tmp_path, course)
    (tmp_path / "notebooks" / "00.ipynb").unlink()
    seat.hand_out(tmp_path, course)
    assert (tmp_path / "notebooks" / "00.ipynb").read_text() == "first"


def test_whatever_stands_in_the_place_of_a_notebook_the_server_starts(course, tmp_path):
    (tmp_path / "notebooks" / "00.ipynb").mkdir(parents=True)
    (tmp_path / "notebooks" / "solutions").write_text("a file")
    (tmp_path / "s02_tool_use").write_text("mine")
    (tmp_path / ".shipped").write_text("mine")
    seat.hand_out(tmp_path, course)
    assert (tmp_path / "notebooks" / "solutions").read_text() == "a file"


def gone(copy):
    copy.unlink()


def all_gone(copy):
    shutil.rmtree(copy.parent)


def a_file_in_its_place(copy):
    shutil.rmtree(copy.parent)
    copy.parent.write_text("mine")


def a_folder(copy):
    copy.unlink()
    copy.mkdir()


def damaged(copy):
    copy.write_bytes(b"fir")


@pytest.mark.parametrize("harm", [gone, all_gone, a_file_in_its_place, a_folder, damaged])
@pytest.mark.parametrize("there", ["mine", "first"])
def test_without_a_copy_of_what_was_handed_out_nothing_is_overwritten(harm, there, course, tmp_path):
    seat.hand_out(tmp_path, course)
    (tmp_path / "notebooks" / "00.ipynb").write_text(there)
    harm(tmp_path / ".shipped" / "00.ipynb")
    (course / "00.ipynb").write_text("second")
    seat.hand_out(tmp_path, course)
    assert (tmp_path / "notebooks" / "00.ipynb").read_text() == there


def test_a_start_that_was_killed_between_the_copies_does_not_end_the_updates(course, tmp_path):
    seat.hand_out(tmp_path, course)
    (course / "00.ipynb").write_text("second")
    (tmp_path / "notebooks" / "00.ipynb").write_text("second")  # and not what was handed out
    seat.hand_out(tmp_path, course)
    (course / "00.ipynb").write_text("third")
    seat.hand_out(tmp_path, course)
    assert (tmp_path / "notebooks" / "00.ipynb").read_text() == "third"


def test_a_notebook_that_a_learner_has_reset_follows_the_course_again(course, tmp_path):
    seat.hand_out(tmp_path, course)
    mine = tmp_path / "notebooks" / "00.ipynb"
    mine.write_text("mine")
    (course / "00.ipynb").write_text("second")
    seat.hand_out(tmp_path, course)
    mine.write_text("second")
    (course / "00.ipynb").write_text("third")
    seat.hand_out(tmp_path, course)
    assert mine.read_text() == "third"


# ---- Jupyter's settings


@pytest.mark.parametrize("on_a_hub", [False, True])
def test_on_a_hub_learners_open_their_homes_and_kernels_that_nobody_uses_end(on_a_hub, monkeypatch):
    from traitlets.config import Config

    monkeypatch.delenv("JUPYTERHUB_SERVICE_PREFIX", raising=False)
    if on_a_hub:
        monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/seat01/")
    monkeypatch.setattr(sys, "argv", ["jupyterlab"])
    config = Config()
    file = setup.ROOT / "s02_tool_use" / "lab" / "start" / "jupyter_server_config.py"
    runpy.run_path(str(file), {"get_config": lambda: config})
    assert ("root_dir" in config.ServerApp) is not on_a_hub
    assert ("terminado_settings" in config.ServerApp) is on_a_hub  # no login shell, which has another PATH
    assert config.MappingKernelManager.get("cull_idle_timeout") == (600 if on_a_hub else None)
    assert config.KernelManager.transport_encryption == "auto"


def test_the_page_about_hubs_has_the_settings_and_versions_of_ours():
    page = (setup.ROOT / "notebooks" / "HUB.md").read_text(encoding="utf-8")
    config = hub.CONFIG.read_text(encoding="utf-8")
    pins = (hub.NEEDS / "hub.txt").read_text(encoding="utf-8").split()
    assert re.search(r"jupyterhub==[\d.]+", page)[0] in pins
    for setting in ("concurrent_spawn_limit = (.*)", "start_timeout = .*?([0-9]+)", 'default_url = "(.*)"'):
        assert re.search(setting, page)[1] == re.search(setting, config)[1]
    assert "s02_tool_use.lab.room.seat" in page
