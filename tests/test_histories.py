"""The broken conversations as data, and the API's words about them."""

import pytest

from s02_tool_use.lab import histories as module
from s02_tool_use.lab.histories import api_says, histories, problem_of
from s02_tool_use.lab.rules import STRICT


@pytest.mark.parametrize("case", [c for c in histories().values() if c["checkable"]], ids=lambda case: case["id"])
def test_the_api_says_about_a_case_what_its_report_quotes(case):
    assert api_says(case["messages"], case) == (case["api_error"] or "accepted")


def test_a_case_that_was_changed_is_whole_when_it_is_read_again():
    histories()["orphan-at-end"]["messages"].clear()
    assert histories()["orphan-at-end"]["messages"]


def test_the_rest_of_a_request_is_the_one_of_the_case():
    case = histories()["tools-param-missing"]
    assert "must define tools" in api_says(case["messages"], case)
    assert api_says(case["messages"]) == "accepted"


def test_a_strict_server_is_asked_by_its_profile():
    messages = [{"role": "user", "content": "Hello?"}, {"role": "user", "content": "Anybody?"}]
    assert api_says(messages) == "accepted"
    assert problem_of(messages, profile=STRICT).status == 400


def test_without_the_repository_it_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FILE", tmp_path / "histories.json")
    with pytest.raises(FileNotFoundError, match="the whole repository"):
        histories()
