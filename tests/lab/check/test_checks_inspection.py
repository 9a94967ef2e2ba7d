"""The checks of 07: right answers pass, whatever their style; wrong ones fail first at the sentence that fits."""

import copy

import pytest

from s02_tool_use import normalize_messages
from s02_tool_use.lab import api_says, check
from s02_tool_use.lab.check.exercise import NOT_YET, WRONG

RIGHT = [(4, "late"), (6, "order"), (4, "id")]


def first_wrong(verdict):
    return next(line.sentence for line in verdict.lines if line.verdict == WRONG)


# ---- fault


def test_the_next_request_with_each_recorded_run_is_refused():
    assert all(api_says(run) != "accepted" for run in check.BROKEN)


def test_each_recorded_run_can_be_mended_at_the_place_that_is_right():
    for run, (index, _) in zip(check.BROKEN, RIGHT, strict=True):
        mended = normalize_messages(run)
        assert api_says(mended) == "accepted"
        assert mended[:index] == run[:index]
        assert mended[index] != run[index]


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT,
        tuple(RIGHT),
        [list(pair) for pair in RIGHT],
        [(4, " Late "), (6, "ORDER"), (4, "id")],
        {0: (4, "late"), 1: (6, "order"), 2: (4, "id")},
    ],
    ids=["pairs", "tuple", "lists", "other letters", "a dict"],
)
def test_the_faults_are_found(answer):
    assert check.fault(answer)


def but(number, answer):
    return [*RIGHT[:number], answer, *RIGHT[number + 1 :]]


WRONG_FAULTS = {
    "the index that the API names": (but(0, (3, "late")), "run 0: the first message that has to be changed"),
    "where the late result stands": (but(0, (7, "late")), "run 0: the first message that has to be changed"),
    "missing, though it is there": (but(0, (4, "missing")), "run 0: what is wrong with it"),
    "late, though it is next": (but(1, (6, "late")), "run 1: what is wrong with it"),
    "the message of the call": (but(1, (5, "order")), "run 1: the first message that has to be changed"),
    "twice, by a quick look": (but(2, (4, "twice")), "run 2: what is wrong with it"),
    "missing, not id": (but(2, (4, "missing")), "run 2: what is wrong with it"),
    "word and index changed": ([pair[::-1] for pair in RIGHT], "run 0: the first message that has to be changed"),
    "one pair": ((4, "late"), "run 0: the first message that has to be changed"),
    "the words alone": (["late", "order", "id"], "run 0: the first message that has to be changed"),
    "a text": ("late", "run 0: the first message that has to be changed"),
    "two of three": (RIGHT[:2], "run 2: the first message that has to be changed"),
}


@pytest.mark.parametrize(("answer", "sentence"), WRONG_FAULTS.values(), ids=WRONG_FAULTS)
def test_a_wrong_fault_fails_at_its_sentence(answer, sentence):
    assert first_wrong(check.fault(answer)) == sentence


@pytest.mark.parametrize("answer", [None, [], [(None, None)] * 3, [("", "")] * 3, ...])
def test_an_answer_that_nobody_filled_in_is_not_yet(answer):
    assert {line.verdict for line in check.fault(answer).lines} == {NOT_YET}


def test_a_wrong_answer_is_not_told_the_right_one():
    text = repr(check.fault([(0, "x")] * 3))
    assert not any(f"right: {part!r}" in text for pair in RIGHT for part in pair)


# ---- pairs


def text_of(content):
    return content if isinstance(content, str) else "\n".join(block["text"] for block in content)


def blocks(messages):
    return [b for m in messages if isinstance(m["content"], list) for b in m["content"]]


def pairs_in_one_walk(messages):
    called, texts = [], {}
    for message in messages:
        if isinstance(message["content"], str):
            continue
        for block in message["content"]:
            if block["type"] == "tool_use":
                called.append(block["id"])
            if block["type"] == "tool_result":
                texts[block["tool_use_id"]] = text_of(block["content"])
    return {id: texts[id] for id in called if id in texts}


def pairs_by_search(messages):
    found = {}
    for call in blocks(messages):
        for result in blocks(messages):
            if call["type"] == "tool_use" and result["type"] == "tool_result" and call["id"] == result["tool_use_id"]:
                found[call["id"]] = text_of(result["content"])
    return found


