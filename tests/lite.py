"""The course's site in a real browser: a folder on loopback, JupyterLite in Chromium, and what was asked of whom.

Stands on browser.py.
"""

import contextlib
import copy
import functools
import http.server
import json
import threading
import urllib.parse
from pathlib import Path

from browser import _CURRENT, ROOT, SIZE, Browser, wait_for

INSECURE = "course.test"  # another name for this machine: with plain HTTP a browser lets no service worker in there
TABLET = (820, 1180)
PICTURES = ROOT / "screenshots"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Python's own file server, which says nothing. Any web server's types of files are right."""

    protocol_version = "HTTP/1.1"
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
        ".whl": "application/zip",
    }

    def log_message(self, *_):
        pass


class Site:
    """A folder served from loopback, without any special header: `with Site(folder) as site: browser.open(site, name)`.

    `host` is the name that the browser calls it by.
    """

    def __init__(self, folder, page="notebooks/index.html"):
        handler = functools.partial(Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.host, self.page, self.port = "127.0.0.1", page, self.server.server_port

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def called(self, host):
        """The same by another name."""
        other = copy.copy(self)
        other.host = host
        return other

    def address(self, notebook):
        return f"{self.url}/{self.page}?{urllib.parse.urlencode({'path': notebook})}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()


class Page(Browser):
    """A browser that reaches this machine alone, writes down what it asks of others, and hears its workers' consoles.

    `shown` is the notebook that is open.
    """

    def __init__(self, size=SIZE):
        super().__init__(size)
        self.log = Path(self.profile, "net.json")
        self.options = (
            f"--host-resolver-rules=MAP {INSECURE} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--log-net-log={self.log}",
            # what Chromium asks its maker for
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-default-apps",
            "--disable-domain-reliability",
        )
        self._read, self._start, self._asked, self._known = 0, None, set(), set()
        self.shown = None

    def __enter__(self):
        super().__enter__()
        self._attach()
        return self

    def _attach(self, **session):
        # Held until we listen: what a worker says first is heard too.
        self._tell("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True, **session)

    def _tell(self, method, sessionId=None, **parameters):
        """A DevTools command whose answer nobody waits for, to the page or to a worker."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self.socket.send(json.dumps(message | ({"sessionId": sessionId} if sessionId else {})))

    def _note(self, event):
        super()._note(event)
        if event.get("method") == "Page.javascriptDialogOpening":  # what was not saved shall be left
            self._tell("Page.handleJavaScriptDialog", accept=True)
        if event.get("method") == "Target.attachedToTarget":
            session = event["params"]["sessionId"]
            for method in ("Runtime.enable", "Log.enable"):
                self._tell(method, session)
            self._attach(sessionId=session)
            self._tell("Runtime.runIfWaitingForDebugger", session)

    def asked(self):
        """Every address that a page or a worker asked for so far. What Chromium wants for itself is left out."""
        with open(self.log, "rb") as log:
            log.seek(self._read)
            lines = log.read()
        lines = lines[: lines.rfind(b"\n") + 1]  # the last one may be half written
        self._read += len(lines)
        for line in lines.splitlines():
            with contextlib.suppress(ValueError):
                if line.startswith(b'{"constants"'):
                    names = json.loads(line.rstrip(b",") + b"}")["constants"]["logEventTypes"]
                    self._start = names["URL_REQUEST_START_JOB"]
                    continue
                event = json.loads(line.rstrip(b","))
                given = event.get("params", {})
                if event["type"] == self._start and "url" in given and given.get("initiator") != "not an origin":
                    self._asked.add(given["url"])
        return self._asked

    def asked_elsewhere(self):
        """What was asked of another machine until now, and is no news any more."""
        mark = f"?mark={self._number}"  # what was asked before this has been written down when this is
        self.run("await fetch(`${location.origin}/favicon.ico${mark}`)", mark=mark)
        wait_for("the log", lambda: any(url.endswith(mark) for url in self.asked()))
        here = ("127.0.0.1", INSECURE, None)  # None: a blob, or data that stand in the address
        found = {url for url in self.asked() if urllib.parse.urlsplit(url).hostname not in here} - self._known
        self._known |= found
        return found

    def show(self, site, name):
        """Open a notebook by its name, as if it was never opened in this page; its kernel is ready then."""
        self.shown = None
        self.open(site, f"{name}.ipynb")
        self.shown = name

    def forget(self, site):
        """Be a browser that has never been here."""
        self.call("Storage.clearDataForOrigin", origin=site.url, storageTypes="all")

    def code(self):
        """The code cells as they would be saved."""
        return [cell for cell in self.notebook()["cells"] if cell["cell_type"] == "code"]

    def run_every_cell(self):
        """Forget all outputs, and run all cells. What a cell that failed keeps from running is run all the same."""
        self.run("await jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        left, command = None, "run-all-cells"
        while True:
            self.run(f"await jupyterapp.commands.execute('notebook:{command}')")
            not_run = [cell["id"] for cell in self.code() if cell["execution_count"] is None]
            if not not_run or not_run == left:
                return not_run
            self.run(SELECT, cell=not_run[0])
            left, command = not_run, "run-all-below"

    def write(self, cell, *lines):
        """Replace what a cell holds, key by key, and run it, as a learner does. The editor indents by itself."""
        self.show_cell(cell)
        self.run(SELECT + "panel.content.mode = 'command'; panel.content.node.focus()", cell=cell)
        self.press("Enter", "Control+A", "Backspace")
        for line in lines:
            self.type(line)
            if line is not lines[-1]:
                self.press("Enter")
        self.press("Shift+Enter")

    def tap(self, selector):
        """Tap on the middle of the first element that the selector finds and that is seen."""
        x, y = self.run(
            "const e = [...document.querySelectorAll(selector)].find(e => e.getClientRects().length);"
            "const r = e.getBoundingClientRect(); return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]",
            selector=selector,
        )
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    @contextlib.contextmanager
    def tablet(self):
        """As on a tablet that is held upright: its size, and fingers."""
        width, height = TABLET
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)
        self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        try:
            yield
        finally:
            self.call("Emulation.setTouchEmulationEnabled", enabled=False)
            self.resize(*self.size)

    def picture(self, name, cell=None, lab=True):
        """Take a picture in light and in dark, of the output of a cell or of what is seen.

        lab=False is a page that is not Jupyter's: it asks the machine which of them it should be.
        """
        for dark in (False, True):
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            self.call("Emulation.setEmulatedMedia", features=[scheme])
            if lab:
                self.theme(dark)
            if cell:
                self.in_cell(cell, SHOW_OUTPUT)
            self.screenshot(PICTURES / f"{name}-{'dark' if dark else 'light'}.png")
        self.call("Emulation.setEmulatedMedia", features=[])
        if lab:
            self.theme(False)


SHOW_OUTPUT = """
panel.content.widgets.find(c => c.model.id === cell).node.querySelector('.jp-OutputArea').scrollIntoView()"""
SELECT = _CURRENT + "panel.content.activeCellIndex = panel.content.widgets.findIndex(c => c.model.id === cell);"
