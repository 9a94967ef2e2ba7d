"""What a run has used, kind by kind, and what that costs at the prices that its reader gives.

No price stands here: they differ by model and change. Left out, since no count of tokens says it: what a server tool
costs for each use, and what is paid more or less for a batch, a tier, a region or speed.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

# Tokens that have a price of their own, by their names in `usage`, and how a person is told of them.
KINDS = {
    "input_tokens": "input",
    "ephemeral_5m_input_tokens": "cache write 5m",
    "ephemeral_1h_input_tokens": "cache write 1h",
    "cache_read_input_tokens": "cache read",
    "output_tokens": "output",
}
WRITES = "cache_creation_input_tokens"  # both writes together; as a price, it holds for each that has none of its own
NAMES = (*KINDS, WRITES)
FORM = 'what a million tokens cost in USD, such as {"input_tokens": 1.5, "output_tokens": 6}'


class PricesError(ValueError):
    """Prices in another form, in one sentence with the right one. A notebook shows only that sentence."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def checked(prices: Any, name: str = "prices=") -> dict[str, float]:
    """`prices` as a dict of numbers. PricesError, which begins with `name`, for any other form."""
    if wrong := what_is_wrong(prices):
        raise PricesError(f"{name} {wrong}")
    return {kind: float(price) for kind, price in prices.items()}


def read(text: str) -> Any:
    """Prices as they stand in .env: as JSON. The text itself if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def what_is_wrong(prices: Any) -> str:
    """The end of a sentence that begins with the name of the setting; "" if nothing is wrong."""
    if not isinstance(prices, Mapping) or not prices:
        return f"says {FORM}."
    for kind, price in prices.items():
        if kind not in NAMES:
            return f"says {FORM}: it has no {str(kind)[:40]!r}, the names are those of usage: {', '.join(NAMES)}."
        try:
            is_price = not isinstance(price, (bool, str, bytes)) and 0 <= float(price) < math.inf
        except (TypeError, ValueError, OverflowError):
            is_price = False
        if not is_price:
            return f"says {FORM}: {kind} must be a number, 0 or more."
    return ""


def tokens_of(usage: Any) -> Counter[str]:
    """The tokens of one reply's usage, by KINDS. Takes an object of the SDK or a dict; what is missing counts 0."""
    used = _plain(usage)
    tokens = Counter({kind: _count(used.get(kind)) for kind in ("input_tokens", "output_tokens")})
    tokens["cache_read_input_tokens"] = _count(used.get("cache_read_input_tokens"))
    split = _plain(used.get("cache_creation"))
    for kind in ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"):
        tokens[kind] = _count(split.get(kind))
    # An endpoint that does not split its writes has one kind of them, the one that the API takes unasked.
    rest = _count(used.get(WRITES)) - tokens["ephemeral_5m_input_tokens"] - tokens["ephemeral_1h_input_tokens"]
    tokens["ephemeral_5m_input_tokens"] += max(rest, 0)
    for part in _parts(used):  # what made the summary is paid for, and not in the sum above
        if part.get("type") == "compaction":
            tokens += tokens_of({**part, "iterations": None})
    return tokens


def others_of(usage: Any) -> Counter[str]:
    """What one reply has used and no price of tokens covers: server tools by their names, a second model's tokens."""
    used = _plain(usage)
    found = Counter({name.replace("_", " "): _count(n) for name, n in _plain(used.get("server_tool_use")).items()})
    for part in _parts(used):
        if part.get("type") == "advisor_message":
            found["tokens of an advisor"] += tokens_of({**part, "iterations": None}).total()
    return +found


def usd(tokens: Mapping[str, int], prices: Mapping[str, float]) -> float | None:
    """What these tokens cost. None if a price is missing."""
    if missing(tokens, prices):
        return None
    return sum(number * (price_of(kind, prices) or 0) for kind, number in tokens.items()) / 1_000_000


def missing(tokens: Mapping[str, int], prices: Mapping[str, float]) -> list[str]:
    """The kinds of tokens that were used and have no price."""
    return [kind for kind in KINDS if tokens.get(kind) and price_of(kind, prices) is None]


def price_of(kind: str, prices: Mapping[str, float]) -> float | None:
    """What a million tokens of this kind cost, or None."""
    return prices.get(kind, prices.get(WRITES) if kind.startswith("ephemeral_") else None)


def amount(dollars: float) -> str:
    """A sum of USD, with as many digits as a single request needs."""
    return f"{dollars:,.6f}"


def sentence(tokens: Mapping[str, int], others: Mapping[str, int], prices: Mapping[str, float]) -> str:
    """What it costs at these prices, what has no price, and what no price of tokens covers."""
    dollars = usd(tokens, prices)
    said = f"{amount(dollars)} USD at your prices" if dollars is not None else ""
    said = said or f"no price for {' and '.join(missing(tokens, prices))}, so the cost is not known"
    more = ", ".join(f"{number:,} {name}" for name, number in others.items())
    return f"{said}, without {more}" if more else said


def _plain(value):
    data = value.model_dump() if hasattr(value, "model_dump") else value
    return data if isinstance(data, dict) else {}


def _parts(used):
    parts = used.get("iterations")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _count(value):
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
