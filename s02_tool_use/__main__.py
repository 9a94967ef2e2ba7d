"""The one command of the course: python3 -m s02_tool_use [lab | test | chat | serve | doctor | ...], as HELP lists.

It chooses; lab/start/setup.py makes the environment in which the chosen command then runs. This file must parse on
Python 3.6, whose users read a sentence here and no SyntaxError.
"""

import os
import signal
import subprocess
import sys

HELP = """\
python3 -m s02_tool_use            opens the notebooks in JupyterLab; further arguments go to JupyterLab
python3 -m s02_tool_use test       runs all tests, the notebooks included, on all cores; further arguments go to pytest
python3 -m s02_tool_use chat       the agent in a terminal; it works in the current folder,
                                   in the folder of the course on a copy of the sample project
python3 -m s02_tool_use serve      the offline API for any client; prints its address
python3 -m s02_tool_use doctor     what is wrong with this machine, in words
python3 -m s02_tool_use reset 03   notebook 03 as it was (or: reset all); yours is kept beside it
python3 -m s02_tool_use update     the newest course; what you wrote is kept
python3 -m s02_tool_use handout D  a page to print and slides of each notebook, into the folder D
python3 -m s02_tool_use site D     the course as a page for a browser, with nothing to install, into the folder D
python3 -m s02_tool_use room       what a teacher runs for a room of thirty

The first start makes .venv beside the package and installs into it. On Windows: py -m s02_tool_use"""
CALL = "import sys; from s02_tool_use.lab.{0} import main; sys.exit(main(sys.argv[1:]))"
COMMANDS = {
    "lab": ["-m", "s02_tool_use.lab.start.fast_imports", "jupyterlab"],
    # All that the settings in pyproject.toml leave out; paths that follow take the place of testpaths.
    "test": ["-m", "pytest", "--nbval", "-onorecursedirs=node_modules .*", "-otestpaths=tests notebooks"],
    "chat": ["-c", CALL.format("terminal")],
    "serve": ["-c", CALL.format("client.serve")],
    "doctor": ["-c", CALL.format("start.doctor")],
    "reset": ["-c", CALL.format("start.reset")],
    "update": ["-c", CALL.format("start.update")],
    "handout": ["-c", CALL.format("publish.handout")],
    "site": ["-c", CALL.format("publish.site")],
    "room": ["-c", CALL.format("room")],
}


def main(argv):
    """Run what was asked for. Returns an exit status, or a sentence about what stands in the way."""
    if sys.version_info < (3, 10):
        return (
            "Python 3.10 or newer is needed, this is {}.{}. Get one from https://www.python.org/downloads/ "
            "or from your system's packages and start with it, such as: python3.12 -m s02_tool_use"
        ).format(*sys.version_info)
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a folder's name may have letters that the terminal has not
    if argv[:1] in (["-h"], ["--help"]):
        print(HELP)
        return 0
    name = "lab"
    if argv and not argv[0].startswith("-") and not os.path.exists(argv[0]):
        name, argv = argv[0], argv[1:]
    if name not in COMMANDS:
        return f"There is no command {name!r}.\n\n{HELP}"

    from .lab.start import reset, setup  # in newer syntax

    if name == "lab":
        reset.keep_copy()
    try:
        # What looks at the machine as it is installs nothing.
        looks = name in ("doctor", "reset", "update") or (
            name == "room" and argv[:1] in ([], ["-h"], ["--help"], ["check"])
        )
        python = setup.environment() if not looks or setup.is_ready() else sys.executable
    except setup.SetupError as error:
        return str(error)
    except KeyboardInterrupt:
        return "Stopped. The next start goes on from here."
    if name == "lab":
        paths = [os.path.join(setup.ROOT, "s02_tool_use", "lab", "start"), os.environ.get("JUPYTER_CONFIG_PATH")]
        os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))
    if name in ("lab", "test"):
        os.chdir(setup.ROOT)
    if name == "test":
        os.environ["PYTHONUTF8"] = "1"  # on Windows tests would write their files in the language's own encoding
    return hand_over([python] + COMMANDS[name] + argv)


def open_streams():
    """Make a standard stream that whoever started us has closed the null device: else the next file gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)  # in case they are the same, dup2 leaves it closed to children
            os.set_inheritable(number, True)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def hand_over(command):
    """Run the command in place of this process: its signals and its exit status are those of the terminal."""
    sys.stdout.flush()
    if os.name != "nt":
        os.execv(command[0], command)
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches the child as well, which decides
    return subprocess.call(command)  # on Windows execv would come back to the prompt at once


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
