"""What tokens cost: the form of prices, and what is counted."""

import json
from decimal import Decimal

import pytest
from anthropic.types import CacheCreation, ServerToolUsage, Usage
from anthropic.types.beta import BetaUsage

from s02_tool_use.lab import Chat
from s02_tool_use.lab.client import prices as pricing
from s02_tool_use.lab.client.endpoint import connect, connection_of
from s02_tool_use.lab.client.prices import PricesError, checked, others_of, tokens_of, usd
from s02_tool_use.lab.client.settings import SettingsError
from s02_tool_use.lab.sessions.session import Session
from s02_tool_use.lab.show import cost

PRICES = {"input_tokens": 1_000_000, "output_tokens": 10_000_000}
WRONG = [
    *(3, "3", b"3", (3, 15), [3, 15], {}, "", True, [("input_tokens", 3)], {"input_tokens"}),
    *({"input": 3, "output": 15}, {"input_tokens": "3"}, {"input_tokens": None}, {"input_tokens": "$3"}, {3: 15}),
    *({"input_tokens": -1}, {"input_tokens": float("nan")}, {"input_tokens": float("inf")}, {"input_tokens": True}),
    *({"input_tokens": {"price": 3}}, {"some-model": {"input_tokens": 3}}, {"input_tokens": [3]}, {"input_tokens": 3j}),
    *({"input_tokens": 10**400}, {None: 1}),
]


@pytest.mark.parametrize("prices", WRONG, ids=repr)
def test_any_other_form_is_one_sentence_with_the_right_one_and_an_example(prices):
    client, model = connect()
    for made in (
        lambda: checked(prices),
        lambda: Session(client, model, prices=prices),
        lambda: Chat(client, model, prices=prices),
        lambda: cost([], prices),
    ):
        with pytest.raises(PricesError) as caught:
            made()
        said = str(caught.value)
        assert said.startswith('prices= says what a million tokens cost in USD, such as {"input_tokens": ')
        assert "\n" not in said
        assert caught.value._render_traceback_() == [f"PricesError: {said}"]


def test_the_example_of_the_sentence_is_a_right_form():
    example = pricing.FORM[pricing.FORM.index("{") :]
    assert checked(json.loads(example))


def test_a_wrong_name_gets_the_list_of_the_right_ones():
    with pytest.raises(
        PricesError, match="it has no 'input', the names are those of usage: input_tokens, .*output_tokens"
    ):
        checked({"input": 3})


def test_a_price_that_is_no_number_is_named():
    with pytest.raises(PricesError, match="output_tokens must be a number, 0 or more"):
        checked({"input_tokens": 3, "output_tokens": "15"})


@pytest.mark.parametrize("price", [0, 3, 2.5, Decimal("0.3")])
def test_any_number_is_a_price(price):
    assert checked({"input_tokens": price}) == {"input_tokens": float(price)}


def test_each_kind_of_token_has_a_price_of_its_own():
    usage = Usage(
        input_tokens=1,
        output_tokens=2,
        cache_creation_input_tokens=30,
        cache_read_input_tokens=4,
        cache_creation={"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
    )
    kinds = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 4}
    kinds |= {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}
    for given in (usage, usage.model_dump(), usage.to_dict()):
        assert tokens_of(given) == kinds
    prices = {kind: 10**number * 1_000_000 for number, kind in enumerate(kinds)}
    assert usd(tokens_of(usage), prices) == 1 + 20 + 400 + 10_000 + 200_000


def test_every_count_of_tokens_that_the_sdk_knows_has_a_price_or_is_part_of_one_that_has():
    counts = {name for usage in (Usage, BetaUsage, CacheCreation) for name in usage.model_fields if "_tokens" in name}
    assert counts == {*pricing.NAMES, "output_tokens_details"}  # the last says what the output was: thinking
    assert set(ServerToolUsage.model_fields) == {"web_search_requests", "web_fetch_requests"}


def test_writes_that_an_endpoint_does_not_split_are_those_for_five_minutes():
    assert tokens_of({"input_tokens": 1, "cache_creation_input_tokens": 30})["ephemeral_5m_input_tokens"] == 30
    split = {"cache_creation_input_tokens": 30, "cache_creation": {"ephemeral_1h_input_tokens": 20}}
    assert tokens_of(split)["ephemeral_5m_input_tokens"] == 10


def test_one_price_for_all_writes_holds_where_a_write_has_none_of_its_own():
    tokens = {"ephemeral_5m_input_tokens": 1_000_000, "ephemeral_1h_input_tokens": 1_000_000}
    assert usd(tokens, {"cache_creation_input_tokens": 2.0}) == 4
    assert usd(tokens, {"cache_creation_input_tokens": 2.0, "ephemeral_1h_input_tokens": 7.0}) == 9


def test_what_a_compaction_used_is_paid_for_too():
    part = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 5}
    usage = BetaUsage(input_tokens=1, output_tokens=2, iterations=[{**part, "type": "compaction"}])
    assert tokens_of(usage) == {"input_tokens": 101, "output_tokens": 12, "cache_read_input_tokens": 5}


def test_what_has_no_price_of_tokens_is_said():
    part = {"input_tokens": 7, "output_tokens": 1, "type": "advisor_message", "model": "m"}
    usage = {"server_tool_use": {"web_search_requests": 3, "web_fetch_requests": 0}, "iterations": [part]}
    assert others_of(usage) == {"web search requests": 3, "tokens of an advisor": 8}


@pytest.mark.parametrize(
    "usage",
    [None, {}, 3, "x", [], {"input_tokens": None}, {"input_tokens": "7"}, {"input_tokens": -7}, {"iterations": 3},
     {"iterations": [None]}, {"cache_creation": 3}, {"server_tool_use": []}],
)  # fmt: skip
def test_a_strange_usage_counts_nothing_and_fails_nowhere(usage):
    assert tokens_of(usage).total() == others_of(usage).total() == 0


# PRICES in .env


@pytest.fixture
def priced(tmp_path, monkeypatch):
    """A function that connects to an endpoint whose .env has this line."""
    monkeypatch.chdir(tmp_path)

    def make(line):
        (tmp_path / ".env").write_text(f"BASE_URL=http://localhost:1\nMODEL_ID=m\n{line}\n")
        return connect()

    return make


def test_prices_in_env_hold_for_what_that_endpoint_answers_and_for_no_other(priced):
    client, model = priced('PRICES={"input_tokens": 3, "output_tokens": 15}')
    assert Session(client, model).prices == {"input_tokens": 3, "output_tokens": 15}
    assert Session(client.with_options(timeout=3), model).prices == {"input_tokens": 3, "output_tokens": 15}
    assert Session(client, model, prices={"input_tokens": 1}).prices == {"input_tokens": 1}
    for other in (connect(base_url="http://localhost:1", model="m"), connect(offline=True)):
        assert Session(*other).prices == {}


@pytest.mark.parametrize("line", ["PRICES=", "PRICES=' '", "# PRICES=3"])
def test_no_prices_are_no_prices(priced, line):
    assert connection_of(priced(line)[0]).prices is None


@pytest.mark.parametrize(
    "line", ["PRICES=3", "PRICES=input_tokens=3", 'PRICES={"input": 3}', "PRICES={'input_tokens': 3}"]
)
def test_prices_in_env_in_another_form_are_named_with_the_right_one(priced, line):
    with pytest.raises(SettingsError) as caught:
        priced(line)
    assert str(caught.value).startswith(
        'PRICES in .env says what a million tokens cost in USD, such as {"input_tokens": '
    )
