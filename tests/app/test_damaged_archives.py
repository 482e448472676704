"""Damaged and hostile archives: refused with a reason, and nothing of them is left behind."""

import json
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient

from tests.support.archives import (
    Members,
    a_played_campaign,
    a_webp,
    archive_of,
    bring,
    changed,
    packed,
    unpacked,
    what_there_is,
)


def with_image(data: bytes) -> Callable[[Members], bytes]:
    return lambda members: packed({**members, "images/thumb/000000.webp": data})


def with_manifest(**values: Any) -> Callable[[Members], bytes]:
    def change(members: Members) -> bytes:
        manifest = {**json.loads(members["manifest.json"]), **values}
        return packed({**members, "manifest.json": json.dumps(manifest).encode()})

    return change


def with_row(table: str, **values: Any) -> Callable[[Members], bytes]:
    return lambda members: packed(changed(members, table, lambda row: row.update(values)))


def with_a_name_of_64_kb(members: Members) -> bytes:
    """Says so before the rows of a table, so that they are unreadable while they are copied."""
    data = bytearray(packed(members))
    start = data.index(b"tables/answer.jsonl") - 30
    assert data[start : start + 4] == b"PK\x03\x04"
    data[start + 26 : start + 28] = b"\xff\xff"
    assert len(data) > start + 10_000
    return bytes(data)


