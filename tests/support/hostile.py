"""Hostile requests, made from a seed: number k of a seed is the same for ever, but for the ids and
tokens of the world that it is made for."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from tests.support import hostile_bodies as bodies
from tests.support import hostile_lines as lines
from tests.support.hostile_values import TEXTS, Sampler, a_size
from tests.support.hostile_world import Target, World, name_of
from tests.support.raw_http import RawRequest

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO")
# Bytes that uvicorn reads at once.
AT_ONCE = 2**16
ODD_PATHS = (
    "/static/../app/main.py", "/static/..%2f..%2fetc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd",
    "/static//etc/passwd", "/static/build/%00", "/static/\\..\\..\\x", "/static/%c0%ae%c0%ae/x",
    "//", "/.", "/..", "/%", "/%zz", "/%00", "/%ff", "/%u0000", "/api/v1/%2e%2e/campaigns",
    "/a/%F0%9F%92%A9", "/media/x/y/z.webp", "/sign-in/%00", "/sign-in/%ED%A0%80", "/api/v1//x",
    "/campaigns/new/..;/x", "/healthz/", "/docs/api?x=%00", "/metrics", "*", "http://evil/x",
    "/readyz?", "/?" + "a" * 5000, "/" + "a/" * 2000, "/;x", "/a?b?c=d&=&==&&",
)  # fmt: skip
# What may end the world that requests are made for: a little less of it, for the sake of the rest.
FATAL = {
    "DELETE /api/v1/campaigns/{campaign_id}",
    "DELETE /api/v1/collections/{collection_id}",
    "POST /collections/{collection_id}/delete",
    "POST /api/v1/campaigns/{campaign_id}/actions/{action}",
    "POST /campaigns/{campaign_id}/actions",
    "POST /campaigns/{campaign_id}/delete",
    "POST /account/password",
    "POST /sign-out",
}
HEADERS: tuple[tuple[str, str], ...] = (
    ("Range", "bytes=0-,0-,0-,0-"), ("Range", "bytes=-1,5-2"), ("Range", "bytes=99999999999999-"),
    ("Range", "bytes=" + "0-1," * 500), ("If-Range", "x"), ("If-None-Match", "\xff" * 50),
    ("If-Modified-Since", "Thu, 99 Foo 99999 99:99:99 GMT"), ("Accept", "\xff\xfe"),
    ("Accept-Language", "," * 2000), ("Accept-Language", "x" * 3000), ("Accept-Encoding", "br;q=x"),
    ("Cookie", "likewise=" + "A" * 4000), ("Cookie", "likewise=\xff; ;=;;=x; likewise"),
    ("Cookie", ";" * 3000), ("Authorization", "Bearer"), ("Authorization", "Bearer \xff"),
    ("Authorization", "Basic ===="), ("Authorization", "x" * 4000), ("Host", "evil.example"),
    ("Host", "a b"), ("Host", "[::1"), ("X-Forwarded-For", "'; DROP TABLE account"),
    ("X-Forwarded-Proto", "https"), ("X-Request-ID", "\xff" * 64), ("X-Request-ID", "x" * 9),
    ("Idempotency-Key", "x"), ("Idempotency-Key", "\xe9" * 50), ("Idempotency-Key", "k" * 100),
    ("Origin", "null"), ("Origin", "http://evil.example"), ("Origin", "http://[::1"),
    ("Sec-Fetch-Site", "cross-site"), ("Content-Encoding", "gzip"), ("Upgrade", "websocket"),
    ("Expect", "100-continue"), ("Transfer-Encoding", "identity"), ("Last-Event-ID", "\xff"),
    ("X-Prolific-Request-Signature", "\xff"), ("X-Prolific-Request-Timestamp", "9" * 40),
)  # fmt: skip


class Hostile:
    """Makes requests for one world. targets: of the application; schemas: of its document."""

    def __init__(
        self, world: World, others: World, targets: Sequence[Target], schemas: dict[str, Any]
    ) -> None:
        self.world, self.others, self.targets = world, others, targets
        self.schemas = schemas

    def request(self, seed: int, number: int) -> RawRequest:
        rng = random.Random(seed * 1_000_003 + number)
        ways: dict[Callable[[random.Random], RawRequest], int] = {
            self._mutated: 36, self._wrong_body: 14, self._query: 13, self._path: 12,
            self._headers: 8, self._form: 7, self._valid: 6, self._line: 4,
        }  # fmt: skip
        make = rng.choices(list(ways), list(ways.values()))[0]
        request = make(rng)
        if request.route in FATAL and rng.random() < 0.9:
            request = make(rng)
        return request

    # --- what is sent -----------------------------------------------------------------------

    def _mutated(self, rng: random.Random) -> RawRequest:
        """A valid body in which a few values are not."""
        target = rng.choice(
            [
                candidate
                for candidate in self.targets
                if candidate.body and "json" in candidate.media_type
            ]
        )
        value, raw = bodies.mutated(rng, self._sampler(rng).value(target.body or {}))
        data = bodies.json_bytes(value, raw)
        return self._built(rng, target, "mutated JSON", data, "application/json")

    def _wrong_body(self, rng: random.Random) -> RawRequest:
        target = rng.choice([candidate for candidate in self.targets if candidate.method != "GET"])
        kind, data, media_type = bodies.wrong_body(rng)
        return self._built(rng, target, f"body: {kind}", data, media_type)

    def _form(self, rng: random.Random) -> RawRequest:
        """Forms and uploads, well and badly made."""
        wanted = ("multipart", "urlencoded")
        targets = [
            candidate
            for candidate in self.targets
            if any(name in candidate.media_type for name in wanted)
        ]
        target = rng.choice(targets)
        names = list((self._resolved(target.body) or {}).get("properties", {})) or ["file"]
        names += ["file", "files", "manifest", "name", "kind", "budget", "url", "password"]
        kind, data, media_type = bodies.form(rng, names)
        return self._built(rng, target, f"form: {kind}", data, media_type)

    def _query(self, rng: random.Random) -> RawRequest:
        target = rng.choice(
            [candidate for candidate in self.targets if candidate.query] + list(self.targets)
        )
        names = [*target.query, "limit", "after", "lang", "x", "", "assignmentId", "SESSION_ID"]
        parts = []
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            name = rng.choice(target.query or names) if rng.random() < 0.8 else rng.choice(names)
            times = 1000 if rng.random() < 0.03 else 1
            parts += [
                f"{quote(name)}{rng.choice(('=', '=', '=', '', '[]='))}{_quoted(rng)}"
            ] * times
        return self._built(rng, target, "query", query=rng.choice("&&&&;").join(parts)[:60_000])

    def _path(self, rng: random.Random) -> RawRequest:
        if rng.random() < 0.4:
            target = Target(rng.choice(ODD_PATHS), rng.choice(METHODS), None, "", ())
            return self._built(rng, target, "odd path")
        if rng.random() < 0.15:
            path = rng.choice(self.world.images).partition("?")[0]
            target = Target(path, "GET", None, "", ())
            return self._built(rng, target, "media", query=f"s={_quoted(rng)}")
        templates = [candidate for candidate in self.targets if "{" in candidate.path]
        return self._built(rng, rng.choice(templates), "path", odd_ids=0.5)

    def _headers(self, rng: random.Random) -> RawRequest:
        chosen = [rng.choice(HEADERS) for _ in range(rng.choice((1, 1, 2, 4)))]
        if rng.random() < 0.1:
            chosen += [(f"X-{k}", "x" * 50) for k in range(200)]
        return self._built(rng, rng.choice(self.targets), "headers", extra=chosen)

    def _valid(self, rng: random.Random) -> RawRequest:
        """Right ids and a body of the right shape, though hardly of the right meaning."""
        target = rng.choice(self.targets)
        if target.body is None or "json" not in target.media_type:
            return self._built(rng, target, "valid", odd_ids=0)
        data = json.dumps(self._sampler(rng).value(target.body)).encode()
        return self._built(rng, target, "valid", data, "application/json", odd_ids=0)

    def _line(self, rng: random.Random) -> RawRequest:
        target = rng.choice(self.targets)
        path = self._address(rng, target.path, 0)
        return lines.broken(rng, path, target.path)

    # --- how it is put together -------------------------------------------------------------

    def _built(
        self, rng: random.Random, target: Target, kind: str, body: bytes | None = None,
        media_type: str = "", *, query: str = "", odd_ids: float = 0.06,
        extra: Sequence[tuple[str, str]] = (),
    ) -> RawRequest:  # fmt: skip
        method = rng.choice(METHODS) if rng.random() < 0.08 else target.method
        address = self._address(rng, target.path, odd_ids)
        if query:
            address += ("&" if "?" in address else "?") + query
        named = {name.lower() for name, _ in extra}
        headers = [] if "host" in named else [("Host", "localhost")]
        headers += self._credentials(rng, target.path)
        if rng.random() < 0.3:
            headers.append(("Accept", "text/html"))
        if target.path.endswith("/answer") or rng.random() < 0.1:
            headers.append(("Idempotency-Key", f"hostile-{rng.getrandbits(20)}"))
        if body is not None:
            headers += [("Content-Type", media_type)] if media_type else []
            headers.append(("Content-Length", str(len(body))))
        headers += extra
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        data = f"{method} {address} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace")
        ends_unsure = bool({"upgrade", "transfer-encoding", "expect"} & named)
        # A target with a blank is no HTTP: it is refused on sight, and the refusal may be lost with
        # the connection when there is more behind it than is read at once.
        ends_unsure |= " " in address and len(body or b"") > AT_ONCE
        return RawRequest(
            data + (body or b""), method, name_of(target), kind,
            closes=ends_unsure,
        )  # fmt: skip

    def _address(self, rng: random.Random, template: str, odd_ids: float) -> str:
        address = template
        for name in [part.partition("}")[0] for part in template.split("{")[1:]]:
            if rng.random() < odd_ids:
                value = rng.choice((_quoted(rng)[:3000], self.others.ids.get(name, "x")))
            else:
                value = self.world.ids.get(name) or self._sampler(rng).word(name)
            address = address.replace(f"{{{name}}}", value, 1)
        return address

    def _credentials(self, rng: random.Random, path: str) -> list[tuple[str, str]]:
        world = self.world
        if path.startswith("/api/v1/annotate"):
            who = rng.choices(("annotator", "none", "write"), (90, 5, 5))[0]
        else:
            who = rng.choices(("cookie", "write", "read", "annotator", "none"), (50, 35, 5, 5, 5))[
                0
            ]
        if who == "cookie":
            origin = [("Origin", "http://localhost")] if rng.random() < 0.5 else []
            return [("Cookie", world.cookie), *origin]
        tokens = {"write": world.write_token, "read": world.read_token,
                  "annotator": world.person.token}  # fmt: skip
        return [("Authorization", f"Bearer {tokens[who]}")] if who != "none" else []

    def _sampler(self, rng: random.Random) -> Sampler:
        return Sampler(rng, self.schemas, self.world.ids, self.world.lease)

    def _resolved(self, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema and "$ref" in schema:
            resolved: dict[str, Any] = self.schemas[schema["$ref"].rpartition("/")[2]]
            return resolved
        return schema


def _quoted(rng: random.Random) -> str:
    """A hostile text as it may stand in an address: well quoted or not."""
    text = rng.choice(TEXTS) if rng.random() < 0.9 else "x" * a_size(rng, 40_000)
    if rng.random() < 0.15:
        return rng.choice(("%", "%zz", "%00", "%ff%fe", "%u0041", "%ED%A0%80", "+", "%20" * 50))
    return quote(text.encode("utf-8", "surrogatepass"), safe="")
