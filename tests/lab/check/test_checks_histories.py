"""The checks of 05: right answers pass, whatever their style; wrong ones fail first at the sentence that fits."""

import copy
import itertools

from answers import not_yet, right, wrong

from s02_tool_use import answer_every_call, merge_neighbours, normalize_messages, plain_messages
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


def orphans_in_the_second_of_two(messages):
    """Results that were there stay in a message of their own; what follows them gets the late ones at its head."""
    answered, fixed, late = answered_ids(messages), [], []
    for message in messages:
        blocks = blocks_of(message)
        results = [block for block in blocks if is_result(block)]
        if late and message["role"] == "user" and results:
            fixed.append({"role": "user", "content": results})
            fixed.append({"role": "user", "content": late + blocks[len(results) :]})
        elif late and message["role"] == "user":
            fixed += [{"role": "user", "content": [one]} for one in late[:-1]]
            fixed.append({"role": "user", "content": [late[-1], *blocks]})
        else:
            fixed += [{"role": "user", "content": late}, message] if late else [message]
        late = [cancelled(name) for name in orphans_of(message, answered)]
    return fixed + ([{"role": "user", "content": late}] if late else [])


def orphans_behind_the_last_result(messages):
    """At the head of the message that follows the results, also where that is the second of two of the user's."""
    answered, fixed = answered_ids(messages), copy.deepcopy(messages)
    for index in range(len(messages) - 1, -1, -1):
        late = [cancelled(name) for name in orphans_of(messages[index], answered)]
        place = index + 1
        while place < len(messages) and all(map(is_result, blocks_of(messages[place]))):
            place += 1
        if late and place < len(messages) and messages[place]["role"] == "user":
            fixed[place]["content"] = late + blocks_of(fixed[place])
        elif late:
            fixed.insert(place, {"role": "user", "content": late})
    return fixed


# ---- answers: right, wrong


def answers_by_dict(messages):
    results = {}
    for message in messages:
        for block in blocks_of(message):
            if is_result(block):
                results.setdefault(block["tool_use_id"], block)
    answered = []
    for message in messages:
        calls = [b for b in blocks_of(message) if b["type"] == "tool_use"]
        words = [b for b in blocks_of(message) if b["type"] not in ("tool_use", "tool_result")]
        answered.append({"role": message["role"], "content": words + calls})
        if calls:
            own = [results.get(call["id"]) or cancelled(call["id"]) for call in calls]
            answered.append({"role": "user", "content": own})
    return answered


def answers_into_the_next_turn(messages):
    """The results go to the head of the user's next message, as they stand in the list; nothing is left empty."""
    every = [b for m in messages for b in blocks_of(m) if is_result(b)]
    fixed, due = [], []
    for message in copy.deepcopy(messages):
        blocks = [b for b in blocks_of(message) if not is_result(b)]
        if message["role"] == "user":
            content = due + blocks
            due = []
            if content:
                fixed.append({"role": "user", "content": content})
            continue
        if due:
            fixed.append({"role": "user", "content": due})
        calls = [b for b in blocks if b["type"] == "tool_use"]
        fixed.append({"role": "assistant", "content": [b for b in blocks if b not in calls] + calls})
        due = [next((r for r in every if r["tool_use_id"] == c["id"]), cancelled(c["id"])) for c in calls]
    return fixed + ([{"role": "user", "content": due}] if due else [])


def answers_pop(messages):
    waiting = [b for m in messages for b in blocks_of(m) if is_result(b)]
    fixed = []
    for message in messages:
        kept = sorted((b for b in blocks_of(message) if not is_result(b)), key=lambda b: b["type"] == "tool_use")
        fixed.append(dict(message, content=kept))
        for block in kept:
            if block["type"] == "tool_use":
                own = [r for r in waiting if r["tool_use_id"] == block["id"]] or [cancelled(block["id"])]
                fixed.append({"role": "user", "content": own[:1]})
    # one message for each result: neighbours are one turn
    return fixed


def answers_last_result(messages):
    results = {b["tool_use_id"]: b for m in messages for b in blocks_of(m) if is_result(b)}
    return rebuilt(messages, lambda name: results.get(name) or cancelled(name))


def rebuilt(messages, result_of, words_first=True):
    answered = []
    for message in messages:
        rest = [b for b in blocks_of(message) if not is_result(b)]
        if words_first:
            rest.sort(key=lambda b: b["type"] == "tool_use")
        answered.append({"role": message["role"], "content": rest})
        own = [result_of(b["id"]) for b in rest if b["type"] == "tool_use"]
        if own := [one for one in own if one]:
            answered.append({"role": "user", "content": own})
    return answered


def first_results(messages):
    results = {}
    for message in messages:
        for block in blocks_of(message):
            if is_result(block):
                results.setdefault(block["tool_use_id"], block)
    return results


