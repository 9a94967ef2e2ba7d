"""Run notebooks offline and store their outputs so that running them again changes no line.

    python tests/refresh.py                                        # all notebooks and solutions
    python tests/refresh.py notebooks/01_hardcoded_bash.ipynb

What varies from run to run is left out: timing, widget state, widget ids, the version of Python.
"""

import os
import sys
from pathlib import Path

import nbformat  # isort: skip
from nbclient import NotebookClient  # isort: skip

ROOT = Path(__file__).resolve().parent.parent
WIDGET = "application/vnd.jupyter.widget-view+json"


def notebooks():
    """Return the paths of all notebooks that the tests run, in their order."""
    folder = ROOT / "notebooks"
    paths = sorted(folder.glob("*.ipynb")) + sorted((folder / "solutions").glob("*.ipynb"))
    return [path for path in paths if ".mine" not in path.name]  # what `reset` keeps for a learner


def clean(notebook):
    """Remove from a notebook, in place, what would differ in the next run."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(WIDGET, None)
            if output.output_type == "error":
                output.traceback = []


def runner(notebook, folder):
    """Return the client that runs a notebook in a fresh kernel whose current folder is `folder`."""
    return NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
    )


def read(path):
    """Return the notebook of a file."""
    return nbformat.read(path, as_version=4)


def said(notebook):
    """Return what each code cell said, as text, without what it drew."""
    texts = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            text = output.get("text") or output.get("data", {}).get("text/plain", "")
            texts[cell.id] = texts.get(cell.id, "") + text
    return texts


def refresh(path):
    """Run one notebook in its own folder and write it back with its outputs."""
    notebook = read(path)
    runner(notebook, path.parent).execute()
    clean(notebook)
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ["S02_OFFLINE"] = "1"  # whatever .env names
    os.environ.setdefault("PYTEST_VERSION", "0")  # as in the tests: what was solved on this machine is not read
    for path in [Path(p).resolve() for p in sys.argv[1:]] or notebooks():
        refresh(path)
        print(path.relative_to(ROOT).as_posix())
