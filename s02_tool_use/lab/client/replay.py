"""A replay: answers the requests of a client from a recording, in the order of the recording.

The offline server asks it for whole responses, and sends them as they were recorded. A request that departs from the
recorded one is answered too, as long as its turn fits, and the first departure is said in one line.
"""

import copy
import json
import threading

from ..api import wire
from ..api.server import ApiError, Response
from .differences import differences, said
from .recording import RecordingError, file_named, read, warn, without_keys

# Who answered in a recording, by `answered_by`.
WHO = {
    "endpoint": "",
    "rules": " No language model answered in it, rules did.",
    "script": " No language model answered in it, the lines of a script did.",
}


class Departure(UserWarning):
    """A request is not the one that was recorded. Shown once for each replay; `departures(client)` has them all."""


class Replay:
    """Answers from the last run in the file `path`. Raises RecordingError for a file that it cannot read.

    `name` is the recorded model, `said` the banner, `departures` a list that gets a line for each new departure.
    """

    def __init__(self, path):
        self.path = file_named(path, "replay")
        heads, lines, note = read(self.path)
        runs = {head["run"]: [without_keys(line) for line in lines if line["run"] == head["run"]] for head in heads}
        head = next((head for head in reversed(heads) if runs[head["run"]]), None)
        if head is None:
            raise RecordingError(f"{self.path.name} has no requests yet: send some to what connect(record=...) gave.")
        self.lines = without_retried(sorted(runs[head["run"]], key=lambda line: line["n"]))
        self.name, self.departures = head["model"], []
        self._used, self._lock = 0, threading.Lock()
        self._known, self._at, self._told = set(), 0, False
        self.said = f"Replay of a recording: {self.name}, {head['date'][:10]}, {_count(self.lines, 'request')}."
        self.said += WHO.get(head["answered_by"], "")
        if len(heads) > 1:
            self.said += f" {self.path.name} holds {len(heads)} runs, this is the last one with requests."
        self.said += f" {note}" if note else ""

    def attach(self, http_client):
        """Let the first departure be said where the request was made: below its cell, not in the server's thread."""
        http_client.event_hooks = {"response": [lambda response: self._tell()]}

    def _tell(self):
        # A widget asks from a thread of its own, whose output would land in whichever cell is running.
        if self.departures and not self._told and threading.current_thread() is threading.main_thread():
            self._told = True
            warn(self.path, self._at, self.departures[0], Departure)

    def respond(self, method, path, request, judge):
        """The Response for a request. `judge(request)` raises what the API's rules say against one that departs."""
        with self._lock:
            number, line, found = self._next([method, path, request])
            if found:
                if path == "/v1/messages":
                    judge(request)
                self._check_fit(number, line, method, path, request)
                self._tell_of(number, line, found)
            self._used = number
        return response_for(line, request)

    def _next(self, sent):
        """(number, line, differences) of the line that is to answer. A recorded error answers only its own request."""
        for number, line in enumerate(self.lines[self._used :], self._used + 1):
            found = list(differences([line["method"], line["path"], line["request"]], sent))
            if not found or line["status"] == 200:
                return number, line, found
        text = f"The recording has {_count(self.lines, 'request')}, and nothing is left for this one. "
        raise ApiError(400, text + "connect(replay=...) starts over.")

    def _tell_of(self, number, line, found):
        new = next((one for one in found if one[0] not in self._known), None)  # a history brings the old ones along
        self._known.update(place for place, _, _ in found)
        if new:
            self._at = self._at or line["at"]
            self.departures.append(f"Request {number} departs from the recording at {said(*new)}.")

    def _check_fit(self, number, line, method, path, request):
        """Raise ApiError if the recorded response makes no sense as an answer to this request."""
        recorded, why = line["request"], ""
        if (line["method"], line["path"]) != (method, path):
            why = f"was {line['method']} {line['path']}"
        elif path == "/v1/messages":
            wanted, given = _results(recorded), _results(request)
            offered = {tool.get("name") for tool in request.get("tools") or []}
            missing = [name for name in _called(line) if name not in offered]
            if wanted != given:
                why = f"brought {_count(range(wanted), 'tool result')}, and this one brings {given}"
            elif missing:
                why = f"was answered with a call of {missing[0]}, a tool that this one does not offer"
        if why:
            text = f"Request {number} of the recording {why}, so its answer does not fit here. "
            raise ApiError(400, text + "connect(replay=...) starts over.")


