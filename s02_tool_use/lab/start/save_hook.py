"""What a saved notebook keeps of a widget: the HTML and the text that stand in its place, and not the widget.

A saved widget needs the kernel that made it. Without that kernel JupyterLab shows "model not found" and passes over the
HTML beside it. So this is an extension of Jupyter's server, which looks at each notebook before it is saved, and a step
of nbconvert. The set-up enables both for the environment of the course, so they are there in every Jupyter that runs
from it. tests/refresh.py does the same. Left out: VS Code and Colab. They save by themselves, and may show the HTML.
"""

VIEW = "application/vnd.jupyter.widget-view+json"


def without_widgets(model, **_):
    """A pre_save_hook of Jupyter: takes each widget that has its HTML beside it out of a notebook, in place.

    Other widgets, such as a learner's own, stay with their state. So do other files.
    """
    if model.get("type") != "notebook" or not isinstance(model.get("content"), dict):
        return
    notebook, stay = model["content"], False
    for cell in notebook.get("cells", ()):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "text/html" in data:
                data.pop(VIEW, None)
            stay = stay or VIEW in data
    if not stay:
        notebook.get("metadata", {}).pop("widgets", None)


def converted(notebook, resources):
    """A preprocessor of nbconvert, the same. A page with live widgets fetches them from the network, or has none."""
    without_widgets({"type": "notebook", "content": notebook})
    return notebook, resources


def _jupyter_server_extension_points():
    return [{"module": __name__}]


def _load_jupyter_server_extension(server):
    server.contents_manager.register_pre_save_hook(without_widgets)
