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
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ...calls.secrets import CUT, SHORTEST_CHARACTERS, cut, held
from .settings import SettingsError

FORMAT, VERSION = "s02_tool_use recording", 1
NEEDED = {"run", "n", "method", "path", "request", "status"}  # keys of each line that is not the first of a run
KEPT_HEADERS = ("content-type", "request-id", "retry-after")  # of a response; the others name accounts, or are cookies
LAST_EVENTS = ("message_stop", "error")  # of a stream
PIECES = {"text", "partial_json", "thinking"}  # where a delta keeps its piece of a string


class RecordingError(SettingsError):
    """A recording that cannot be written or read."""


class RecordingWarning(UserWarning):
    """What goes wrong while a recording is written. The conversation goes on."""


class Recorder:
    """Appends a run to the file `path`, and says so in `said`. What the file holds already stays.

    `answered_by`: see replay.WHO. `most`: the limit that MAX_TOKENS set, with which a replay compares; 0 is none.
    """

    def __init__(self, path: str | os.PathLike[str], model: str, answered_by: str, most: int = 0):
        self.path, heads, _, _ = read(path, "record")
        self.run = len(heads) + 1
        self._lock, self._numbers, self._failed = threading.Lock(), itertools.count(1), False
        date = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._head = {"format": FORMAT, "version": VERSION, "run": self.run, "model": model, "date": date}
        self._head |= {"answered_by": answered_by} | ({"max_tokens": most} if most else {})
        try:
            self._append(self._head)
        except OSError as error:
            raise RecordingError(f"{self.path.name} cannot be written: {error.strerror}. Name another file.") from None
        self.said = f"Recording to {self.path.name}{f', after {len(heads)} earlier' if heads else ''}."

    def send(self, send: Callable, request: Any, *, stream: bool = False, **options: Any) -> Any:
        """Record what `send`, a method of an httpx2 client, sends and gets. A stream still arrives piece by piece."""
        body = request.read().decode(errors="replace")
        path = "/v1/" + request.url.path.partition("/v1/")[2].rstrip("/")
        retry = int(request.headers.get("x-stainless-retry-count", 0))  # how often the SDK has sent it by itself
        call = {"run": self.run, "n": next(self._numbers), "method": request.method, "path": path, "retry": retry}
        call["request"] = parsed(body) if body else None
        try:
            response = send(request, stream=stream, **options)
        except BaseException as error:  # no answer, or none that came to its end
            self.keep({**call, "status": None, "failed": type(error).__name__})
            raise
        if stream:
            pieces: list[bytes] = []

            def ended(how):
                encoding = response.headers.get("content-encoding", "identity")
                self.keep(call | _answer(response, decoded(encoding, pieces), how == WHOLE))

            response.stream = tee(response.stream, pieces.append, ended)
        else:
            self.keep(call | _answer(response, response.text, True))
        return response

    def keep(self, line: dict) -> None:
        """Append one line, without keys. What the system refuses is said once, and stops nothing."""
        try:
            self._append(without_keys(line))
        except OSError as error:
            if not self._failed:
                self._failed = True
                text = f"From here on the recording has gaps: the file cannot be written ({error.strerror})."
                # One line that begins with the file: `warnings.warn` would show a path of this machine.
                warnings.warn_explicit(text, RecordingWarning, f"<{self.path.name}>", line["n"])

    def _append(self, line):
        data = _dumped(line)
        with self._lock, open(self.path, "ab", buffering=0) as file:
            end = file.tell()
            if line is not self._head:
                data = data if end else _dumped(self._head) + data  # somebody removed the file
            elif end:
                data = b"\n" + data  # the last write of an earlier run may have been interrupted
            if file.write(data) < len(data):
                file.truncate(end)  # half a line would make the whole file unreadable
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def bounded(request: Any, most: int) -> Any:
    """A request that asks for at most `most` tokens, if that is not 0."""
    asked = request.get("max_tokens") if isinstance(request, dict) else None
    return {**request, "max_tokens": min(asked, most)} if most and isinstance(asked, int) else request


def without_keys(line: dict) -> dict:
    """A line without keys. A stream cuts anywhere, also inside a key: such a string moves into its first piece."""
    texts: dict = {}
    is_over = any(event.get("type") in LAST_EVENTS for event in (line.get("events") or ())[-1:])
    for event in line.get("events") or ():
        delta = event.get("delta")
        for key in PIECES.intersection(delta if isinstance(delta, dict) else ()):
            texts.setdefault((event.get("index"), key), []).append(delta)
    for (_, key), deltas in texts.items():
        whole = "".join(str(delta[key]) for delta in deltas)
        clean = cut(whole)
        if not is_over and held(clean) >= SHORTEST_CHARACTERS:  # it broke off inside a key
            clean = clean[: -held(clean)] + CUT
        if clean != whole:
            for number, delta in enumerate(deltas):
                delta[key] = "" if number else clean
    return cut(line)


