"""What all widgets of the lab share: a static twin, one sentence when something goes wrong, and work in a thread.

A callback must return at once: while it runs, no other click gets through. So what takes time runs in a thread, and
what it finds out is drawn by the kernel's event loop. Left out: what each widget is about.
"""

import asyncio
import contextlib

import ipywidgets

from ..sessions.job import LEFT_BEHIND, Job, Stopped, ctrl_c_kept
from ..show import page
from .voice import Voice

FULL = "calc(100% - 4px)"  # of the width, but for the margins that controls have: else each box would scroll
# What ipywidgets has no option for: a pressed button has a mark and not only another colour, and the arrow of a list
# is the browser's own, in the colour of the text (theirs is black, on a dark page too). No word pushes a panel to the
# side: it breaks, but not in a badge or in the head of a table. No name is cut: its field goes below it, and a list is
# as wide as its longest name. What has the focus has a frame, a hint in a field is readable, and a button that is off
# looks like it.
STYLE = """<style>
.s02-panel .widget-toggle-button.mod-active::before { content: "\\2713\\00a0" }
.s02-panel .widget-html > .widget-html-content { min-width: 0; overflow-wrap: anywhere }
.s02-panel th { overflow-wrap: break-word }
.s02-panel td > b { white-space: nowrap }
.s02-panel .widget-inline-hbox { flex-wrap: wrap; height: auto }
.s02-panel .widget-inline-hbox > .widget-label {
  height: auto; min-width: max-content; max-width: 100%; white-space: normal; overflow-wrap: anywhere }
.s02-panel .widget-dropdown { width: auto; max-width: calc(100% - 4px) }
.s02-panel .widget-dropdown > select {
  width: auto; flex: 0 1 auto; max-width: 100%; appearance: auto; background-image: none }
.s02-panel.s02-panel.s02-panel :focus-visible { outline: 2px solid currentColor !important; outline-offset: -2px }
.s02-panel.s02-panel.s02-panel input[type=checkbox]:focus-visible { outline-offset: 1px }
.s02-panel ::placeholder { color: color-mix(in srgb, currentColor 75%, transparent) }
.s02-panel .s02-off { opacity: .7 }
</style>"""
OFF = "s02-off"
VIEW = "application/vnd.jupyter.widget-view+json"  # what ipywidgets calls a widget that is shown
TICK_SECONDS = 1.0  # between two looks at how far it is


