"""normalize_messages, over json.dumps of the same list. At most 2 x at 10,000 messages, and linear: a message among
100,000 takes at most 1.5 x the time of one among 10,000 (1,000 fit into the processor's cache, and take less).

Prints the ratios of one run and ends with 1 if one is over: python tests/benchmarks/bench_messages.py
Held for lists that are right, with results of real length and, but for the growth, of five bytes; shown for broken
lists. Times are processor time.
"""

import json
import sys
import time

from s02_tool_use import normalize_messages

MOST, MOST_GROWTH = 2.0, 1.5
SIZES = {1_000: 40, 10_000: 8, 100_000: 3}  # messages: rounds
LINE = "drwxr-xr-x  2 user user   4096 Nov  1 12:00 notebooks\n"
REAL, TINY = LINE * 28, "a.txt"  # 1.5 kB, 5 B


def plain(count, text):
    """User, call, result, answer, again and again, in the fewest fields that the API takes."""
    messages = []
    for n in range(count // 4):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "bash", "input": {"command": "ls -l", "timeout": 10}}
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [{"type": "text", "text": text}, call]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": text}]},
            {"role": "assistant", "content": text},
        ]
    return [*messages, {"role": "user", "content": text}]


def loop(count, text):
    """The same as the loop makes it: replies with thinking, also between calls with `caller`, results in blocks or with
    is_error.
    """
    messages = []
    for n in range(count // 6):
        thinking = {"type": "thinking", "thinking": text, "signature": "EqoBCkgIARABGAIiQL2UkmVt" * 8}
        calls = [
            {"type": "tool_use", "id": f"toolu_{n}_{k}", "name": "bash", "input": {"command": "ls"}}
            | {"caller": {"type": "direct"}}
            for k in range(3)
        ]
        first, second, third = ({"type": "tool_result", "tool_use_id": call["id"]} for call in calls)
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": [thinking, {"type": "text", "text": text}, calls[0], thinking, calls[1]]},
            {
                "role": "user",
                "content": [
                    {**first, "content": [{"type": "text", "text": text}]},
                    {**second, "content": text, "is_error": True},
                ],
            },
            {"role": "assistant", "content": [thinking, calls[2]]},
            {"role": "user", "content": [{**third, "content": text}]},
            {"role": "assistant", "content": [{"type": "text", "text": text}]},
        ]
    return [*messages, {"role": "user", "content": text}]


def broken(count, text):
    """The loop's, with every seventeenth message lost and a field too many on every tenth: faults all over the list."""
    messages = loop(count * 17 // 16, text)
    return [{**m, "_ts": n} if n % 10 == 0 else m for n, m in enumerate(messages) if n % 17 != 5][:count]


def main():
    over = False
    print(f"{'messages of':22} {'count':>8} {'json.dumps':>11} {'normalize':>11} {'ratio':>6} {'growth':>7}")
    for make, size, text in (
        (plain, "1.5 kB", REAL),
        (plain, "5 bytes", TINY),
        (loop, "1.5 kB", REAL),
        (loop, "5 bytes", TINY),
        (broken, "1.5 kB", REAL),
        (broken, "5 bytes", TINY),
    ):
        one_of = {}  # count: microseconds for a message
        for count, rounds in SIZES.items():
            messages = make(count, text)
            dumping, fixing = [], []
            for _ in range(rounds):  # in turns, so that a busy machine is equally hard on both
                dumping.append(seconds(json.dumps, messages))
                fixing.append(seconds(normalize_messages, messages))
            # A busy machine only ever adds.
            one, two = (min(times) / len(messages) * 1e6 for times in (dumping, fixing))
            one_of[count] = two
            ratio, growth = two / one, two / one_of.get(10_000, two)
            wrong = make is not broken and (ratio > MOST and count == 10_000 or growth > MOST_GROWTH and text is REAL)
            over = over or wrong
            name = f"{make.__name__}, {size}"
            print(
                f"{name:22} {count:8,} {one:8.2f} us {two:8.2f} us {ratio:6.2f} {growth:7.2f}{' over' if wrong else ''}"
            )
    print(f"at most {MOST} at 10,000 messages, from there to 100,000 at most {MOST_GROWTH} times the time of a message")
    return int(over)


def seconds(function, messages):
    start = time.process_time()
    function(messages)
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
