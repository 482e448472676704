"""Archives that only a fuzzer thought of: refused with a sentence, or restored and shown."""

import io
import zipfile

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.dialects.postgresql import JSONB

from app.archive.container import Container
from app.archive.errors import DamagedArchive
from app.archive.tables import ARCHIVED
from testbed.builders import an_account
from tests.support.archived_campaigns import (
    a_clustered_campaign,
    campaigns_of_every_kind,
    unfinished_campaigns,
)
from tests.support.archives import Members, archive_of, bring, changed, packed, unpacked

OTHER = "values of the wrong shape"
UNREADABLE = "JSON that cannot be read"
REFUSED = "the database rejects"
# Table, column, JSON, and what is said of it.
SHAPES = (
    ("answer", "descriptions", "[null]", OTHER),
    ("answer", "unseen", "[[1], [2]]", OTHER),
    ("answer", "unseen", '"[0:1]={1,2}"', OTHER),
    ("image", "features", "[[0.5, 0.5]]", OTHER),
    ("image", "attributes", '["red"]', OTHER),
    ("grid", "truth", "[" * 50 + "]" * 50, REFUSED),
    ("answer", "trace", "{}", OTHER),
    ("answer", "device", '"phone"', OTHER),
    ("annotator", "practice", "{}", OTHER),
    ("annotator", "practice", "[0.5]", OTHER),
    ("annotator", "practice", "[[0.5], [null]]", OTHER),
    ("round", "contents", "[]", OTHER),
    # Python has no words for the rest.
    ("answer", "trace", "[" * 3_000 + "]" * 3_000, UNREADABLE),
    ("answer", "trace", "[" * 90_000 + "]" * 90_000, REFUSED),
    ("answer", "trace", '[{"t": 1e5000}]', UNREADABLE),
    ("image", "attributes", '{"size": -1e400}', UNREADABLE),
    ("campaign", "settings", '{"n_dimensions": 1e5000}', UNREADABLE),
)


def with_json(members: Members, table: str, column: str, value: str) -> bytes:
    """Every row with this value, which need not be one that Python writes."""
    odd = changed(members, table, lambda row: row.update({column: "@@"}))
    name = f"tables/{table}.jsonl"
    return packed({**odd, name: odd[name].replace(b'"@@"', value.encode())})


def test_lists_and_json_that_no_page_can_show_are_refused(client: TestClient) -> None:
    played = unfinished_campaigns(client, an_account())
    members = unpacked(archive_of(client, played["going on"]))
    for table, column, value, sentence in SHAPES:
        reply = bring(client, with_json(members, table, column, value))
        assert reply.status_code == 422, (table, column, reply.text)
        assert sentence in reply.json()["detail"], (table, column, reply.json()["detail"])


def test_every_column_of_json_is_held_to_what_it_is_declared_as(client: TestClient) -> None:
    """Whatever its declaration: a string is none of them, and a list of strings neither."""
    members = unpacked(archive_of(client, a_clustered_campaign(client, an_account())))
    for archived in ARCHIVED:
        for column in archived.columns:
            if isinstance(column.type, JSONB):
                reply = bring(client, with_json(members, archived.name, column.key, '"x"'))
                assert reply.status_code == 422, (archived.name, column.key)
                detail = reply.json()["detail"]
                assert f"The archive's {archived.name} table contains {OTHER}" in detail, (
                    column.key,
                    detail,
                )


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
        assert "cannot be displayed" in reply.json()["detail"]


@pytest.mark.usefixtures("environment")
def test_a_member_before_the_beginning_of_the_file_is_damaged() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", b" " * 100)
    # The list says where it begins itself; without a piece before it, members begin below zero.
    with pytest.raises(DamagedArchive, match=r"manifest\.json cannot be unpacked"):
        Container(io.BytesIO(buffer.getvalue()[50:]))
