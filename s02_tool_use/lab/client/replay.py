"""A replay: answers the requests of a client from a recording, in the order of the recording.

The offline server asks it for whole responses, and sends them as they were recorded. A request that departs from the
recorded one is answered too, as long as its turn fits, and the first departure is said in one line. Left out: how much
a difference matters. Any that can change the answer counts.
"""

import copy
import json
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...calls.secrets import CUT
from ..api import wire
from ..api.server import ApiError, Response, in_one_piece
from .faults import printable
from .recording import RecordingError, bounded, parsed, read, without_keys

# Who answered in a recording, by `answered_by`; an endpoint needs no sentence.
WHO = {
    "rules": "No language model answered in it, rules did.",
    "script": "No language model answered in it, the lines of a script did.",
}
STARTS_OVER = "connect(replay=...) starts over."
SHOWN_CHARACTERS = 50  # characters of a value that departs


class Departure(UserWarning):
    """A request is not the one that was recorded. Shown once for each replay; `departures(client)` has them all."""


class Replay:
    """Answers from the last run in the file `path`. Raises RecordingError for a file that it cannot read.

    `name` is the recorded model, `said` the banner, `departures` a list that gets a line for each new departure.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path, heads, lines, note = read(path)
        head = next((head for head in reversed(heads) if any(line["run"] == head["run"] for line in lines)), None)
        if head is None:
            raise RecordingError(f"{self.path.name} has no requests yet: send some to what connect(record=...) gave.")
        lines = [without_keys(line) for line in lines if line["run"] == head["run"]]
        self.lines = without_retried(sorted(lines, key=lambda line: line["n"]))
        self.name: str = head["model"]
        self._most = head["max_tokens"]
        self.departures: list[str] = []
        self._known: set[tuple] = set()  # places that departed
        self._used, self._lock, self._at, self._told = 0, threading.Lock(), 0, False
        said = f"Replay of a recording: {self.name}, {head['date'][:10]}, {_count(len(self.lines), 'request')}."
        runs = f"{self.path.name} holds {len(heads)} runs, this is the last one with requests." if heads[1:] else ""
        self.said = " ".join(filter(None, (said, WHO.get(head["answered_by"]), runs, note)))

    def send(self, send: Callable, request: Any, **options: Any) -> Any:
        """Send it, and say the first departure where it was made: below its cell, not in the server's thread."""
        response = send(request, **options)
        # A widget asks from a thread of its own, whose output would land in whichever cell is running.
        if self.departures and not self._told and threading.current_thread() is threading.main_thread():
            self._told = True
            warnings.warn_explicit(self.departures[0], Departure, f"<{self.path.name}>", self._at)
        return response

    def respond(self, method: str, path: str, request: Any, judge: Callable[[Any], None]) -> Response:
        """The Response for a request. `judge(request)` raises what the API's rules say against one that departs."""
        request = bounded(request, self._most)
        with self._lock:
            number, line, found = self._next({"method": method, "path": path, "request": request})
            if found:
                if path == "/v1/messages":
                    judge(request)
                if why := _why_unfit(line, method, path, request):
                    text = f"Request {number} of the recording {why}, so its answer does not fit here. "
                    raise ApiError(400, text + STARTS_OVER)
                new = next((one for one in found if one[0] not in self._known), None)  # a history brings the old along
                self._known.update(place for place, _, _ in found)
                if new:
                    self._at = self._at or line["at"]
                    self.departures.append(f"Request {number} departs from the recording at {said(*new)}.")
            self._used = number
        return response_for(line, request)

    def _next(self, sent):
        """(number, line, differences) of the line that is to answer. A recorded error answers only its own request."""
        for number, line in enumerate(self.lines[self._used :], self._used + 1):
            found = list(differences({key: line[key] for key in sent}, sent))
            if not found or line["status"] == 200:
                return number, line, found
        text = f"The recording has {_count(len(self.lines), 'request')}, and nothing is left for this one. "
        raise ApiError(400, text + STARTS_OVER)


def _why_unfit(line, method, path, request):
    """Why the recorded response makes no sense as an answer to this request, or ""."""
    if (line["method"], line["path"]) != (method, path):
        return f"was {line['method']} {line['path']}"
    if path != "/v1/messages":
        return ""
    wanted, given = (len(_blocks(body["messages"][-1], "tool_result")) for body in (line["request"], request))
    if wanted != given:
        return f"brought {_count(wanted, 'tool result')}, and this one brings {given}"
    message = line.get("response") or message_of(line.get("events", ()))[1] or {}
    offered = [tool.get("name") for tool in request.get("tools") or ()]
    missing = [call["name"] for call in _blocks(message, "tool_use") if call["name"] not in offered]
    return f"was answered with a call of {missing[0]}, a tool that this one does not offer" if missing else ""


def _blocks(message, kind):
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _count(number, name):
    return f"{number} {name}" + ("" if number == 1 else "s")


