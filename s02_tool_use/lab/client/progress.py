"""How far something that takes its time has come: the seconds since it began, and the tokens that have arrived."""

import time
from typing import Any

from ..api.wire import count_tokens


class Progress:
    """Starts its clock when it is made. `tell` it the steps of agent_steps; `str` says it: "1:05 min, 140 tokens"."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._complete, self._arriving = 0, ""  # tokens of whole replies, and what there is of the next one

    def tell(self, kind: str, data: Any) -> None:
        """Count a step. With `stream` a reply counts while it arrives, as count_tokens estimates; then as it says."""
        if kind in ("text", "delta"):
            self._arriving += data
        elif kind == "reply":
            self._complete += getattr(data.usage, "output_tokens", None) or count_tokens(self._arriving)
            self._arriving = ""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def tokens(self) -> int:
        """What the model has written so far: text, thinking and calls."""
        return self._complete + count_tokens(self._arriving)

    def __str__(self) -> str:
        minutes, seconds = divmod(int(self.seconds), 60)
        passed = f"{minutes}:{seconds:02} min" if minutes else f"{seconds} s"
        return f"{passed}, {self.tokens:,} token{'s' * (self.tokens != 1)}" if self.tokens else passed
