"""normalize_messages, over json.dumps of the same list. At most 2 x at 10,000 messages, and linear: a message among
100,000 takes at most 1.5 x the time of one among 1,000.

Prints the ratios of one run and ends with 1 if one is over: python tests/benchmarks/bench_messages.py
Held for messages as large as real ones (texts and results of 1.5 kB), shown for tiny ones. Times are processor time.
"""

import json
import sys
import time

from s02_tool_use import normalize_messages

MOST, MOST_GROWTH = 2.0, 1.5
SIZES = {1_000: 40, 10_000: 8, 100_000: 3}  # messages: rounds
LINE = "drwxr-xr-x  2 user user   4096 Nov  1 12:00 notebooks\n"
REAL, TINY = LINE * 28, "a.txt"  # 1.5 kB, 5 B


def right(count, text):
    """User, call, result, answer, again and again: nothing to mend."""
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


def broken(count, text):
    """The same with every seventeenth message lost and a field too many on every tenth: faults all over the list."""
    messages = right(count * 17 // 16, text)
    return [{**m, "_ts": n} if n % 10 == 0 else m for n, m in enumerate(messages) if n % 17 != 5][:count]


def main():
    over = False
    print(f"{'messages of':22} {'count':>8} {'json.dumps':>11} {'normalize':>11} {'ratio':>6} {'growth':>7}")
    for name, make, text, held in (
        ("1.5 kB, right", right, REAL, True),
        ("1.5 kB, broken", broken, REAL, True),
        ("5 bytes, right", right, TINY, False),
        ("5 bytes, broken", broken, TINY, False),
    ):
        first = None
        for count, rounds in SIZES.items():
            messages = make(count, text)
            dumping, mending = [], []
            for _ in range(rounds):  # in turns, so that a busy machine is equally hard on both
                dumping.append(seconds(json.dumps, messages))
                mending.append(seconds(normalize_messages, messages))
            one, two = (
                min(times) / len(messages) * 1e6 for times in (dumping, mending)
            )  # a busy machine only ever adds
            first = first or two
            ratio, growth = two / one, two / first
            wrong = held and (ratio > MOST and count == 10_000 or growth > MOST_GROWTH and make is right)
            over = over or wrong
            print(
                f"{name:22} {count:8,} {one:8.2f} us {two:8.2f} us {ratio:6.2f} {growth:7.2f}{' over' if wrong else ''}"
            )
    print(f"at most {MOST} at 10,000 messages, and {MOST_GROWTH} times the time of a message at 1,000")
    return int(over)


def seconds(function, messages):
    start = time.process_time()
    function(messages)
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