def without_retried(lines: Iterable[dict]) -> list[dict]:
    """The lines without those after which the SDK sent the same request again: the caller never saw them."""
    kept: list[dict] = []
    for line in lines:
        before = (line.get("retry", 0) - 1, line["request"])
        again = next((one for one in reversed(kept) if (one.get("retry", 0), one["request"]) == before), None)
        kept = [*(one for one in kept if one is not again), line]
    return kept


# What to send


def response_for(line: dict, request: Any) -> Response:
    """The Response that a line holds, in the form that the request asks for: as a stream or in one piece."""
    status, headers, whole = line["status"], line.get("headers", {}), line.get("whole", True)
    body, events = line.get("response"), line.get("events")
    streamed = isinstance(request, dict) and bool(request.get("stream"))
    if events is not None and not streamed:
        (status, body), events = message_of(events), None
    elif streamed and status == 200 and body and body.get("type") == "message":
        usage = {"output_tokens": 0, **(body.get("usage") or {})}
        events = [data for _, data in wire.stream_events({"content": [], **body, "usage": usage})]
    if events is not None:
        headers = {**headers, "content-type": "text/event-stream; charset=utf-8"}
        return Response(status, headers, [wire.sse(event["type"], event) for event in events], whole)
    if body is not None:
        return in_one_piece(status, body, {**headers, "content-type": "application/json"})
    return Response(status, headers, [line.get("text", "").encode()], whole)


def message_of(events: Iterable[dict]) -> tuple[int | None, dict | None]:
    """(status, body) of the Message that a stream tells, of its error, or (None, None) if it has no end."""
    message: dict = {}
    blocks: dict = {}  # by their index
    for event in copy.deepcopy(list(events)):
        match event:
            case {"type": "error"}:
                named = (event.get("error") or {}).get("type")
                return next((status for status, name in wire.ERROR_TYPES.items() if name == named), 500), event
            case {"type": "message_start", "message": message}:
                message["content"] = []
            case {"type": "content_block_start", "content_block": block}:
                message["content"].append(block)
                blocks[event.get("index")] = block
            case {"type": "content_block_delta", "delta": dict(pieces)}:
                block = blocks[event.get("index")]
                pieces.pop("type", None)
                for key, piece in pieces.items():
                    if key == "citation":
                        block["citations"] = [*(block.get("citations") or ()), piece]
                    else:
                        block[key] = (block.get(key) or "") + piece if isinstance(piece, str) else piece
            case {"type": "message_delta", "delta": delta}:
                usage = (message.get("usage") or {}) | (event.get("usage") or {})
                message |= {**delta, "usage": usage}
                message |= {key: event[key] for key in event.keys() & {"context_management"}}
            case {"type": "message_stop"}:
                for block in message["content"]:
                    if "partial_json" in block:
                        given = parsed(block.pop("partial_json") or "{}")
                        block["input"] = given if isinstance(given, dict) else {}  # a call that was cut off has none
                return 200, message
    return None, None


# What departs


def differences(old: Any, new: Any, place: tuple = (), ids: dict | None = None) -> Iterator[tuple[tuple, Any, Any]]:
    """(place, recorded value, sent value) of each difference of two {method, path, request}. A place is its keys.

    What cannot change the answer is no difference: `stream`, a key that is null or left out, a string and a list with
    that one text, and ids of calls, as long as each call has one. `ids`: those that were met, recorded and sent.
    """
    ids = {} if ids is None else ids
    if place[-1:] in (("content",), ("system",)) and {type(old), type(new)} == {str, list} and old and new:
        old, new = ([{"type": "text", "text": one}] if isinstance(one, str) else one for one in (old, new))
    if isinstance(old, list) and isinstance(new, list):
        old, new = dict(enumerate(old)), dict(enumerate(new))
    are_strings = isinstance(old, str) and isinstance(new, str)
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if (*place, key) != ("request", "stream"):
                yield from differences(old.get(key), new.get(key), (*place, key), ids)
    elif are_strings and place[-1:] in (("id",), ("tool_use_id",)) and "content" in place and "input" not in place:
        if ids.setdefault(old, new) != new:
            yield place, old, new
    elif are_strings and CUT in old:  # what stood there can have been any key
        if not re.fullmatch(".*".join(map(re.escape, old.split(CUT))), new, re.DOTALL):
            yield place, old, new
    elif old != new:
        yield place, old, new


def said(place: tuple, old: Any, new: Any) -> str:
    """A difference in one line."""
    if isinstance(old, str) and isinstance(new, str):  # from a little before the place where they part
        start = max(0, len(os.path.commonprefix([old, new])) - 20)
        old, new = (("..." if start else "") + text[start:] for text in (old, new))
    shown = ["nothing" if value is None else json.dumps(value, ensure_ascii=False) for value in (old, new)]
    shown = [printable(text[:SHOWN_CHARACTERS] + "..." * (len(text) > SHOWN_CHARACTERS)) for text in shown]
    where = ".".join(map(str, place)).removeprefix("request.")  # as the API writes it: messages.2.content
    return f"{where}: recorded {shown[0]}, sent {shown[1]}"
