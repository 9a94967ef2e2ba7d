"""The checks of 05: right answers pass, whatever their style; wrong ones fail first at the sentence that fits."""

import copy

from answers import not_yet, right, wrong

from s02_tool_use import normalize_messages
from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import WRONG


def blocks_of(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_result(block):
    return block["type"] == "tool_result"


def cancelled(name, **more):
    return {"type": "tool_result", "tool_use_id": name, "content": "(cancelled)", "is_error": True} | more


def answered_ids(messages):
    return {b["tool_use_id"] for m in messages for b in blocks_of(m) if is_result(b)}


def orphans_of(message, answered):
    return [b["id"] for b in blocks_of(message) if b["type"] == "tool_use" and b["id"] not in answered]


# ---- results_first: right, wrong


def first_in_one_walk(content):
    front, back = [], []
    for block in content:
        if block["type"] == "tool_result":
            front.append(block)
        else:
            back.append(block)
    return [*front, *back]


def first_by_insert(content):
    ordered, place = [], 0
    for block in copy.deepcopy(content):
        if is_result(block):
            ordered.insert(place, block)
            place += 1
        else:
            ordered.append(block)
    return ordered


def first_reversed(content):
    ordered = []
    for block in content:
        ordered.insert(0 if is_result(block) else len(ordered), block)
    return ordered


def first_only_text_left(content):
    return [b for b in content if is_result(b)] + [b for b in content if b["type"] == "text"]


def first_in_place(content):
    content.sort(key=lambda block: block["type"] != "tool_result")
    return content


def first_moves_one(content):
    index = next((i for i, block in enumerate(content) if is_result(block)), 0)
    return [content[index], *content[:index], *content[index + 1 :]]


def first_while_walking(content):
    for block in content:
        if is_result(block):
            content.remove(block)
            content.insert(0, block)
    return content


def first_without_the_errors(content):
    return [b for b in content if is_result(b) and not b.get("is_error")] + [b for b in content if not is_result(b)]


# ---- merge: right, wrong


def merge_last(messages):
    merged = []
    for message in messages:
        blocks = list(blocks_of(message))
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += blocks
        else:
            merged.append({"role": message["role"], "content": blocks})
    return merged


def merge_copies_and_keeps_strings(messages):
    from itertools import groupby

    result = []
    for role, group in groupby(copy.deepcopy(messages), key=lambda message: message["role"]):
        group = list(group)
        content = group[0]["content"] if len(group) == 1 else [b for m in group for b in blocks_of(m)]
        result.append({"role": role, "content": content})
    return result


def merge_original(messages):
    merged = [messages[0]] if messages else []
    for msg in messages[1:]:
        if msg["role"] == merged[-1]["role"]:
            prev = merged[-1]
            prev["content"] = blocks_of(prev) + blocks_of(msg)
        else:
            merged.append(msg)
    return merged


def merge_shares_the_lists(messages):
    merged = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"].extend(blocks_of(message))
        else:
            merged.append({"role": message["role"], "content": blocks_of(message)})
    return merged


def merge_adds_contents(messages):
    merged = []
    for message in copy.deepcopy(messages):
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append(message)
    return merged


def merge_joins_texts(messages):
    merged = []
    for message in copy.deepcopy(messages):
        if merged and merged[-1]["role"] == message["role"]:
            one, two = merged[-1]["content"], message["content"]
            both = isinstance(one, str) and isinstance(two, str)
            merged[-1]["content"] = f"{one}\n{two}" if both else blocks_of(merged[-1]) + blocks_of(message)
        else:
            merged.append(message)
    return merged


def merge_pairs(messages):
    merged, index = [], 0
    while index < len(messages):
        message = messages[index]
        blocks = list(blocks_of(message))
        if index + 1 < len(messages) and messages[index + 1]["role"] == message["role"]:
            blocks += blocks_of(messages[index + 1])
            index += 1
        merged.append({"role": message["role"], "content": blocks})
        index += 1
    return merged


def merge_by_role(messages):
    turns = {}
    for message in messages:
        turns.setdefault(message["role"], []).extend(blocks_of(message))
    return [{"role": role, "content": blocks} for role, blocks in turns.items()]


def merge_users_only(messages):
    merged = []
    for message in messages:
        blocks = list(blocks_of(message))
        if merged and merged[-1]["role"] == message["role"] == "user":
            merged[-1]["content"] += blocks
        else:
            merged.append({"role": message["role"], "content": blocks})
    return merged


def merge_trusts_the_first(messages):
    merged = [{"role": messages[0]["role"], "content": list(blocks_of(messages[0]))}]
    for message in messages[1:]:
        if merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += blocks_of(message)
        else:
            merged.append({"role": message["role"], "content": list(blocks_of(message))})
    return merged


def merge_backwards(messages):
    merged = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] = blocks_of(message) + merged[-1]["content"]
        else:
            merged.append({"role": message["role"], "content": blocks_of(message)})
    return merged


