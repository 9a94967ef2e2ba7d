"""The teacher's board: by real requests, from notebooks and from clients that mean harm.

What its page makes of the rows is tested where a browser draws them: tests/machine/test_board.py.
"""

import concurrent.futures
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from s02_tool_use.lab import check
from s02_tool_use.lab.check import board as telling
from s02_tool_use.lab.check import record
from s02_tool_use.lab.room import board, door

RIGHT, WRONG = ["tool_use", "end_turn", "max_tokens"], ["end_turn", "end_turn", "max_tokens"]
PASSED = {"stop_reason": {"done": True, "tries": 2}}


@pytest.fixture
def room():
    with board.Board() as made:
        yield made


@pytest.fixture
def learner(monkeypatch, tmp_path):
    """Outside pytest, as far as a check can see, in a folder of one's own."""
    monkeypatch.delenv("PYTEST_VERSION")
    monkeypatch.setattr(record, "_here", [])
    monkeypatch.setattr(telling, "_board", None)
    monkeypatch.setattr(telling, "_looked", False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(room, method, path, body=None, headers=None):
    """(status, headers, body) of one request."""
    connection = http.client.HTTPConnection(*room.server_address, timeout=60)
    connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), said


def post(room, name, exercises, word=None):
    status, _, said = ask(room, "POST", f"/{word or room.word}", {"name": name, "exercises": exercises})
    return status, json.loads(said)


def told(room):
    """What the page asks for."""
    status, _, said = ask(room, "GET", f"/rows?token={room.token}")
    assert status == 200
    return json.loads(said)


def names(room):
    return [row["name"] for row in told(room)["rows"]]


