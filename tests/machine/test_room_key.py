"""The agent in a terminal, with a seat of the room in place of a key."""

import subprocess
import sys

from waiting import PATIENCE_SECONDS

from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.room.key import Proxy, Seats
from s02_tool_use.lab.understudy import Understudy

KEY = "sk-room-0123456789abcdefghij"
CODE = "import sys; from s02_tool_use.lab.terminal import main; sys.exit(main(sys.argv[1:]))"


def chat(folder):
    command = [sys.executable, "-c", CODE, "-p", "Read note.txt"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=5 * PATIENCE_SECONDS)


def test_the_terminal_works_through_the_room_and_says_when_the_budget_ends(tmp_path):
    (tmp_path / "note.txt").write_text("seven\n")
    seats = Seats(1, budget=10_000)
    upstream = Server(Understudy())
    options = {"base_url": upstream.url, "model": "the-model", "api_key": KEY}
    with upstream, Proxy(options, seats) as proxy:
        (tmp_path / ".env").write_text(f"BASE_URL={proxy.url}\nAPI_KEY={[*seats.spent][0]}\nMODEL_ID=the-model\n")
        done = chat(tmp_path)
        assert (done.returncode, "seven" in done.stdout) == (0, True), done
        seats.budget = 20
        done = chat(tmp_path)
    said = "The account has no credit: This seat has 0 of its 20 tokens free, and this needs more: "
    said += "let its other requests end, or ask your teacher (402). Nothing was answered."
    assert said in " ".join(done.stderr.split())
    assert KEY not in str(done)