def _count(things, name):
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")


def without_retried(lines):
    """The lines without those after which the SDK sent the same request again: the caller never saw them."""
    kept = []
    for line in lines:
        for index in range(len(kept) - 1, -1, -1) if line.get("retry") else ():
            before = kept[index]
            if before.get("retry", 0) == line["retry"] - 1 and before["request"] == line["request"]:
                del kept[index]
                break
        kept.append(line)
    return kept


def _results(request):
    """How many calls the last message answers."""
    content = request["messages"][-1].get("content") if isinstance(request, dict) and request.get("messages") else None
    return sum(block.get("type") == "tool_result" for block in content) if isinstance(content, list) else 0


def _called(line):
    """The names of the tools that a recorded reply calls."""
    starts = [event.get("content_block") for event in line.get("events", ())]
    blocks = starts or line.get("response", {}).get("content", [])
    return [block["name"] for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]


# What to send


def response_for(line, request):
    """The Response that a line holds, in the form that the request asks for: as a stream or in one piece."""
    headers, whole = line.get("headers", {}), line.get("whole", True)
    body, events = line.get("response"), line.get("events")
    streamed = isinstance(request, dict) and bool(request.get("stream"))
    if line["status"] is None:
        return Response(None, {}, [], whole=False)
    if events is not None and not streamed:
        status, body = message_of(events)
        return _json(status, headers, body) if body else Response(None, {}, [], whole=False)
    if streamed and line["status"] == 200 and body and body.get("type") == "message":
        usual = {"stop_sequence": None, "stop_details": None, "container": None}
        message = {**usual, **body, "usage": {"output_tokens": 0, **(body.get("usage") or {})}}
        message["content"] = [_signed(block) for block in body.get("content", [])]
        events = [data for _, data in wire.stream_events(message)]
    if events is not None:
        headers = {**headers, "content-type": "text/event-stream; charset=utf-8"}
        return Response(line["status"], headers, [wire.sse(event["type"], event) for event in events], whole)
    if body is not None:
        return _json(line["status"], headers, body)
    return Response(line["status"], headers, [line.get("text", "").encode()], whole)


def _json(status, headers, body):
    data = json.dumps(body, ensure_ascii=False).encode()
    return Response(status, {**headers, "content-type": "application/json"}, [data])


def _signed(block):
    return {"signature": "", **block} if block.get("type") == "thinking" else block


def message_of(events):
    """(status, body) of the Message that a stream tells, of its error, or (None, None) if it has no end."""
    message, pieces = {}, {}
    for event in copy.deepcopy(events):
        kind, index, delta = event["type"], event.get("index"), event.get("delta") or {}
        if kind == "error":
            named = {name: status for status, name in wire.ERROR_TYPES.items()}
            return named.get((event.get("error") or {}).get("type"), 500), event
        if kind == "message_start":
            message = {**event["message"], "content": []}
        elif kind == "content_block_start":
            message["content"].append(event["content_block"])
        elif kind == "content_block_delta" and delta.get("type") == "input_json_delta":
            pieces[index] = pieces.get(index, "") + delta["partial_json"]
        elif kind == "content_block_delta" and delta.get("type") == "citations_delta":
            message["content"][index].setdefault("citations", []).append(delta["citation"])
        elif kind == "content_block_delta":
            for key, piece in delta.items():
                if key != "type":
                    block = message["content"][index]
                    block[key] = (block.get(key) or "") + piece
        elif kind == "message_delta":
            message.update(delta)
            message["usage"] = {**(message.get("usage") or {}), **(event.get("usage") or {})}
        elif kind == "message_stop":
            for index, text in pieces.items():
                message["content"][index]["input"] = _input(text)
            return 200, message
    return None, None


def _input(text):
    try:
        return json.loads(text or "{}")
    except ValueError:  # cut off: such a call has no usable input
        return {}
