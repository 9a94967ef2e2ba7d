"""The file .progress where a page has no drive: its lines go to the files that JupyterLite keeps in the browser.

JupyterLite gives Python a drive through a service worker, which browsers run only over https or on their own machine.
From a teacher's laptop over http there is none. Then this asks the browser's database itself. Left out: other files.
"""

import contextlib
import importlib
import os
from typing import Any

import s02_tool_use

# Adds a line to the file, or removes the file, or does neither; then hands over what the file holds.
ASK = """(line, gone) => new Promise((done) => {
  const opening = indexedDB.open("JupyterLite Storage - " + self.location.pathname.split("extensions/")[0]);
  opening.onupgradeneeded = () => opening.transaction.abort();  // JupyterLite makes it
  opening.onerror = () => done("");
  opening.onsuccess = () => {
    const base = opening.result;
    if (!base.objectStoreNames.contains("files")) { base.close(); done(""); return; }
    const change = base.transaction("files", "readwrite"), files = change.objectStore("files");
    const asking = files.get(".progress");
    let text = "";
    asking.onsuccess = () => {
      const file = asking.result, now = new Date().toISOString();
      if (file) text = file.format === "base64" ? atob(file.content) : file.content;
      if (gone) files.delete(".progress");
      else if (line) {
        text += (text && !text.endsWith("\\n") ? "\\n" : "") + line + "\\n";
        const times = {created: file?.created ?? now, last_modified: now};
        const kind = {type: "file", format: "text", mimetype: "text/plain", writable: true};
        const named = {name: ".progress", path: ".progress", content: text, size: text.length};
        files.put({...times, ...kind, ...named}, ".progress");
      }
    };
    change.oncomplete = () => { base.close(); done(text); };
    change.onabort = () => { base.close(); done(""); };
  };
})"""


def is_needed() -> bool:
    """Whether this is a page without a drive, in a browser (and not in Node.js)."""
    if s02_tool_use.IN_A_PAGE and not os.path.isdir("/drive"):
        with contextlib.suppress(ImportError):
            return hasattr(importlib.import_module("js"), "indexedDB")
    return False


def add(line: str) -> bool:
    """Add a line to the file. It is there a moment later. Returns whether `read` will find it."""
    _asked(line, False)
    return bool(importlib.import_module("pyodide.ffi").can_run_sync())


def remove() -> None:
    """Remove the file, a moment later."""
    _asked("", True)


def read() -> str:
    """What the file holds; "" in a browser that cannot wait for its own database."""
    ffi = importlib.import_module("pyodide.ffi")
    return str(ffi.run_sync(_asked("", False))) if ffi.can_run_sync() else ""


def _asked(line: str, gone: bool) -> Any:
    return importlib.import_module("pyodide.code").run_js(ASK)(line, gone)
