"""What a saved notebook keeps of a widget: the HTML and the text that stand in its place, and not the widget.

A saved widget needs the kernel that made it. Without that kernel JupyterLab shows "model not found" and passes over the
HTML beside it. So the course's JupyterLab calls this hook when it saves; tests/refresh.py does the same.
"""

VIEW = "application/vnd.jupyter.widget-view+json"


def without_widgets(model, **_):
    """A pre_save_hook of Jupyter: takes widgets out of the notebook in `model`, in place. Other files stay."""
    if model["type"] != "notebook" or not isinstance(model.get("content"), dict):
        return
    notebook = model["content"]
    notebook.get("metadata", {}).pop("widgets", None)
    for cell in notebook.get("cells", ()):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if len(data) > 1:  # a widget that has nothing else to show keeps its place
                data.pop(VIEW, None)
