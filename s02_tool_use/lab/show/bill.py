"""What some replies have used and what that costs, as a table: a row for each reply, and one for all of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..client import prices as pricing
from .page import Page, escape
from .rows import many
from .table import show_table

ALWAYS = ("input_tokens", "output_tokens")  # columns that are there even when nothing stands in them


class Cost(Page):
    """The table. `tokens` is what all replies used; `usd` what they cost, None if a price is missing."""

    def __init__(self, text: str, html: str, tokens: Counter[str], usd: float | None) -> None:
        super().__init__(text, html)
        self.tokens, self.usd = dict(tokens), usd


def cost(replies: Any, prices: Mapping[str, float] | None = None) -> Cost:
    """Show what these replies have used, kind by kind of token, and what that costs.

    replies: a list of replies, or one: what the SDK returned, a `reply` step's data, or their dicts. prices: what a
    million tokens cost in USD, by the names that `usage` has: input_tokens, output_tokens, cache_read_input_tokens,
    ephemeral_5m_input_tokens and ephemeral_1h_input_tokens (writes to the cache; or cache_creation_input_tokens for
    both). Without prices the tokens alone. Raises PricesError for another form, TypeError for what is no reply.
    """
    known = pricing.checked(prices) if prices is not None else {}
    usages = [_usage(reply) for reply in _listed(replies)]
    used = [pricing.tokens_of(usage) for usage in usages]
    total: Counter[str] = sum(used, Counter())
    others: Counter[str] = sum(map(pricing.others_of, usages), Counter())
    kinds = [kind for kind in pricing.KINDS if total[kind] or kind in ALWAYS]
    table = [
        [name, *(tokens[kind] for kind in kinds), *_amount(tokens, known)]
        for name, tokens in [*((str(number), tokens) for number, tokens in enumerate(used, 1)), ("all", total)]
    ]
    if known:
        table.append(["USD per million", *(pricing.price_of(kind, known) for kind in kinds), None])
    drawn = show_table(["reply", *(pricing.KINDS[kind] for kind in kinds), *(["USD"] if known else [])], table)
    says = (
        pricing.sentence(total, others, known) if known else f"{many(total.total(), 'token')}; prices= gives the cost"
    )
    says = f"{many(len(used), 'reply')}: {says}.".replace("replys", "replies")
    return Cost(f"{drawn.text}\n{says}", f"{drawn.html}<i>{escape(says)}</i>", total, pricing.usd(total, known))


def _amount(tokens, known):
    """The cell of a sum; none without prices."""
    dollars = pricing.usd(tokens, known)
    return ["?" if dollars is None else pricing.amount(dollars)] if known else []


def _listed(replies):
    return list(replies) if isinstance(replies, (list, tuple)) or hasattr(replies, "__next__") else [replies]


def _usage(reply):
    usage = reply.get("usage") if isinstance(reply, dict) else getattr(reply, "usage", None)
    if usage is None:
        kind = "a message of a history" if isinstance(reply, dict) and "role" in reply else type(reply).__name__
        raise TypeError(f"This is {kind}, which has no usage. Give replies as the client returned them, in a list.")
    return usage
