"""JupyterLab in a real browser: a server on loopback, Chromium, and the few DevTools calls that the tests need.

No package of its own: websocket-client, which JupyterLab brings, speaks to the browser. Also a command, which runs all
cells of a notebook and takes its picture:

    python tests/browser.py notebooks/00_start_here.ipynb screenshots/start.png [--dark] [--height 900] [--cell 10]
"""

import argparse
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import websocket

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TOKEN = "only-for-this-test"
PATIENCE = 180  # seconds to wait for anything: a guard against hanging, not a measure
SIZE = (1280, 900)

# What a key press is to DevTools: the key's name, its code and number, and the text that it types.
KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": ("Space", 32, " "),
    "Escape": ("Escape", 27, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "Backspace": ("Backspace", 8, ""),
}


def find_chromium():
    """The path of a browser that speaks the DevTools protocol, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def wait_for(what, question, seconds=PATIENCE):
    """Ask until the answer is true, and return it. AssertionError says `what` was waited for."""
    end = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for {what}")
        time.sleep(0.05)
    return answer


def notebook_of(cells):
    """The file of a notebook with these cells: {id: source}."""
    code = [
        {"cell_type": "code", "id": id, "metadata": {}, "source": source, "execution_count": None, "outputs": []}
        for id, source in cells.items()
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"cells": code, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


class Lab:
    """JupyterLab as the course starts it, with a home and settings of its own: `with Lab(folder) as lab: lab.url`.

    settings=False starts it as anybody would who knows nothing of the course's settings. `python` may be that of
    another environment, and `app` Notebook 7 ("notebook"), whose pages have another address.
    """

    def __init__(self, folder, settings=True, python=sys.executable, app="jupyterlab"):
        self.python, self.app, self.pages = python, app, "notebooks" if app == "notebook" else "lab/tree"
        self.settings = {"JUPYTER_CONFIG_PATH": str(ROOT / "s02_tool_use" / "lab" / "start")} if settings else {}
        self.folder, self.home = Path(folder), Path(tempfile.mkdtemp(prefix="lab-"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def address(self, notebook):
        """Where a notebook is opened that is given by its path below the folder."""
        return f"{self.url}/{self.pages}/{notebook}?token={TOKEN}&reset"

    def __enter__(self):
        kept = {"PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "PYTHONPATH"}
        env = {name: value for name, value in os.environ.items() if name in kept}
        env["S02_OFFLINE"] = "1"  # whatever .env names
        env |= {"HOME": str(self.home), **self.settings}
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            env[name] = str(self.home / name.lower())
        options = [
            f"--ServerApp.port={self.port}",
            f"--ServerApp.root_dir={self.folder}",
            f"--IdentityProvider.token={TOKEN}",
            "--no-browser",
            "--allow-root",
            "--expose-app-in-browser",  # gives the page window.jupyterapp, whose commands the tests call
        ]
        self.log = open(self.home / "log", "w+", encoding="utf-8")
        command = [self.python, "-m", "s02_tool_use.lab.start.fast_imports", self.app, *options]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=env, stdout=self.log, stderr=self.log, start_new_session=True
        )
        try:
            wait_for("JupyterLab to start", self._answers)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError("JupyterLab did not start:\n" + self.said())
        with contextlib.suppress(OSError):
            return self.api("status")

    def api(self, path):
        """GET /api/<path>, parsed."""
        request = urllib.request.Request(f"{self.url}/api/{path}", headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return json.load(answer)

    def said(self):
        return Path(self.log.name).read_text(encoding="utf-8", errors="replace")

    def __exit__(self, *error):
        end(self.process, signal.SIGINT)
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


def end(process, signal_number=signal.SIGTERM):
    """End a process that was started here, and its children; wait until it is gone."""
    for number in (signal_number, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)


class Browser:
    """One page in a headless Chromium. `errors` and `warnings` collect what the page's console complains about.

    `options` are more of Chromium's own.
    """

    def __init__(self, size=SIZE, options=()):
        self.profile, self.size, self.options = tempfile.mkdtemp(prefix="chromium-"), size, options
        self.errors, self.warnings, self._number = [], [], 0
        self.at_a_stop = lambda: None  # called by tab_to wherever Tab came

    def __enter__(self):
        command = [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [
            "--remote-debugging-port=0",
            f"--user-data-dir={self.profile}",
            "--no-first-run",
            "--no-proxy-server",
        ]
        # Scroll bars stay shown: they are what a useless one is seen by.
        command += [
            f"--window-size={self.size[0]},{self.size[1]}",
            "--disable-features=OverlayScrollbar",
            *self.options,
            "about:blank",
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.socket = None
        try:
            port = wait_for("Chromium to start", self._port)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
                page = next(target for target in json.load(answer) if target["type"] == "page")
            self.socket = websocket.create_connection(
                page["webSocketDebuggerUrl"], suppress_origin=True, timeout=PATIENCE, enable_multithread=False
            )
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
            self.call("Emulation.setFocusEmulationEnabled", enabled=True)
            self.resize(*self.size)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _port(self):
        with contextlib.suppress(OSError, IndexError):
            return Path(self.profile, "DevToolsActivePort").read_text().split()[0]

    def __exit__(self, *error):
        if self.socket is not None:
            self.socket.close()
        end(self.process)
        shutil.rmtree(self.profile, ignore_errors=True)

    # DevTools

    def call(self, method, **parameters):
        """One DevTools command; returns its result. Events that come in between are looked through for errors."""
        number = self._number = self._number + 1
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, event):
        data = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            detail = data["exceptionDetails"]
            self.errors.append(detail.get("exception", {}).get("description") or detail["text"])
        kinds = {"error": self.errors, "warning": self.warnings}
        if event.get("method") == "Log.entryAdded" and (kept := kinds.get(data["entry"]["level"])) is not None:
            kept.append(f"{data['entry']['text']} {data['entry'].get('url', '')}")
        if event.get("method") == "Runtime.consoleAPICalled" and (kept := kinds.get(data["type"])) is not None:
            kept.append(" ".join(str(a.get("value", a.get("description"))) for a in data["args"]))

    def run(self, script, **values):
        """Evaluate JavaScript, which may await and return, with `values` as constants. Returns its value."""
        constants = "".join(f"const {name} = {json.dumps(value)};" for name, value in values.items())
        answer = self.call(
            "Runtime.evaluate",
            expression=f"(async () => {{{constants}{script}}})()",
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            detail = answer["exceptionDetails"]
            raise AssertionError(detail.get("exception", {}).get("description") or detail["text"])
        return answer["result"].get("value")

    def wait(self, what, script, seconds=PATIENCE, **values):
        """Evaluate until the value is true, and return it."""
        return wait_for(what, lambda: self.run(script, **values), seconds)

    def press(self, *keys):
        """Press and release keys by name (KEYS), one after the other. "Shift+Tab" holds a key down."""
        for key in keys:
            *held, name = key.split("+")
            code, number, text = KEYS.get(name) or (f"Key{name}", ord(name), "")
            event = {"key": text if name == "Space" else name, "code": code, "windowsVirtualKeyCode": number}
            event["modifiers"] = sum({"Alt": 1, "Control": 2, "Shift": 8}[modifier] for modifier in held)
            if key == "Control+A":  # outside a desktop nobody else turns this key into a command
                event["commands"] = ["selectAll"]
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Type a text at the place that has the focus, key by key, as a person would."""
        for letter in text:
            event = {"key": letter, "text": letter}
            self.call("Input.dispatchKeyEvent", type="keyDown", **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)

    def tab_to(self, label, back=False):
        """Press Tab until the focus is on the control with this label, as somebody without a mouse would."""
        for _ in range(100):
            if self.run(LABEL) == label:
                return
            self.press("Shift+Tab" if back else "Tab")
            self.at_a_stop()
        raise AssertionError(f"Tab never came to {label!r}; it is now on {self.run(LABEL)!r}")

    def resize(self, width, height, zoom=1):
        """Give the page another size, in the pixels of a screen; zoom=1.5 is what Ctrl-Plus makes of 150 %."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=round(width / zoom),
            height=round(height / zoom),
            deviceScaleFactor=zoom,
            mobile=False,
        )

    # JupyterLab

    def open(self, lab, notebook):
        """Open a notebook, given by its path below the server's folder, and wait until its kernel is ready."""
        self.call("Page.navigate", url=lab.address(notebook))
        self.wait("the notebook to open", _CURRENT + "return panel?.context?.isReady && !!panel.content.activeCell")
        self.run(
            _CURRENT + "await panel.sessionContext.ready; app.shell.activateById(panel.id); app.shell.collapseLeft();"
        )
        self.wait("the kernel", _CURRENT + "return panel.sessionContext.session?.kernel?.status === 'idle'")

    def run_all(self):
        """Run all cells. Returns the errors that cells ended with, as "name: text"."""
        self.run("await jupyterapp.commands.execute('notebook:run-all-cells')")
        outputs = (output for cell in self.notebook()["cells"] for output in cell.get("outputs", ()))
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]

    def run_cell(self, cell):
        """Run the cell with this id."""
        self.run(
            _CURRENT + "panel.content.activeCellIndex = panel.content.widgets.findIndex(c => c.model.id === cell);"
            "await jupyterapp.commands.execute('notebook:run-cell')",
            cell=cell,
        )

    def notebook(self):
        """The notebook as it would be saved."""
        return self.run(_CURRENT + "return panel.context.model.toJSON()")

    def enter(self, cell):
        """Put the focus on the first control in the output of the cell with this id."""
        self.show_cell(cell)
        self.run(
            _CURRENT + "const cells = panel.content.widgets, at = cells.findIndex(c => c.model.id === cell);"
            "panel.content.activeCellIndex = at; for (let i = 0; i < 200; i++) {"
            "  const all = cells[at].node.querySelectorAll('.jp-OutputArea :is(button, input, select)');"
            "  const first = [...all].find(e => e.offsetParent && !e.disabled); if (first) { first.focus(); return; }"
            "  await new Promise(done => setTimeout(done, 50)); }"
            "throw Error('no control in ' + cell)",
            cell=cell,
        )

    def show_cell(self, cell):
        """Bring the cell with this id into view."""
        at = self.run(_CURRENT + "return panel.content.widgets.findIndex(c => c.model.id === cell)", cell=cell)
        self.scroll_to(at)

    def in_cell(self, cell, script):
        """Evaluate JavaScript in which `panel` is the notebook and `cell` an id."""
        return self.run(_CURRENT + script, cell=cell)

    def output(self, cell):
        """The text of the output of the cell with this id."""
        return self.run(
            _CURRENT + "const found = panel.content.widgets.find(c => c.model.id === cell).node;"
            "return [...found.querySelectorAll('.jp-OutputArea-output')].map(e => e.innerText).join('\\n')",
            cell=cell,
        )

    def wait_for_output(self, cell, text, seconds=PATIENCE):
        """Wait until this text stands in the output of a cell. One that others pushed out of view comes back."""
        looks = itertools.count(1)

        def is_there():
            if next(looks) % 100 == 0:
                self.show_cell(cell)
            return text in self.output(cell)

        try:
            return wait_for(repr(text), is_there, seconds)
        except AssertionError as error:
            drawn = self.in_cell(cell, "return panel.content.widgets.find(c => c.model.id === cell).node.outerHTML")
            raise AssertionError(f"{error}; it shows:\n{self.output(cell)}\n{drawn[:2000]}") from None

    def save(self):
        self.run(_CURRENT + "await panel.context.save()")

    def restart(self):
        """Restart the kernel, as the button does once its question is answered."""
        self.run(_CURRENT + "await panel.sessionContext.restartKernel()")

    def theme(self, dark):
        name = "JupyterLab Dark" if dark else "JupyterLab Light"
        self.run("await jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name=name)
        done = "return document.body.dataset.jpThemeLight === light && !document.getElementById('jupyterlab-splash')"
        self.wait("the theme", done, light="false" if dark else "true")

    def text(self, selector=".jp-NotebookPanel:not(.lm-mod-hidden)"):
        """The text of the page, or of the first element that the selector finds."""
        return self.run("return document.querySelector(selector)?.innerText ?? ''", selector=selector)

    def scroll_to(self, number):
        """Bring a cell into view, counted from 0: JupyterLab draws only those that are near."""
        # A page that is loading or drawing may forget that it was asked: ask until the cell is seen.
        script = (
            "try { await panel.content.scrollToItem(number, 'start') } catch { return false }"
            "const cell = panel.content.widgets[number].node, seen = cell.getBoundingClientRect();"
            "return cell.isConnected && seen.height > 0 && seen.top < innerHeight && seen.bottom > 0"
        )
        wait_for(f"cell {number}", lambda: self.run(_CURRENT + script, number=number))

    def screenshot(self, path, selector=None):
        """Save a PNG of the page, or of one element, however long it is."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        options = {}
        if selector:
            box = self.run(
                "const e = document.querySelector(selector); e.scrollIntoView({block: 'start'});"
                "const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]",
                selector=selector,
            )
            options["clip"] = dict(zip(("x", "y", "width", "height"), box, strict=True), scale=1)
        picture = self.call("Page.captureScreenshot", format="png", **options)
        path.write_bytes(base64.b64decode(picture["data"]))


# What the control with the focus is called: what stands on it, or beside it.
LABEL = """
const e = document.activeElement, box = e.closest('.jupyter-widgets');
if (e.matches('a, button, summary, div[tabindex]')) return e.innerText.trim();
if (e.type === 'checkbox') return e.closest('label').innerText.trim();
return (box?.querySelector('label')?.innerText || e.placeholder || '').trim()
"""
# The notebook that is open, in JavaScript.
_CURRENT = "const app = window.jupyterapp, panel = app?.shell?.currentWidget;"


def take_picture(notebook, picture, dark=False, height=SIZE[1], first=0):
    """Run a notebook from a copy of its folder and save a picture of it, scrolled to its cell number `first`."""
    notebook = Path(notebook).resolve()
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        shutil.copytree(notebook.parent, folder, dirs_exist_ok=True)
        with Lab(folder) as lab, Browser((SIZE[0], height)) as browser:
            browser.open(lab, notebook.name)
            browser.theme(dark)
            failed = browser.run_all()
            browser.scroll_to(first)
            time.sleep(1)  # what was drawn last is still moving
            browser.screenshot(picture)
            return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run all cells of a notebook in a browser and take its picture.")
    parser.add_argument("notebook")
    parser.add_argument("picture")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--height", type=int, default=SIZE[1])
    parser.add_argument("--cell", type=int, default=0, help="the cell at the top of the picture, counted from 0")
    given = parser.parse_args()
    if not find_chromium():
        sys.exit(f"No browser was found. Install one of: {', '.join(NAMES)}.")
    for fault in take_picture(given.notebook, given.picture, given.dark, given.height, given.cell):
        print("A cell failed:", fault)
    print(given.picture)
