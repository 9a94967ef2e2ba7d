"""What a teacher runs for a room of thirty: `python3 -m s02_tool_use room NAME ...`. Each name is a module's."""

import importlib
from collections.abc import Sequence

COMMANDS = {
    "wheels": "a folder from which a first start works without a network",
    "check": "whether this machine is ready, as a code that a learner can read out; and what a code means",
    "hub": "JupyterHub for thirty learners on one machine",
    "key": "one real key for the room: seats in its place, each with a budget of tokens",
    "board": "who has solved what and who is stuck, as a page in the browser",
}
ELSEWHERE = {"wheels": "start.wheels", "check": "start.verdict"}  # those that are not modules of this folder


def main(argv: Sequence[str]) -> int | str | None:
    """Run one of the commands. Returns an exit status, or a sentence about what stands in the way."""
    name, *rest = argv or ["--help"]
    if name in COMMANDS:
        module = importlib.import_module(f"..{ELSEWHERE.get(name, f'room.{name}')}", __name__)
        try:
            return module.main(rest)
        except KeyboardInterrupt:
            return "Stopped."
    lines = [f"python3 -m s02_tool_use room {name:7} {does}" for name, does in COMMANDS.items()]
    page = "\n".join(["What a teacher runs for a room. Each says more with --help.", "", *lines])
    if name not in ("-h", "--help"):
        return f"There is no command 'room {name}'.\n\n{page}"
    print(page)
    return 0
