"""Between the SDK and a live endpoint, which may be slow, small or strange.

Each message is asked for as a stream, so that its tokens are counted as they come and Stop is heard between two of
them; who wants it in one piece gets it so. A cell that waits says how long and how many. No reply is longer than
MAX_TOKENS. What is no reply of the Messages API becomes an error that says so.
"""

import contextlib
import contextvars
import itertools
import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import s02_tool_use

from ..api.wire import sse, stream_events
from .faults import NO_MESSAGE, Stopped, printable
from .progress import Progress
from .recording import PIECES, bounded, events_in, parsed
from .replay import message_of

OF_A_BODY = ("content-length", "content-encoding", "transfer-encoding")  # headers that fit one body only
QUIET_SECONDS, EVERY_SECONDS = 2.0, 1.0  # before a cell says anything, and between two looks

# What a client says once of its endpoint or model.
NO_USAGE = "It does not say how many tokens it reads and writes: what it writes is estimated."
NO_CALL = "It was offered tools and called none, as small models do. README names models that call tools."


class LiveWarning(UserWarning):
    """What is strange about who answers."""


class Live:
    """What stands before the HTTP client of a live endpoint. `most`: the most tokens of a reply; 0 is no limit."""

    def __init__(self, model: str, most: int = 0):
        self.model, self.most = model, most
        self._known: set[str] = set()  # what need not be said any more

    def send(self, send: Callable, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Ask for a stream with `send`, a method of an httpx2 client. The response has the form that was asked for."""
        import httpx2

        body = parsed(request.read())
        if not request.url.path.endswith("/v1/messages") or not isinstance(body, dict):
            return send(request, stream=stream, **options)
        with _stop_in_one_sentence(), contextlib.ExitStack() as ends:
            progress = ends.enter_context(at_work(self.model))
            response = send(self._as_stream(request, body), stream=True, **options)
            ends.callback(response.close)
            if not response.is_success:
                response.read()
                return response
            offered = body.get("tools") and (body.get("tool_choice") or {}).get("type") != "none"
            events = self._events(response, progress, offered)
            made = {"headers": _others(response.headers), "request": request}
            try:
                first = next(events, {"type": "none"})
                if first["type"] not in ("message_start", "ping", "error"):
                    return _no_message(response, made)
                events = itertools.chain([first], events)
                if stream:
                    return httpx2.Response(200, stream=_stream(events, ends.pop_all()), **made)
                status, message = message_of(events)
            except (LookupError, NameError, TypeError, AttributeError):  # what does not fit each other
                return _no_message(response, made)
            if status is None:
                raise httpx2.RemoteProtocolError("the stream had no end")
            made["headers"].append(("content-type", "application/json"))
            return httpx2.Response(status, content=json.dumps(message), **made)  # half of a surrogate pair is escaped

    def _as_stream(self, request, body):
        import httpx2

        body = bounded({**body, "stream": True}, self.most)
        made = {"headers": _others(request.headers), "json": body, "extensions": request.extensions}
        return httpx2.Request(request.method, request.url, **made)

    def _events(self, response, progress, offered) -> Iterator[dict]:
        """The events of a stream, or of a message that came in one piece all the same; none if it is neither."""
        told: Iterator[dict] = iter(())
        if "text/event-stream" in response.headers.get("content-type", ""):
            told = events_in(response.iter_text())
        else:
            body = parsed(response.read())
            if isinstance(body, dict) and isinstance(body.get("content"), list):
                told = iter([event for _, event in stream_events(self._counted(body, 0))])
        for event in told:
            match event:
                case {"type": "message_start", "message": dict(message)}:
                    yield {**event, "message": self._counted(message, 0)}
                case {"type": "message_delta"}:
                    yield self._counted(event, progress.tokens)
                case {"type": str(kind)}:
                    delta = event.get("delta") or {}
                    for key in PIECES & delta.keys():
                        progress.tell("delta", str(delta[key]))
                    if (event.get("content_block") or {}).get("type") == "tool_use":
                        self._known.add(NO_CALL)
                    if kind == "message_stop" and offered and in_a_cell():
                        self._say(NO_CALL)
                    yield event

    def _counted(self, holder, written):
        """`holder` with a usage that can be added up, whatever is missing in its own."""
        usage = holder.get("usage") or {}
        counts = {"output_tokens": written} | ({} if holder.get("type") == "message_delta" else {"input_tokens": 0})
        missing = {name: count for name, count in counts.items() if usage.get(name) is None}
        if missing:
            self._say(NO_USAGE)
        return {**holder, "usage": {**usage, **missing}}

    def _say(self, said):
        if said not in self._known:
            self._known.add(said)
            warnings.warn_explicit(printable(said), LiveWarning, f"<{printable(self.model)}>", 1)


@contextlib.contextmanager
def at_work(model: str) -> Iterator[Progress]:
    """A line below the cell that waits: how long, and how many tokens there are. It goes when the waiting is over.

    Nothing is shown for a reply that comes soon, nor outside a cell: a widget or a terminal shows its own. Nor in a
    browser page: it has no second thread, and nobody answers there who takes long.
    """
    progress, over, handle = Progress(), threading.Event(), None
    if s02_tool_use.IN_A_PAGE or not in_a_cell():
        yield progress
        return

    def tick():
        wait = QUIET_SECONDS
        while not over.wait(wait):
            show(f"{model} is at work: {progress}. The Stop button ends it.")
            wait = EVERY_SECONDS

    def show(text):
        nonlocal handle
        from IPython.display import display

        shown = {"text/plain": printable(text)}
        if handle:
            handle.update(shown, raw=True)
        else:
            handle = display(shown, raw=True, display_id=True)

    context = contextvars.copy_context()  # where the kernel keeps which cell it is
    thread = threading.Thread(target=context.run, args=(tick,), daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()
        if handle:
            show("")


def in_a_cell() -> bool:
    """Whether this is the thread that runs a cell of a notebook, and a cell is what it runs."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    kernel: Any = getattr(shell, "kernel", None)
    is_main = threading.current_thread() is threading.main_thread()
    return bool(kernel and is_main) and kernel.get_parent().get("header", {}).get("msg_type") == "execute_request"


@contextlib.contextmanager
def _stop_in_one_sentence():
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped("Stopped. Nothing of this reply is kept.") from None


def _stream(events, ends):
    """The events as a stream of an httpx2 response, which closes `ends`."""
    import httpx2

    class Stream(httpx2.SyncByteStream):
        def __iter__(self):
            with _stop_in_one_sentence():
                for event in events:
                    yield sse(event["type"], event)

        def close(self):
            ends.close()

    return Stream()


def _others(headers):
    """The headers that fit a body of another form too."""
    return [pair for pair in headers.multi_items() if pair[0].lower() not in (*OF_A_BODY, "content-type")]


def _no_message(response, made):
    """An error that the SDK does not repeat: what came will not be another one the next time."""
    import httpx2

    is_stream = "text/event-stream" in response.headers.get("content-type", "")
    text = "" if is_stream else " ".join(response.text.split())
    said = "a stream without its events" if is_stream else repr(text[:60]) if text else "nothing"
    made["headers"] += [("x-should-retry", "false")]
    error = {"type": "error", "error": {"type": NO_MESSAGE, "message": printable(said)}}
    return httpx2.Response(502, json=error, **made)
