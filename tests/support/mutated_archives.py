"""Archives of campaigns changed by chance, with hashes that fit what was changed, so that it comes
to the checks behind them; some do not fit, and some are damaged as files."""

import io
import json
import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image as Pillow
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tests.support.archives import Members, packed
from tests.support.mutated_zips import damaged_zip
from tests.support.odd_values import LONG, NUMBERS, WORDS, odd_value, with_one_odd

Change = Callable[[random.Random, Members], str]
LINES = (
    b"", b"[]", b"null", b'"x"', b"1", b"{", b"{}", b"\\N", b"\\.", b"\xff\xfe", b"\0", b"x\ty",
    b"[" * 200_000, b'{"id": 1e999999}', b'{"a":' * 9000, b'{"id":"\\ud800"}', b"NaN", b"\r",
)  # fmt: skip


def a_mutated_archive(rng: random.Random, members: Members) -> tuple[str, bytes]:
    """What was done, and the archive."""
    if rng.random() < 0.15:
        return damaged_zip(rng, packed(members))
    members = dict(members)
    done = [_changed(rng, members) for _ in range(rng.choice((1, 1, 1, 1, 2, 5)))]
    return ", ".join(done), packed(members, honest=rng.random() > 0.02)


def _changed(rng: random.Random, members: Members) -> str:
    [change] = rng.choices(list(CHANGES), list(CHANGES.values()))
    return f"{change.__name__.strip('_')} ({change(rng, members)})"


