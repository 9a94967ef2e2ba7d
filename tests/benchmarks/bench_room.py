"""Thirty learners at once on `room hub`: each signs in, and runs notebook 00 to its end, as the page would.

Prints the numbers and ends with 1 if a learner did not come to the end, saw an error, or saw what is another's:
python tests/benchmarks/bench_room.py --users 30 [--folder DIR]. Bounded: after MINUTES each learner gives up.
"""

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import requests
from websocket import create_connection

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "notebooks/00_start_here.ipynb"
MINUTES = 10
SECRET = "what only {} may read"


class Hub:
    """`room hub`, started in a folder; the passwords as it printed them."""

    def __init__(self, folder, users, *arguments):
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "s02_tool_use", "room", "hub", "--users", str(users), "--port", str(port)]
        command += ["--folder", str(folder), *arguments]
        ends = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
        self.process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **ends)
        self.said = self.url = ""
        threading.Thread(target=self._listen, daemon=True).start()
        while not self.url or not self.answers():
            assert self.process.poll() is None, self.said
            time.sleep(0.5)
            self.url = (re.findall(r"JupyterHub for \d+: (\S+)\n", self.said) or [""])[0]
        self.passwords = dict(re.findall(r"(?m)^(seat\d\d) +(\S+)$", self.said))

    def _listen(self):
        with self.process.stdout as lines:
            for line in lines:
                self.said += line

    def answers(self):
        try:
            with requests.Session() as session:
                session.trust_env = False
                return session.get(f"{self.url}/hub/health", timeout=60).ok
        except requests.ConnectionError:
            return False

    def stop(self):
        """Ctrl-C, once. Returns the exit status."""
        self.process.send_signal(2)
        return self.process.wait(timeout=120)


class Learner:
    """One who sits in a browser: cookies, the server's interface, cells over a websocket."""

    def __init__(self, url, name):
        self.url, self.name, self.session = url, name, requests.Session()
        self.session.trust_env = False  # no proxy

    def sign_in(self, password, name=None):
        """Whether the door opens."""
        self.session.get(f"{self.url}/hub/login", timeout=60)
        form = {"username": name or self.name, "password": password, "_xsrf": self._token("/hub/")}
        return self.session.post(f"{self.url}/hub/login", data=form, timeout=300).ok

    def open_lab(self, name=None):
        """Wait for the server, as the page that says so does. Returns the status of the page that comes at the end."""
        wanted, end = f"/user/{name or self.name}/lab", time.monotonic() + 60 * MINUTES
        while time.monotonic() < end:
            page = self.session.get(self.url + wanted, timeout=300)
            if page.url.endswith(wanted) or not page.ok:
                return page.status_code
            time.sleep(2)
        return 0

    def ask(self, path, data=None, method="GET", name=None):
        """A request to the server's own interface. Returns what came back."""
        name = name or self.name
        headers = {"X-XSRFToken": self._token(f"/user/{name}/")}
        where = f"{self.url}/user/{name}/api/{path}"
        return self.session.request(method, where, json=data, headers=headers, timeout=300)

    def read(self, path):
        """What the file browser gets."""
        return self.ask(f"contents/{path}").json()

    def start_kernel(self):
        page = {"path": NOTEBOOK, "type": "notebook", "name": "", "kernel": {"name": "python3"}}
        return self.ask("sessions", page, "POST").json()["kernel"]["id"]

    def run(self, kernel, sources):
        """Run cells in order. Returns [(seconds, printed, name of the error or None)]."""
        results = []
        with closing(self._socket(f"api/kernels/{kernel}/channels?session_id=page")) as page:
            for number, source in enumerate(sources):
                header = {"msg_id": f"cell{number}", "msg_type": "execute_request", "session": "page", "version": "5.3"}
                message = {"header": header, "parent_header": {}, "metadata": {}, "channel": "shell"}
                began, printed, error, done = time.monotonic(), "", None, False
                page.send(json.dumps({**message, "content": {"code": source, "silent": False}}))
                while not done:
                    said = json.loads(page.recv())
                    if said["channel"] != "iopub" or said["parent_header"].get("msg_id") != f"cell{number}":
                        continue
                    if said["msg_type"] == "error":
                        error = said["content"]["ename"]
                    printed += said["content"].get("text", "")
                    done = said["content"].get("execution_state") == "idle"
                results.append((time.monotonic() - began, printed, error))
        return results

    def type_in_terminal(self, command):
        """What a terminal shows until a mark that the command prints at its end."""
        name = self.ask("terminals", {}, "POST").json()["name"]
        shown = ""
        with closing(self._socket(f"terminals/websocket/{name}")) as page:
            page.send(json.dumps(["stdin", f"{command}; echo the-'end'\r"]))
            while "the-end" not in shown:
                kind, *text = json.loads(page.recv())
                shown += text[0] if kind == "stdout" else ""
        return shown

    def _socket(self, path):
        address = f"{self.url.replace('http', 'ws', 1)}/user/{self.name}/{path}"
        cookies = "; ".join(f"{c.name}={c.value}" for c in self.session.cookies if f"/user/{self.name}/" == c.path)
        return create_connection(address, timeout=60 * MINUTES, cookie=cookies, origin=self.url)

    def _token(self, path):
        return next((c.value for c in self.session.cookies if c.name == "_xsrf" and c.path == path), "")