def answers_without_orphans(messages):
    return rebuilt(messages, first_results(messages).get)


def answers_without_words_first(messages):
    results = first_results(messages)
    return rebuilt(messages, lambda name: results.get(name) or cancelled(name), words_first=False)


def answers_always_cancelled(messages):
    return rebuilt(messages, cancelled)


def answers_without_is_error(messages):
    results = first_results(messages)
    return rebuilt(messages, lambda name: results.get(name) or cancelled(name, is_error=False))


def answers_drop_strays_with_their_text(messages):
    called = {b["id"] for m in messages for b in blocks_of(m) if b["type"] == "tool_use"}
    kept = [m for m in messages if not any(is_result(b) and b["tool_use_id"] not in called for b in blocks_of(m))]
    return answers_by_dict(kept)


def answers_keep_strays(messages):
    called = {b["id"] for m in messages for b in blocks_of(m) if b["type"] == "tool_use"}
    strays = [b for m in messages for b in blocks_of(m) if is_result(b) and b["tool_use_id"] not in called]
    fixed = answers_by_dict(messages)
    return fixed + ([{"role": "user", "content": strays}] if strays else [])


def answers_in_the_next_message_only(messages):
    fixed = []
    for message, following in zip(messages, [*messages[1:], {"content": []}], strict=True):
        rest = [b for b in blocks_of(message) if not is_result(b)]
        calls = [b for b in rest if b["type"] == "tool_use"]
        fixed.append({"role": message["role"], "content": [b for b in rest if b not in calls] + calls})
        results = {b["tool_use_id"]: b for b in reversed(blocks_of(following)) if is_result(b)}
        if calls:
            fixed.append({"role": "user", "content": [results.get(c["id"], cancelled(c["id"])) for c in calls]})
    return fixed


def answers_at_the_end(messages):
    results = first_results(messages)
    calls = [b["id"] for m in messages for b in blocks_of(m) if b["type"] == "tool_use"]
    rest = [{**m, "content": [b for b in blocks_of(m) if not is_result(b)]} for m in messages]
    return [*rest, {"role": "user", "content": [results.get(c) or cancelled(c) for c in calls]}]


def answers_change_the_messages(messages):
    results = first_results(messages)
    for message in messages:
        message["content"] = [b for b in blocks_of(message) if not is_result(b)]
        message["content"].sort(key=lambda b: b["type"] == "tool_use")
    return rebuilt(messages, lambda name: results.get(name) or cancelled(name))


# ---- plain: right, wrong

