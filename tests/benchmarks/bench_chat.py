"""One hundred turns in one Chat, by keyboard in a real browser: turn 100 may take at most 1.5 times as long as turn 10.

    python tests/benchmarks/bench_chat.py [TURNS]

A turn is timed from Enter until its answer stands in the page and the agent is ready. Each calls one tool.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import Browser, Lab, find_chromium, notebook_of

MOST = 1.5  # times
CELLS = {
    "setup": "from s02_tool_use.lab import Chat, connect, fresh_workspace\n\nfresh_workspace()",
    "chat": "chat = Chat(*connect())\nchat",
}
# Waits in the page itself, and looks at one line of it: a look at all of it would take longer with each turn.
WAIT = """
while (true) {
  const lines = [...document.querySelectorAll('.jp-OutputArea .widget-html-content span')];
  const line = lines.find(e => e.innerText.startsWith(ready));
  if (line) return;
  await new Promise(done => setTimeout(done, 5));
}
"""


def one_turn(browser, number):
    """Ask, wait for the answer, and return the seconds."""
    browser.type("What is in README.md?")
    start = time.perf_counter()
    browser.press("Enter")
    browser.run(WAIT, ready=f"ready · {2 * number} requests")
    return time.perf_counter() - start


def main(turns):
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        Path(folder, "chat.ipynb").write_text(notebook_of(CELLS), encoding="utf-8")
        with Lab(folder) as lab, Browser() as browser:
            browser.open(lab, "chat.ipynb")
            assert browser.run_all() == []
            browser.enter("chat")
            browser.tab_to("You")
            seconds = [one_turn(browser, number) for number in range(1, turns + 1)]
    early, late = statistics.median(seconds[5:15]), statistics.median(seconds[-10:])
    print(f"| turns 6 to 15 | turns {turns - 9} to {turns} | ratio | at most |\n|---|---|---|---|")
    print(f"| {early * 1000:.0f} ms | {late * 1000:.0f} ms | {late / early:.2f} | {MOST} |")
    return late / early > MOST


if __name__ == "__main__":
    if find_chromium() is None:
        sys.exit("No browser was found: install Chromium.")
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
