"""Bodies of requests that are wrong as a whole, or in a few places."""

import io
import json
import random
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote_from_bytes

from testbed.builders import a_png, a_zip
from tests.support.hostile_values import TEXTS, a_size, a_value

Body = tuple[str, bytes, str]
# What no serialiser writes is put in after it, in the place of a mark.
MARK = "@@raw@@"
RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000, "0." + "1" * 5000, "01", "1.",
    "[" * 10_000 + "]" * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000, "[" * 60 + "]" * 60,
    "[" * 45 + "]" * 45, '{"a":1,"a":2,"a":[]}', '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"',
    '"\t"', "'x'", "undefined", "//x", '"\\x41"', "1e5", "1E400", "[1,]", "{,}", "tru",
)  # fmt: skip
CONTENT_TYPES = (
    "application/json", "application/json; charset=utf-16", "application/json;;;", "text/plain", "",
    "application/xml", "application/problem+json", "application/x-www-form-urlencoded", "\xff/\xfe",
    "multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"x",
    "multipart/form-data; boundary=" + "x" * 300, "multipart/mixed; boundary=x", "json", "/",
    "application/json, text/html", "application/octet-stream", "application/vnd.x+json",
)  # fmt: skip


def mutated(rng: random.Random, value: Any) -> tuple[Any, str | None]:
    """With one to three places changed; and what replaces the mark, if there is one."""
    raw = rng.choice(RAW) if rng.random() < 0.25 else None
    for k in range(rng.choice((1, 1, 1, 2, 3))):
        value = _changed(rng, value, MARK if raw is not None and k == 0 else a_value(rng))
    return value, raw


