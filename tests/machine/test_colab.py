"""The pages in the versions of IPython, ipykernel and ipywidgets that Google Colab has, from an empty folder.

Each page fetches the course in its first cell, as it does there. Left out: Colab itself, and how widgets look in it.
"""

import json
import os
import subprocess

import pytest
from copies import COLAB, copy_course, environment
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from refresh import notebooks, read, said
from systems import posix

# What else Colab has, in versions of its own. What the first cell installs, it installs itself.
THERE = ("pip", "pydantic", "jsonschema", "pygments", "platformdirs", "prompt_toolkit", "wcwidth", "psutil")
PAGES = [path for path in notebooks() if path.parent.name == "notebooks" and path.stem[:2] <= "07"]
FIRST = "elsewhere"  # the cell's id


def first_cell(path):
    return next(cell for cell in read(path).cells if cell.cell_type == "code")


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_page_begins_with_the_same_cell_that_does_nothing_here(path):
    cell = first_cell(path)
    assert cell.id == FIRST
    assert cell.source == first_cell(PAGES[0]).source
    assert cell.outputs == []


@pytest.fixture(scope="module")
def colab(tmp_path_factory):
    """A function that runs a notebook in Colab's versions; `google.colab` is loaded there before the first cell."""
    base = tmp_path_factory.mktemp("colab")
    python = environment(base / "env", *COLAB, *THERE)
    startup = base / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "colab.py").write_text("import sys, types; sys.modules['google.colab'] = types.ModuleType('colab')")
    spec = base / "kernels" / "colab"
    spec.mkdir(parents=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "Colab", "language": "python"}))
    course = copy_course(base / "course")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for step in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The course"]):
        subprocess.run([*git, *step], cwd=course, check=True)

    def run(notebook, folder):
        variables = {"IPYTHONDIR": str(base / "ipython"), "S02_COURSE": str(course), "S02_OFFLINE": "1"}
        client = NotebookClient(
            notebook, timeout=300, kernel_name="colab", resources={"metadata": {"path": str(folder)}}
        )
        manager = client.create_kernel_manager()
        manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[str(spec.parent)])
        # A port that was free a moment ago may be another test's by now.
        manager.transport, manager.ip = "ipc", str(folder / "kernel")
        client.execute(env=os.environ | variables)

    return run


@posix("sockets that are files, and Colab is no Windows")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_runs_whole_in_the_versions_of_colab(path, colab, tmp_path):
    page, stored = read(path), said(read(path))
    colab(page, tmp_path)
    texts = said(page)
    texts.pop(FIRST, "")  # what pip says
    assert (tmp_path / "the-course" / "s02_tool_use").is_dir()
    assert {name for name in texts if texts[name] != stored.get(name)} == set()
