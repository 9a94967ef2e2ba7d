"""What is saved of a widget: the HTML and the text in its place."""

import copy
import json
import sys
from types import SimpleNamespace

import ipywidgets
from IPython.core.formatters import DisplayFormatter
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output
from traitlets.config import Config

from s02_tool_use.lab import HistoryLab
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
    folder, names = setup.SETTINGS
    server, convert = (json.loads((folder / name).read_text()) for name in names)
    assert server == {"ServerApp": {"jpserver_extensions": {save_hook.__name__: True}}}
    assert convert == {"Exporter": {"preprocessors": [f"{save_hook.__name__}.{save_hook.converted.__name__}"]}}
    hooks = []
    manager = SimpleNamespace(register_pre_save_hook=hooks.append)
    (point,) = save_hook._jupyter_server_extension_points()
    sys.modules[point["module"]]._load_jupyter_server_extension(SimpleNamespace(contents_manager=manager))
    assert hooks == [without_widgets]


def test_an_environment_that_is_made_has_both(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "VENV", tmp_path)
    setup.settle()
    setup.settle()
    folder, names = setup.SETTINGS
    for name in names:
        assert (tmp_path / "etc" / "jupyter" / name).read_bytes() == (folder / name).read_bytes()


def test_a_converted_page_has_the_twin_though_the_widget_has_its_state():
    view = {"model_id": "1", "version_major": 2, "version_minor": 0}
    state = {"1": {"model_name": "VBoxModel", "model_module": "@jupyter-widgets/controls", "state": {}}}
    output = new_output("display_data", data={VIEW: view, "text/html": "<p>the twin</p>", "text/plain": "the twin"})
    page = new_notebook(cells=[new_code_cell("Stepper()", outputs=[output])])
    page.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"version_major": 2, "state": state}}
    folder, (_, name) = setup.SETTINGS
    settings = Config(json.loads((folder / name).read_text()))
    html, _ = HTMLExporter(config=settings).from_notebook_node(page)
    assert "<p>the twin</p>" in html
    assert "widget-view" not in html
    assert "widget-view" in HTMLExporter().from_notebook_node(page)[0]  # what it would be without


def test_other_files_and_odd_notebooks_stay_as_they_are():
    for model in ({"type": "file", "content": "x"}, {"type": "notebook", "content": None}, {"type": "directory"}):
        before = copy.deepcopy(model)
        without_widgets(model)
        assert model == before


def test_the_twin_is_beside_the_widget_where_widgets_show_themselves_as_in_colab(monkeypatch):
    """ipywidgets 7 has `_ipython_display_`, which goes before all that an object could be saved as."""
    monkeypatch.setattr(ipywidgets.Widget, "_ipython_display_", lambda widget: None, raising=False)
    assert DisplayFormatter().format(ipywidgets.HTML()) == ({}, {})  # so it is with others
    data, _ = DisplayFormatter().format(HistoryLab())
    assert {VIEW, "text/html", "text/plain"} <= set(data)