def _changed(rng: random.Random, value: Any, new: Any) -> Any:
    """With one place of the value replaced, taken away or made one more."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        name = rng.choice(list(value))
        if new is not MARK and rng.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        if rng.random() < 0.05:
            return {**value, rng.choice(TEXTS): new}
        return {**value, name: _changed(rng, value[name], new)}
    if isinstance(value, list) and value and rng.random() < 0.6:
        at = rng.randrange(len(value))
        if new is not MARK and rng.random() < 0.3:
            return [*value, *value[at : at + 1] * rng.choice((1, 3, 200))]
        return [*value[:at], _changed(rng, value[at], new), *value[at + 1 :]]
    return new


def json_bytes(value: Any, raw: str | None) -> bytes:
    text = json.dumps(value)
    return (text.replace(f'"{MARK}"', raw, 1) if raw is not None else text).encode()


def wrong_body(rng: random.Random) -> Body:
    """A whole body that is hardly one, under a content type that need not be its own."""
    ways: dict[str, Callable[[], bytes]] = {
        "raw": lambda: rng.choice(RAW).encode(),
        "value": lambda: json.dumps(a_value(rng)).encode(),
        "bytes": lambda: rng.randbytes(a_size(rng, 1_000_000)),
        "not UTF-8": lambda: b'{"name": "\xff\xfe\xc0\xaf\xed\xa0\x80"}',
        "UTF-16": lambda: '{"name": "x"}'.encode("utf-16"),
        "byte order mark": lambda: b'\xef\xbb\xbf{"name": "x"}',
        "empty": lambda: b"",
        "blanks": lambda: b" " * a_size(rng, 1_000_000),
        "cut": lambda: b'{"name": "x", "budget": ',
        "many keys": lambda: json.dumps(dict.fromkeys(map(str, range(20_000)))).encode(),
        "many lists": lambda: b"[" + b"[]," * a_size(rng, 300_000) + b"[]]",
        "long text": lambda: json.dumps("x" * a_size(rng, 1_000_000)).encode(),
        "escapes": lambda: b'{"name": "' + b"\\u0000" * a_size(rng, 100_000) + b'"}',
        "too large": lambda: b"[" + b"1," * 600_000 + b"1]",
    }
    weights = [1 if name == "too large" else 6 for name in ways]
    kind = rng.choices(list(ways), weights)[0]
    media_type = rng.choice(CONTENT_TYPES) if rng.random() < 0.3 else "application/json"
    return kind, ways[kind](), media_type


def form(rng: random.Random, names: Sequence[str]) -> Body:
    """A form for these fields."""
    if rng.random() < 0.35:
        pairs = [f"{rng.choice(names)}={_form_text(rng)}" for _ in range(rng.choice((1, 3, 8)))]
        if rng.random() < 0.05:
            pairs *= 2000
        return "fields", "&".join(pairs).encode(), "application/x-www-form-urlencoded"
    kind = rng.choice(("good", "good", "unclosed", "no end of head", "many parts", "long head",
                       "other boundary", "bare", "nested", "names"))  # fmt: skip
    parts = [_part(rng, rng.choice(names)) for _ in range(rng.choice((1, 1, 2, 4)))]
    media_type = "multipart/form-data; boundary=x"
    match kind:
        case "many parts":
            parts = [_part(rng, names[0], b"x")] * 1500
        case "long head":
            parts = [b"X: " + b"y" * 100_000 + b"\r\n" + parts[0]]
        case "other boundary":
            media_type = "multipart/form-data; boundary=y"
        case "nested":
            parts = [b"Content-Type: multipart/mixed; boundary=x\r\n" + parts[0]]
        case "names":
            odd = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
            parts = [b'Content-Disposition: form-data; name="' + odd + b'"\r\n\r\nx']
    data = b"".join(b"--x\r\n" + part + b"\r\n" for part in parts)
    if kind == "no end of head":
        data = data.replace(b"\r\n\r\n", b"\r\n", 1)
    if kind == "bare":
        data = data.replace(b"\r\n", b"\n")
    return kind, data + (b"" if kind == "unclosed" else b"--x--\r\n"), media_type


def _form_text(rng: random.Random) -> str:
    text = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
    return quote_from_bytes(text) if rng.random() < 0.8 else "%ff%00%"


def _part(rng: random.Random, name: str, content: bytes | None = None) -> bytes:
    filename = rng.choice(("a.png", "a.zip", "a.csv", "a.jsonl", "../../a.png", "", "\0.png",
                           "x" * 600 + ".png", "é.svg", "a.png\\", 'a".png', "a"))  # fmt: skip
    data = content if content is not None else _content(rng)
    field = f'form-data; name="{name}"'
    if rng.random() < 0.8:
        field += f'; filename="{filename}"'
    head = f"Content-Disposition: {field}\r\nContent-Type: image/png\r\n\r\n"
    return head.encode("utf-8", "surrogatepass") + data


def _content(rng: random.Random) -> bytes:
    png = a_png(rng.randrange(50))
    buffer = io.BytesIO(a_zip([("../a.png", png), ("b.csv", b"x"), ("c/" * 50 + "d.png", png)]))
    packed = buffer.getvalue()
    return rng.choice((
        png, png[: len(png) // 2], png + b"<script>", b"\x89PNG\r\n\x1a\n" + rng.randbytes(200),
        packed, packed[:-20], packed.replace(b"PK\x01\x02", b"PK\x01\x03"),
        b"PK\x05\x06" + bytes(18),
        b"", b"\0" * 1000, b"filename,colour\nimage-001.png,red\n", b"filename\n" * 3000,
        b"grid,filename,group\n1,image-001.png,0\n", b"grid,filename,group\n1,x," + b"9" * 20,
        b"filename,feature_0\nimage-001.png,NaN\n", b"a,b\n\"", "a,b".encode("utf-16"),
        b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"address\nhttp://169.254.169.254/x.png\n",
        b'{"address": "' + b"[" * 3000, b"," * 50_000, rng.randbytes(500),
        b"filename," + b"x" * 9000,
        b"GIF89a" + bytes(20), b"RIFF\0\0\0\0WEBPVP8 ", b"\xff\xd8\xff\xe0" + rng.randbytes(100),
    ))  # fmt: skip
