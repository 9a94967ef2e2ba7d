"""What is saved of a widget: the HTML and the text in its place."""

import copy

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


def test_a_widget_that_has_nothing_else_stays():
    model = notebook({VIEW: {"model_id": "1"}})
    without_widgets(model)
    assert model["content"]["cells"][0]["outputs"][0]["data"] == {VIEW: {"model_id": "1"}}


def test_other_files_and_odd_notebooks_stay_as_they_are():
    for model in ({"type": "file", "content": "x"}, {"type": "notebook", "content": None}, {"type": "directory"}):
        before = copy.deepcopy(model)
        without_widgets(model)
        assert model == before
