"""What is saved of a widget: the HTML and the text in its place."""

import copy
import json
import sys
from types import SimpleNamespace

from s02_tool_use.lab.start import save_hook, setup
from s02_tool_use.lab.start.save_hook import VIEW, without_widgets


def notebook(*data):
    outputs = [{"output_type": "display_data", "data": dict(one)} for one in data]
    return {
        "type": "notebook",
        "content": {"metadata": {"widgets": {"state": {}}, "kernelspec": {}}, "cells": [{"outputs": outputs}, {}]},
    }


def test_a_widget_with_a_twin_is_saved_as_the_twin():
    model = notebook({VIEW: {"model_id": "1"}, "text/html": "<p>", "text/plain": "p"})
    without_widgets(model, path="a.ipynb", contents_manager=None)
    assert model["content"]["cells"][0]["outputs"][0]["data"] == {"text/html": "<p>", "text/plain": "p"}
    assert model["content"]["metadata"] == {"kernelspec": {}}


def test_a_widget_without_a_twin_stays_with_its_state():
    """A learner's own, such as a slider of ipywidgets."""
    slider = {VIEW: {"model_id": "1"}, "text/plain": "IntSlider(value=0)"}
    model = notebook(slider, {VIEW: {"model_id": "2"}, "text/html": "<p>", "text/plain": "p"})
    without_widgets(model)
    first, second = model["content"]["cells"][0]["outputs"]
    assert first["data"] == slider
    assert VIEW not in second["data"]
    assert model["content"]["metadata"] == {"widgets": {"state": {}}, "kernelspec": {}}


def test_the_extension_that_is_installed_for_jupyter_is_this_hook():
    folder = setup.SETTINGS
    enabled = [json.loads(file.read_text()) for file in folder.iterdir()]
    assert enabled == [{"ServerApp": {"jpserver_extensions": {save_hook.__name__: True}}}]
    hooks = []
    manager = SimpleNamespace(register_pre_save_hook=hooks.append)
    (point,) = save_hook._jupyter_server_extension_points()
    sys.modules[point["module"]]._load_jupyter_server_extension(SimpleNamespace(contents_manager=manager))
    assert hooks == [without_widgets]


def test_an_environment_that_is_made_has_the_extension(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "VENV", tmp_path)
    setup.settle()
    setup.settle()
    (file,) = (tmp_path / "etc" / "jupyter" / "jupyter_server_config.d").iterdir()
    assert file.read_bytes() == (setup.SETTINGS / file.name).read_bytes()


def test_other_files_and_odd_notebooks_stay_as_they_are():
    for model in ({"type": "file", "content": "x"}, {"type": "notebook", "content": None}, {"type": "directory"}):
        before = copy.deepcopy(model)
        without_widgets(model)
        assert model == before
