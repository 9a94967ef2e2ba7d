"""The checks of 06: right answers pass, whatever their style; wrong ones fail first at the sentence that fits."""

import re
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest
from answers import not_yet, right, wrong

from s02_tool_use import agent_loop
from s02_tool_use.lab import check
from s02_tool_use.lab.check.exercise import WRONG
from s02_tool_use.lab.check.exercises import loops

PROGRAMS = {"cat", "grep", "head", "ls", "wc"}

# ---- loop


def ask(client, model, messages, tools):
    return client.messages.create(model=model, max_tokens=1000, tools=tools, messages=messages)


def turn(reply):
    return {"role": "assistant", "content": reply.content}


def user(results):
    return {"role": "user", "content": results}


def calls_in(reply):
    return [block for block in reply.content if block.type == "tool_use"]


def refusal(call, **more):
    return {"type": "tool_result", "tool_use_id": call.id, "content": "Not run: it was cut.", "is_error": True} | more


def answers(reply, run):
    return [refusal(call) if reply.stop_reason == "max_tokens" else run(call) for call in calls_in(reply)]


def looping(*, ask=ask, kept=turn, answers=answers, sent=lambda results: [user(results)], turns=10, last=True):
    """A right loop, or one that differs from it in what is given."""

    def loop(client, model, messages, tools, run):
        for _ in range(turns):
            reply = ask(client, model, messages, tools)
            messages.append(kept(reply))
            if not calls_in(reply):
                return reply
            messages.extend(sent(answers(reply, run)))
        return reply if last else None

    return loop


loop_for = looping()


def loop_with_plain_data(client, model, messages, tools, run):
    count, reply = 0, None
    while count < 10 and (reply is None or messages[-1]["role"] == "user"):
        with client.messages.stream(model=model, max_tokens=500, tools=tools, messages=messages) as stream:
            reply = stream.get_final_message()
        count += 1
        messages += [{"role": "assistant", "content": [b.to_dict() for b in reply.content]}]
        results = []
        for block in messages[-1]["content"]:
            if block["type"] == "tool_use" and reply.stop_reason != "max_tokens":
                results.append(run(block))
            elif block["type"] == "tool_use":
                results.append({"type": "tool_result", "tool_use_id": block["id"], "is_error": True, "content": "cut"})
        if results:
            messages.append({"role": "user", "content": results})
    return reply


def loop_that_calls_itself(client, model, messages, tools, run, left=10):
    reply = ask(client, model, messages, tools)
    messages.append(turn(reply))
    results = answers(reply, run)
    if results:
        messages.append(user(results))
    return reply if not results or left == 1 else loop_that_calls_itself(client, model, messages, tools, run, left - 1)


def loop_with_threads(client, model, messages, tools, run):
    reply = None
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        messages.append({"role": "assistant", "content": [block.model_dump() for block in reply.content]})
        calls = calls_in(reply)
        if not calls:
            break
        with ThreadPoolExecutor() as pool:
            results = list(pool.map(refusal if reply.stop_reason == "max_tokens" else run, calls))
        messages.append({"role": "user", "content": results})
    return reply


def ask_without_tools(client, model, messages, tools):
    return client.messages.create(model=model, max_tokens=1000, messages=messages)


def run_all(reply, run):
    return [run(call) for call in calls_in(reply)]


def run_all_but_the_last_of_a_cut_reply(reply, run):
    calls, cut = calls_in(reply), reply.stop_reason == "max_tokens"
    return [refusal(call) if cut and call is calls[-1] else run(call) for call in calls]


def refuse_without_is_error(reply, run):
    cut = reply.stop_reason == "max_tokens"
    return [refusal(call, is_error=False) if cut else run(call) for call in calls_in(reply)]


def loop_naive(client, model, messages, tools, run):
    while True:
        reply = ask(client, model, messages, tools)
        messages.append(turn(reply))
        if reply.stop_reason != "tool_use":
            return reply
        messages.append(user([run(calls_in(reply)[0])]))


def loop_second(client, model, messages, tools, run):
    while True:
        reply = ask(client, model, messages, tools)
        messages.append(turn(reply))
        if reply.stop_reason != "tool_use":
            return reply
        messages.append(user(run_all(reply, run)))


def loop_stops_at_a_cut(client, model, messages, tools, run):
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        messages.append(turn(reply))
        if not calls_in(reply):
            return reply
        messages.append(user(answers(reply, run)))
        if reply.stop_reason == "max_tokens":
            return reply
    return reply


