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
import threading
import warnings
from datetime import datetime, timezone
from pathlib import Path

from ...calls.secrets import cut

FORMAT, VERSION = "s02_tool_use recording", 1
KEPT_HEADERS = ("content-type", "request-id", "retry-after")  # of a response; the others name accounts, or are cookies
PIECES = ("text", "partial_json", "thinking")  # where a delta keeps its piece of a text


class RecordingError(ValueError):
    """A recording that cannot be written or read, in one sentence that says what to do. A notebook shows only that."""

    def _render_traceback_(self):
        return [f"RecordingError: {self}"]


class RecordingWarning(UserWarning):
    """What goes wrong while a recording is written. The conversation goes on."""


def warn(path, line, text, category):
    """Warn in one line that begins with the file. `warnings.warn` would add a path of this machine, and its source."""
    warnings.warn_explicit(text, category, filename=f"<{path.name}>", lineno=line)


def file_named(path, option):
    """The absolute path that `connect(option=path)` means. Raises RecordingError for what is no name of a file."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise RecordingError(f'{option}= takes the name of a file: connect({option}="run.jsonl").')
    return Path(path).absolute()  # now: the current folder may change


class Recorder:
    """Appends a run to the file `path`. What the file holds already stays."""

    def __init__(self, path):
        self.path = file_named(path, "record")
        runs = read(self.path, "record")[0] if _has_content(self.path) else []
        self.run = len(runs) + 1
        self._lock, self._numbers, self._failed = threading.Lock(), itertools.count(1), False

    def begin(self, model, answered_by):
        """Write the first line of the run and return a sentence that says where. `answered_by` is a key of WHO."""
        date = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
        head = {"format": FORMAT, "version": VERSION, "run": self.run, "model": model, "date": date}
        self._head = {**head, "answered_by": answered_by}
        try:
            self._append(self._head)
        except OSError as error:
            raise RecordingError(f"{self.path.name} cannot be written: {error.strerror}. Name another file.") from None
        after = f", after {self.run - 1} earlier" if self.run > 1 else ""
        return f"Recording to {self.path.name}{after}."

    def attach(self, http_client):
        """Record what goes through this httpx2 client. A stream still arrives piece by piece."""
        send = http_client.send

        def recorded(request, *, stream=False, **options):
            call = self._call(request)
            try:
                response = send(request, stream=True, **options)
            except Exception as error:  # no answer at all
                self.keep({**call, "status": None, "failed": type(error).__name__})
                raise
            response.stream = _tee(response, lambda body, whole: self.keep(call | _answer(response, body, whole)))
            if not stream:
                try:
                    response.read()
                except BaseException:
                    response.close()
                    raise
            return response

        http_client.send = recorded

    def _call(self, request):
        body = request.read()
        call = {"run": self.run, "n": next(self._numbers), "method": request.method}
        call["path"] = "/v1/" + request.url.path.partition("/v1/")[2].rstrip("/")
        if retry := int(request.headers.get("x-stainless-retry-count", 0)):
            call["retry"] = retry  # the SDK sent it again by itself
        return {**call, "request": _parsed(body.decode(errors="replace")) if body else None}

    def keep(self, line):
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


def without_keys(line):
    """A line without keys. A stream cuts a text anywhere, also inside a key: such a text moves into its first piece."""
    texts = {}
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
    """The stream of a response, which also keeps what it hands on: `then(body, whole)` when it ends or is closed."""
    import httpx2

    class Tee(httpx2.SyncByteStream):
        def __init__(self, stream):
            self.stream, self.pieces, self.told = stream, [], False

        def __iter__(self):
            for piece in self.stream:
                self.pieces.append(piece)
                yield piece
            self._tell(whole=True)

        def close(self):  # also after an error, and when the reader has gone
            self._tell(whole=False)
            self.stream.close()

        def _tell(self, whole):
            if not self.told:
                self.told = True
                headers = {"content-encoding": response.headers.get("content-encoding", "identity")}
                try:  # it may be compressed
                    body = httpx2.Response(200, headers=headers, content=b"".join(self.pieces)).text
                except httpx2.DecodingError:
                    body = ""
                then(body, whole)

    return Tee(response.stream)


def _answer(response, body, whole):
    """The half of a line that holds the response: JSON as `response`, a stream as `events`, all else as `text`."""
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    answer = {"status": response.status_code, "headers": headers}
    if "text/event-stream" in headers.get("content-type", ""):
        answer["events"] = events = list(_events(body))
        whole = whole or bool(events) and events[-1]["type"] in ("message_stop", "error")
    elif isinstance(parsed := _parsed(body), dict):
        answer["response"] = parsed
    else:
        answer["text"] = body
    return answer if whole else {**answer, "whole": False}


def _events(body):
    """The events of a stream, as the dicts that they carry. What is not of the Messages API is left out."""
    for part in body.replace("\r\n", "\n").split("\n\n"):
        data = "\n".join(line[5:].lstrip() for line in part.split("\n") if line.startswith("data:"))
        event = _parsed(data)
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            yield event


def _parsed(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dumped(line):
    try:
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(line).encode() + b"\n"


def _has_content(path):
    return path.is_dir() or path.exists() and path.stat().st_size > 0


# Reading


def read(path, option="replay"):
    """(heads, lines, note) of a file: the first line of each run, all other lines, and what there is to say of it.

    Each line is a dict, with its number in the file under `at`. Raises RecordingError for what is no recording.
    """
    name = path.name
    refused = f"{name} is not a recording. "
    refused += "Name another file." if option == "record" else 'connect(record="run.jsonl") makes one.'
    if path.is_dir():
        raise RecordingError(f"{name} is a folder: give the name of a file.")
    try:
        rows = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise RecordingError(f'There is no file {name} here: connect(record="{name}") makes it.') from None
    except OSError as error:
        raise RecordingError(f"{name} cannot be read: {error.strerror}.") from None
    heads, lines, broken = [], [], None
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        line = _line(row)
        is_head = line is not None and line.get("format") == FORMAT
        if not heads and not is_head:
            raise RecordingError(refused)
        if is_head:
            if line.get("version") != VERSION:
                raise RecordingError(f"{name} was made by another version of this course: update the course.")
            heads.append({"model": "?", "date": "?", "answered_by": "endpoint", **line, "at": number})
            broken = None  # only a write that was interrupted stands right before a new run
        elif broken:
            raise RecordingError(f"Line {broken} of {name} is broken: repair it, or take it out.")
        elif line is None or not line.keys() >= {"run", "n", "method", "path", "request", "status"}:
            broken = number
        else:
            lines.append({**line, "at": number})
    note = f"Line {broken} of {name}, the last one, was not written to its end and is left out." if broken else ""
    return heads, lines, note


def _line(row):
    try:
        line = json.loads(row.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
