"""JSON values that nobody would write, in the place of those that somebody did."""

import random
import re
from typing import Any

NUMBERS = (
    -1, 0, 1, 2, 101, 2**15, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 10**30, 0.5, 1.5, -0.25,
    1e-320, 1e39, 1e300, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TIMES = (
    "-infinity", "0044-03-15T00:00:00Z BC", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z",
    "1999-12-31T23:59:59+14", "2026-01-01T00:00:00", "2099-12-31T23:59:59-12", "9999-12-31T00:00Z",
    "294000-01-01T00:00:00Z", "infinity", "epoch", "now", "2026-02-30T00:00:00Z",
)  # fmt: skip
WORDS = (
    "", " ", "x", "0", "NaN", "Infinity", "null", "draft", "running", "paused", "finished",
    "leased", "submitted", "returned", "queued", "done", "failed", "open", "closed", "ready",
    "completed", "ask", "gold", "repeat", "practice", "grid", "bins", "select", "cen", "crowdster",
    "scdc", "neucrowd", "learn", "dry_run", "model", "k-means", "comment", "broken_image", "none",
    "import", "01a1fe8c-ef59-7183-a068-ef9b99835361", "../../..", "a/b",
    "<script>alert(1)</script>", "=cmd()", "\u202e\U0001f9ff", "a\0b", "\ud800", "\udfff\ud800",
    "'; --", "%s%(x)s{0}", "\\.",
)  # fmt: skip
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:")
LONG = "y" * 100_000


def odd_value(rng: random.Random, old: Any) -> Any:
    """Something else: mostly of the same type, near to it or far."""
    if rng.random() < 0.12:
        return _of_any_type(rng)
    if isinstance(old, bool) or old is None:
        return rng.choice((not old, None, 0, "", rng.choice(NUMBERS)))
    if isinstance(old, int | float):
        near = (old + 1, old - 1, -old, old * 2, old * 1_000_000, str(old), [old])
        return rng.choice((rng.choice(NUMBERS), rng.choice(near)))
    if isinstance(old, str):
        if UUID.fullmatch(old) and rng.random() < 0.7:
            return old[:-12] + f"{rng.getrandbits(48):012x}"
        if TIME.match(old) and rng.random() < 0.7:
            return rng.choice(TIMES)
        alike = (old[:-1], old + "x", old * 9, old.upper(), LONG, rng.choice(TIMES))
        return rng.choice((rng.choice(WORDS), rng.choice(alike)))
    return _odd_list(rng, old) if isinstance(old, list) else _odd_object(rng, old)


def _of_any_type(rng: random.Random) -> Any:
    deep: Any = []
    for _ in range(rng.choice((1, 50))):
        deep = [deep]
    plain: tuple[Any, ...] = (None, True, False, {}, [], [None], [[]], {"x": 1}, [1, "x"], deep)
    return rng.choice((*plain, rng.choice(NUMBERS), rng.choice(WORDS), rng.choice(TIMES)))


def _odd_list(rng: random.Random, old: list[Any]) -> Any:
    shuffled = rng.sample(old, len(old))
    more = [*old, *old[:1]]
    return rng.choice((
        [], old[:-1], old[1:], more, old * 2, old * 40, shuffled, [old], [*old, None], [None],
        {}, [old[0]] * len(old) if old else [0], [*old, rng.choice(NUMBERS)],
    ))  # fmt: skip


def _odd_object(rng: random.Random, old: dict[str, Any]) -> Any:
    changed = dict(old)
    if changed and rng.random() < 0.6:
        gone = rng.choice(sorted(changed))
        value = changed.pop(gone)
        if rng.random() < 0.4:
            changed[rng.choice((gone + "x", "", "a\0", "index"))] = value
        return changed
    return rng.choice(({}, [], [old], None, {**old, rng.choice(WORDS): rng.choice(NUMBERS)}))


def with_one_odd(rng: random.Random, value: Any, deeper: float = 0.8) -> Any:
    """A copy of which one part, at any depth, is odd."""
    if not (isinstance(value, dict | list) and value) or rng.random() > deeper:
        return odd_value(rng, value)
    if isinstance(value, dict):
        key = rng.choice(sorted(value))
        return {**value, key: with_one_odd(rng, value[key], deeper)}
    at = rng.randrange(len(value))
    return [*value[:at], with_one_odd(rng, value[at], deeper), *value[at + 1 :]]
