"""The widgets and drawings in Notebook 7, in a real browser, and made and used with the versions that Colab has.

Both stand in environments of their own, which come from PyPI. Left out: Colab's page itself, which cannot be had here.
"""

import contextlib
import queue
import shutil
import sys

import pytest
from browser import NAMES, PATIENCE, ROOT, Browser, Lab, find_chromium, wait_for
from copies import BESIDE_COLAB, COLAB, environment

PICTURES = ROOT / "screenshots"

# ---- Notebook 7


@pytest.mark.skipif(find_chromium() is None, reason=f"no browser: none of {', '.join(NAMES)} is installed")
@pytest.mark.skipif(sys.platform == "win32", reason="the driver ends its programs in the way of POSIX")
def test_in_notebook_7_the_widgets_and_drawings_of_07_work(tmp_path):
    python = environment(tmp_path / "notebook-7", "-r", "requirements.txt", "notebook>=7,<8")
    folder = tmp_path / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".*", "solutions"))
    with Lab(folder, python=python, app="notebook") as lab, Browser() as browser:
        browser.open(lab, "07_look_inside.ipynb")
        assert browser.run("return jupyterapp.name") == "Jupyter Notebook"
        browser.errors.clear()  # what Notebook 7 complains about before anything of ours is there
        assert browser.run_all() == []
        cell = "s1-stepper"
        browser.enter(cell)
        browser.tab_to("Forward ▶")
        for step, title in enumerate(("request built", "normalised", "sent", "reply"), 1):
            browser.press("Enter")
            browser.wait_for_output(cell, f"step {step} ")
            assert title in browser.output(cell).partition(f"step {step} ")[2]
        lit = "[...document.querySelectorAll('svg[role=img] text')].filter(e => e.getAttribute('fill') === '#fff')"
        browser.wait("the picture", f"return {lit}.some(e => e.textContent === '4 reply')")
        browser.screenshot(PICTURES / "notebook-7.png")
        browser.run("return 1")  # events that are under way come in before the answer
        assert browser.errors == []


# ---- Colab

MADE = """
from s02_tool_use.lab import Chat, HistoryLab, PathLab, Stepper, ToolBench, connect, fresh_workspace

fresh_workspace()
read = {"type": "tool_use", "name": "read_file", "input": {"path": "README.md"}}
user = [{"role": "user", "content": "Read it."}]
shown = {
    "Chat": (chat := Chat(*connect(script=[[read], "It is about tea."]))),
    "HistoryLab": (history := HistoryLab()),
    "PathLab": (paths := PathLab()),
    "Stepper": (stepper := Stepper(*connect(script=[[read], "It is about tea."]), user)),
    "ToolBench": (bench := ToolBench()),
}
"""
# What somebody does with each, and what it shows then.
USED = {
    "Chat": ("chat.prompt.value = 'Read it.'", "chat.send_button", "'It is about tea.' in repr(chat)"),
    "HistoryLab": ("history.text.value = str(user)", None, "history.after == user"),
    "PathLab": ("paths.text.value = 'notes.txt'", None, "'inside' in paths.table.value"),
    "Stepper": ("", "stepper.end_button", "stepper.run.ended and 'the loop ends' in repr(stepper)"),
    "ToolBench": ("bench.fields['command'].value = 'echo hi'", "bench.run_button", "'hi' in str(bench.result)"),
}


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """run(code) in a kernel of Colab's versions: (the data of its outputs, what it printed). A click is told to it."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    base = tmp_path_factory.mktemp("colab")
    python = environment(base / "env", *COLAB, *BESIDE_COLAB)
    manager = KernelManager(transport="ipc", ip=str(base / "kernel"))  # a free port may be another test's by now
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=command, display_name="Colab", language="python", env={"S02_OFFLINE": "1"})
    manager.start_kernel(cwd=str(ROOT))
    client = manager.blocking_client()
    client.start_channels()

    def run(code):
        data, printed = [], []
        answer = client.execute_interactive(
            code, timeout=PATIENCE, output_hook=lambda message: hook(message, data, printed), allow_stdin=False
        )
        assert answer["content"]["status"] == "ok", "\n".join(answer["content"].get("traceback", ()))
        return data, "".join(printed)

    def click(model_id):
        said = {"comm_id": model_id, "data": {"method": "custom", "content": {"event": "click"}}}
        client.shell_channel.send(client.session.msg("comm_msg", said))

    def hook(message, data, printed):
        if message["msg_type"] in ("execute_result", "display_data"):
            data.append(message["content"]["data"])
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])  # stderr too: nobody should write there

    run.click = click
    try:
        client.wait_for_ready(timeout=PATIENCE)
        run(MADE)
        yield run
    finally:
        client.stop_channels()
        with contextlib.suppress(queue.Empty):
            manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("name", USED)
def test_each_widget_is_made_shown_and_used_with_the_versions_of_colab(name, colab):
    _, printed = colab("import IPython, ipykernel, ipywidgets\nprint(ipywidgets.__version__, IPython.__version__)")
    assert printed == "7.7.1 7.34.0\n"
    (shown,), printed = colab(f"shown[{name!r}]")
    assert printed == ""
    assert shown.keys() >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    typed, button, then = USED[name]
    colab(typed)
    if button:
        _, printed = colab(f"print({button}.model_id)")
        colab.click(printed.strip())
    wait_for(then, lambda: colab(f"print({then})")[1] == "True\n")
    _, printed = colab(f"print(shown[{name!r}].notice.value)")
    assert printed.strip() == "", "nothing is complained about"
