"""Archives of campaigns: to take one, to look into it, to change it, and to bring it back."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

from fastapi.testclient import TestClient
from PIL import Image as Pillow
from sqlalchemy import func, select

from app.campaigns.models import Campaign
from app.collections.models import Collection
from app.core import storage
from app.core.database import transaction
from app.jobs.models import Job
from app.results.models import Model
from testbed.builders import a_campaign, an_account, sign_in
from tests.app.test_annotation import a_session
from tests.app.test_crowdster_strategy import run_job
from tests.app.test_quality_control import CHECKS, work
from tests.support.questions import AGE, answer_age

Members = dict[str, bytes]


def a_played_campaign(client: TestClient) -> Campaign:
    """Finished: two annotators with checks of quality, remarks, and a model that tells things."""
    owner = an_account()
    campaign = a_campaign(
        owner, name="Colours", budget=24, rounds=1, grid_size=10, grids_per_assignment=40,
        annotation={**CHECKS, "consent": "You group *pictures*.", "questions_before": [AGE]},
        settings={"n_dimensions": 2},
    )  # fmt: skip
    for number in (1, 2):
        agreed = a_session(client, campaign, f"annotator-{number:06d}")
        client.post("/api/v1/annotate/steps", json={"step": "consent"}, headers=agreed)
        answer_age(client, agreed, 20 + number)
    who = work(client, campaign, 18, "honest", "annotator-000001")
    remark = {"kind": "comment", "text": 'I like \\ and "quotes", =cmd() and \u00fcml\u00e4uts.'}
    assert client.post("/api/v1/annotate/remarks", json=remark, headers=who).status_code < 300
    work(client, campaign, 40, "random", "annotator-000002")
    run_job()
    sign_in(client, owner)
    return campaign


def archive_of(client: TestClient, campaign: Campaign) -> bytes:
    reply = client.get(f"/api/v1/campaigns/{campaign.id}/export/archive.zip")
    assert reply.status_code == 200
    return reply.content


def bring(client: TestClient, archive: bytes) -> Any:
    return client.post("/api/v1/campaigns/import", files={"file": ("archive.zip", archive)})


def unpacked(archive: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(archive)) as zip_file:
        return {name: zip_file.read(name) for name in zip_file.namelist()}


def packed(members: Members, *, honest: bool = True) -> bytes:
    """An archive of these members; `honest`: its hashes are made to fit."""
    if honest:
        manifest = json.loads(members["manifest.json"])
        lines = [f"{_hash(data)}  {name}\n" for name, data in members.items()
                 if name.startswith("images/")]  # fmt: skip
        members = {**members, "images.sha256": "".join(lines).encode()}
        manifest["members"] = {
            name: {"sha256": _hash(data), "size": len(data)}
            for name, data in members.items()
            if name != "manifest.json" and not name.startswith("images/")
        }
        members["manifest.json"] = json.dumps(manifest).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def changed(members: Members, table: str, change: Callable[[dict[str, Any]], object]) -> Members:
    """The same with every row of a table changed."""
    name = f"tables/{table}.jsonl"
    rows = [json.loads(line) for line in members[name].splitlines()]
    for row in rows:
        change(row)
    manifest = json.loads(members["manifest.json"])
    manifest["tables"][table]["columns"] = list(rows[0])
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return {**members, name: text.encode(), "manifest.json": json.dumps(manifest).encode()}


def a_webp(size: tuple[int, int], **more: Any) -> bytes:
    buffer = io.BytesIO()
    Pillow.new("RGB", size).save(buffer, "WEBP", **more)
    return buffer.getvalue()


def what_there_is() -> tuple[Any, ...]:
    """Rows and stored objects."""
    with transaction() as session:
        rows = [session.scalar(select(func.count()).select_from(table))
                for table in (Campaign, Collection, Model, Job)]  # fmt: skip
    return (*rows, storage.list_objects("images"), storage.list_objects("models"))