class Panel(ipywidgets.VBox):
    """A box of widgets. In a page without a kernel, its twin (a Page: HTML and text) stands in its place.

    `notice` is the line for what went wrong. Subclasses build their parts, then call `super().__init__(parts)`, and say
    in `twin()` what a static page shows.
    """

    def __init__(self, parts):
        self.notice, self.voice = Drawing(), Voice()
        self._work, self._stop_work, self._ticks = None, lambda: None, 0
        self._loop = _running_loop()  # the kernel's; None in a plain Python
        style = ipywidgets.HTML(STYLE, layout=ipywidgets.Layout(display="none"))  # it holds all the same
        super().__init__([*parts, self.notice, self.voice, style], layout=ipywidgets.Layout(width="100%"))
        self.add_class("s02-panel")

    def __repr__(self):
        return self.twin().text

    _ipython_display_ = None  # ipywidgets 7, which Colab has, would show itself with it, and no twin

    def _repr_mimebundle_(self, **_):
        twin, view = self.twin(), {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {"text/plain": twin.text, "text/html": twin.html, VIEW: view}

    def complain(self, sentence):
        """Show what went wrong, in one sentence."""
        self.notice.draw(page.bar(page.escape(sentence), page.RED))
        self.voice.warned = page.printable(sentence)

    def settle(self):
        """Take away what went wrong before."""
        self.notice.draw("")
        self.voice.warned = ""

    def post(self, function, *arguments):
        """Call `function` in the kernel's loop, where all drawing is done, from whatever thread this is.

        JupyterLab hands clicks to the loop or to a thread of its own ("subshells"); sessions and jobs have threads too.
        """
        if self._loop is None or self._loop.is_closed() or _running_loop() is self._loop:
            function(*arguments)
        else:
            self._loop.call_soon_threadsafe(function, *arguments)

    def guard(self, function, *arguments):
        """Call `function` in the loop. What it raises is shown in the panel: elsewhere nobody would see it."""

        def run():
            self.settle()
            try:
                function(*arguments)
            except Exception as error:
                self.complain(sentence_for(error))
            except KeyboardInterrupt:
                self.complain("Stopped.")
                raise Stopped("Stopped.") from None

        self.post(run)

    def later(self, seconds, function):
        """Call `function` in the loop after a while; at once where there is none."""
        if self._loop is None:
            function()
        else:
            self.post(lambda: self._loop.call_later(seconds, function))

    # Work that takes time

    @property
    def busy(self):
        return self._work is not None

    def work(self, function, then, draw, in_steps=False):
        """Run `function()` as a Job, in a thread, then `then(its value, its error)` in the loop.

        `draw()` shows that `busy` has changed, and each second how far it is.
        """
        if self.busy:
            raise ValueError("This is still at work: wait for it, or press Stop.")
        self._work = work = object()

        def finish(value, error):
            if self._work is work:  # else it was left behind
                self._work = None
                then(value, error)
                draw()
                if error is not None:  # last: what is drawn may take an older complaint away
                    self.complain(sentence_for(error))

        self.tick(draw)
        with ctrl_c_kept() if self._loop is None else contextlib.nullcontext() as pressed:
            job = Job(function, lambda job: self.post(finish, job.value, job.error), in_steps=in_steps)
            self._stop_work = lambda: job.stop(lambda: self.post(finish, None, KeyboardInterrupt(LEFT_BEHIND)))
            if self._loop is None:  # nobody would draw later
                job.join(pressed=pressed)

    def tick(self, draw):
        """Call `draw()` now, and then each second as long as this is busy."""
        self._ticks = mine = self._ticks + 1

        def again():
            if self._ticks == mine and self.busy:
                draw()
                self.later(TICK_SECONDS, again)

        draw()
        if self._loop is not None:
            self.later(TICK_SECONDS, again)

    def stop(self):
        """Stop what is running, as Ctrl-C would. What does not hear it is left behind after a while."""
        if self.busy:
            self._stop_work()


def _running_loop():
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def sentence_for(error):
    """An exception as one sentence."""
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "Stopped."
    text = str(error).strip().split("\n")[0]
    if isinstance(error, ValueError) and text:  # ours, or of a tool: written for people
        return text
    return f"This did not work: {type(error).__name__}{': ' * bool(text)}{text}"


def guarded(method):
    """A callback of a Panel: `method` under its guard."""
    return lambda self, *_: self.guard(method, self)


SETTLE = 0.1  # seconds: what was typed and the click may come through different threads


def after_typing(method):
    """A guarded callback that reads what was typed: it waits until that is here."""
    callback = guarded(method)
    return lambda self, *_: self.later(SETTLE, lambda: callback(self))


def button(label, callback, tooltip="", **options):
    made = ipywidgets.Button(description=label, tooltip=tooltip, layout=ipywidgets.Layout(width="auto"), **options)
    made.on_click(callback)
    return made


def switch_off(made, off):
    """Show that a button has nothing to do. It can still be pressed: a disabled one loses the keyboard's focus."""
    (made.add_class if off else made.remove_class)(OFF)


def focus(part):
    """Give a part the keyboard's focus, where one that had it goes away."""
    getattr(part, "focus", lambda: None)()  # ipywidgets 7 cannot


def typed(made, label="", **options):
    """A field for text, Text or Textarea. Its value comes from the page when it is left, or on Enter, and all at once.

    Letter by letter it would come late: a click that follows at once would be here before the last letters.
    """
    return made(description=label, continuous_update=False, **{"layout": ipywidgets.Layout(width="auto")} | options)


def switch(label):
    """A box to tick, on at first."""
    layout = ipywidgets.Layout(width="auto", margin="2px 16px 2px 2px")
    return ipywidgets.Checkbox(value=True, description=label, indent=False, layout=layout)


def row(*parts):
    return ipywidgets.HBox(parts, layout=ipywidgets.Layout(flex_flow="row wrap", width="100%"))


class Drawing(ipywidgets.HTML):
    """A place for a Page, or for HTML that is ready."""

    def __init__(self, shown="", **layout):
        super().__init__(layout={"width": FULL, "height": "auto"} | layout)
        self.draw(shown)

    def draw(self, shown):
        """Show this in the place of what is there. The lines are set as in text, not as far apart as controls."""
        drawn = page.drawable(getattr(shown, "html", shown))
        self.value = f'<div style="line-height:1.45">{drawn}</div>' if drawn else ""


def answers(who):
    """A badge that says who answers. Its colour says no more than its words."""
    return page.badge(who, page.GREY)


def choice(label, options):
    """Buttons of which one is pressed, beside their label."""
    layout = ipywidgets.Layout(width="auto", display="flex", flex_flow="row wrap", align_items="center")
    style = {"button_width": "auto"}
    return ipywidgets.ToggleButtons(options=options, description=label, layout=layout, style=style)