def loop_goes_on_after_every_cut(client, model, messages, tools, run):
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        messages.append(turn(reply))
        if reply.stop_reason == "end_turn":
            return reply
        messages.append(user(answers(reply, run) or "Go on."))
    return reply


def loop_forgets_the_last_answers(client, model, messages, tools, run):
    for number in range(10):
        reply = ask(client, model, messages, tools)
        messages.append(turn(reply))
        if not calls_in(reply) or number == 9:
            return reply
        messages.append(user(answers(reply, run)))
    return None


def loop_returns_the_text(client, model, messages, tools, run):
    return loop_for(client, model, messages, tools, run).content[0].text


def loop_returns_the_messages(client, model, messages, tools, run):
    loop_for(client, model, messages, tools, run)
    return messages


def loop_returns_nothing(client, model, messages, tools, run):
    loop_for(client, model, messages, tools, run)


def loop_on_a_copy(client, model, messages, tools, run):
    return loop_for(client, model, list(messages), tools, run)


def loop_new_lists(client, model, messages, tools, run):
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        messages = [*messages, turn(reply)]
        if not calls_in(reply):
            return reply
        messages = [*messages, user(answers(reply, run))]
    return reply


def loop_does_not_keep_the_last_reply(client, model, messages, tools, run):
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        if not calls_in(reply):
            return reply
        messages += [turn(reply), user(answers(reply, run))]
    return reply


def loop_answers_before_the_turn(client, model, messages, tools, run):
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        if not calls_in(reply):
            messages.append(turn(reply))
            return reply
        messages += [user(answers(reply, run)), turn(reply)]
    return reply


def loop_once(client, model, messages, tools, run):
    reply = ask(client, model, messages, tools)
    messages.append(turn(reply))
    return reply


def loop_runs_the_reply(client, model, messages, tools, run):
    return run(ask(client, model, messages, tools))


def package_loop(client, model, messages, tools, run):
    handlers = {tool["name"]: lambda **given: "" for tool in tools}
    return agent_loop(client, model, messages, tools=tools, handlers=handlers, max_turns=10)


# ---- stop


def cancelled(call):
    return refusal(call, content="(cancelled)")


def stoppable(*, keep=True, raise_again=True, mark=cancelled, close=True):
    """A loop that answers on its way out, or one that differs from it in what is given."""

    def loop(client, model, messages, tools, run):
        reply = None
        for _ in range(10):
            reply = ask(client, model, messages, tools)
            messages.append(turn(reply))
            calls, results = calls_in(reply), []
            if not calls:
                return reply
            try:
                for call in calls:
                    results.append(refusal(call) if reply.stop_reason == "max_tokens" else run(call))
            except BaseException:
                if not keep:
                    results = []
                if not raise_again:
                    return reply
                raise
            finally:
                if close:
                    results += [mark(call) for call in calls[len(results) :]]
                    messages.append(user(results))
        return reply

    return loop


def stop_with_answers_by_id(client, model, messages, tools, run):
    count = 0
    while True:
        reply, count = ask(client, model, messages, tools), count + 1
        messages.append({"role": "assistant", "content": [block.to_dict() for block in reply.content]})
        results = {call.id: cancelled(call) for call in calls_in(reply)}
        if not results:
            return reply
        messages.append(user(list(results.values())))
        for number, call in enumerate(calls_in(reply)):
            messages[-1]["content"][number] = refusal(call) if reply.stop_reason == "max_tokens" else run(call)
        if count == 10:
            return reply


def stop_with_except(client, model, messages, tools, run):
    reply = None
    for _ in range(10):
        reply = ask(client, model, messages, tools)
        messages += [turn(reply)]
        if not calls_in(reply):
            break
        todo, results = calls_in(reply), []
        try:
            while todo:
                results += [refusal(todo[0]) if reply.stop_reason == "max_tokens" else run(todo[0])]
                del todo[0]
        except BaseException:
            messages += [user(results + [cancelled(call) for call in todo])]
            raise
        messages += [user(results)]
    return reply


# ---- together

READ_ONLY = {"read_file", "glob"}


def together_with_a_pool(calls, run):
    if {call["name"] for call in calls} <= READ_ONLY:
        with ThreadPoolExecutor() as pool:
            return list(pool.map(run, calls))
    return [run(call) for call in calls]


