"""Archives: the whole campaign, restored elsewhere or not at all, and nobody's identity in it."""

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from sqlalchemy.schema import Table
from typer.testing import CliRunner

from app.accounts.models import Account
from app.annotation.models import AnnotatorIdentity, Assignment
from app.archive.errors import DamagedArchive
from app.archive.tables import ARCHIVED, BY_NAME, LEFT_OUT, parent_of
from app.campaigns.models import Campaign, Grid
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import add_known_list, create_campaign
from app.campaigns.sharing import share_campaign
from app.collections.models import Collection
from app.collections.service import add_files
from app.core import database
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.jobs.models import Job
from app.results.catalogue import BY_NAME as BY_FILE
from app.tables import metadata
from likewise.cli import cli
from testbed.builders import a_campaign, a_collection, a_png, an_account, sign_in
from testbed.servers import Servers
from tests.app.test_annotation import a_session
from tests.app.test_quality_control import work
from tests.conftest import forget_settings
from tests.support.archives import a_played_campaign, archive_of, bring, unpacked, what_there_is

PLANTED = "5f3a-platform-id-of-a-person"


def plant_identities(campaign: Campaign) -> None:
    """As a platform's annotators would be known by."""
    with transaction() as session:
        session.execute(update(AnnotatorIdentity).values(external_id=PLANTED))
        session.execute(update(Assignment).values(external_id=PLANTED, completion_code="CODE-PLTD"))


