"""The seats of a room and their tokens: what is spent, what is set aside for requests that run, and where it ends.

Set aside before, settled after: so requests that run at once cannot pass a budget together. With a file the counts
outlive the process. It holds no seat, only a digest of each; and what was set aside counts as spent after a crash.
"""

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..api.server import ApiError
from . import door

WAIT_SECONDS = 20  # for what other requests have set aside and may not need
MOST_AT_ONCE = 4  # requests of one seat


class StateError(Exception):
    """A file that cannot be used, in one sentence."""


class Account:
    """What one seat has spent, in tokens."""

    def __init__(self, number: int, digest: str, spent: int = 0) -> None:
        self.number, self.digest, self.spent = number, digest, spent
        self.aside = self.running = 0


class Promise(NamedTuple):
    """Tokens that are set aside for one request."""

    account: Account
    tokens: int
    most: int  # of them for the reply


class Seats:
    """The accounts. `budget`: tokens for each seat; `total`: for all of them; 0 is no limit."""

    def __init__(self, count: int, budget: int = 0, total: int = 0, file: Path | None = None) -> None:
        self.budget, self.total, self.file, self.failed = budget, total, file, ""
        self._changed = threading.Condition()
        rows = _read(file) if file else []
        self.accounts = [Account(number, digest, spent) for number, (digest, spent) in enumerate(rows, 1)]
        self.new: dict[int, str] = {}  # number -> seat, to hand out: nobody can know it again
        for number in range(len(rows) + 1, count + 1):
            self.new[number] = door.word(3)
            self.accounts.append(Account(number, _digest(self.new[number])))
        self._of = {account.digest: account for account in self.accounts}
        self._save()
        if self.failed:
            raise StateError(self.failed)

    def account(self, seat: str) -> Account | None:
        return self._of.get(_digest(seat.strip()))

    def left(self, account: Account) -> int:
        """Tokens that are neither spent nor set aside."""
        with self._changed:
            return self._left(account)[0] - self._aside(account)

    def promise(self, account: Account, reads: int, writes: int) -> Promise:
        """Set aside what a request reads and at most writes, or less for the reply if no more is left.

        Waits for other requests when they have set aside what this one needs. Raises ApiError if nothing is left.
        """
        with self._changed:
            if account.running >= MOST_AT_ONCE:
                raise _busy()
            ready = self._changed.wait_for(lambda: self._fits(account, reads, writes), WAIT_SECONDS)
            left, who, of = self._left(account)
            if left <= reads:
                some = f"has {left:,} of its {of:,} tokens left, and this needs more" if left > 0 else ""
                raise ApiError(402, f"{who} {some or f'has used its {of:,} tokens'}: ask your teacher")
            if not ready:
                raise _busy()
            most = min(writes, left - self._aside(account) - reads)
            account.aside += reads + most
            account.running += 1
            self._save()
            return Promise(account, reads + most, most)

    def settle(self, promise: Promise, tokens: int) -> None:
        """The request is over and took so many tokens."""
        with self._changed:
            promise.account.aside -= promise.tokens
            promise.account.running -= 1
            promise.account.spent += tokens
            self._save()
            self._changed.notify_all()

    def _fits(self, account, reads, writes):
        """Whether there is nothing to wait for: all that is asked for is there, or nobody will give anything back."""
        left, aside = self._left(account)[0], self._aside(account)
        return not aside or left <= reads or left - aside >= reads + writes

    def _left(self, account):
        """(tokens not spent, whose they are, of how many), by the limit that comes first."""
        limits = [(self.budget - account.spent, "This seat", self.budget)] if self.budget else []
        limits += [(self.total - self.spent(), "The room", self.total)] if self.total else []
        return min(limits, default=(10**15, "", 0))

    def _aside(self, account):
        return sum(one.aside for one in self.accounts) if self.total else account.aside

    def spent(self) -> int:
        return sum(account.spent for account in self.accounts)

    def _save(self):
        if self.file is None:
            return
        rows = [{"seat": one.number, "digest": one.digest, "tokens": one.spent + one.aside} for one in self.accounts]
        draft = self.file.with_name(f"{self.file.name}.new")
        try:
            with open(draft, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                json.dump({"seats": rows}, file, indent=1)
            os.replace(draft, self.file)
        except OSError as error:
            self.failed = f"{self.file} cannot be written: {error.strerror}. Name another file."


def _busy():
    text = "Other requests are under way and have set aside what is left"
    return ApiError(429, text, headers={"retry-after": 2})


def _digest(seat):
    return hashlib.sha256(seat.encode("utf-8", "replace")).hexdigest()


def _read(file: Path) -> list[tuple[str, int]]:
    with contextlib.suppress(FileNotFoundError):
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))["seats"]
            read = [(str(row["digest"]), row["tokens"]) for row in rows]
            if all(type(tokens) is int and tokens >= 0 for _, tokens in read):
                return read
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise StateError(f"{file} cannot be read: {error.strerror}. Name another file.") from None
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        raise StateError(f"{file} was not written by 'room key': name another file.")
    return []


class Meter:
    """What a reply costs: as its endpoint says, unless that cannot be. `reads`: what the request has, estimated."""

    def __init__(self, reads: int, count: Callable[[str], int]) -> None:
        self._reads, self._count, self._written = reads, count, 0
        self._said: dict[str, Any] = {}
        self.begun = self.over = False

    def hear(self, event: dict[str, Any]) -> None:
        """An event of a stream, or a whole message."""
        self.begun = True
        holder = event.get("message") if event.get("type") == "message_start" else event
        usage = holder.get("usage") if isinstance(holder, dict) else None
        self._said |= usage if isinstance(usage, dict) else {}
        self.over = self.over or event.get("type") in ("message_delta", "message")
        self._written += sum(map(self._count, _written(event)))

    @property
    def tokens(self) -> int:
        if not self.begun:
            return 0
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        reads = [self._said.get(name) or 0 for name in names]
        return _likely(reads, self._reads) + _likely(
            [self._said.get("output_tokens") if self.over else None], self._written
        )


def _likely(said, estimate):
    """The sum of what was said, or the estimate where that is no number, absurd, or far below what was seen."""
    if all(type(one) is int and 0 <= one < 10**9 for one in said) and sum(said) >= estimate // 4:
        return sum(said)
    return estimate


def _written(event) -> Iterator[str]:
    """The strings of a reply in an event, as far as they cost tokens."""
    blocks = (
        event.get("content") if event.get("type") == "message" else [event.get("delta"), event.get("content_block")]
    )
    for block in blocks if isinstance(blocks, list) else ():
        for key in ("text", "thinking", "partial_json", "input"):
            if isinstance(block, dict) and block.get(key):
                yield block[key] if isinstance(block[key], str) else json.dumps(block[key])