def keyless(events: Iterable[dict]) -> Iterator[dict]:
    """The events of a stream that goes on, without keys: what may begin one waits for the next piece."""
    waiting: dict[tuple[str, str], str] = {}
    for event in events:
        delta = event.get("delta")
        if event["type"] == "content_block_delta" and isinstance(delta, dict):
            for key in PIECES & delta.keys():
                place = json.dumps(event.get("index")), key
                text = cut(waiting.get(place, "") + str(delta[key]))
                ready = len(text) - held(text)
                delta[key], waiting[place] = text[:ready], text[ready:]
        elif event["type"] in ("content_block_stop", *LAST_EVENTS):
            for (index, key), text in waiting.items():
                kind = {"partial_json": "input_json"}.get(key, key)
                rest = {"type": f"{kind}_delta", key: text if len(text) < SHORTEST_CHARACTERS else CUT}
                if text:
                    yield {"type": "content_block_delta", "index": json.loads(index), "delta": rest}
            waiting = {}
        yield cut(event)


WHOLE = "whole"


def tee(stream: Any, heard: Callable[[bytes], object], ended: Callable[[str], object]) -> Any:
    """The stream of an httpx2 response, which also tells each piece, and how it ended: WHOLE, or why not."""
    import httpx2

    how = "not read to its end"

    class Tee(httpx2.SyncByteStream):
        def __iter__(self):
            nonlocal how
            try:
                for piece in stream:
                    heard(piece)
                    yield piece
            except Exception as error:
                how = f"broken off: {type(error).__name__}"
                raise
            how = WHOLE

        def close(self):  # at the end, after an error, and when the reader has gone
            stream.close()
            ended(how)

    return Tee()


def decoded(encoding: str, pieces: Iterable[bytes]) -> str:
    """The text of a body that came in these pieces, as far as they go."""
    import httpx2

    return httpx2.Response(200, headers={"content-encoding": encoding}, content=b"".join(pieces)).text


def _answer(response, body, whole):
    """The half of a line that holds the response: JSON as `response`, a stream as `events`, all else as `text`."""
    headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    answer = {"status": response.status_code, "headers": headers}
    if "text/event-stream" in headers.get("content-type", ""):
        answer["events"] = [*events_in([body])]
        whole = whole or any(event["type"] in LAST_EVENTS for event in answer["events"][-1:])
    elif isinstance(message := parsed(body), dict):
        answer["response"] = message
    else:
        answer["text"] = body
    return answer if whole else {**answer, "whole": False}


def events_in(pieces: Iterable[str]) -> Iterator[dict]:
    """The events of a stream that comes in these pieces. What is not of the Messages API is left out."""
    rest = ""
    for piece in itertools.chain(pieces, "\n"):
        # Not splitlines, nor iter_lines, which is made of it: a string in JSON may hold U+2028, and that ends no line.
        *lines, rest = (rest + piece).split("\n")
        for event in (parsed(line[5:]) for line in lines if line.startswith("data:")):
            if isinstance(event, dict) and isinstance(event.get("type"), str):
                yield event


def parsed(text: str | bytes) -> Any:
    """What this JSON says, or the text as it is if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _dumped(line):
    # A lone surrogate, which UTF-8 has not, stands in JSON as backslashreplace writes it.
    return (json.dumps(line, ensure_ascii=False) + "\n").encode(errors="backslashreplace")


def read(path: Any, option: str = "replay") -> tuple[Path, list[dict], list[dict], str]:
    """(absolute path, heads, lines, note) of the file that `connect(option=path)` means.

    heads: the first line of each run; lines: all others, each with its number in the file under `at`; note: what there
    is to say of the file. Raises RecordingError for what is no recording; only to record, the file may be missing.
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise RecordingError(f'{option}= takes the name of a file: connect({option}="run.jsonl").')
    path = Path(path).absolute()  # now: the current folder may change
    name = path.name
    if path.is_dir():
        raise RecordingError(f"{name} is a folder: give the name of a file.")
    try:
        rows = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        if option == "record":
            return path, [], [], ""
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
        if line.get("format") == FORMAT:
            if line.get("version") != VERSION:
                raise RecordingError(f"{name} was made by another version of this course: update the course.")
            heads.append({"model": "?", "date": "?", "answered_by": "endpoint", "max_tokens": 0, **line})
            broken = None  # only a write that was interrupted stands right before a new run
        elif not heads:
            todo = "Name another file." if option == "record" else 'connect(record="run.jsonl") makes one.'
            raise RecordingError(f"{name} is not a recording. {todo}")
        elif broken:
            raise RecordingError(f"Line {broken} of {name} is broken: repair it, or take it out.")
        elif line.keys() >= NEEDED:
            lines.append({**line, "at": number})
        else:
            broken = number
    note = f"Line {broken} of {name}, the last one, was not written to its end and is left out." if broken else ""
    return path, heads, lines, note
