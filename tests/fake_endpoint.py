"""Endpoints that are not Anthropic's: what they answer is given."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def endpoint(status=200, headers=(), body=b"{}"):
    """The URL of an endpoint that answers everything in the same way. `body` may be a function of the handler.

    What that function returns is bytes, or an iterator of them: a stream, which the connection's end closes.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.sent = self.rfile.read(int(self.headers["content-length"]))
            data = body(self) if callable(body) else body
            whole = isinstance(data, bytes)
            known = {"content-type": "application/json", **({"content-length": len(data)} if whole else {})}
            self.send_response(status)
            for name, value in (known | dict(headers)).items():
                self.send_header(name, str(value))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for piece in [data] if whole else data:
                    self.wfile.write(piece)
                    self.wfile.flush()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