def stuck(room):
    """name -> (exercise, whole minutes) of those who are stuck."""
    found = {row["name"]: row["stuck"] for row in told(room)["rows"]}
    return {name: (at, int(seconds // 60)) for name, (at, seconds) in found.items() if at}


def line_of(room, name):
    """exercise -> (solved, tries without success) of one learner."""
    (row,) = [row for row in told(room)["rows"] if row["name"] == name]
    return {at: (one["done"], one["tries"]) for at, one in row["exercises"].items()}


# ---- what the teacher sees


def test_the_board_knows_who_has_solved_what_and_how_often_it_was_tried(room):
    assert names(room) == []
    assert post(room, "Ada", {**PASSED, "tool_result": {"done": False, "tries": 1}}) == (
        200,
        {"said": "The board knows Ada: 1 solved."},
    )
    assert line_of(room, "Ada") == {"stop_reason": (True, 2), "tool_result": (False, 1)}
    assert stuck(room) == {}
    (row,) = told(room)["rows"]
    assert 0 <= told(room)["now"] - row["heard"] < 3600


def test_the_columns_are_the_exercises_in_the_order_of_the_notebooks(room):
    assert told(room)["books"] == [[book, list(names)] for book, names in check.COUNTED.items()]
    assert [book for book, _ in told(room)["books"]] == sorted(check.COUNTED)


def test_who_is_stuck_stands_first_and_the_longest_at_the_top(room):
    tried = {"done": False, "tries": board.STUCK_TRIES, "last": 5}
    post(room, "Ada", {})
    post(room, "Ben", {"bash": {**tried, "first": board.STUCK_SECONDS + 60}})
    post(room, "Cleo", {"bash": {**tried, "first": board.STUCK_SECONDS + 600}})
    assert names(room) == ["Cleo", "Ben", "Ada"]
    assert stuck(room) == {"Cleo": ("bash", 13), "Ben": ("bash", 4)}


@pytest.mark.parametrize(
    ("one", "after"),
    [
        ({"tries": board.STUCK_TRIES - 1}, {}),
        ({"first": board.STUCK_SECONDS - 60}, {}),
        ({"last": board.AWAY_SECONDS + 60, "first": board.AWAY_SECONDS + 900}, {}),
        ({"done": True}, {}),
        ({}, {"bash_tool": {"done": True, "tries": 0}}),  # worked on since
    ],
    ids=["few tries", "a short time", "long ago", "solved", "went on"],
)
def test_who_tried_seldom_or_just_began_or_went_on_is_not_stuck(room, one, after):
    tried = {"done": False, "tries": 5, "first": board.STUCK_SECONDS + 60, "last": 5}
    post(room, "Ada", {"bash": tried})
    assert stuck(room) == {"Ada": ("bash", 4)}
    post(room, "Ada", {"bash": tried | one, **after})
    assert stuck(room) == {}


def test_the_page_is_the_same_for_everybody_loads_nothing_and_runs_its_own_script_alone(room):
    post(room, "Ada", PASSED)
    status, headers, said = ask(room, "GET", f"/?token={room.token}")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert said == (Path(board.__file__).parent / "board.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//|src=|href=|url\(", said.replace("</", ""))
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "<noscript><p>This page needs JavaScript, " in said
    for said in (headers, ask(room, "GET", f"/rows?token={room.token}")[1]):
        assert (said["cache-control"], said["referrer-policy"]) == ("no-store", "no-referrer")


def test_what_the_page_says_of_being_stuck_is_what_counts():
    tries, minutes = board.STUCK_TRIES, board.STUCK_SECONDS // 60
    assert f"at least {tries} tries, the first at least {minutes} minutes ago" in " ".join(board.PAGE.split())


def test_the_board_reads_the_progress_files_of_a_folder_of_homes(tmp_path):
    lines = {"ada": "stop_reason\n?bash 5\n?bash 6\n", "ben": "bash\n", "cleo": ""}
    for name, text in lines.items():
        folder = tmp_path / name / "notebooks"
        folder.mkdir(parents=True)
        (folder / ".progress").write_text(text)
    (tmp_path / "nobody").mkdir()
    (tmp_path / "a_file").write_text("bash\n")
    with board.Board(homes=tmp_path) as room:
        assert names(room) == ["ada", "ben", "cleo"]
        assert line_of(room, "ada") == {"stop_reason": (True, 0), "bash": (False, 2)}


def test_a_home_whose_file_is_a_pipe_a_link_or_rubbish_does_not_hold_up_the_page(tmp_path):
    for name in ("device", "folder", "huge", "link", "ok", "pipe", "rubbish"):
        (tmp_path / name / "notebooks").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "secret").write_text("bash\n")
    (tmp_path / "huge/notebooks/.progress").write_text("?bash 5\n" * 1_000_000)
    (tmp_path / "ok/notebooks/.progress").write_text("bash\n")
    (tmp_path / "rubbish/notebooks/.progress").write_bytes(
        bytes(range(256)) * 50 + b"\n<img src=x onerror=alert(1)>\n?bash 7"
    )
    (tmp_path / "folder/notebooks/.progress").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe/notebooks/.progress")
        os.symlink("/dev/zero", tmp_path / "device/notebooks/.progress")
        os.symlink(tmp_path / "secret", tmp_path / "link/notebooks/.progress")
        os.symlink(tmp_path / "ok/notebooks", tmp_path / "other/notebooks")
    with board.Board(homes=tmp_path) as room:
        assert names(room) == ["huge", "ok", "rubbish"]
        assert line_of(room, "rubbish") == {"bash": (False, 1)}


def test_homes_that_may_not_be_read_are_said(tmp_path, monkeypatch, capsys):
    for name in "abc":
        (tmp_path / name).mkdir()
    monkeypatch.setattr(board.os, "access", lambda path, _: path.name == "a")
    monkeypatch.setattr(board.door, "serve", lambda door, lines: (print(*lines, sep="\n"), door.server_close()))
    assert board.main(["--port", "0", "--homes", str(tmp_path)]) == 0
    assert "\n2 homes cannot be read: start the board as the user who runs the hub.\n" in capsys.readouterr().out


# ---- who may do what


def test_a_learner_sees_the_answer_to_their_post_and_nothing_of_others(room):
    post(room, "Ada", PASSED)
    _, said = post(room, "Ben", {})
    assert "Ada" not in str(said)
    for path in (
        "/",
        f"/{room.word}",
        "/?token=",
        f"/?token={room.word}",
        "/rows",
        f"/rows?token={room.word}",
        f"/x?token={room.token}",
    ):
        status, _, said = ask(room, "GET", path)
        assert (status, "Ada" in said) == (403, False), path


@pytest.mark.parametrize("word", ["wrong", "?token=", "%00", "%e9", "//[", "x" * 5000])
def test_a_post_without_the_rooms_word_is_refused(room, word):
    status, _, said = ask(room, "POST", f"/{word}", {"name": "Ada", "exercises": PASSED})
    assert (status, room.posted) == (403, {})
    assert "The address does not end in the room's word." in said


@pytest.mark.parametrize("name", ["\u202egnp.exe", "a\nb\tc", "\x1b[31m", "Z" + "\u0301" * 500, "x" * 10_000])
def test_a_name_that_moves_or_hides_what_is_read_is_marked_and_cut(room, name):
    assert post(room, name, PASSED)[0] == 200
    (kept,) = room.posted
    assert len(kept) <= board.LONGEST_NAME
    assert not re.search(r"[\x00-\x1f\u202e]", kept)
    assert names(room) == [kept]


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"name": "Ada"},
        {"name": "  ", "exercises": {}},
        {"name": ["Ada"], "exercises": {}},
        {"name": "Ada", "exercises": []},
        "[]",
        "{",
        "\xff\xfe",
        '{"name": "Ada", "exercises": NaN}',
        "[" * 10_000,
    ],
)
def test_a_body_of_another_form_is_refused_in_words(room, told):
    status, _, said = ask(room, "POST", f"/{room.word}", told if isinstance(told, dict) else told.encode("latin-1"))
    assert (status, room.posted) == (400, {})
    assert json.loads(said)["error"]["message"]