def _parsed(data: bytes) -> Any:
    """What another change has made no JSON is changed as a number."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return 0


# --- rows ---------------------------------------------------------------------------------------


def _tables(members: Members) -> list[str]:
    return [name for name, data in members.items() if name.startswith("tables/") and data]


class _Rows:
    """The lines of one table, chosen by chance; `n_told` goes into the manifest."""

    def __init__(self, rng: random.Random, members: Members) -> None:
        self.name = rng.choice(_tables(members))
        self.table = self.name.removeprefix("tables/").removesuffix(".jsonl")
        self.lines = members[self.name].splitlines()
        self._members = members

    def row(self, at: int) -> dict[str, Any]:
        row = _parsed(self.lines[at])
        return row if isinstance(row, dict) else {"x": row}

    def put(self, at: int, row: Any) -> None:
        self.lines[at] = json.dumps(row).encode()

    def declare(self, **values: Any) -> None:
        manifest = json.loads(self._members["manifest.json"])
        manifest["tables"].setdefault(self.table, {}).update(values)
        self._members["manifest.json"] = json.dumps(manifest).encode()

    def end(self, what: str) -> str:
        self._members[self.name] = b"".join(line + b"\n" for line in self.lines)
        return f"{self.table}: {what}"


def _a_value(rng: random.Random, members: Members) -> str:
    rows = _Rows(rng, members)
    at = rng.randrange(len(rows.lines))
    row = rows.row(at)
    column = rng.choice(sorted(row) or ["x"])
    row[column] = with_one_odd(rng, row.get(column))
    rows.put(at, row)
    return rows.end(f"{column} = {row[column]!r:.90}")


def _a_column(rng: random.Random, members: Members) -> str:
    """The same in every row."""
    rows = _Rows(rng, members)
    first = rows.row(0)
    column = rng.choice(sorted(first) or ["x"])
    value = odd_value(rng, first.get(column))
    for at in range(len(rows.lines)):
        rows.put(at, {**rows.row(at), column: value})
    return rows.end(f"every {column} = {value!r:.90}")


def _columns_swapped(rng: random.Random, members: Members) -> str:
    """Values of two rows, or of two columns of one."""
    rows = _Rows(rng, members)
    first, other = (rng.randrange(len(rows.lines)) for _ in range(2))
    column, another = (rng.choice(sorted(rows.row(first)) or ["x"]) for _ in range(2))
    if rng.random() < 0.7:
        another = column
    row, taken = rows.row(first), rows.row(other)
    value = row.get(column)
    row[column] = taken.get(another)
    rows.put(first, row)
    if rng.random() < 0.5 and first != other:
        rows.put(other, {**taken, another: value})
    return rows.end(f"{column} of {first} from {another} of {other}")


def _a_key(rng: random.Random, members: Members) -> str:
    """Missing, or one too many, in one row or in all, told or not."""
    rows = _Rows(rng, members)
    columns = list(rows.row(0))
    at = range(len(rows.lines)) if rng.random() < 0.5 else [rng.randrange(len(rows.lines))]
    gone = rng.choice(columns or ["x"])
    more = rng.choice((*WORDS, "owner_id", "link_token", "artifact_key", "lease_until"))
    is_gone = rng.random() < 0.6
    for place in at:
        row = rows.row(place)
        if is_gone:
            row.pop(gone, None)
        else:
            row[more] = rng.choice(NUMBERS)
        rows.put(place, row)
    if rng.random() < 0.6:
        kept = [name for name in columns if name != gone]
        rows.declare(columns=kept if is_gone else [*columns, more])
    return rows.end(f"without {gone}" if is_gone else f"with {more!r:.50}")


def _rows_counted(rng: random.Random, members: Members) -> str:
    """Rows removed, doubled or in another order; mostly told as they are."""
    rows = _Rows(rng, members)
    at = rng.randrange(len(rows.lines))
    kept = rng.choice((
        rows.lines[:at] + rows.lines[at + 1 :], [*rows.lines, rows.lines[at]], rows.lines[:at],
        rows.lines * 2, rng.sample(rows.lines, len(rows.lines)), [], rows.lines[at:],
    ))  # fmt: skip
    rows.lines = kept
    if rng.random() < 0.8:
        rows.declare(rows=len(kept))
    return rows.end(f"{len(kept)} rows")


def _a_line(rng: random.Random, members: Members) -> str:
    """What is no row."""
    rows = _Rows(rng, members)
    line = rng.choice(LINES)
    rows.lines[rng.randrange(len(rows.lines))] = line
    return rows.end(f"line {line[:20]!r}")


# --- the rest -----------------------------------------------------------------------------------


def _the_manifest(rng: random.Random, members: Members) -> str:
    manifest = json.loads(members["manifest.json"])
    parts = [name for name in manifest if name != "members"]
    name = rng.choice(parts)
    manifest[name] = with_one_odd(rng, manifest[name], 0.9)
    members["manifest.json"] = json.dumps(manifest).encode()
    return f"{name} = {manifest[name]!r:.60}"


def _a_name(rng: random.Random, members: Members) -> str:
    """A member under another name, or gone; images are listed as they are called."""
    name = rng.choice([member for member in members if member != "manifest.json"])
    data = members.pop(name)
    to = rng.choice((name.replace("1", "2"), name.upper(), name + "x", "tables/round.jsonl", ""))
    to = rng.choice((to, name.replace("thumb", "large"), "models/0001/x.json"))
    if to:
        members[to] = data
    return f"{name} to {to!r}"


def _two_members(rng: random.Random, members: Members) -> str:
    """Exchanged, of a kind."""
    kind = rng.choice(("tables/", "images/", "models/"))
    names = [name for name in members if name.startswith(kind)] or ["images.sha256"]
    name, other = rng.choice(names), rng.choice(names)
    members[name], members[other] = members[other], members[name]
    return f"{name} and {other}"


def _an_image(rng: random.Random, members: Members) -> str:
    names = [name for name in members if name.startswith("images/")]
    if not names:
        return "none"
    name = rng.choice(names)
    data = bytearray(members[name])
    for _ in range(rng.choice((0, 1, 1, 3))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    kinds = (
        bytes(data), bytes(data), bytes(data[: rng.randrange(len(data))]), bytes(data) + b"x",
        _picture(rng, "PNG"), _picture(rng, "WEBP"), _picture(rng, "GIF"), _picture(rng, "WEBP"),
        b"<svg/>", b"", b"RIFF\x04\0\0\0WEBP", LONG.encode(),
    )  # fmt: skip
    members[name] = rng.choice(kinds)
    return f"{name}: {members[name][:16]!r}"


def _picture(rng: random.Random, kind: str) -> bytes:
    buffer = io.BytesIO()
    size = rng.choice(((1, 1), (9, 200), (300, 2), (3000, 1)))
    more: dict[str, Any] = {}
    if kind == "WEBP" and rng.random() < 0.5:
        more = {"save_all": True, "append_images": [Pillow.new("RGB", size, "red")]}
    Pillow.new(rng.choice(("RGB", "L")), size).save(buffer, kind, **more)
    return buffer.getvalue()


def _a_model(rng: random.Random, members: Members) -> str:
    names = [name for name in members if name.startswith("models/")]
    if not names:
        return "none"
    name = rng.choice(names)
    data = members[name]
    if name.endswith(".json") and rng.random() < 0.7:
        members[name] = json.dumps(with_one_odd(rng, _parsed(data), 0.9)).encode()
    elif name.endswith(".safetensors") and rng.random() < 0.7:
        members[name] = rng.choice((_other_arrays, _other_header))(rng, data)
    else:
        members[name] = rng.choice((data[: rng.randrange(len(data) + 1)], b"", b"{}", data + b"x"))
    return f"{name}: {len(members[name])} bytes"


def _other_header(rng: random.Random, data: bytes) -> bytes:
    [old] = struct.unpack_from("<Q", data.ljust(8, b"\0"))
    header = json.dumps(with_one_odd(rng, _parsed(data[8 : 8 + old]), 0.9)).encode()
    length = rng.choice(
        (len(header), len(header), len(header), 0, 2**62, len(header) - 1, 2**64 - 1)
    )
    return struct.pack("<Q", length) + header + data[8 + old :]


def _other_arrays(rng: random.Random, data: bytes) -> bytes:
    try:
        arrays = load(data)
    except SafetensorError:
        return data[:-1]
    if not arrays:
        return data
    which = [rng.choice(sorted(arrays))] if rng.random() < 0.6 else sorted(arrays)
    way = rng.randrange(8)
    for name in which:
        arrays[name] = _other_array(rng, arrays[name], way)
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _other_array(rng: random.Random, array: Any, way: int) -> Any:
    """Shorter, longer, empty, of another shape or type, or with other values."""
    if way == 0:
        return array[:-1]
    if way == 1:
        return np.concatenate([array, array])
    if way == 2:
        return array[:0]
    if way == 3:
        return array[..., None]
    if way == 4:
        return array.astype(rng.choice((np.float32, np.float64, np.int64, np.uint8, np.bool_)))
    if way == 5:
        return array.T if array.ndim > 1 else array[::-1]
    value: float = rng.choice((-1, -2, 5000, 2**40))
    if array.dtype.kind == "f":
        value = rng.choice((value, np.nan, np.inf, 1e308))
    changed = array.copy().reshape(-1)
    if changed.size and changed.dtype.kind in "if":
        at = rng.randrange(changed.size) if way == 6 else slice(None)
        changed[at] = np.array(value).astype(changed.dtype)
    return changed.reshape(array.shape)


# How often, to a hundred.
CHANGES: dict[Change, int] = {
    _a_value: 40, _a_column: 12, _columns_swapped: 12, _a_key: 6, _rows_counted: 7, _a_line: 2,
    _the_manifest: 4, _a_name: 3, _two_members: 3, _an_image: 4, _a_model: 7,
}  # fmt: skip