def merge_nests(messages):
    merged = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"].append(blocks_of(message))
        else:
            merged.append({"role": message["role"], "content": list(blocks_of(message))})
    return merged


def merge_forgets_to_keep(messages):
    return [a for a, b in zip(messages, messages[1:]) if a["role"] != b["role"]]  # noqa: B905


# ---- orphans: right, wrong


def orphans_wait_for_the_next(messages):
    answered, mended, late = answered_ids(messages), [], []
    for message in messages:
        if late and message["role"] == "user":
            message = {"role": "user", "content": late + blocks_of(message)}
        elif late:
            mended.append({"role": "user", "content": late})
        mended.append(message)
        late = [cancelled(name) for name in orphans_of(message, answered)]
    return mended + ([{"role": "user", "content": late}] if late else [])


def orphans_in_a_message_of_their_own(messages):
    answered, mended = answered_ids(messages), []
    for message in messages:
        mended.append(message)
        names = orphans_of(message, answered)
        if names:
            mended.append({"role": "user", "content": [cancelled(name) for name in names]})
    return mended


def orphans_behind_the_real_results(messages):
    mended, answered = copy.deepcopy(messages), answered_ids(messages)
    index = 0
    while index < len(mended):
        names = orphans_of(mended[index], answered)
        index += 1
        if not names:
            continue
        if index == len(mended) or mended[index]["role"] != "user":
            mended.insert(index, {"role": "user", "content": []})
        blocks = blocks_of(mended[index])
        place = sum(is_result(block) for block in blocks)
        mended[index]["content"] = blocks[:place] + [cancelled(name) for name in names] + blocks[place:]
    return mended


def orphans_original(messages):
    normalized = list(messages)
    existing_results = answered_ids(normalized)
    for msg in normalized:
        if msg["role"] == "assistant" and isinstance(msg.get("content"), list):
            for block in msg["content"]:
                if block.get("type") == "tool_use" and block.get("id") not in existing_results:
                    result = {"type": "tool_result", "tool_use_id": block["id"], "content": "(cancelled)"}
                    normalized.append({"role": "user", "content": [result]})
    return normalized


def orphans_at_the_end(messages):
    answered = answered_ids(messages)
    names = [name for message in messages for name in orphans_of(message, answered)]
    return messages + ([{"role": "user", "content": [cancelled(name) for name in names]}] if names else [])


def orphans_look_at_the_next_only(messages):
    mended = []
    for index, message in enumerate(messages):
        mended.append(message)
        following = messages[index + 1 : index + 2]
        names = orphans_of(message, answered_ids(following))
        if names:
            mended.append({"role": "user", "content": [cancelled(name) for name in names]})
    return mended


def orphans_after_the_text(messages):
    answered, mended = answered_ids(messages), copy.deepcopy(messages)
    for index, message in enumerate(messages):
        late = [cancelled(name) for name in orphans_of(message, answered)]
        if late and index + 1 < len(mended) and mended[index + 1]["role"] == "user":
            mended[index + 1]["content"] = blocks_of(mended[index + 1]) + late
        elif late:
            mended.insert(index + 1, {"role": "user", "content": late})
    return mended


def orphans_first_call_only(messages):
    answered, mended = answered_ids(messages), []
    for message in messages:
        mended.append(message)
        names = orphans_of(message, answered)
        if names:
            mended.append({"role": "user", "content": [cancelled(names[0])]})
    return mended


def orphans_change_the_messages(messages):
    answered, late, mended = answered_ids(messages), [], []
    for message in messages:
        if late and message["role"] == "user":
            message["content"] = late + blocks_of(message)
        elif late:
            mended.append({"role": "user", "content": late})
        mended.append(message)
        late = [cancelled(name) for name in orphans_of(message, answered)]
    return mended + ([{"role": "user", "content": late}] if late else [])


def orphans_insert_into_the_list(messages):
    answered = answered_ids(messages)
    for index in range(len(messages) - 1, -1, -1):
        names = orphans_of(messages[index], answered)
        if names:
            messages.insert(index + 1, {"role": "user", "content": [cancelled(name) for name in names]})
    return messages


def orphans_dropped(messages):
    answered, kept = answered_ids(messages), []
    for message in messages:
        blocks = [b for b in blocks_of(message) if b["type"] != "tool_use" or b["id"] in answered]
        if blocks:
            kept.append({"role": message["role"], "content": blocks})
    return kept


def orphans_forget_the_end(messages):
    answered, mended, late = answered_ids(messages), [], []
    for message in messages:
        if late:
            message = {"role": "user", "content": late + blocks_of(message)}
        mended.append(message)
        late = [cancelled(name) for name in orphans_of(message, answered)]
    return mended


def orphans_instead_of_the_text(messages):
    answered, mended, late = answered_ids(messages), [], []
    for message in messages:
        mended.append({"role": "user", "content": late} if late else message)
        late = [cancelled(name) for name in orphans_of(message, answered)]
    return mended + ([{"role": "user", "content": late}] if late else [])