def test_strange_counts_and_unknown_exercises_break_nothing(room):
    strange = [None, True, -1, 1e308, "3", [], {}, 10**40]
    for number, value in enumerate(strange):
        one = {"done": value, "tries": value, "first": value, "last": value}
        assert post(room, f"n{number}", {"bash": one, "<b>": one, "read": value})[0] == 200
    assert stuck(room) == {}
    assert line_of(room, "n1") == {"bash": (True, 0)}
    assert line_of(room, "n7") == {"bash": (False, board.MOST_TRIES)}


def test_a_full_board_refuses_new_names_and_knows_the_old_ones(room, monkeypatch):
    monkeypatch.setattr(board, "MOST_LEARNERS", 3)
    assert [post(room, name, {})[0] for name in "abcda"] == [200, 200, 200, 429, 200]
    assert sorted(room.posted) == ["a", "b", "c"]


def test_a_body_that_is_too_large_is_refused_before_it_is_read(room):
    status, _, _ = ask(room, "POST", f"/{room.word}", b"x" * (board.Handler.most_bytes + 1))
    assert (status, room.posted) == (413, {})


def test_clients_that_send_nothing_more_are_cut_off_and_the_others_are_served(room, monkeypatch):
    monkeypatch.setattr(door.Handler, "timeout", 0.2)
    starts = [b"", b"P", b"POST / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\ncontent-length: 100\r\n\r\nx"]
    sockets = [socket.create_connection(room.server_address) for _ in starts]
    for one, data in zip(sockets, starts, strict=True):
        one.settimeout(60)
        one.sendall(data)
    assert names(room) == []
    for one in sockets:
        assert one.recv(1) == b""
        one.close()
    wait_until(lambda: not room._open)


def test_thirty_learners_at_once_are_all_on_the_board(room):
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        assert {status for status, _ in pool.map(lambda n: post(room, f"n{n:02}", PASSED), range(30))} == {200}
    assert names(room) == [f"n{n:02}" for n in range(30)]


# ---- the learner's side