FIELDS = {
    "text": {"type", "text", "citations", "cache_control"},
    "tool_use": {"type", "id", "name", "input", "caller", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}


def plain_block(block):
    if not isinstance(block, dict):
        block = block.model_dump(exclude_none=True)
    known = FIELDS.get(block["type"], block)
    block = {key: value for key, value in block.items() if key in known}
    if isinstance(block.get("content"), list):
        block["content"] = [plain_block(part) for part in block["content"]]
    return block


def plain_of(one, **options):
    """my_plain of a function for one block."""

    def my_plain(messages):
        return [
            {"role": m["role"], "content": [one(b) for b in (blocks_of(m) if m["content"] else [])]} for m in messages
        ]

    return my_plain


def plain_keeps_strings(messages):
    fixed = []
    for message in messages:
        content = message["content"]
        if content is None:
            content = []
        elif not isinstance(content, str):
            content = list(map(plain_block, content))
        fixed.append({"role": message["role"], "content": content})
    return fixed


def plain_by_popping(messages):
    def one(block):
        block = copy.deepcopy(block) if isinstance(block, dict) else block.to_dict()
        for key in [*block]:
            if key not in FIELDS.get(block["type"], block):
                block.pop(key)
        if isinstance(block.get("content"), list):
            block["content"] = [one(part) for part in block["content"]]
        return block

    return plain_of(one)(messages)


def plain_only_outside(block):
    block = block if isinstance(block, dict) else block.model_dump(exclude_none=True)
    return {key: value for key, value in block.items() if key in FIELDS.get(block["type"], block)}


def plain_by_names(block):
    block = block if isinstance(block, dict) else block.model_dump(exclude_none=True)
    return {key: value for key, value in block.items() if not key.startswith("_")}


def plain_for_everything(value):
    """No field of that name, wherever it stands: the arguments of a call lose theirs as well."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(exclude_none=True)
    if isinstance(value, dict):
        known = FIELDS.get(value.get("type"), set(value))
        return {k: plain_for_everything(v) for k, v in value.items() if k in known and not k.startswith("_")}
    return [plain_for_everything(v) for v in value] if isinstance(value, list) else value


def plain_drops_other_types(block):
    block = plain_block(block)
    return block if block["type"] in FIELDS else {"type": block["type"]}


def plain_forgets_markers(block):
    return {key: value for key, value in plain_block(block).items() if key != "cache_control"}


def plain_as_vars(block):
    return plain_block(block if isinstance(block, dict) else {**vars(block)})


def plain_in_place(messages):
    for message in messages:
        for key in [*message]:
            if key not in ("role", "content"):
                del message[key]
    return plain_of(plain_block)(messages)


def plain_keeps_message_keys(messages):
    return [{**message, **plain} for message, plain in zip(messages, plain_of(plain_block)(messages), strict=True)]


def plain_trusts_lists(messages):
    return [{"role": m["role"], "content": [plain_block(b) for b in blocks_of(m)]} for m in messages]


# ---- normalize: right, wrong


def tidy(messages):
    fixed = []
    for message in messages:
        blocks = [b for b in blocks_of(message) if b["type"] != "text" or (b["text"] or "").strip()]
        if blocks:
            fixed.append({"role": message["role"], "content": blocks})
    return fixed


def end(messages):
    if not messages or messages[-1]["role"] == "assistant":
        return [*messages, {"role": "user", "content": "Continue."}]
    return messages


def end_in_blocks(messages):
    if messages and messages[-1]["role"] == "assistant":
        return [*messages, {"role": "user", "content": [{"type": "text", "text": "Go on."}]}]
    return messages


def end_dropped(messages):
    while messages and messages[-1]["role"] == "assistant":
        messages = messages[:-1]
    return messages


def end_always(messages):
    return [*messages, {"role": "user", "content": "Continue."}]


def end_again_and_again(messages):
    said = blocks_of(messages[-1])[-1].get("text") if messages else None
    return end_always(messages) if said == "Continue." else end(messages)


def end_of_something(messages):
    return end(messages) if messages[-1]["role"] == "assistant" else messages


def chain(*passes):
    def my_normalize(messages):
        for fix in passes:
            messages = fix(messages)
        return messages

    return my_normalize


PLAIN = plain_of(plain_block)


def normalize_in_one_walk(messages):
    messages = merge_last(PLAIN(copy.deepcopy(messages)))
    results, fixed = first_results(messages), []
    for message in messages:
        words = tidy([message | {"content": [b for b in message["content"] if b["type"] == "text"]}])
        others = [b for b in message["content"] if b["type"] not in ("text", "tool_use", "tool_result")]
        calls = [b for b in message["content"] if b["type"] == "tool_use"]
        blocks = others + (words[0]["content"] if words else []) + calls
        if not blocks:
            continue
        if fixed and fixed[-1]["role"] == message["role"]:
            fixed[-1]["content"] += blocks
        else:
            fixed.append({"role": message["role"], "content": blocks})
        if calls:
            fixed.append({"role": "user", "content": [results.get(c["id"]) or cancelled(c["id"]) for c in calls]})
    return end_in_blocks(fixed)


def normalize_original(messages):
    fixed = [{"role": m["role"], "content": m["content"]} for m in messages]
    return merge_original(orphans_original(fixed))


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
        orphans_in_the_second_of_two,
        orphans_behind_the_last_result,
        normalize_messages,
    ],
    "answers": [
        answers_by_dict,
        answers_into_the_next_turn,
        answers_pop,
        answer_every_call,
        lambda messages: merge_last(answers_by_dict(messages)),
    ],
    "plain": [PLAIN, plain_keeps_strings, plain_by_popping],
    "normalize": [
        chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, end),
        chain(plain_keeps_strings, merge_copies_and_keeps_strings, answers_into_the_next_turn, tidy, merge_last, end),
        chain(plain_messages, merge_neighbours, answer_every_call, tidy, merge_neighbours, end_in_blocks),
        chain(PLAIN, merge_original, answers_by_dict, tidy, merge_original, end),
        normalize_in_one_walk,
        normalize_messages,
    ],
}

# yours, and a part of the sentence that must be the first to fail
WRONG_ANSWERS = {
    "results_first": [
        (lambda content: content, "the results come before"),
        (lambda content: sorted(content, key=lambda block: block["type"]), "the results come before"),
        (lambda content: sorted(content, key=lambda block: block["type"], reverse=True), "so does everything else"),
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
        (orphans_every_call, "everything that was there"),
        (orphans_shifted, "the API accepts"),
        (orphans_take_every_content_for_a_list, "gets one"),
        (orphans_by_the_assistant, "right after the call"),
        (changed(is_error=False), "gets one"),
        (changed(is_error="true"), "gets one"),
        (changed(content="cancelled"), "gets one"),
        (changed(tool_use_id="toolu_99"), "gets one"),
        (lambda messages: messages, "gets one"),
        (lambda messages: [], "gets one"),
    ],
    "answers": [
        (lambda messages: messages, "behind the user's text"),
        (lambda messages: [], "behind the user's text"),
        (lambda messages: answers_by_dict([*messages, messages[0]]), "behind the user's text"),
        (answers_last_result, "the first stays"),
        (answers_without_orphans, "without any gets"),
        (answers_without_words_first, "before them"),
        (answers_always_cancelled, "behind the user's text"),
        (answers_without_is_error, "without any gets"),
        (answers_drop_strays_with_their_text, "the text beside it stays"),
        (answers_keep_strays, "a result without a call is dropped"),
        (answers_in_the_next_message_only, "brought back"),
        (answers_at_the_end, "behind the user's text"),
        (answers_change_the_messages, "stays as it was"),
        (orphans_in_a_message_of_their_own, "behind the user's text"),
    ],
    "plain": [
        (lambda messages: messages, "and nothing else"),
        (lambda messages: [], "and nothing else"),
        (plain_of(plain_only_outside), "content of a result"),
        (plain_of(plain_by_names), "does not know are removed"),
        (plain_of(plain_for_everything), "the arguments of a call"),
        (plain_of(plain_drops_other_types), "a block of another type"),
        (plain_of(plain_forgets_markers), "what the API knows stays"),
        (plain_of(plain_as_vars), "an SDK object"),
        (plain_of(lambda block: block), "an SDK object"),
        (plain_in_place, "stays as it was"),
        (plain_keeps_message_keys, "and nothing else"),
        (plain_trusts_lists, "None becomes an empty list"),
        (lambda messages: [m["content"] for m in PLAIN(messages)], "and nothing else"),
    ],
    "normalize": [
        (lambda messages: messages, "three conversations"),
        (lambda messages: [], "three conversations"),
        (lambda messages: [{"role": "user", "content": "Hi."}], "three conversations"),
        (normalize_original, "three conversations"),
        (chain(PLAIN, merge_last, answers_by_dict, merge_last), "three conversations"),
        (chain(merge_last, answers_by_dict, tidy, merge_last, end), "SDK objects"),
        (chain(PLAIN, merge_last, answers_by_dict, merge_last, end), "three conversations"),
        (chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last), "ends with the assistant"),
        (chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, end_dropped), "calls and results"),
        (chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, end_always), "a list that is right"),
        (chain(PLAIN, answers_by_dict, tidy, merge_last, end), "a list that is right"),
        (chain(PLAIN, tidy, merge_last, answers_by_dict, merge_last, end), "three conversations"),
        (chain(PLAIN, merge_last, orphans_in_a_message_of_their_own, tidy, merge_last, end), "three conversations"),
        (chain(PLAIN, merge_last, answers_always_cancelled, tidy, merge_last, end), "three conversations"),
        (chain(PLAIN, merge_last, answers_by_dict, tidy, end), "neighbours of one role"),
        (chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, lambda messages: end(messages[1:])), "three con"),
        (
            chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, end_of_something),
            "an empty list",
        ),
        (
            chain(PLAIN, merge_last, answers_by_dict, tidy, merge_last, end_again_and_again, merge_last),
            "running it twice changes nothing more",
        ),
        (chain(plain_in_place, merge_last, answers_by_dict, tidy, merge_last, end), "stays as it was"),
    ],
}


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = wrong(WRONG_ANSWERS)
test_a_stub_says_not_yet = not_yet(RIGHT_ANSWERS)


def test_a_merge_is_shown_as_the_messages_that_are_asked_for():
    line = next(line for line in check.merge(lambda messages: messages).lines if line.verdict == WRONG)
    details = dict(line.details)
    assert details["yours"].startswith("[{'role': 'user', 'content': [{'type': 'tool_result'")
    assert details["right"].startswith("[{'role': 'user', 'content': [{'type': 'tool_result'")
    tuples = dict(
        check.merge(lambda messages: [(m["role"], m["content"]) for m in merge_last(messages)]).lines[0].details
    )
    assert tuples["yours"].startswith("[('user', [{")
    assert tuples["right"] == details["right"]


def test_the_passes_of_the_package_stand_in_for_each_of_the_readers():
    """Whichever of the three has not passed its check: the exercise about the whole can be done in any case."""
    package, mine = (plain_messages, merge_neighbours, answer_every_call), (PLAIN, merge_last, answers_by_dict)
    for chosen in itertools.product(*zip(package, mine, strict=True)):
        plain, merge, answers = chosen
        verdict = check.normalize(chain(plain, merge, answers, tidy, merge, end))
        assert verdict.passed, f"{[one.__name__ for one in chosen]}\n{verdict!r}"


def test_the_api_answers_in_its_own_words_where_an_answer_comes_too_late():
    verdict = check.orphans(orphans_at_the_end)
    line = next(line for line in verdict.lines if line.verdict == WRONG)
    assert "immediately after: toolu_01" in dict(line.details)["yours"]
    assert dict(line.details)["right"] == "'accepted'"