DAMAGES: dict[str, tuple[Callable[[Members], bytes], str]] = {
    "no ZIP file": (lambda members: b"hello", "not a ZIP file, or it was cut off"),
    "cut off": (lambda members: packed(members)[:-5000], "cut off"),
    "a ZIP of something else": (
        lambda members: packed({"a.png": b"x"}, honest=False), "no manifest.json",
    ),
    "a changed table": (
        lambda members: packed(
            {**members, "tables/answer.jsonl": members["tables/answer.jsonl"] + b"\n"},
            honest=False,
        ),
        "tables/answer.jsonl was changed",
    ),
    "a changed image": (
        lambda members: packed(
            {**members, "images/thumb/000003.webp": a_webp((9, 9))}, honest=False
        ),
        "images/thumb/000003.webp was changed",
    ),
    "a missing table": (
        lambda members: packed(
            {name: data for name, data in members.items() if "grid" not in name}, honest=False
        ),
        "does not match the files in the archive: 'tables/grid.jsonl'",
    ),
    "a missing image": (
        lambda members: packed(
            {name: data for name, data in members.items() if name != "images/large/000004.webp"}
        ),
        "images do not match its list of images",
    ),
    "a way out": (
        lambda members: packed({**members, "models/0001/../../../x.json": b"{}"}),
        "does not belong",
    ),
    "a pickle": (lambda members: packed({**members, "models/0001/m.pkl": b"x"}), "does not belong"),
    "a bomb": (
        lambda members: packed({**members, "models/0001/m.json": bytes(300 * 2**20)}),
        "far too large when unpacked",
    ),
    "too new": (with_manifest(format_version=99, product_version="9.9"), "Likewise 9.9"),
    "no such format": (with_manifest(format="zoo"), "format"),
    "an unknown column": (with_row("answer", mood="fine"), "'mood'"),
    "another's files": (with_row("model", artifact_key="models/other"), "'artifact_key'"),
    "another's link": (with_row("campaign", link_token="mine"), "'link_token'"),
    "another's campaign": (
        with_row("answer", campaign_id="01a1fe8c-ef59-7183-a068-ef9b99835361"), "not in it",
    ),
    "a hash that is a path": (
        lambda members: packed(
            changed(members, "image", lambda row: row.update(sha256=f"../{row['position']:061}"))
        ),
        "invalid hash",
    ),
    "an unknown strategy": (with_row("campaign", strategy="magic"), "no strategy 'magic'"),
    "settings out of range": (with_row("campaign", settings={"n_dimensions": 10**6}), "Settings"),
    "a budget that fills the memory": (
        with_row("campaign", budget=2_000_000_000), "budget must be between 1 and 1000000",
    ),
    "a budget without a grid for every round": (
        with_row("campaign", state="draft", rounds=99), "too small for 99 rounds",
    ),
    "no answers per grid": (with_row("campaign", answers_per_grid=0), "answers_per_grid must be"),
    "no grids at a time": (
        with_row("campaign", grids_per_assignment=0), "grids_per_assignment must be",
    ),
    "a seed below zero": (with_row("campaign", seed=-1), "seed must be"),
    "no currency": (with_row("campaign", currency="U$D"), "must be a three-letter code"),
    "a round of no grids": (with_row("campaign", laid_out=[0]), "round without grids"),
    "a round of unknown grids": (with_row("campaign", laid_out=[None]), "the wrong shape"),
    "a round of rounds": (with_row("campaign", laid_out=[[3], [4]]), "the wrong shape"),
    "more rounds than there are": (with_row("campaign", laid_out=[1, 1]), "more rounds or grids"),
    "more grids than the budget": (with_row("campaign", laid_out=[25]), "more rounds or grids"),
    "images out of range": (with_row("grid", images=[5000] * 10), "images that do not exist"),
    "groups of another grid": (with_row("answer", groups=[0]), "does not fit its grid"),
    "numbers that are not numbers": (with_row("embedding", x="NaN"), "invalid numbers"),
    "a training of an unknown kind": (with_row("job", kind="mine"), "rows that do not belong"),
    "a training that waits": (with_row("job", state="queued"), "rows that do not belong"),
    "a training with a lease": (
        with_row("job", lease_until="2026-01-01T00:00:00Z"), "'lease_until'",
    ),
    "a training tried less than never": (with_row("job", attempts=-2), "number of attempts"),
    "a training without figures": (with_row("job", metrics=[1]), "the wrong shape"),
    "answers that are not counted": (
        with_row("campaign", n_answers=0), "does not count all of its answers",
    ),
    "surplus answers below zero": (
        with_row("campaign", n_surplus=-1000), "does not count all of its answers",
    ),
    "a grid that is at work": (
        with_row("answer", state="leased", groups=None, submitted_at=None),
        "rows that do not belong",
    ),
    "a time that Python has not": (
        with_row("answer", submitted_at="294000-01-01T00:00:00Z"), "invalid times",
    ),
    "a time without end": (with_row("job", created_at="infinity"), "invalid times"),
    "a time before all": (with_row("campaign", created_at="0004-01-01T00:00:00Z BC"), "times"),
    "insight of any shape": (
        with_row("model", insight={"attributes": 3}),
        "attributes of model 1 cannot be displayed",
    ),
    "merged attributes of any shape": (
        with_row("model", insight={
            "attributes": [{
                "index": 0, "share": 0.5, "low": [], "high": [],
                "parts": [{"index": 0, "share": "half"}],
            }],
            "annotators": [],
        }),
        "attributes of model 1 cannot be displayed",
    ),
    "merged attributes of columns that are not there": (
        with_row("model", insight={
            "attributes": [{
                "index": 0, "share": 0.5, "low": [], "high": [],
                "parts": [{"index": 0, "share": 0.5, "low": [], "high": [], "columns": [999]}],
            }],
            "annotators": [],
        }),
        "attributes of model 1 cannot be displayed",
    ),
    "text that cannot be stored": (with_row("remark", text="\0"), "rejects"),
    "a script as an image": (with_image(b"<svg onload=alert(1)>"), "not an image in the"),
    "a PNG as an image": (with_image(b"\x89PNG\r\n\x1a\n" + bytes(50)), "not an image in the"),
    "a name of 64 KB": (with_a_name_of_64_kb, "answer.jsonl cannot be unpacked: File name"),
    "an image with more behind": (
        with_image(a_webp((9, 9)) + b"<script>alert(1)</script>"), "not an image in the",
    ),
    "an image with metadata": (
        with_image(a_webp((9, 9), xmp=b"<script>")), "not an image in the",
    ),
    "an image too large": (with_image(a_webp((300, 10))), "300 \u00d7 10 pixels"),
    "an image that does not decode": (
        with_image(a_webp((200, 200), lossless=True)[:40].ljust(60, b"\x07")), "",
    ),
}  # fmt: skip


def test_a_damaged_archive_says_so_and_leaves_nothing_behind(client: TestClient) -> None:
    campaign = a_played_campaign(client)
    members = unpacked(archive_of(client, campaign))
    assert bring(client, packed(members)).status_code == 201
    before = what_there_is()
    for name, (damage, sentence) in DAMAGES.items():
        reply = bring(client, damage(dict(members)))
        assert reply.status_code == 422, (name, reply.text)
        assert sentence in reply.json()["detail"], (name, reply.json()["detail"])
        assert what_there_is() == before, name


def test_an_archive_brings_no_limit_of_its_own(client: TestClient) -> None:
    """Archives of earlier versions tell how often a training may be tried."""
    members = unpacked(archive_of(client, a_played_campaign(client)))
    brought = bring(client, with_row("job", max_attempts=2_000_000_000)(members))
    assert brought.status_code == 201
    jobs = client.get(f"/api/v1/campaigns/{brought.json()['id']}/jobs").json()["items"]
    assert jobs
    assert {job["max_attempts"] for job in jobs} == {3}