def test_a_check_tells_the_board_what_share_asked_for_and_nothing_of_the_answer(room, learner, capsys):
    check.stop_reason(WRONG)
    check.share(f"{room.url}/{room.word}", name="Ada")
    said = capsys.readouterr().out
    assert said.startswith("The board knows Ada: 0 solved. It is told your name, ")
    assert line_of(room, "Ada") == {"stop_reason": (False, 1)}
    check.stop_reason(RIGHT)
    wait_until(lambda: line_of(room, "Ada") == {"stop_reason": (True, 1)})
    assert {type(value) for value in vars(room.posted["Ada"].exercises["stop_reason"]).values()} == {bool, int}
    assert capsys.readouterr().out == ""


def test_what_is_sent_holds_the_name_and_counts_only(learner, room, monkeypatch):
    taken = []
    monkeypatch.setattr(room, "take", lambda told: taken.append(told) or "The board knows.")
    check.stop_reason(WRONG)
    (learner / ".progress").write_text((learner / ".progress").read_text() + "secret\n?secret 12\n")
    check.share(f"{room.url}/{room.word}", name=" Ada ")
    (told,) = taken
    assert told.keys() == {"name", "exercises"}
    assert told["name"] == "Ada"
    assert told["exercises"].keys() == {"stop_reason"}
    assert told["exercises"]["stop_reason"].keys() == {"done", "tries", "first", "last"}


def test_nothing_is_sent_unless_it_was_asked_for(learner, monkeypatch):
    monkeypatch.setattr(telling.http.client, "HTTPConnection", None)  # a request would raise
    monkeypatch.setattr(telling.Board, "__init__", None)
    check.stop_reason(RIGHT)
    assert record.done() == ["stop_reason"]


def test_another_notebook_of_the_folder_tells_too_until_it_is_ended(room, learner, capsys, monkeypatch):
    check.share(f"{room.url}/{room.word}", name="Ada")
    monkeypatch.setattr(telling, "_board", None)  # as in another kernel
    monkeypatch.setattr(telling, "_looked", False)
    check.stop_reason(RIGHT)
    wait_until(lambda: line_of(room, "Ada") == {"stop_reason": (True, 0)})
    check.share(None)
    monkeypatch.setattr(telling, "_looked", False)
    room.posted.clear()
    check.stop_reason(RIGHT)
    assert (telling._board, [*learner.glob(".board")]) == (None, [])
    assert capsys.readouterr().out.endswith("Nothing is sent to a board any more.\n")


def test_dotenv_may_name_the_board(room, learner):
    (learner / ".env").write_text(f"BOARD={room.url}/{room.word}\nNAME=Ada Lovelace\n")
    check.stop_reason(RIGHT)
    wait_until(lambda: "Ada Lovelace" in room.posted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BOARD=http://127.0.0.1:1\n", "NAME in .env is missing: "),
        ("BOARD=teacher:8123\nNAME=Ada\n", "BOARD in .env has no http:// or https://: "),
        (f"BOARD=http://127.0.0.1:1\nNAME={'x' * 41}\n", "NAME in .env is too long: "),
    ],
)
def test_a_wrong_setting_is_said_once_and_the_check_goes_on(learner, capsys, text, said):
    (learner / ".env").write_text(text)
    for _ in range(3):
        assert check.stop_reason(RIGHT)
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert out.count("\n") == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "17", '{"BOARD": 1}', "\0"])
def test_a_broken_file_of_the_board_is_as_none(learner, capsys, text):
    (learner / ".board").write_text(text)
    assert check.stop_reason(RIGHT)


@pytest.mark.parametrize(
    ("address", "name"), [("teacher", "Ada"), ("", "Ada"), (17, "Ada"), ("http://t:1", None), ("http://t:1", "x" * 41)]
)
def test_share_says_what_is_wrong_in_one_sentence(learner, address, name):
    with pytest.raises(ValueError, match=r"^The (address|name) ") as error:
        check.share(address, name)
    assert len(error.value._render_traceback_()) == 1


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_share_with_a_board_that_is_not_there_shares_nothing(learner, capsys):
    check.share(f"http://127.0.0.1:{unused_port()}/word", name="Ada")
    assert capsys.readouterr().out.startswith("Nothing is shared: nothing answers at 127.0.0.1:")
    assert [*learner.glob(".board")] == []


