"""cost(replies, prices): one call, a table, a number."""

from types import SimpleNamespace

import pytest

from s02_tool_use import agent_steps
from s02_tool_use.lab import cost
from s02_tool_use.lab.client.endpoint import connect

PRICES = {"input_tokens": 2, "output_tokens": 10}


def reply(read=0, written=0, **more):
    usage = {"input_tokens": read, "output_tokens": written, **more}
    return {"type": "message", "role": "assistant", "content": [], "usage": usage}


def test_each_reply_has_a_row_and_all_of_them_one():
    made = cost([reply(1000, 100), reply(500_000, 0)], PRICES)
    assert [line.split() for line in made.text.splitlines()[2:]] == [
        ["1", "1000", "100", "0.003000"],
        ["2", "500000", "0", "1.000000"],
        ["all", "501000", "100", "1.003000"],
        ["USD", "per", "million", "2.0", "10.0"],
        ["2", "replies:", "1.003000", "USD", "at", "your", "prices."],
    ]
    assert made.usd == pytest.approx(1.003)
    assert made.tokens == {"input_tokens": 501_000, "output_tokens": 100}
    assert "<table" in made._repr_html_()


def test_the_cache_has_columns_when_it_was_used():
    split = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 3}
    made = cost([reply(1, 2, cache_creation=split, cache_read_input_tokens=4)], PRICES)
    assert made.text.splitlines()[0].split() == [
        "reply",
        "input",
        "cache",
        "write",
        "1h",
        "cache",
        "read",
        "output",
        "USD",
    ]


def test_a_price_that_is_missing_is_named_and_no_sum_is_made_up():
    made = cost([reply(1, 2, cache_read_input_tokens=4), reply(1, 2)], PRICES)
    assert made.usd is None
    assert made.text.splitlines()[2].split() == ["1", "1", "4", "2", "?"]
    assert made.text.splitlines()[3].split() == ["2", "1", "0", "2", "0.000022"]
    assert made.text.endswith("2 replies: no price for cache_read_input_tokens, so the cost is not known.")


def test_what_tokens_do_not_cover_is_said():
    made = cost([reply(1, 2, server_tool_use={"web_search_requests": 2, "web_fetch_requests": 0})], PRICES)
    assert made.text.endswith("1 reply: 0.000022 USD at your prices, without 2 web search requests.")


def test_without_prices_the_tokens_are_there_and_no_cost():
    made = cost([reply(1, 2)])
    assert made.usd is None
    assert "USD" not in made.text
    assert made.text.endswith("1 reply: 3 tokens; prices= gives the cost.")


def test_replies_of_every_kind_are_counted_alike(workspace):
    client, model = connect()
    messages = [{"role": "user", "content": "How many Python files are here?"}]
    replies = [step.data for step in agent_steps(client, model, messages) if step.kind == "reply"]
    assert len(replies) > 1
    made = cost(replies, PRICES)
    for given in ([one.to_dict() for one in replies], tuple(replies), iter(replies)):
        assert cost(given, PRICES).text == made.text
    assert cost(replies[0], PRICES).usd == cost([replies[0]], PRICES).usd
    assert made.usd == pytest.approx(sum(cost(one, PRICES).usd for one in replies))


def test_no_replies_cost_nothing():
    assert cost([], PRICES).usd == 0
    assert cost([], PRICES).text.endswith("0 replies: 0.000000 USD at your prices.")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"role": "user", "content": "Hi"}], "This is a message of a history, which has no usage. Give replies"),
        ("Hi", "This is str, which has no usage. Give replies"),
        (None, "This is NoneType, which has no usage. Give replies"),
        ([SimpleNamespace(usage=None)], "This is SimpleNamespace, which has no usage. Give replies"),
        ({"input_tokens": 3}, "This is dict, which has no usage. Give replies"),
    ],
)
def test_what_is_no_reply_is_named(given, said):
    with pytest.raises(TypeError, match=said):
        cost(given, PRICES)
