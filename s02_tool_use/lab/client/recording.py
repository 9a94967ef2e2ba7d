"""A recording: what a client sent and got, in a file with one JSON object a line. `connect(record=...)` writes it.

The first line of a run says who answered and when. Then one line for each request and its response, written when the
response has ended, so that a crash loses nothing that was complete. replay.py answers from it.

Never in it: headers that were sent (the key is one of them), cookies, the address. Where a key stands in a body,
because an endpoint echoed it, it is cut out (calls/secrets.py).
"""

import errno
import itertools
import json
import os
import re
import threading
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ...calls.secrets import cut
from .settings import SettingsError

FORMAT, VERSION = "s02_tool_use recording", 1
NEEDED = {"run", "n", "method", "path", "request", "status"}  # keys of each line that is not the first of a run
KEPT_HEADERS = ("content-type", "request-id", "retry-after")  # of a response; the others name accounts, or are cookies
PIECES = ("text", "partial_json", "thinking")  # where a delta keeps its piece of a string


class RecordingError(SettingsError):
    """A recording that cannot be written or read."""


class RecordingWarning(UserWarning):
    """What goes wrong while a recording is written. The conversation goes on."""


def warn(path: Path, line: int, text: str, category: type[Warning]) -> None:
    """Warn in one line that begins with the file. `warnings.warn` would add a path of this machine, and its source."""
    warnings.warn_explicit(text, category, filename=f"<{path.name}>", lineno=line)