def course(url, name, password):
    """One learner from the door to the end of notebook 00. Returns what was measured, and what was wrong."""
    learner, began = Learner(url, name), time.monotonic()
    assert learner.sign_in(password), "the password was refused"
    assert learner.open_lab() == 200, "the server did not come up"
    ready = time.monotonic() - began
    cells = learner.read(NOTEBOOK)["content"]["cells"]
    # Without the one that does something in Colab alone: the first cell is the set-up, with its imports.
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code" and cell["id"] != "elsewhere"]
    kernel = learner.start_kernel()
    secret = f"open('../mine.txt', 'w').write({SECRET.format(name)!r})"
    results = learner.run(kernel, [*sources, secret])
    assert not [error for _, _, error in results if error], "a cell failed"
    return (
        learner,
        kernel,
        {
            "ready": ready,
            "first": results[0][0],
            "later": max(seconds for seconds, _, _ in results[1:]),
            "done": time.monotonic() - began,
            "cells": len(sources),
        },
    )


# What of another's a learner might find, by a kernel or a terminal: files, and the environments of processes.
LOOK = "find / -name mine.txt 2>/dev/null | xargs -r cat; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'"


def sees(learner, kernel, others):
    """What this learner gets to see of the others, as a list of sentences: an empty one, where all is well."""
    found = []
    looked = {
        "kernel": learner.run(kernel, [f"import subprocess; print(subprocess.getoutput({LOOK!r}))"])[0][1],
        "terminal": learner.type_in_terminal(LOOK),
    }
    for way, shown in looked.items():
        if SECRET.format(learner.name) not in shown:
            found.append(f"{learner.name} does not see the own file by {way}: this test looks at nothing")
        found += [f"{learner.name} sees {o.name} by {way}" for o in others if o.name in shown]
    for other in others[:2]:
        for path in ("..%2F", f"..%2F{other.name}%2Fmine.txt", f"%2Fhome%2F{other.name}%2Fmine.txt"):
            if learner.ask(f"contents/{path}").ok:
                found.append(f"{learner.name} reads {path} by the file browser")
        if learner.ask("contents/mine.txt", name=other.name).ok or learner.open_lab(other.name) == 200:
            found.append(f"{learner.name} opens the server of {other.name}")
    return found


def megabytes(folder):
    """The memory of all processes that run from this folder, what they share counted once."""
    total = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (path / "cmdline").read_bytes():
                total += int(re.search(r"Pss:\s+(\d+)", (path / "smaps_rollup").read_text())[1])
        except (OSError, TypeError):
            continue
    return total / 1000


def room(folder, users, *arguments):
    """Run it all. Returns (numbers, faults)."""
    hub = Hub(folder, users, *arguments)
    done, faults = {}, []

    def sit(name, password):
        try:
            done[name] = course(hub.url, name, password)
        except Exception as error:
            faults.append(f"{name}: {type(error).__name__}: {error}")

    try:
        seats = [threading.Thread(target=sit, args=seat, daemon=True) for seat in hub.passwords.items()]
        for seat in seats:
            seat.start()
        for seat in seats:
            seat.join(60 * MINUTES)
        used = megabytes(folder)
        learners = [learner for learner, _, _ in done.values()]
        for learner, kernel, _ in done.values():
            faults += sees(learner, kernel, [other for other in learners if other is not learner])
        for name, another in zip(hub.passwords, [*hub.passwords][1:], strict=False):
            if Learner(hub.url, name).sign_in(hub.passwords[another]):
                faults.append(f"{name} is opened by the password of {another}")
    finally:
        status = hub.stop()
    if status:
        faults.append(f"the hub ended with {status}: {hub.said}")
    numbers = [measured for _, _, measured in done.values()]
    return {"users": users, "done": len(done), "megabytes": used, "learners": numbers}, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--folder", type=Path, help="where the hub is installed; without it a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        numbers, faults = room(given.folder or Path(temporary) / "hub", given.users)
    print(f"{numbers['done']} of {numbers['users']} ran notebook 00 to its end; {numbers['megabytes']:.0f} MB in all")
    for name in ("ready", "first", "later", "done"):
        values = sorted(each[name] for each in numbers["learners"])
        if values:
            print(f"{name:6} {values[0]:6.1f} s to {values[-1]:6.1f} s")
    print("\n".join(faults) or "nobody saw an error or what is another's")
    return int(bool(faults) or numbers["done"] < given.users)


if __name__ == "__main__":
    sys.exit(main())
