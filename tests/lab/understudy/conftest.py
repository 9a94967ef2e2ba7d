import pytest

from s02_tool_use.lab.rooms import copy_sample


@pytest.fixture
def sample(workspace):
    """The workspace holds the sample project of the notebooks."""
    copy_sample(workspace)
    return workspace
