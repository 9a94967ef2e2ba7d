"""Our tables of blocks against those of the installed SDK: a new release shows here what is new."""

import typing

import anthropic.types as sdk
import anthropic.types.beta as beta
import pytest
from anthropic.types import document_block_param, image_block_param, tool_result_block_param
from anthropic.types.beta import (
    beta_image_block_param,
    beta_request_document_block_param,
    beta_system_message_param,
    beta_tool_result_block_param,
)
from typing_extensions import get_type_hints  # that of Python 3.10 leaves Required around a type

from s02_tool_use import normalize_messages
from s02_tool_use.history.fields import CALLERS, FIELDS, IN_SYSTEM, INSIDE_RESULT, SOURCES
from s02_tool_use.history.plain import ONLY_OF_SYSTEM


def members(union):
    """The classes of a union, also of one that is annotated or holds others."""
    if isinstance(union, type):
        return [union]
    inside = typing.get_args(union)
    return [one for part in (inside[:1] if hasattr(union, "__metadata__") else inside) for one in members(part)]


def by_type(*unions):
    """type -> the fields, by their names on the wire."""
    found = {}
    for one in (one for union in unions for one in members(union)):
        if hasattr(one, "model_fields"):
            fields = {field.alias or name for name, field in one.model_fields.items()}
            kinds = typing.get_args(one.model_fields["type"].annotation)
        else:
            fields, kinds = set(get_type_hints(one)), typing.get_args(get_type_hints(one)["type"])
        for kind in kinds:
            found[kind] = found.get(kind, set()) | fields
    return found


PARAMS = by_type(
    sdk.ContentBlockParam,
    beta.BetaContentBlockParam,
    tool_result_block_param.Content,
    beta_tool_result_block_param.Content,
)
REPLIES = by_type(sdk.ContentBlock, beta.BetaContentBlock)


def test_the_blocks_and_their_fields_are_the_sdks():
    assert FIELDS == PARAMS


def test_what_a_reply_holds_may_be_sent_back():
    assert {kind: fields - FIELDS[kind] for kind, fields in REPLIES.items() if fields - FIELDS[kind]} == {}


def test_what_a_result_and_a_system_message_hold_is_the_sdks():
    assert by_type(tool_result_block_param.Content, beta_tool_result_block_param.Content).keys() == INSIDE_RESULT
    assert by_type(beta_system_message_param.ContentBlock).keys() == IN_SYSTEM
    for role, name in ("user", "User"), ("assistant", "Assistant"), ("system", "System"):
        more = ONLY_OF_SYSTEM if role == "system" else ()
        assert get_type_hints(getattr(beta, f"Beta{name}MessageParam")).keys() == {"role", "content", *more}


def test_callers_and_sources_are_the_sdks():
    assert by_type(sdk.tool_use_block_param.Caller, beta.beta_tool_use_block_param.Caller) == CALLERS
    assert SOURCES["image"] == by_type(image_block_param.Source, beta_image_block_param.Source)
    assert SOURCES["document"] == by_type(document_block_param.Source, beta_request_document_block_param.Source)


# A block of each type, whole.
VALUES = {
    "input": {"q": 1}, "content": [], "caller": {"type": "direct"}, "from": {"model": "a"}, "to": {"model": "b"},
    "tool": {"type": "tool_reference", "name": "bash"}, "tools": [], "tabs": [], "state_changes": [],
    "transformations": {}, "citations": None, "is_error": False, "trigger": {"type": "refusal"}, "tool_changes": [],
    "cache_control": None, "source": {"type": "url", "url": "https://a.b/c"},
}  # fmt: skip
SPECIAL = {
    "search_result": {"source": "https://a.b/c"},
    "compaction": {"content": "They found tea."},
    "server_tool_use": {"id": "srvtoolu_1"},
}


def whole(kind):
    fields = {name: VALUES.get(name, "srvtoolu_1" if name == "tool_use_id" else name) for name in sorted(FIELDS[kind])}
    return fields | {"type": kind} | SPECIAL.get(kind, {})


def history_of(kind):
    """A list in which a block of this type stands where the API takes it."""
    block, go = whole(kind), {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    said = {"type": "text", "text": "Tea."}
    call, result = {"type": "tool_use", "id": "a", "name": "find", "input": {}}, {"type": "tool_result"}
    if kind == "tool_result":
        answer = [block | {"tool_use_id": "a"}]
    elif kind in INSIDE_RESULT:
        answer = [result | {"tool_use_id": "a", "content": [block]}]
    else:
        answer = [result | {"tool_use_id": "a", "content": "tea"}]
        block = block | {"id": "a"} if kind == "tool_use" else block
    before = [] if kind in INSIDE_RESULT | {"tool_result"} else [block]
    if kind.endswith("_tool_result") and kind != "tool_result":
        use = {"type": "mcp_tool_use", "server_name": "s"} if kind == "mcp_tool_result" else {"type": "server_tool_use"}
        before.insert(0, {**use, "id": "srvtoolu_1", "name": "find", "input": {}})
    before += [] if kind == "tool_use" else [call]
    if kind in IN_SYSTEM - {"text"}:
        return [go, {"role": "system", "content": [block]}, {"role": "assistant", "content": [said]}, go]
    return [go, {"role": "assistant", "content": before}, {"role": "user", "content": answer}]


@pytest.mark.parametrize("kind", sorted(PARAMS))
def test_a_block_of_every_type_that_the_sdk_knows_comes_back_equal(kind):
    history, repairs = history_of(kind), []
    assert normalize_messages(history, repairs=repairs) == history
    assert repairs == []
