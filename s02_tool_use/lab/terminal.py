"""The agent in a terminal: `python3 -m s02_tool_use chat`. Draws a Session that runs in the foreground.

Left out: the turns (sessions/session.py), who answers (client/endpoint.py), what a token costs (PRICES in .env).
"""

import argparse
import contextlib
import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

from .. import workspace
from ..calls.tool import schemas_of
from . import rooms, show
from .client.endpoint import answerer_of, who_answers
from .screen import DIM, RED, YELLOW, Screen, history_file, line_editor
from .sessions.session import ASK_BEFORE, FAILED, STOPPED, Session
from .show import page, rows
from .show.source import REPOSITORY

NO_PRICES = "what they cost is known when .env has PRICES"
SHOWN_LINES = 10  # lines of a tool's result; the model gets them all

COMMANDS = {
    "help": "this list",
    "tools": "the tools that the model may call",
    "messages": "the conversation so far, and what the API would refuse in it",
    "cost": "the tokens used so far, and what they cost if .env has PRICES",
    "clear": "forget the conversation, and what was allowed in it",
    "save": "write the conversation to a new file: /save FILE",
    "exit": "leave, as do /quit, Ctrl-D, and Ctrl-C twice",
}
ALSO = {"quit": "exit", "q": "exit", "reset": "clear"}  # other names of commands
KEYS = """\
Alt-Enter, or \\ at the end of a line, begins another line. Ctrl-C stops what is running.
The arrow keys bring back what you typed, in earlier chats too. For you alone, and without the key, it is kept in
{}"""

# The exit status of -p; 3 for any other end.
STATUS: dict[str | None, int] = {"end_turn": 0, "stop_sequence": 0, FAILED: 1, STOPPED: 130}
EPILOG = """\
exit status with -p: 0 answered, 1 the endpoint failed, 2 wrong arguments or settings,
3 stopped before the end (turns, tokens, refusal), 130 stopped by Ctrl-C"""


