"""Archives that only a fuzzer thought of: refused with a sentence, or restored and shown."""

import io
import zipfile
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.archive.container import Container
from app.archive.errors import DamagedArchive
from tests.support.archived_campaigns import (
    a_clustered_campaign,
    campaigns_of_every_kind,
    unfinished_campaigns,
)
from tests.support.archives import archive_of, bring, changed, packed, unpacked
from tests.support.builders import an_account

DEEP: Any = []
for _ in range(50):
    DEEP = [DEEP]
# Table, column, value, and what is said of it.
SHAPES: tuple[tuple[str, str, Any, str], ...] = (
    ("answer", "descriptions", [None], "lists of lists"),
    ("answer", "unseen", [[1], [2]], "lists of lists"),
    ("image", "features", [[0.5, 0.5]], "lists of lists"),
    ("grid", "truth", DEEP, "the database refuses"),
)


def test_lists_that_no_page_can_show_are_refused(client: TestClient) -> None:
    played = unfinished_campaigns(client, an_account())
    members = unpacked(archive_of(client, played["going on"]))
    for table, column, value, sentence in SHAPES:
        odd = changed(members, table, lambda row, c=column, v=value: row.update({c: v}))  # type: ignore[misc]
        reply = bring(client, packed(odd))
        assert reply.status_code == 422, (table, column, reply.text)
        assert sentence in reply.json()["detail"], reply.json()["detail"]


def test_campaigns_of_every_strategy_come_back(client: TestClient) -> None:
    """Labels by votes once did not: what their models tell is of no attributes."""
    for name, campaign in campaigns_of_every_kind(client, an_account()).items():
        members = unpacked(archive_of(client, campaign))
        reply = bring(client, packed(members))
        assert reply.status_code == 201, (name, reply.text)


def test_a_clustering_of_an_unknown_kind_is_refused(client: TestClient) -> None:
    campaign = a_clustered_campaign(client, an_account())
    members = unpacked(archive_of(client, campaign))
    for change in ({"algorithm": "closed"}, {"clusters": [{"name": "x"}] * 9}):
        odd = changed(members, "clustering", lambda row, c=change: row.update(c))  # type: ignore[misc]
        reply = bring(client, packed(odd))
        assert reply.status_code == 422, reply.text
        assert "no page can show" in reply.json()["detail"]


@pytest.mark.usefixtures("environment")
def test_a_member_before_the_beginning_of_the_file_is_damaged() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", b" " * 100)
    # The list says where it begins itself; without a piece before it, members begin below zero.
    with pytest.raises(DamagedArchive, match=r"manifest\.json cannot be unpacked"):
        Container(io.BytesIO(buffer.getvalue()[50:]))
