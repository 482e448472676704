"""docs/exports.md tells of every export, and of every column of each."""

import io
import json
import re

import pyarrow.parquet as pq
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.archive.manifest import FORMAT_VERSION, Manifest
from app.archive.tables import ARCHIVED
from app.core.database import transaction
from app.results.catalogue import BY_NAME, EXPORT_VERSION
from testbed.builders import a_payment, a_recruitment, a_submission
from testbed.servers import ROOT
from tests.support.archives import a_played_campaign, unpacked

TEXT = (ROOT / "docs" / "exports.md").read_text()
SECTION = re.compile(r"^### (\S+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(TEXT))
NUMBERED = re.compile(r"^(x|deviation|preference|used|used_error)\d+$")


def documented_columns(file: str) -> list[str]:
    """First cells of the table of a file; `x0`, `x1`, … count as one."""
    cells = re.findall(r"^\| (`[^|]*) \|", SECTIONS[file], re.MULTILINE)
    return [cell.split("`")[1] for cell in cells]


def test_every_export_is_documented_and_nothing_else() -> None:
    assert list(SECTIONS) == list(BY_NAME)
    assert f"It is **{EXPORT_VERSION}**" in TEXT
    assert f"`format_version` (**{FORMAT_VERSION}**)" in TEXT


def test_columns_are_those_that_are_documented(client: TestClient) -> None:
    campaign = a_played_campaign(client)
    with transaction() as session:
        owner = session.get_one(Account, campaign.owner_id)
    recruitment = a_recruitment(owner, campaign)
    a_payment(recruitment, a_submission(recruitment))
    base = f"/api/v1/campaigns/{campaign.id}/export"
    for file in BY_NAME:
        reply = client.get(f"{base}/{file}")
        assert reply.status_code == 200, file
        documented = documented_columns(file)
        if file.endswith(".csv"):
            head = reply.text.split("\n", 1)[0].split(",")
            actual = [name for name in head if not NUMBERED.match(name) or name.endswith("0")]
            # A column for each question, by its key.
            actual = [re.sub("^q_.*", "q_KEY", name) for name in actual]
            assert actual == documented, file
        elif file == "metadata.tsv":
            assert reply.text.split("\n", 1)[0].split("\t") == [*documented, "colour"]
        elif file.endswith(".jsonl"):
            names = re.findall(r"`(\w+)`", SECTIONS[file])
            assert set(json.loads(reply.text.split("\n", 1)[0])) <= set(names), file
        elif file.endswith(".parquet"):
            names = re.findall(r"`(\w+)`", SECTIONS[file] + SECTIONS["answers.jsonl"])
            columns = pq.read_schema(io.BytesIO(reply.content)).names
            if file == "embedding.parquet":
                columns = [re.sub("^attribute_.*", "attribute_NAME", name) for name in columns]
            assert set(columns) <= set(names), file
        elif file.endswith(".npz"):
            names = re.findall(r"`(\w+)`", SECTIONS[file])
            assert {name.removesuffix(".npy") for name in unpacked(reply.content)} <= set(names)


def test_the_archives_members_are_documented(client: TestClient) -> None:
    section = SECTIONS["archive.zip"]
    assert all(re.search(rf"\b{archived.name}\b", section) for archived in ARCHIVED)
    names = {f"`{name}`" for name in Manifest.model_fields}
    assert names <= set(re.findall(r"`\w+`", section))
