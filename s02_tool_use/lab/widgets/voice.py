"""What a screen reader hears of a panel: two lines that stay in the page, and the state of its buttons.

ipywidgets sets no aria attributes, and replaces what stands in an HTML widget: a live region that is replaced is not
read aloud. In a list JupyterLab takes the arrow keys and letters for itself, unless told not to. Nothing here can be
seen; without the JavaScript a panel looks the same, and works with a mouse.
"""

import anywidget
import traitlets

_ESM = """
function render({ model, el }) {
  for (const [name, role, live] of [["said", "status", "polite"], ["warned", "alert", "assertive"]]) {
    const region = document.createElement("div");
    region.setAttribute("role", role);
    region.setAttribute("aria-live", live);
    const tell = () => { region.textContent = model.get(name); };
    tell();
    model.on(`change:${name}`, tell);
    el.append(region);
  }
  const mark = (panel) => {
    for (const group of panel.querySelectorAll(".widget-toggle-buttons")) {
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", group.querySelector("label")?.textContent ?? "");
      for (const button of group.querySelectorAll("button"))
        button.setAttribute("aria-pressed", button.classList.contains("mod-active"));
    }
    for (const list of panel.querySelectorAll("select")) list.setAttribute("data-lm-suppress-shortcuts", "true");
    for (const button of panel.querySelectorAll("button")) {
      if (button.classList.contains("s02-off")) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  };
  let panel = null;
  const changes = new MutationObserver(() => mark(panel));
  const place = new ResizeObserver(() => { // called once `el` stands in the page
    if (panel || !(panel = el.closest(".s02-panel"))) return;
    changes.observe(panel, { subtree: true, childList: true, attributes: true, attributeFilter: ["class"] });
    mark(panel);
  });
  place.observe(el);
  return () => { changes.disconnect(); place.disconnect(); };
}
export default { render };
"""
# One pixel that shows nothing, and whose text makes no box scroll.
_CSS = ".s02-voice { position: absolute; width: 1px; height: 1px; contain: strict; clip-path: inset(50%) }"


class Voice(anywidget.AnyWidget):
    """`said` is read when the screen reader is silent, `warned` at once. What does not change is not read again."""

    _esm, _css = _ESM, _CSS
    said = traitlets.Unicode().tag(sync=True)
    warned = traitlets.Unicode().tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.add_class("s02-voice")