@contextmanager
def another_server(
    servers: Servers, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[TestClient]:
    """With a database, a storage and a key of its own; its first account is signed in."""
    from app.main import app

    url = servers.new_database()
    with monkeypatch.context() as patch:
        patch.setenv("DATABASE_URL", url)
        patch.setenv("LIKEWISE_DATA", str(folder))
        patch.setenv("LIKEWISE_SECRET_KEY", "another")
        database.get_engine().dispose()
        forget_settings()
        with TestClient(app) as client:
            sign_in(client, an_account("bob@example.org"))
            yield client
        database.get_engine().dispose()
    forget_settings()
    servers.drop_database(url)


def pages_of(client: TestClient, campaign_id: str) -> dict[str, Any]:
    """Everything that the results pages show and that can be taken away, without what names
    things: keys, addresses of images, and the archive itself."""
    base = f"/api/v1/campaigns/{campaign_id}"
    paths = ["", "/progress", "/models/1/map", "/models/1/neighbours?image=7&k=5",
             "/models/1/insight", "/annotators", "/answers?annotator=0&replay=true",
             "/remarks"]  # fmt: skip
    replies = {path: client.get(base + path) for path in paths}
    for file in client.get(f"{base}/exports").json()["files"]:
        if file["group"] != "everything":
            replies[file["file"]] = client.get(f"{base}/export/{file['file']}")
    assert {
        path: reply.status_code for path, reply in replies.items() if not reply.is_success
    } == {}
    return {path: _without_names(path, reply.content) for path, reply in replies.items()}


def _without_names(path: str, content: bytes) -> Any:
    if path == "model.zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    if path.endswith((".npz", ".parquet")):
        return content if path != "answers.parquet" else None
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", content.decode())
    text = re.sub(r"ID,\d+,", "ID,GRID,", text)  # answers.csv
    text = re.sub(r"^(\d+),\d+,(\d+,\d+,[01])$", r"\1,GRID,\2", text, flags=re.MULTILINE)
    text = re.sub(r'"grid": ?\d+', '"grid":0', text)
    # They follow from the answer's id.
    text = re.sub(r'"colours": ?\[[\d,]*\]', '"colours":[]', text)
    return re.sub(r"/media/ID/[^\"]*|http://[^\"]*/a/[^\"]*", "ADDRESS", text)


def test_an_archive_shows_the_same_pages_on_another_server(
    client: TestClient, servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = a_played_campaign(client)
    before = pages_of(client, str(campaign.id))
    assert json.loads(before["/progress"])["state"] == "finished"
    assert json.loads(before["/remarks"])
    archive = archive_of(client, campaign)
    with another_server(servers, tmp_path / "other", monkeypatch) as other:
        reply = bring(other, archive)
        assert reply.status_code == 201, reply.text
        restored = reply.json()
        after = pages_of(other, restored["id"])
        differ = {path for path in before if before[path] != after[path]}
        shown = json.loads(other.get(f"/api/v1/campaigns/{restored['id']}/models/1/map").text)
        for image in shown["points"][:3]:
            assert other.get(image["url"]).headers["content-type"] == "image/webp"
    assert differ == set()


def test_a_running_campaign_comes_back_paused_with_its_own_link_and_can_go_on(
    client: TestClient,
) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=8, grid_size=6)
    work(client, campaign, 3, "honest")
    sign_in(client, owner)
    archive = archive_of(client, campaign)
    first, second = bring(client, archive).json(), bring(client, archive).json()
    assert (first["state"], first["name"], first["n_answers"]) == (
        "paused",
        "Campaign (imported)",
        3,
    )
    links = {client.get(f"/api/v1/campaigns/{campaign_id}").json()["annotator_link"]
             for campaign_id in (campaign.id, first["id"], second["id"])}  # fmt: skip
    assert len(links) == 3
    assert client.post(f"/api/v1/campaigns/{first['id']}/actions/resume").status_code == 200
    with transaction() as session:
        copy = session.get_one(Campaign, first["id"])
        session.expunge(copy)
    work(client, copy, 5, "honest", "annotator-000009")
    progress = client.get(f"/api/v1/campaigns/{first['id']}/progress").json()
    assert (progress["answers"], progress["annotators"], progress["job"]["state"]) == (
        8, 2, "queued",
    )  # fmt: skip


def test_a_training_that_waited_is_asked_for_again(client: TestClient) -> None:
    owner = an_account()
    campaign = a_campaign(owner, budget=3, grid_size=6)
    work(client, campaign, 3, "honest")
    sign_in(client, owner)
    copy = bring(client, archive_of(client, campaign)).json()
    with transaction() as session:
        waiting = select(func.count(Job.id)).where(Job.state == "queued")
        assert session.scalar(waiting.where(Job.campaign_id == copy["id"])) == 1


def a_draft(owner: Account) -> Campaign:
    """With a list of two known answers, the second of the collection's last images."""
    collection = a_collection(owner, 12)
    plan = CampaignPlan(name="Draft", collection_id=collection.id, budget=8, rounds=1, grid_size=6)
    lines = [f"{k // 6},image-{k:03d}.png,{k % 2}" for k in range(12)]
    with transaction() as session:
        campaign = create_campaign(session, owner, plan)
        add_known_list(session, owner, campaign.id, known_list(lines))
        return campaign


def known_list(lines: list[str]) -> bytes:
    return "\n".join(["grid,filename,group", *lines]).encode()


def test_a_draft_comes_back_with_its_known_answers_and_can_start(client: TestClient) -> None:
    owner = an_account()
    campaign = a_draft(owner)
    sign_in(client, owner)
    reply = bring(client, archive_of(client, campaign))
    assert reply.status_code == 201, reply.text
    copy = reply.json()["id"]
    with transaction() as session:
        known = select(Grid.images).where(Grid.campaign_id == copy).order_by(Grid.number)
        assert session.scalars(known).all() == [[*range(6)], [*range(6, 12)]]
    assert client.post(f"/api/v1/campaigns/{copy}/actions/start").status_code == 200


def test_a_campaign_takes_along_only_the_images_that_it_asks_about(client: TestClient) -> None:
    owner, eve = an_account(), an_account("eve@example.org")
    campaign = a_campaign(owner, a_collection(owner, 12))
    with transaction() as session:
        collection = session.get_one(Collection, campaign.collection_id)
        add_files(session, owner, collection, [("unseen.png", a_png(99))])
        lines = [f"{k > 5},{'unseen' if k == 6 else f'image-{k:03d}'}.png,{k % 2}"
                 for k in range(12)]  # fmt: skip
        assert add_known_list(session, owner, campaign.id, known_list(lines)) == 2
        share_campaign(session, owner, campaign, eve.email, "view")
    sign_in(client, eve)
    archive = archive_of(client, campaign)
    members = unpacked(archive)
    assert members["tables/image.jsonl"].count(b"\n") == 12
    assert b"unseen" not in members["tables/image.jsonl"]
    assert sum(name.startswith("images/") for name in members) == 24
    assert json.loads(members["tables/collection.jsonl"])["n_images"] == 12
    grids = map(json.loads, members["tables/grid.jsonl"].splitlines())
    assert [grid["images"] for grid in grids if grid["role"] == "gold"] == [[*range(6)]]
    copy = bring(client, archive)
    assert copy.status_code == 201, copy.text


def test_a_shared_draft_takes_along_no_images(client: TestClient) -> None:
    owner, eve = an_account(), an_account("eve@example.org")
    campaign = a_draft(owner)
    with transaction() as session:
        share_campaign(session, owner, campaign, eve.email, "edit")
    sign_in(client, eve)
    archive = archive_of(client, campaign)
    members = unpacked(archive)
    assert not [name for name in members if name.startswith("images/")]
    assert members["tables/image.jsonl"] == members["tables/grid.jsonl"] == b""
    assert bring(client, archive).json()["state"] == "draft"


def test_nobodys_identity_is_in_any_file(client: TestClient) -> None:
    campaign = a_played_campaign(client)
    plant_identities(campaign)
    base = f"/api/v1/campaigns/{campaign.id}"
    files = {file["file"]: client.get(f"{base}/export/{file['file']}").content
             for file in client.get(f"{base}/exports").json()["files"]}  # fmt: skip
    members = unpacked(files.pop("archive.zip"))
    assert members["tables/answer.jsonl"].count(b"\n") > 24
    with transaction() as session:
        rows = session.execute(select(AnnotatorIdentity.annotator_id, Assignment.id).join_from(
            AnnotatorIdentity, Assignment,
            Assignment.annotator_id == AnnotatorIdentity.annotator_id,
        )).all()  # fmt: skip
        hashes = session.scalars(select(AnnotatorIdentity.key_hash)).all()
        secrets = [*hashes, PLANTED, "CODE-PLTD", "ada@example.org", campaign.link_token]
        # In an archive, not even by the keys that this database knows them by.
        keys = [str(key) for row in rows for key in row]
    for name, content in {**files, **members}.items():
        for secret in [*secrets, *(keys if name in members else [])]:
            assert secret.encode() not in content, (name, secret)


def test_every_table_of_a_campaign_is_archived_or_left_out_for_a_reason() -> None:
    """A new table: one line in app/archive/tables.py."""
    kept = set(BY_NAME) | set(LEFT_OUT)
    assert not set(BY_NAME) & set(LEFT_OUT)
    hanging = {"campaign", "collection"}
    while more := {table.name for table in metadata.sorted_tables
                   if _parents(table) & hanging} - hanging:  # fmt: skip
        hanging |= more
    assert hanging == kept
    order = [archived.name for archived in ARCHIVED]
    for archived in ARCHIVED:
        for column in archived.columns:
            parent = parent_of(column)
            assert parent is not None or not column.foreign_keys, (archived.name, column.key)
            assert parent is None or order.index(parent.name) <= order.index(archived.name)


def _parents(table: Table) -> set[str]:
    return {key.column.table.name for key in table.foreign_keys}


def test_the_page_takes_an_archive_and_shows_what_is_wrong_with_one(client: TestClient) -> None:
    campaign = a_played_campaign(client)
    assert "/campaigns/import" in client.get("/").text
    assert client.get("/campaigns/import").status_code == 200
    archive = archive_of(client, campaign)
    files = {"file": ("archive.zip", archive)}
    sent = client.post("/campaigns/import", files=files, data={"name": "Mine"},
                       follow_redirects=False)  # fmt: skip
    assert sent.status_code == 303
    assert "Mine" in client.get(sent.headers["location"]).text
    before = what_there_is()
    refused = client.post("/campaigns/import", files={"file": ("a.zip", archive[:-100])})
    assert refused.status_code == 422
    assert "cut off" in refused.text
    assert what_there_is() == before


def test_archives_are_their_owners(client: TestClient) -> None:
    campaign = a_campaign(an_account())
    who = a_session(client, campaign)
    sign_in(client, an_account("eve@example.org"))
    address = f"/api/v1/campaigns/{campaign.id}/export/archive.zip"
    assert client.get(address).status_code == 404
    client.cookies.clear()
    assert client.get(address, headers=who).status_code == 401
    assert bring(client, b"").status_code == 401


def test_the_command_line_writes_every_file_and_brings_archives_back(
    client: TestClient, tmp_path: Path
) -> None:
    campaign = a_played_campaign(client)
    run = CliRunner()
    for file in BY_FILE:
        done = run.invoke(cli, ["export", str(campaign.id), str(tmp_path / file)])
        assert done.exit_code == 0, (file, done.output, done.exception)
        sent = client.get(f"/api/v1/campaigns/{campaign.id}/export/{file}").content
        # Keys and times of an archive are those of the moment.
        assert file.endswith(".zip") or (tmp_path / file).read_bytes() == sent, file
    wrong = run.invoke(cli, ["export", str(campaign.id), str(tmp_path / "answers.doc")])
    assert isinstance(wrong.exception, InvalidInput)
    named = tmp_path / "my colours"
    run.invoke(cli, ["export", "Colours", str(named), "--archive"])
    options = ["--owner", "ada@example.org", "--name", "Back"]
    done = run.invoke(cli, ["import", str(named), *options])
    assert done.exit_code == 0, done.exception
    assert "Back: 30 images, 24 answers, finished" in done.output
    named.write_bytes(named.read_bytes()[:-50])
    before = what_there_is()
    assert isinstance(run.invoke(cli, ["import", str(named)]).exception, DamagedArchive)
    assert what_there_is() == before
    assert {path.name for path in tmp_path.iterdir()} >= set(BY_FILE)
    assert not list(tmp_path.glob(".*.part"))
