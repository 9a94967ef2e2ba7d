"""Broken histories from public reports: what the API says to each, and that the repair keeps what is real.

In data/histories.json: `api_error` (null: the API accepts the list), other wordings in `alternative_errors`, what an
endpoint says that does not combine neighbours in `strict_endpoint_error`, one right repair in `repaired` (`free_form`:
several are right), the rest of the request in `request`, the kind of endpoint in `profile`. `repair_scope` is "request"
where the request is wrong, so that no list is right. `py_objects`: build the assistant's blocks as SDK objects.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from anthropic.types import TextBlock, ToolUseBlock

from s02_tool_use.lab.api.rules import FIRST_PARTY, STRICT, Profile, validate
from s02_tool_use.messages import normalize_messages

ROOT = Path(__file__).resolve().parents[2]
CASES = json.loads((ROOT / "s02_tool_use" / "lab" / "data" / "histories.json").read_text(encoding="utf-8"))
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("bash", "write_file")]


def cases(keep=lambda case: True):
    chosen = [case for case in CASES if keep(case)]
    return pytest.mark.parametrize("case", chosen, ids=[case["id"] for case in chosen])


def request(case, messages):
    tools = {"tools": TOOLS} if case["tools_needed"] else {}
    return {"model": "any", "max_tokens": 2000, "messages": messages, **tools, **case.get("request", {})}


def fixed(case, messages):
    return normalize_messages(messages, prefill=case.get("profile", {}).get("prefill", False))


def with_objects(messages):
    kinds = {"text": TextBlock, "tool_use": ToolUseBlock}
    return [
        {**message, "content": [kinds[block["type"]](**block) for block in message["content"]]}
        if message["role"] == "assistant" and isinstance(message["content"], list)
        else message
        for message in messages
    ]


def in_blocks(messages):
    """The list with every content as blocks, so that a text is the same in both of its forms."""
    return [
        {**message, "content": [{"type": "text", "text": content}] if isinstance(content, str) else content}
        for message in messages
        for content in [message["content"]]
    ]


def results(messages):
    """The results of a list that a tool gave, without the ids, which may be new."""
    blocks = [block for message in in_blocks(messages) for block in message["content"]]
    return [b.get("content") for b in blocks if b["type"] == "tool_result" and b.get("content") != "(cancelled)"]


def test_every_kind_of_report_is_there():
    assert len(CASES) == len({case["id"] for case in CASES}) == 65
    assert sum(case["api_error"] is None for case in CASES) == 7


@cases(lambda case: case["checkable"])
def test_the_api_says_what_the_report_quotes(case):
    problem = validate(request(case, case["messages"]), Profile(**case.get("profile", {})))
    said = problem and problem.message
    assert said in [case["api_error"], *case.get("alternative_errors", [])]


@cases(lambda case: "strict_endpoint_error" in case)
def test_an_endpoint_that_does_not_combine_says_what_the_report_quotes(case):
    assert validate(request(case, case["messages"]), STRICT).message == case["strict_endpoint_error"]


@cases(lambda case: case.get("repair_scope") != "request")
def test_the_repair_is_accepted_everywhere(case):
    for endpoint in (FIRST_PARTY, STRICT):
        profile = replace(endpoint, **case.get("profile", {}))
        assert validate(request(case, fixed(case, case["messages"])), profile) is None


@cases()
def test_the_repair_keeps_the_real_results_and_every_word(case):
    repaired = fixed(case, case["messages"])
    assert results(repaired) == results(case["repaired"])
    if not case.get("free_form"):
        assert in_blocks(repaired) == in_blocks(case["repaired"])


@cases(lambda case: case["api_error"] is None)
def test_what_the_api_accepts_is_not_touched(case):
    repairs = []
    before = json.dumps(case["messages"])
    repaired = normalize_messages(case["messages"], repairs=repairs)
    assert in_blocks(repaired) == in_blocks(case["repaired"])
    assert all(line.startswith("joined messages") for line in repairs)
    assert json.dumps(case["messages"]) == before


@cases(lambda case: case.get("repair_scope") == "request")
def test_where_the_request_is_wrong_the_list_comes_back_as_it_was(case):
    assert normalize_messages(case["messages"]) == case["messages"]
    if case["checkable"]:
        assert validate(request(case, case["messages"]), Profile(**case.get("profile", {}))) is not None
        assert validate({**request(case, case["messages"]), "tools": TOOLS, "thinking": {"type": "disabled"}}) is None


@cases(lambda case: case.get("py_objects"))
def test_sdk_objects_are_fixed_as_dicts_are(case):
    assert normalize_messages(with_objects(case["messages"])) == normalize_messages(case["messages"])


@cases(lambda case: case["api_error"] is not None and case.get("repair_scope") != "request")
def test_every_repair_says_what_it_did(case):
    repairs = []
    normalize_messages(case["messages"], repairs=repairs, prefill=case.get("profile", {}).get("prefill", False))
    assert repairs
    assert all(isinstance(line, str) and line and "\n" not in line for line in repairs)
