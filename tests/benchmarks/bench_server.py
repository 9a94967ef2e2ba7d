"""One SDK call to the offline server, over the same call to a bare handler that answers a constant. At most 2 x.

Prints the ratios of one run and ends with 1 if one is over: python tests/benchmarks/bench_server.py
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic

from s02_tool_use import TOOLS
from s02_tool_use.lab.api.server import Server
from s02_tool_use.lab.understudy.reply import Understudy

MOST = 2.0
ROUNDS, CALLS = 30, 10
HELLO = [{"role": "user", "content": "How many Python files are here?"}]
CALL = {"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01", "content": "a.py\nb.py"}
REQUESTS = {
    "a first question": {"messages": HELLO},
    "the same, streamed": {"messages": HELLO, "stream": True},
    "a question with five tools": {"messages": HELLO, "tools": TOOLS},
    "20 turns of history": {
        "messages": [
            message
            for number in range(10)
            for message in (
                *HELLO,
                {"role": "assistant", "content": [{**CALL, "id": f"toolu_{number}"}]},
                {"role": "user", "content": [{**RESULT, "tool_use_id": f"toolu_{number}"}]},
                {"role": "assistant", "content": "There are 2."},
            )
        ][:39],
        "tools": TOOLS,
    },
}


def main():
    with Server(Understudy()) as server:
        ours = client_of(server.url)
        worst = 0
        print(f"{'request':28} {'bare':>9} {'offline':>9} {'ratio':>6}")
        for name, request in REQUESTS.items():
            request = {"model": "m", "max_tokens": 500, **request}
            bare, close = bare_server(server, ours, request)
            times = {"bare": [], "ours": []}
            for _ in range(ROUNDS):  # in turns, so that a busy machine is equally hard on both
                times["bare"].append(seconds(bare, request))
                times["ours"].append(seconds(ours, request))
            one, two = min(times["bare"]), min(times["ours"])  # a busy machine only ever adds
            worst = max(worst, two / one)
            print(f"{name:28} {one * 1000:6.2f} ms {two * 1000:6.2f} ms {two / one:6.2f}")
            close()
    print(f"worst {worst:.2f}, at most {MOST}")
    return int(worst > MOST)


def client_of(url):
    http_client = anthropic.DefaultHttpxClient(trust_env=False)
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, http_client=http_client)


def seconds(client, request):
    """The time of one call, from a row of them."""
    start = time.perf_counter()
    for _ in range(CALLS):
        reply = client.messages.create(**request)
        if request.get("stream"):
            for _ in reply:
                pass
    return (time.perf_counter() - start) / CALLS


def bare_server(server, ours, request):
    """A client of a handler that answers each request with the very bytes that the offline server answered."""
    seconds(ours, request)
    said = server.exchanges[-1]["response"]
    kind = "text/event-stream" if said.startswith("event") else "application/json"
    if kind == "application/json":
        json.loads(said)
    body = said.encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    class Constant(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.wfile.write(head + body)

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Constant)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    client = client_of(f"http://127.0.0.1:{listener.server_address[1]}")

    def close():
        client.close()
        listener.shutdown()
        listener.server_close()

    return client, close


if __name__ == "__main__":
    sys.exit(main())
