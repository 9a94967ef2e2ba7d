"""The seats of a room and their tokens: what is spent, what is set aside for requests that run, and where it ends.

Set aside before, settled after: so requests that run at once cannot pass a budget together. With a file, seats and
counts outlive the process, and what was set aside counts as spent after a crash.
"""

import contextlib
import dataclasses
import json
import threading
from pathlib import Path
from typing import Any

from ..api.server import ApiError
from ..api.wire import count_tokens
from ..client.prices import tokens_of
from ..client.recording import PIECES
from ..client.settings import SettingsError
from . import door


@dataclasses.dataclass
class Seat:
    """What one seat has spent and set aside, in tokens."""

    number: int
    spent: int = 0
    aside: int = 0


class Meter:
    """What a reply costs: what its endpoint says, and where that says nothing, about what is seen of it."""

    def __init__(self, reads: int) -> None:
        self.reads, self.written = reads, 0  # estimates
        self._said: dict[str, Any] = {}

    def hear(self, event: dict[str, Any]) -> None:
        """An event of a stream, or a whole message."""
        begins = event.get("type") == "message_start"
        holder, delta = event.get("message") if begins else event, event.get("delta")
        usage = holder.get("usage") if isinstance(holder, dict) else None
        for name, value in usage.items() if isinstance(usage, dict) else ():
            if value and not (begins and name == "output_tokens"):  # at its beginning a reply has one
                self._said[name] = value
        pieces = [delta[key] for key in PIECES & delta.keys()] if isinstance(delta, dict) else []
        self.written += sum(map(count_tokens, [*pieces, *filter(None, [event.get("content")])]))

    @property
    def tokens(self) -> int:
        if not self._said and not self.written:
            return 0
        said = tokens_of(self._said)
        writes = said.pop("output_tokens")
        return (said.total() or self.reads) + (writes or self.written)


class Seats:
    """The seats, by the word that a learner has in place of a key. `budget`: tokens for each; 0 is no limit."""

    def __init__(self, count: int, budget: int = 0, file: Path | None = None) -> None:
        self.budget, self.file, self._lock = budget, file, threading.Lock()
        kept = _read(file) if file else {}
        words = [*kept, *(door.word(3) for _ in range(len(kept), count))]
        self.seats = {word: Seat(number, kept.get(word, 0)) for number, word in enumerate(words, 1)}
        self._save()

    def set_aside(self, seat: Seat, reads: int, least: int, most: int) -> int:
        """Set aside what a request reads and writes. Returns how much it may write: `most`, or what is left.

        ApiError if that is less than `least`.
        """
        with self._lock:
            if self.budget:
                left = self.budget - seat.spent
                if left <= 0:
                    raise ApiError(402, self.over)
                if left < reads + least:
                    text = f"has {left:,} of its {self.budget:,} tokens left, and this needs more"
                    raise ApiError(402, f"This seat {text}: ask your teacher")
                most = min(most, left - seat.aside - reads)
                if most < least:
                    text = "Other requests of this seat are under way and have set aside what is left"
                    raise ApiError(429, text, headers={"retry-after": 2})
            seat.aside += reads + most
            self._save()
        return most

    @property
    def over(self) -> str:
        """What is said where a budget ends."""
        return f"This seat has used its {self.budget:,} tokens: ask your teacher"

    def is_over(self, seat: Seat, meter: Meter) -> bool:
        """Whether a reply has certainly passed the budget: an endpoint may not end where it was told to."""
        return bool(self.budget) and seat.spent + meter.reads + meter.written // 2 > self.budget

    def settle(self, seat: Seat, aside: int, meter: Meter) -> None:
        """The request is over."""
        with self._lock:
            seat.aside -= aside
            seat.spent += meter.tokens
            with contextlib.suppress(SettingsError):  # the next request says it
                self._save()

    def spent(self) -> int:
        return sum(seat.spent for seat in self.seats.values())

    def _save(self):
        if self.file is None:
            return
        try:
            door.save(self.file, {"seats": {word: seat.spent + seat.aside for word, seat in self.seats.items()}})
        except OSError as error:
            raise SettingsError(f"{self.file} cannot be written: {error.strerror}. Name another file.") from None


def _read(file: Path) -> dict[str, int]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))["seats"]
        if all(type(tokens) is int and tokens >= 0 for tokens in kept.values()):
            return dict(kept)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}. Name another file.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise SettingsError(f"{file} was not written by 'room key': name another file.")
