"""Requests that break HTTP itself, as sent by no client but over a bare socket."""

import random

from tests.support.raw_http import RawRequest

_HOST = "Host: localhost\r\n"
_JSON = "Content-Type: application/json\r\n"


def broken(rng: random.Random, path: str, route: str) -> RawRequest:
    """path: an address without line breaks."""
    kind = rng.choice(list(_WHOLE) + list(_CUT))
    text = (_WHOLE.get(kind) or _CUT[kind]).replace("PATH", path[:2000])
    data = text.encode("latin-1", "replace")
    return RawRequest(data, "GET", route, f"line: {kind}", is_cut=kind in _CUT, closes=True)


_WHOLE = {
    "both lengths": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Content-Length: 6\r\n"
    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "two lengths": f"POST PATH HTTP/1.1\r\n{_HOST}Content-Length: 2\r\nContent-Length: 3\r\n"
    "\r\n{} ",
    "negative length": f"POST PATH HTTP/1.1\r\n{_HOST}Content-Length: -1\r\n\r\n",
    "odd length": f"POST PATH HTTP/1.1\r\n{_HOST}Content-Length: 0x2\r\n\r\n{{}}",
    "plus length": f"POST PATH HTTP/1.1\r\n{_HOST}Content-Length: +2\r\n\r\n{{}}",
    "huge length": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Content-Length: {10**30}\r\n\r\n{{}}",
    "odd coding": f"POST PATH HTTP/1.1\r\n{_HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "two codings": f"POST PATH HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked, identity\r\n"
    "\r\n0\r\n\r\n",
    "bad chunk": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Transfer-Encoding: chunked\r\n"
    "\r\nzz\r\n{}",
    "huge chunk": f"POST PATH HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked\r\n\r\n{'f' * 30}\r\nx",
    "chunk extension": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Transfer-Encoding: chunked\r\n\r\n"
    f"2;{'x' * 5000}\r\n{{}}\r\n0\r\n\r\n",
    "trailers": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Transfer-Encoding: chunked\r\n\r\n"
    "2\r\n{}\r\n0\r\nCookie: likewise=x\r\n\r\n",
    "space before colon": "GET PATH HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "folded": f"GET PATH HTTP/1.1\r\n{_HOST}X-A: b\r\n c\r\n\r\n",
    "bare line feeds": "GET PATH HTTP/1.1\nHost: localhost\n\n",
    "bare carriage return": f"GET PATH HTTP/1.1\r\n{_HOST}X-A: b\rX-B: c\r\n\r\n",
    "NUL in a header": f"GET PATH HTTP/1.1\r\n{_HOST}X-A: b\0c\r\n\r\n",
    "no host": "GET PATH HTTP/1.1\r\n\r\n",
    "two hosts": "GET PATH HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "no version": "GET PATH\r\n\r\n",
    "odd version": f"GET PATH HTTP/9.9\r\n{_HOST}\r\n",
    "old version": "GET PATH HTTP/1.0\r\n\r\n",
    "no method": f" PATH HTTP/1.1\r\n{_HOST}\r\n",
    "long line": f"GET PATH?{'a' * 100_000} HTTP/1.1\r\n{_HOST}\r\n",
    "long header": f"GET PATH HTTP/1.1\r\n{_HOST}X-A: {'a' * 200_000}\r\n\r\n",
    "many headers": f"GET PATH HTTP/1.1\r\n{_HOST}{'X-A: b' + chr(13) + chr(10)}\r\n",
    "HTTP/2 preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + "\0" * 100,
    "binary": "\0\xff\xfe\r\n\r\n",
    "spaces": f"GET  PATH  HTTP/1.1\r\n{_HOST}\r\n",
    "websocket": f"GET PATH HTTP/1.1\r\n{_HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "pipelined": f"GET /healthz HTTP/1.1\r\n{_HOST}\r\n" * 20,
}
# Half requests: the rest never comes, and then the line is cut.
_CUT = {
    "half a line": "GET PA",
    "half a head": f"GET PATH HTTP/1.1\r\n{_HOST}X-A: ",
    "half a body": f"POST PATH HTTP/1.1\r\n{_HOST}{_JSON}Content-Length: 100\r\n\r\n{{",
    "half a chunk": f"POST PATH HTTP/1.1\r\n{_HOST}Transfer-Encoding: chunked\r\n\r\n10\r\nx",
    "half an upload": f"POST PATH HTTP/1.1\r\n{_HOST}Content-Type: multipart/form-data; boundary=x"
    '\r\nContent-Length: 9999\r\n\r\n--x\r\nContent-Disposition: form-data; name="files"',
}