def file_named(path: Any, option: str) -> Path:
    """The absolute path that `connect(option=path)` means. Raises RecordingError for what is no name of a file."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise RecordingError(f'{option}= takes the name of a file: connect({option}="run.jsonl").')
    return Path(path).absolute()  # now: the current folder may change


class Recorder:
    """Appends a run to the file `path`. What the file holds already stays."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = file_named(path, "record")
        self.run = len(read(self.path, "record")[0]) + 1
        self._lock, self._numbers, self._failed = threading.Lock(), itertools.count(1), False

    def begin(self, model: str, answered_by: str) -> str:
        """Write the first line of the run and return a sentence that says where. `answered_by`: see replay.WHO."""
        date = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
        head = {"format": FORMAT, "version": VERSION, "run": self.run, "model": model, "date": date}
        self._head = {**head, "answered_by": answered_by}
        try:
            self._append(self._head)
        except OSError as error:
            raise RecordingError(f"{self.path.name} cannot be written: {error.strerror}. Name another file.") from None
        after = f", after {self.run - 1} earlier" if self.run > 1 else ""
        return f"Recording to {self.path.name}{after}."

    def attach(self, http_client: Any) -> None:
        """Record what goes through this httpx2 client. A stream still arrives piece by piece."""
        send = http_client.send

        def recorded(request, *, stream=False, **options):
            body = request.read().decode(errors="replace")
            path = "/v1/" + request.url.path.partition("/v1/")[2].rstrip("/")
            call = {"run": self.run, "n": next(self._numbers), "method": request.method, "path": path}
            if retry := int(request.headers.get("x-stainless-retry-count", 0)):
                call["retry"] = retry  # the SDK sent it again by itself
            call["request"] = parsed(body) if body else None
            try:
                response = send(request, stream=stream, **options)
            except BaseException as error:  # no answer, or none that came to its end
                self.keep({**call, "status": None, "failed": type(error).__name__})
                raise
            if stream:
                response.stream = _tee(response, lambda body, whole: self.keep(call | _answer(response, body, whole)))
            else:
                self.keep(call | _answer(response, response.text, True))
            return response

        http_client.send = recorded

    def keep(self, line: dict) -> None:
        """Append one line, without keys. What the system refuses is said once, and stops nothing."""
        try:
            self._append(without_keys(line))
        except OSError as error:
            if not self._failed:
                self._failed = True
                text = f"From here on the recording has gaps: the file cannot be written ({error.strerror})."
                warn(self.path, line["n"], text, RecordingWarning)

    def _append(self, line):
        with self._lock, open(self.path, "ab+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            data = _dumped(line)
            if end == 0 and line is not self._head:  # somebody removed the file
                data = _dumped(self._head) + data
            elif end:
                file.seek(-1, os.SEEK_END)
                data = data if file.read(1) == b"\n" else b"\n" + data  # an earlier write was interrupted
            if file.write(data) < len(data):
                file.truncate(end)  # half a line would make the whole file unreadable
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def without_keys(line: dict) -> dict:
    """A line without keys. A stream cuts anywhere, also inside a key: such a string moves into its first piece."""
    texts: dict = {}
    for event in line.get("events") or ():
        delta = event.get("delta")
        for key in PIECES if isinstance(delta, dict) else ():
            if isinstance(delta.get(key), str):
                texts.setdefault((event.get("index"), key), []).append(delta)
    for (_, key), deltas in texts.items():
        whole = "".join(delta[key] for delta in deltas)
        if (clean := cut(whole)) != whole:
            for delta in deltas:
                delta[key] = ""
            deltas[0][key] = clean
    return cut(line)


def _tee(response, then):
    """The stream of a response, which also keeps what it hands on: `then(body, whole)` when it is closed."""
    import httpx2

    class Tee(httpx2.SyncByteStream):
        def __init__(self, stream):
            self.stream, self.pieces, self.whole = stream, [], False

        def __iter__(self):
            for piece in self.stream:
                self.pieces.append(piece)
                yield piece
            self.whole = True

        def close(self):  # at the end, after an error, and when the reader has gone
            self.stream.close()
            headers = {"content-encoding": response.headers.get("content-encoding", "identity")}
            then(httpx2.Response(200, headers=headers, content=b"".join(self.pieces)).text, self.whole)

    return Tee(response.stream)


def _answer(response, body, whole):
    """The half of a line that holds the response: JSON as `response`, a stream as `events`, all else as `text`."""
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    answer = {"status": response.status_code, "headers": headers}
    if "text/event-stream" in headers.get("content-type", ""):
        data = map(parsed, re.findall(r"(?m)^data: ?(.*)$", body))  # what is not of the Messages API is left out
        answer["events"] = [event for event in data if isinstance(event, dict) and isinstance(event.get("type"), str)]
        whole = whole or any(event["type"] in ("message_stop", "error") for event in answer["events"][-1:])
    elif isinstance(message := parsed(body), dict):
        answer["response"] = message
    else:
        answer["text"] = body
    return answer if whole else {**answer, "whole": False}


def parsed(text: str | bytes) -> Any:
    """What this JSON says, or the text as it is if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dumped(line):
    # A lone surrogate, which UTF-8 has not, stands in JSON as backslashreplace writes it.
    return (json.dumps(line, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def read(path: Path, option: str = "replay") -> tuple[list[dict], list[dict], str]:
    """(heads, lines, note) of a file: the first line of each run, all other lines, and what there is to say of it.

    Each line has its number in the file under `at`. Raises RecordingError for what is no recording. option: for what
    `connect` needs it; to record, the file may be missing.
    """
    name = path.name
    if path.is_dir():
        raise RecordingError(f"{name} is a folder: give the name of a file.")
    try:
        rows = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        if option == "record":
            return [], [], ""
        raise RecordingError(f'There is no file {name} here: connect(record="{name}") makes it.') from None
    except OSError as error:
        raise RecordingError(f"{name} cannot be read: {error.strerror}.") from None
    heads: list[dict] = []
    lines: list[dict] = []
    broken = None
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        line = parsed(row)
        line = line if isinstance(line, dict) else {}
        is_head = line.get("format") == FORMAT
        if not heads and not is_head:
            todo = "Name another file." if option == "record" else 'connect(record="run.jsonl") makes one.'
            raise RecordingError(f"{name} is not a recording. {todo}")
        if is_head:
            if line.get("version") != VERSION:
                raise RecordingError(f"{name} was made by another version of this course: update the course.")
            heads.append({"model": "?", "date": "?", "answered_by": "endpoint", **line})
            broken = None  # only a write that was interrupted stands right before a new run
        elif broken:
            raise RecordingError(f"Line {broken} of {name} is broken: repair it, or take it out.")
        elif line.keys() >= NEEDED:
            lines.append({**line, "at": number})
        else:
            broken = number
    note = f"Line {broken} of {name}, the last one, was not written to its end and is left out." if broken else ""
    return heads, lines, note