def together_with_threads(calls, run):
    results = [None] * len(calls)

    def put(number):
        results[number] = run(calls[number])

    threads = [threading.Thread(target=put, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
        if not all(call["name"] in READ_ONLY for call in calls):
            thread.join()
    for thread in threads:
        thread.join()
    return results


def together_with_futures(calls, run):
    workers = 1 if any(call["name"] not in READ_ONLY for call in calls) else max(1, len(calls))
    with ThreadPoolExecutor(workers) as pool:
        return [future.result() for future in [pool.submit(run, call) for call in calls]]


def together_always(calls, run):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(run, calls))


def together_as_they_end(calls, run):
    if {call["name"] for call in calls} <= READ_ONLY:
        with ThreadPoolExecutor() as pool:
            return [future.result() for future in as_completed([pool.submit(run, call) for call in calls])]
    return [run(call) for call in calls]


def together_where_one_reads(calls, run):
    return together_always(calls, run) if READ_ONLY & {call["name"] for call in calls} else [run(c) for c in calls]


def together_unless_it_writes(calls, run):
    writes = {"write_file", "edit_file"} & {call["name"] for call in calls}
    return [run(call) for call in calls] if writes else together_always(calls, run)


def together_without_bash(calls, run):
    changes = {"write_file", "edit_file", "bash"} & {call["name"] for call in calls}
    return [run(call) for call in calls] if changes else together_always(calls, run)


def together_backwards(calls, run):
    if {call["name"] for call in calls} <= READ_ONLY:
        return together_always(calls, run)
    return [run(call) for call in calls[::-1]][::-1]


# ---- usage


def usage_of_dicts(replies):
    usages = [reply.model_dump()["usage"] for reply in replies]
    return sum(usage["input_tokens"] for usage in usages), sum(usage["output_tokens"] for usage in usages)


def usage_in_one_walk(replies):
    total = [0, 0]
    for reply in replies:
        total[0] += reply.usage.input_tokens
        total[1] += reply.usage.output_tokens
    return total


def usage_or_nothing(replies):
    return usage_of_dicts(replies) if replies else None


# ---- approve


def approve_plain_words(block):
    if block["name"] in ("read_file", "glob"):
        return True
    if block["name"] != "bash":
        return f"{block['name']} is not allowed"
    command = block["input"].get("command")
    if not isinstance(command, str) or not re.fullmatch(r"[\w ./-]+", command):
        return "only plain words"
    words = command.split()
    return True if words and words[0] in PROGRAMS else "this program is not allowed"


def approve_by_matching(block):
    match block:
        case {"name": "read_file" | "glob"}:
            return True
        case {"name": "bash", "input": {"command": str(command)}}:
            if re.compile(r"(cat|grep|head|ls|wc)( +[a-zA-Z0-9_./*-]+)*").fullmatch(command.strip(" ")):
                return True
    return "Refused. Use read_file, glob, or a simple cat, grep, head, ls or wc."


def approve_with_shlex(block):
    if block["name"] in ("read_file", "glob"):
        return True
    command = block["input"].get("command", "")
    if block["name"] != "bash" or not isinstance(command, str):
        return "not allowed"
    if any(mark in command for mark in ";&|<>$`\n\r(){}\\"):
        return "no special characters"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return str(error)
    return True if words and words[0] in PROGRAMS else "not allowed"


def approve_deny_list(block):
    command = block["input"].get("command", "")
    return next((f"{text} is forbidden" for text in ["rm -rf", "sudo", "mkfs"] if text in command), True)


def approve_first_word(block):
    if block["name"] in ("read_file", "glob"):
        return True
    words = str(block["input"].get("command") or "").split()
    return True if block["name"] == "bash" and words and words[0] in PROGRAMS else "no"


def approve_shlex_alone(block):
    if block["name"] in ("read_file", "glob"):
        return True
    if block["name"] != "bash" or any(mark in block["input"]["command"] for mark in ";&|<>$`"):
        return "no"
    return True if shlex.split(block["input"]["command"])[:1][0] in PROGRAMS else "no"


def approve_prefix(block):
    if block["name"] in ("read_file", "glob"):
        return True
    command = str(block["input"].get("command", ""))
    plain = re.fullmatch(r"[\w ./-]+", command)
    return True if block["name"] == "bash" and plain and command.startswith(tuple(PROGRAMS)) else "no"


def approve_any_word(block):
    if block["name"] in ("read_file", "glob"):
        return True
    command = str(block["input"].get("command", ""))
    plain = re.fullmatch(r"[\w ./-]+", command)
    return True if block["name"] == "bash" and plain and PROGRAMS & set(command.split()) else "no"


def approve_multiline(block):
    if block["name"] in ("read_file", "glob"):
        return True
    command = str(block["input"].get("command", ""))
    found = re.match(r"(cat|grep|head|ls|wc)( [\w ./-]*)?$", command, re.MULTILINE)
    return True if block["name"] == "bash" and found else "no"


def approve_forgets_the_name(block):
    if block["name"] in ("read_file", "glob"):
        return True
    return approve_plain_words({**block, "name": "bash"})


def approve_says_false(block):
    return approve_plain_words(block) is True


def approve_says_none(block):
    return True if approve_plain_words(block) is True else None


def approve_exact(block):
    known = block["name"] in ("read_file", "glob") or block["input"].get("command") in PROGRAMS
    return True if known else "no"


def approve_needs_a_command(block):
    if block["name"] in ("read_file", "glob"):
        return True
    if block["name"] != "bash":
        return "no"
    command = block["input"]["command"]
    if not re.fullmatch(r"[\w ./-]*", command):
        return "no"
    return True if command.split()[0] in PROGRAMS else "no"


LOOPS = [loop_for, loop_with_plain_data, loop_that_calls_itself, loop_with_threads]
STOPS = [stoppable(), stop_with_answers_by_id, stop_with_except]

RIGHT_ANSWERS = {
    "limit": [*LOOPS, *STOPS, looping(answers=run_all)],
    "loop": [*LOOPS, *STOPS],
    "stop": STOPS,
    "together": [together_with_a_pool, together_with_threads, together_with_futures],
    "usage": [usage_of_dicts, usage_in_one_walk],
    "approve": [approve_plain_words, approve_by_matching, approve_with_shlex],
}

# yours, and a part of the sentence that must be the first to fail
WRONG_ANSWERS = {
    "limit": [
        (loop_naive, "all results of a reply"),
        (loop_second, "asked 10 times"),
        (looping(turns=9), "asked 10 times"),
        (looping(turns=11), "asked 10 times"),
        (looping(last=False), "then the last"),
        (loop_forgets_the_last_answers, "whatever ended it"),
        (loop_returns_nothing, "returns the last reply"),
        (loop_on_a_copy, "the list it is given grows"),
        (loop_once, "with a call it asks again"),
        (lambda client, model, messages: None, "a reply without a call ends it"),
    ],
    "stop": [
        (loop_second, "but it is answered"),
        (looping(), "what was run before"),
        (loop_with_threads, "what was run before"),
        (stoppable(keep=False), "what was run before"),
        (stoppable(raise_again=False), "Stop ends it"),
        (stoppable(close=False), "with a call it asks again"),
        (stoppable(mark=lambda call: refusal(call, is_error=False)), "a call that did not finish"),
        (stoppable(mark=lambda call: {**cancelled(call), "tool_use_id": "toolu_99"}), "whatever ended it"),
        (stoppable(mark=lambda call: {"type": "text", "text": "(cancelled)"}), "a call that did not finish"),
        (loop_goes_on_after_every_cut, "a reply without a call ends it"),
    ],
    "together": [
        (lambda calls, run: [run(call) for call in calls], "calls that only read"),
        (together_always, "if one of them may change"),
        (together_as_they_end, "the results stand in the order"),
        (together_where_one_reads, "if one of them may change"),
        (together_unless_it_writes, "if one of them may change"),
        (together_without_bash, "if one of them may change"),
        (together_backwards, "in the order in which the model wrote them"),
        (lambda calls, run: run(calls[0]), "each call is run once"),
        (lambda calls, run: [run(call) for call in calls] and [run(call) for call in calls], "calls that only read"),
        (lambda calls, run: {call["id"]: run(call) for call in calls}, "each call is run once"),
        (lambda calls, run: calls, "each call is run once"),
    ],
    "loop": [
        (loop_naive, "all results of a reply"),
        (loop_second, "but it is answered"),
        (looping(answers=run_all), "was cut is not run"),
        (looping(answers=run_all_but_the_last_of_a_cut_reply), "was cut is not run"),
        (loop_stops_at_a_cut, "but it is answered"),
        (loop_goes_on_after_every_cut, "a reply without a call ends it"),
        (looping(turns=1000), "asked 10 times"),
        (looping(turns=11), "asked 10 times"),
        (loop_forgets_the_last_answers, "whatever ended it"),
        (looping(last=False), "then the last"),
        (loop_returns_the_text, "returns the last reply"),
        (loop_returns_the_messages, "returns the last reply"),
        (loop_returns_nothing, "returns the last reply"),
        (loop_on_a_copy, "the list it is given grows"),
        (loop_new_lists, "the list it is given grows"),
        (loop_does_not_keep_the_last_reply, "the list it is given grows"),
        (looping(ask=ask_without_tools), "offers the tools"),
        (looping(sent=lambda results: [user([result]) for result in results]), "all results of a reply"),
        (looping(answers=lambda reply, run: answers(reply, run)[::-1]), "all results of a reply"),
        (looping(answers=lambda reply, run: answers(reply, run) and answers(reply, run)), "each call is run once"),
        (loop_answers_before_the_turn, "with a call it asks again"),
        (
            looping(ask=lambda client, model, messages, tools: ask(client, model, messages[-1:], tools)),
            "with a call it asks again",
        ),
        (looping(kept=lambda reply: reply), "with a call it asks again"),
        (looping(answers=refuse_without_is_error), "but it is answered"),
        (loop_once, "with a call it asks again"),
        (loop_runs_the_reply, "a reply without a call ends it"),
        (package_loop, "all results of a reply"),
        (lambda client, model, messages: None, "a reply without a call ends it"),
    ],
    "usage": [
        (lambda replies: (replies[-1].usage.input_tokens, replies[-1].usage.output_tokens), "the input of every"),
        (lambda replies: (max(r.usage.input_tokens for r in replies), 0), "one reply"),
        (lambda replies: usage_of_dicts(replies)[::-1], "one reply"),
        (lambda replies: sum(usage_of_dicts(replies)), "one reply"),
        (lambda replies: (usage_of_dicts(replies)[0], replies[-1].usage.output_tokens), "so does the output"),
        (lambda replies: (replies[-1].usage.input_tokens, usage_of_dicts(replies)[1]), "the input of every"),
        (lambda replies: sum(reply["usage"]["input_tokens"] for reply in replies), "one reply"),
        (usage_or_nothing, "no replies"),
    ],
    "approve": [
        (approve_deny_list, "the tools that write"),
        (
            lambda block: approve_deny_list(block) if block["name"] == "bash" else approve_plain_words(block),
            "a program",
        ),
        (approve_first_word, "a second command"),
        (approve_shlex_alone, "a second command"),
        (approve_multiline, "a second command"),
        (approve_prefix, "a program that is not"),
        (approve_any_word, "a program that is not"),
        (approve_forgets_the_name, "the tools that write"),
        (approve_says_false, "the tools that write"),
        (approve_says_none, "the tools that write"),
        (approve_exact, "a harmless command"),
        (approve_needs_a_command, "nonsense"),
        (lambda block: True, "the tools that write"),
        (lambda block: "no", "the tools that only read"),
        (lambda block: block["name"] in ("read_file", "glob"), "a harmless command"),
    ],
}


@pytest.fixture(autouse=True)
def short_gate(monkeypatch):
    """Who waits in vain for a call that never begins has waited long enough: right answers do not wait."""
    monkeypatch.setattr(loops, "GATE_SECONDS", 0.3)


test_a_right_answer_passes_twice = right(RIGHT_ANSWERS)
test_a_wrong_answer_fails_first_at_the_sentence_that_fits_it = wrong(WRONG_ANSWERS)
test_a_stub_says_not_yet = not_yet(RIGHT_ANSWERS, returned=[None])


def test_a_refused_request_is_shown_in_the_api_s_words_with_the_line_that_sent_it():
    line = next(line for line in check.loop(loop_naive).lines if line.verdict == WRONG)
    details = dict(line.details)
    assert details["input"] == "loop_naive(<a model that calls bash twice in one reply, then says 'Both done.'>)"
    assert "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_02" in details["yours"]


def test_a_loop_that_loses_its_results_at_a_stop_is_told_so_in_words():
    lines = {line.sentence: dict(line.details) for line in check.stop(loop_for).lines if line.verdict == WRONG}
    for sentence in ("what was run before has its real result", "a call that did not finish is answered"):
        (details,) = (given for said, given in lines.items() if said.startswith(sentence))
        assert details["yours"].strip("[]") == repr(loops.UNANSWERED)


def test_what_the_loop_prints_is_its_own(capsys):
    check.loop(loop_for)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("yours", [{"input": 400, "output": 20}, "400, 20"], ids=["dict", "str"])
def test_tokens_in_another_shape_than_a_pair_are_shown_as_they_came(yours):
    assert ("yours", repr(yours)) in check.usage(lambda replies: yours).lines[0].details
