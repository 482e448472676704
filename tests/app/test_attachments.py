"""Names of downloaded files."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi.testclient import TestClient

from app.accounts.models import Account
from app.collections.models import Collection
from app.collections.service import rename_collection
from app.core.attachments import attachment
from app.core.database import transaction
from testbed.builders import a_campaign
from tests.app.test_clusterings import PLACES, create_clustering, path_of
from tests.app.test_insight import a_model


@pytest.mark.parametrize(
    ("owner", "name", "in_utf8"),
    [
        ("Faces of 2026!", "faces-of-2026-answers.csv", None),
        ("Ähnliche Gesichter", "ahnliche-gesichter-answers.csv", "ähnliche-gesichter-answers.csv"),
        ("顔の写真", "answers.csv", "顔の写真-answers.csv"),
        ('"; filename="x.exe\r\n../', "filename-x-exe-answers.csv", None),
        ("x" * 500, f"{'x' * 60}-answers.csv", None),
        ("—", "answers.csv", None),
    ],
)
def test_a_file_is_named_after_its_campaign(owner: str, name: str, in_utf8: str | None) -> None:
    value = attachment(owner, "answers.csv")["Content-Disposition"]
    assert value.isascii()
    parts = re.fullmatch(r"""attachment; filename="([^"]*)"(?:; filename\*=UTF-8''(\S+))?""", value)
    assert parts is not None
    assert (parts[1], parts[2] and unquote(parts[2])) == (name, in_utf8)


def test_every_download_says_whose_it_is(client: TestClient, owner: Account) -> None:
    campaign = a_campaign(owner, name="Faces of Friends")
    a_model(campaign, PLACES)
    clustering: dict[str, Any] = create_clustering(client, campaign)
    root = f"/api/v1/campaigns/{campaign.id}"
    collection = f"/api/v1/collections/{campaign.collection_id}"
    with transaction() as session:
        row = session.get_one(Collection, campaign.collection_id)
        rename_collection(session, owner, row, "All Faces")
    for path, name in (
        (f"{root}/export/answers.csv", "faces-of-friends-answers.csv"),
        (f"{root}/export/embedding.csv", "faces-of-friends-embedding.csv"),
        (f"{root}/export/archive.zip", "faces-of-friends-archive.zip"),
        (f"{root}/owed.csv", "faces-of-friends-owed.csv"),
        (f"{path_of(campaign)}/{clustering['id']}/clusters.csv", "faces-of-friends-clusters.csv"),
        (f"{collection}/attributes.csv", "all-faces-attributes.csv"),
    ):
        reply = client.get(path)
        assert reply.status_code == 200, path
        assert f'filename="{name}"' in reply.headers["content-disposition"]
