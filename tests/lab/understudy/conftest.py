import shutil
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[3] / "s02_tool_use" / "lab" / "data" / "sample"


@pytest.fixture
def sample(workspace):
    """The workspace holds the sample project of the notebooks."""
    shutil.copytree(SAMPLE, workspace, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return workspace
