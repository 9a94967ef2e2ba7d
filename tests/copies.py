"""A copy of the course as a clone would be, and environments beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "wheels", ".hub")
BASE = getattr(sys, "_base_executable", sys.executable)  # the Python that made the environment of these tests
# For environment(): what of Jupyter stands in Colab when a notebook opens there, and what is installed beside it.
COLAB = ("ipywidgets==7.7.1", "ipython==7.34.0", "ipykernel==6.17.1")
BESIDE_COLAB = ("anthropic>=2.14,<3", "anywidget>=0.11,<0.12", "python-dotenv>=1.2,<2")


def copy_course(folder):
    """Copy what git tracks (or all, where there is no git) into a folder, as a clone would."""
    command = ["git", "ls-files", "-z"]
    listed = shutil.which("git") and subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    if listed and listed.returncode == 0:
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():  # not: deleted, but not yet committed
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
    else:
        shutil.copytree(ROOT, folder, dirs_exist_ok=True, ignore=LEFT_OUT)
    return folder


def environment(folder, *wanted, course=ROOT, python=BASE):
    """Make an environment with these packages in a folder, by the course's own uv. Returns its Python.

    wanted: arguments of `pip install`, given in the folder of the course. Needs PyPI, or what uv keeps of it.
    """
    uv = shutil.which("uv", path=Path(sys.executable).parent) or shutil.which("uv")
    if not uv and "CI" not in os.environ:
        pytest.skip("needs uv, which makes the environment")
    subprocess.run([uv, "venv", "--quiet", "--python", python, folder], check=True)
    made = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    command = [uv, "pip", "install", "--quiet", "--python", made, *wanted]
    done = subprocess.run(command, cwd=course, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return made