def main(argv: list[str] | None = None) -> int:
    """Run the chat and return the exit status. `argv` is what stands behind `chat` on the command line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # whatever the locale says
    if sys.stdin.isatty():  # a terminal's own signals, even if whoever started us ignores them
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        status = _run(_arguments(argv))
        sys.stdout.flush()
        return status
    except OSError as error:
        # EIO: no terminal any more. Windows says EINVAL for a pipe that was closed, or EPIPE too.
        gone = (errno.EPIPE, errno.EINVAL if sys.platform == "win32" else errno.EIO)
        if error.errno not in gone:  # else nobody reads what we write
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python's own flush at the end must not fail again
        return 141  # what a shell reports for a program that a closed pipe has stopped
    except KeyboardInterrupt:  # before the first prompt
        return 130


def _arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python3 -m s02_tool_use chat",
        description="Talk to the agent. Without a key in .env the offline understudy answers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-p", dest="prompt", help="answer this one prompt and leave ('-': read it from stdin)")
    parser.add_argument(
        "--workdir",
        help="the folder in which the tools work (default: the current one; in the folder of the course it is a fresh "
        "copy of the sample project)",
    )
    parser.add_argument("--yes", action="store_true", help=f"run {', '.join(ASK_BEFORE)} without asking")
    parser.add_argument("--offline", action="store_true", help="let the understudy answer, whatever .env says")
    return parser.parse_args(argv)


def _run(arguments):
    from .client import SettingsError, connect

    single = arguments.prompt is not None
    out = sys.stderr if single else sys.stdout
    with contextlib.redirect_stdout(Screen(out)):
        try:
            if arguments.workdir is None and Path.cwd().resolve().is_relative_to(REPOSITORY):
                rooms.fresh_workspace()
            else:
                workspace.use_workdir(arguments.workdir or ".")
        except (OSError, ValueError):
            return _wrong(f"There is no folder {arguments.workdir or '.'} to work in. Make it first.")
        try:
            client, model = connect(offline=arguments.offline)
        except SettingsError as error:
            return _wrong(error)
    read, ask = _readers(single)
    chat = TerminalChat(client, model, read=read, ask=ask, out=out, yes=arguments.yes, single=single)
    if not single:
        return chat.talk()
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    return chat.answer(prompt) if prompt.strip() else _wrong("The prompt is empty: write it behind -p.")


def _wrong(said):
    print(said, file=sys.stderr)
    return 2


def _readers(single):
    """(read a line of the conversation, ask a question): both take a prompt; EOFError says that nobody answers."""
    if single:
        return None, _ask_beside_stdout
    if sys.stdin.isatty() and sys.stdout.isatty():
        return line_editor([*COMMANDS, *ALSO])
    return (lambda text: input(text if sys.stdin.isatty() else ""),) * 2


def _ask_beside_stdout(text):
    if not sys.stdin.isatty():  # what comes in is no answer to a question
        raise EOFError
    print(text, end="", file=sys.stderr, flush=True)
    return input()


class TerminalChat:
    """How a Session is drawn in a terminal, and its commands."""

    def __init__(self, client, model, *, read, ask, out, yes=False, single=False, **settings):
        self.session = Session(client, model, watch=self.draw, ask_before=() if yes else ASK_BEFORE, **settings)
        self.read, self.ask, self.screen, self.single = read, ask, Screen(out), single
        self.written = set()  # by /save, which replaces no other file
        self.text = []  # of the last reply

    # Two ways to use it: line after line, or one question.

    def talk(self) -> int:
        """Read and answer until the input ends. Returns the exit status."""
        self.say(f"Answers: {self.answerer}. /help lists the commands, Ctrl-D leaves.", DIM)
        leaving = False  # after a Ctrl-C at the prompt
        while True:
            try:
                prompt = self.prompt()
                leaving = False
                if is_command(prompt):
                    self.command(*prompt.removeprefix("/").split(None, 1))
                elif prompt:
                    self.turn(prompt)
            except KeyboardInterrupt as pressed:
                if leaving and not any(pressed.args):  # nothing has been typed since
                    return 0
                leaving = True
                self.say("Ctrl-C again or Ctrl-D leaves.", DIM)
            except EOFError:
                self.say("Bye.", DIM)
                return 0

    def prompt(self) -> str:
        """What is typed next. A line that ends with a backslash goes on in the next one."""
        text = self.read("s02 >> ").rstrip()
        with contextlib.suppress(EOFError):
            while text.endswith("\\"):
                text = text[:-1] + "\n" + self.read("... ").rstrip()
        return text.strip()

    def answer(self, prompt: str) -> int:
        """Ask one question; only the final answer goes to stdout. Returns the exit status, see EPILOG."""
        reason = self.turn(prompt)
        text = page.printable("".join(self.text).strip())
        if text:
            print(text, file=self.screen.out if reason in (FAILED, STOPPED, "max_turns") else sys.stdout)
        return STATUS.get(reason, 3)

    def turn(self, prompt: str) -> str | None:
        """Run the agent on `prompt`. Returns why it ended: a stop_reason, "max_turns", STOPPED or FAILED."""
        with self.screen.working(self.working):
            reason, sentence = self.session.run(prompt)
        self.say(sentence, RED)
        self.screen.end_line()
        return reason

    @property
    def answerer(self) -> str:
        """Who answers: rules, a script, a recording, or the model's name."""
        return who_answers(self.session.client, self.session.model)

    def working(self) -> str:
        """What is said while the turn goes on, unless it waits for an answer."""
        progress = self.session.progress
        return f"... {self.answerer}: {progress}. Ctrl-C stops." if progress and not self.session.question else ""

    def draw(self, kind: str, data: Any) -> None:
        """Draw what the session tells, and answer its questions."""
        if kind == "request":
            if self.single:  # what the last reply said was not the answer
                self.say("".join(self.text).strip())
            self.text = []
        elif kind == "text":
            if not self.single:
                self.screen.write(data if self.text else f"{self.answerer}: {data}")
            self.text.append(data)
        elif kind == "tool_use":
            self.say(f"> {data['name']}", YELLOW)
            asked = page.printable(rows.arguments(data["input"]), everything=True)  # what will run, to the last joiner
            self.say(_indent(asked))
        elif kind == "tool_result":
            shown = page.first_lines(rows.inner(data["content"]).rstrip("\n"), SHOWN_LINES)
            self.say(_indent(shown), RED if data.get("is_error") else DIM)
        elif kind == "question":
            try:
                said = self.ask(f"Run {page.printable(data['name'])}? y(es), n(o), a(lways): ").strip().lower()
            except EOFError:
                self.session.decide(False, "Not run: nobody is there to allow it.")
            else:
                self.session.decide("always" if said in ("a", "always") else said in ("y", "yes"))

    # Commands

    def command(self, name, argument=""):
        name = ALSO.get(name, name)
        if name == "help":
            self.say("\n".join(f"/{name:9} {said}" for name, said in COMMANDS.items()))
            self.say(KEYS.format(history_file()))
        elif name == "tools":
            firsts = (
                (t.get("name", "?"), t.get("description", "").split(". ")[0]) for t in schemas_of(self.session.tools)
            )
            self.say("\n".join(f"{name:11} {first}".rstrip() for name, first in firsts))
        elif name == "messages":
            self.say(repr(show.show_messages(self.session.messages)))
        elif name == "cost":
            requests, tokens = self.session.used
            no_prices = "offline they cost nothing" if answerer_of(self.session.client) else NO_PRICES
            costs = self.session.cost_in_words or no_prices
            self.say(f"{requests}: {tokens or 'no tokens'}. {costs[0].upper()}{costs[1:]}.")
        elif name == "clear":
            self.session.reset()
            self.say("A new conversation.")
        elif name == "save":
            self.save(argument)
        elif name == "exit":
            raise EOFError
        else:
            self.say(f"There is no /{name}. /help lists the commands.")

    def save(self, name):
        path = Path(name).expanduser()
        if not name:
            self.say("Name the file: /save FILE")
        elif path.exists() and path not in self.written:
            self.say(f"{name} exists and stays as it is: choose another name.", RED)
        else:
            text = rows.to_text(self.session.messages, indent=2) + "\n"
            try:
                path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
            except OSError as error:
                self.say(f"{name} cannot be written: {error.strerror}.", RED)
            else:
                self.written.add(path)
                self.say(f"{len(self.session.messages)} messages written to {name}.")

    def say(self, text: str, style: str = "") -> None:
        self.screen.say(text, style)


def is_command(prompt: str) -> bool:
    """True for /NAME with what stands behind it on its line, and for exit, quit and q; not for a path that is there."""
    if prompt in ("exit", "quit", "q"):
        return True
    word = prompt.partition(" ")[0]
    is_name = word[:1] == "/" and word[1:].isalpha() and "\n" not in prompt
    return is_name and (word[1:] in {*COMMANDS, *ALSO} or not os.path.lexists(word))


def _indent(text):
    return "  " + text.replace("\n", "\n  ")