def pairs_in_other_order(messages):
    calls = {b["id"] for b in blocks(messages) if b["type"] == "tool_use"}
    return {
        b["tool_use_id"]: text_of(b["content"])
        for b in reversed(blocks(messages))
        if b["type"] == "tool_result" and b["tool_use_id"] in calls
    }


@pytest.mark.parametrize("function", [pairs_in_one_walk, pairs_by_search, pairs_in_other_order])
def test_right_pairs_pass(function):
    assert check.pairs(function)


def pairs_by_order(messages):
    calls = [b["id"] for b in blocks(messages) if b["type"] == "tool_use"]
    results = [text_of(b["content"]) for b in blocks(messages) if b["type"] == "tool_result"]
    return dict(zip(calls, results, strict=False))


def pairs_of_last_turn(messages):
    end = max((n for n, m in enumerate(messages) if "'tool_use'" in str(m)), default=0)
    return pairs_in_one_walk(messages[end:])


def pairs_with_strings(messages):
    called, texts = [], {}
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use":
                called.append(block["id"])
            if block["type"] == "tool_result":
                texts[block["tool_use_id"]] = text_of(block["content"])
    return {id: texts[id] for id in called if id in texts}


def pairs_of_raw_content(messages):
    return {
        b["tool_use_id"]: b["content"]
        for b in blocks(messages)
        if b["type"] == "tool_result" and b["tool_use_id"] in {c.get("id") for c in blocks(messages)}
    }


def pairs_joined_by_nothing(messages):
    found = pairs_in_one_walk(messages)
    return {key: text.replace("\n", "") for key, text in found.items()}


def pairs_with_none(messages):
    found = pairs_in_one_walk(messages)
    return {b["id"]: found.get(b["id"]) for b in blocks(messages) if b["type"] == "tool_use"}


def pairs_with_strangers(messages):
    return {b["tool_use_id"]: text_of(b["content"]) for b in blocks(messages) if b["type"] == "tool_result"}


def pairs_of_blocks(messages):
    results = {b["tool_use_id"]: b for b in blocks(messages) if b["type"] == "tool_result"}
    return {b["id"]: results[b["id"]] for b in blocks(messages) if b.get("id") in results}


def pairs_backwards(messages):
    return {text: id for id, text in pairs_in_one_walk(messages).items()}


def pairs_in_place(messages):
    found = pairs_in_one_walk(copy.deepcopy(messages))
    for block in blocks(messages):
        block.pop("is_error", None)
        block["seen"] = True
    return found


WRONG_PAIRS = [
    (pairs_by_order, "two calls of one reply are joined by id, not by their order"),
    (pairs_of_last_turn, "the calls of all turns are in it"),
    (pairs_with_strings, "a message whose content is a string has no calls"),
    (pairs_of_raw_content, "the texts of several blocks are joined, with a line break between them"),
    (pairs_joined_by_nothing, "the texts of several blocks are joined, with a line break between them"),
    (pairs_with_none, "a call without a result is left out"),
    (pairs_with_strangers, "so is a result without a call"),
    (pairs_of_blocks, "a call and its result become one entry"),
    (lambda messages: list(pairs_in_one_walk(messages).items()), "a call and its result become one entry"),
    (pairs_backwards, "a call and its result become one entry"),
    (pairs_in_place, "the list it is given stays as it was"),
    (lambda messages: [], "a call and its result become one entry"),
    (lambda messages: print(pairs_in_one_walk(messages)) or 0, "a call and its result become one entry"),
]


@pytest.mark.parametrize(
    ("function", "sentence"), WRONG_PAIRS, ids=[f.__name__ + str(n) for n, (f, _) in enumerate(WRONG_PAIRS)]
)
def test_wrong_pairs_fail_at_the_sentence_that_fits(function, sentence):
    assert first_wrong(check.pairs(function)) == sentence


def test_a_stub_is_not_yet():
    def my_pairs(messages):
        raise NotImplementedError

    for stub in (my_pairs, lambda messages: None, lambda messages: ...):
        assert {line.verdict for line in check.pairs(stub).lines} == {NOT_YET}