def test_share_with_a_wrong_word_says_it(room, learner, capsys):
    check.share(f"{room.url}/wrong", name="Ada")
    assert capsys.readouterr().out.startswith("Nothing is shared: The address does not end in the room's word")


def test_a_board_that_went_away_is_mentioned_once_and_costs_no_check_anything(room, learner, capsys):
    check.share(f"{room.url}/{room.word}", name="Ada")
    room.close()
    capsys.readouterr()
    for _ in range(3):
        assert check.stop_reason(RIGHT)
        wait_until(lambda: not telling._board._busy)
    said = capsys.readouterr().out
    assert said.startswith("The board does not know: nothing answers at 127.0.0.1:")
    assert said.count("\n") == 1


def test_a_board_that_is_silent_holds_up_no_check(learner, capsys):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        telling._board = telling.Board(f"http://127.0.0.1:{silent.getsockname()[1]}/word", "Ada")
        telling._looked = True
        for _ in range(5):
            assert check.stop_reason(RIGHT)
        assert telling._board._busy  # the first is still waiting, in its thread
        connection, _ = silent.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>")
            while connection.recv(65536):  # closed with something unread it would be reset, and the answer with it
                pass
        wait_until(lambda: "is not a board" in telling._board.failed)


# ---- the command


def started(*arguments):
    code = "import sys; from s02_tool_use.lab.room import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "board", "--port", "0", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def listening(process):
    """The addresses on which a process accepts connections, from /proc: (address, port) as they stand there."""
    inodes = set()
    for entry in os.scandir(f"/proc/{process.pid}/fd"):
        found = re.match(r"socket:\[(\d+)\]", os.readlink(entry.path))
        inodes |= {found[1]} if found else set()
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    rows = [line.split() for line in lines]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_command_prints_what_to_hand_out_and_listens_on_loopback_alone():
    with started() as process:
        lines = [process.stdout.readline() for _ in range(4)]
        assert listening(process) == ["0100007F"]
        process.terminate()
        assert process.wait(60) == 0
    assert re.fullmatch(r"Your page, for you alone:  http://127\.0\.0\.1:\d+/\?token=\S+\n", lines[0])
    assert re.search(r'check\.share\("http://127\.0\.0\.1:\d+/\w{4}-\w{4}", name="YOUR NAME"\)', lines[1])
    assert lines[3].startswith("Only this machine can connect. ")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_listens_beyond_loopback_if_it_is_asked_to_and_says_so():
    with started("--ip", "0.0.0.0") as process:
        lines = [process.stdout.readline() for _ in range(4)]
        assert listening(process) == ["00000000"]
        process.terminate()
        assert process.wait(60) == 0
    assert "0.0.0.0" not in "".join(lines[:3])  # nobody can open that
    assert lines[3].startswith("Whoever is in the same network can connect. What is sent is not encrypted.")


def test_a_port_that_is_taken_and_a_folder_that_is_none_are_said_in_one_sentence(room, tmp_path):
    taken = board.main(["--port", str(room.server_address[1])])
    assert taken.startswith("Cannot listen on 127.0.0.1, port ")
    assert board.main(["--ip", "not an address"]).startswith("Cannot listen on not an address, port 8123: ")
    assert board.main(["--port", "99999"]).startswith("Cannot listen on 127.0.0.1, port 99999: ")
    assert board.main(["--homes", str(tmp_path / "none")]).startswith("--homes names no folder: ")


def test_a_browser_page_shares_nothing_and_says_so(learner, in_a_page, capsys):
    (learner / ".env").write_text("BOARD=http://127.0.0.1:9/word\nNAME=Ada\n")
    check.share("http://127.0.0.1:9/word", name="Ada")
    assert capsys.readouterr().out == (
        "Nothing is shared: a browser page reaches no board. Your progress stays in this browser.\n"
    )
    check.stop_reason(RIGHT)
    assert telling._board is None
