"""The network of a browser page, which has none: a request goes as bytes to a server in the same page, and no further.

It is the same server, and the same bytes come and go. Left out: every address that is not in this page.
"""

import http.client
import io
import time
from collections.abc import Iterator

import httpx2

from ..api.server import Exchange, in_this_page


class Transport(httpx2.BaseTransport):
    """What stands under an httpx2 client in place of connections."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        server = in_this_page.get(f"{url.scheme}://{url.host}:{url.port or 80}")
        if server is None:
            raise httpx2.ConnectError("A browser page opens no connections.")
        connection = _Connection(_arriving(request, server))
        answer = http.client.HTTPResponse(connection, method=request.method)  # type: ignore[arg-type]
        try:
            answer.begin()
        except BaseException as error:
            answer.close()
            if isinstance(error, (http.client.HTTPException, ConnectionError)):
                raise httpx2.RemoteProtocolError("Server disconnected without sending a response.") from None
            raise
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.getheaders()]
        return httpx2.Response(answer.status, headers=headers, stream=_Body(answer))


def _arriving(request, server):
    """The bytes of the answer, piece by piece. One that is too late was waited for: who waits for it makes it."""
    most, began = request.extensions.get("timeout", {}).get("read"), time.monotonic()
    for piece in Exchange(_as_bytes(request), server).response():
        if most is not None and time.monotonic() - began > most:
            raise httpx2.ReadTimeout("timed out")
        yield piece
        began = time.monotonic()


def _as_bytes(request):
    body = request.read()
    headers = [pair for pair in request.headers.raw if pair[0].lower() not in (b"content-length", b"transfer-encoding")]
    for name, value in headers:
        if set(name + value) & set(b"\r\n\0"):
            raise httpx2.LocalProtocolError(f"Illegal header value {value!r}")
    lines = [b"%b: %b" % pair for pair in [*headers, (b"content-length", b"%d" % len(body))]]
    return b"\r\n".join([b"%b %b HTTP/1.1" % (request.method.encode(), request.url.raw_path), *lines, b"", body])


class _Body(httpx2.SyncByteStream):
    """What arrives, as it arrives. A body that breaks off fails as it does over a connection."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer

    def __iter__(self):
        try:
            while piece := self._answer.read1(65536):
                yield piece
        except http.client.IncompleteRead:
            pass
        else:
            if not self._answer.length:
                return
        raise httpx2.RemoteProtocolError("peer closed connection without sending complete message body")

    def close(self):
        self._answer.close()  # also when nobody reads to the end: Python 3.13 would complain when it is collected


class _Connection(io.RawIOBase):
    """Pieces of bytes as what http.client reads from. Each is made when all before it has been read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readable(self):
        return True

    def readinto(self, space):
        while not self._rest and (piece := next(self._pieces, None)) is not None:  # no bytes would be the end
            self._rest = memoryview(piece)
        size = min(len(space), len(self._rest))
        space[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def makefile(self, *_):
        return io.BufferedReader(self)