def orphans_every_call(messages):
    return orphans_look_at_the_next_only([m for m in messages if not any(is_result(b) for b in blocks_of(m))])


def orphans_shifted(messages):
    answered, mended = answered_ids(messages), list(messages)
    for index, message in enumerate(messages):
        names = orphans_of(message, answered)
        if names:
            mended.insert(index + 1, {"role": "user", "content": [cancelled(name) for name in names]})
    return mended


def orphans_take_every_content_for_a_list(messages):
    answered = {b["tool_use_id"] for m in messages for b in m["content"] if b["type"] == "tool_result"}
    return [m for m in messages if answered]


def orphans_by_the_assistant(messages):
    answered, mended = answered_ids(messages), []
    for message in messages:
        late = [cancelled(name) for name in orphans_of(message, answered)]
        mended.append({"role": message["role"], "content": blocks_of(message) + late})
    return mended


def changed(**more):
    """orphans_in_a_message_of_their_own with something changed in the results."""

    def yours(messages):
        mended = copy.deepcopy(orphans_in_a_message_of_their_own(messages))
        for message in mended:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if is_result(block) and block["content"] == "(cancelled)":
                    block.update(more)
        return mended

    return yours


RIGHT_ANSWERS = {
    "results_first": [
        first_in_one_walk,
        first_by_insert,
        lambda content: sorted(content, key=lambda block: block["type"] != "tool_result"),
    ],
    "merge": [merge_last, merge_copies_and_keeps_strings],
    "orphans": [
        orphans_wait_for_the_next,
        orphans_in_a_message_of_their_own,
        orphans_behind_the_real_results,
        normalize_messages,
    ],
}

# yours, and a part of the sentence that must be the first to fail
WRONG_ANSWERS = {
    "results_first": [
        (lambda content: content, "the results come before"),
        (lambda content: sorted(content, key=lambda block: block["type"]), "the results come before"),
        (lambda content: sorted(content, key=lambda block: block["type"], reverse=True), "so does all the rest"),
        (lambda content: content[::-1], "the results come before"),
        (first_moves_one, "the results come before"),
        (first_reversed, "the results keep"),
        (first_only_text_left, "no block is lost"),
        (first_without_the_errors, "the results come before"),
        (lambda content: [b for b in content if is_result(b)] + content, "no block is lost"),
        (lambda content: [b for b in content if is_result(b)], "no block is lost"),
        (first_in_place, "stays as it was"),
        (first_while_walking, "the results keep"),
        (lambda content: {"role": "user", "content": first_in_one_walk(content)}, "the results come before"),
        (lambda message: first_in_one_walk(message["content"]), "the results come before"),
    ],
    "merge": [
        (merge_original, "stays as it was"),
        (merge_shares_the_lists, "stays as it was"),
        (merge_adds_contents, "a string counts"),
        (merge_joins_texts, "a string counts"),
        (merge_pairs, "three in a row"),
        (merge_by_role, "the assistant's neighbours"),
        (merge_users_only, "the assistant's neighbours"),
        (merge_trusts_the_first, "an empty list"),
        (merge_backwards, "two results in two"),
        (merge_nests, "two results in two"),
        (merge_forgets_to_keep, "two results in two"),
        (lambda messages: messages, "two results in two"),
        (lambda messages: merge_last(messages)[:1], "the assistant's neighbours"),
    ],
    "orphans": [
        (orphans_original, "gets one"),
        (orphans_at_the_end, "right after the call"),
        (orphans_look_at_the_next_only, "no second one"),
        (orphans_after_the_text, "right after the call"),
        (orphans_first_call_only, "of several calls"),
        (orphans_change_the_messages, "stays as it was"),
        (orphans_insert_into_the_list, "stays as it was"),
        (orphans_dropped, "gets one"),
        (orphans_forget_the_end, "gets one"),
        (orphans_instead_of_the_text, "of several calls"),
        (orphans_every_call, "all that was there"),
        (orphans_shifted, "the API accepts"),
        (orphans_take_every_content_for_a_list, "gets one"),
        (orphans_by_the_assistant, "right after the call"),
        (changed(is_error=False), "gets one"),
        (changed(is_error="true"), "gets one"),
        (changed(content="cancelled"), "gets one"),
        (changed(tool_use_id="toolu_99"), "gets one"),
        (lambda messages: messages, "gets one"),
    ],
}


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = wrong(WRONG_ANSWERS)
test_a_stub_says_not_yet = not_yet(RIGHT_ANSWERS)


def test_the_api_answers_in_its_own_words_where_an_answer_comes_too_late():
    verdict = check.orphans(orphans_at_the_end)
    line = next(line for line in verdict.lines if line.verdict == WRONG)
    assert "immediately after: toolu_01" in dict(line.details)["yours"]
    assert dict(line.details)["right"] == "'accepted'"
