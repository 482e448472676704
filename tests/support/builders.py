"""Builders: `a_campaign(kind="bins")` instead of twenty lines of set-up."""

import io
import zipfile
from collections.abc import Sequence
from uuid import UUID

import numpy as np
from fastapi.testclient import TestClient
from PIL import Image

from app.accounts.models import Account
from app.accounts.service import create_account, create_sign_in_link
from app.campaigns.models import Campaign
from app.campaigns.service import CampaignPlan, create_campaign, start_campaign
from app.collections.models import Collection
from app.collections.service import add_files, create_collection
from app.core.database import transaction

COLOURS = ("red", "green", "blue")


def a_png(seed: int, size: tuple[int, int] = (16, 16)) -> bytes:
    """A small PNG; another seed gives another picture."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (*size, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def a_zip(files: Sequence[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def an_account(email: str = "ada@example.org") -> Account:
    with transaction() as session:
        return create_account(session, email)


def a_table(n: int) -> bytes:
    """Attributes and features of `image-000.png` …: a colour in turn, three clusters of points."""
    rng = np.random.default_rng(0)
    lines = ["filename,colour,feature_0,feature_1"]
    for index in range(n):
        x, y = rng.normal(index % 3, 0.1, 2)
        lines.append(f"image-{index:03d}.png,{COLOURS[index % 3]},{x:.4f},{y:.4f}")
    return "\n".join(lines).encode()


def a_table_of_two_attributes(n: int) -> bytes:
    """A colour and a size for each of n images, independent of each other."""
    rng = np.random.default_rng(1)
    colours, sizes = rng.integers(0, 2, n), rng.integers(0, 2, n)
    lines = ["filename,colour,size"]
    for index in range(n):
        colour, size = ("red", "blue")[colours[index]], ("tiny", "huge")[sizes[index]]
        lines.append(f"image-{index:03d}.png,{colour},{size}")
    return "\n".join(lines).encode()


def a_collection(owner: Account, n: int = 30, table: bytes | None = None) -> Collection:
    files = [(f"image-{index:03d}.png", a_png(index)) for index in range(n)]
    with transaction() as session:
        collection = create_collection(session, owner, f"Collection of {n}")
        add_files(session, owner, collection, [*files, ("attributes.csv", table or a_table(n))])
        return collection


def a_campaign(
    owner: Account | None = None, collection: Collection | None = None, **plan: object
) -> Campaign:
    """A running campaign over a small collection."""
    owner = owner or an_account()
    collection = collection or a_collection(owner)
    values: dict[str, object] = {
        "name": "Campaign",
        "kind": "grid",
        "strategy": "cen",
        "budget": 8,
        "rounds": 1,
        "grid_size": 6,
        "seed": 0,
        **plan,
    }
    with transaction() as session:
        campaign = create_campaign(
            session,
            owner,
            CampaignPlan(collection_id=collection.id, **values),  # type: ignore[arg-type]
        )
        return start_campaign(session, owner, campaign.id)


def reloaded(campaign_id: UUID) -> Campaign:
    with transaction() as session:
        return session.get_one(Campaign, campaign_id)


def sign_in(client: TestClient, account: Account) -> None:
    """Sign a test client in as a browser would: by a one-time link."""
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
    response = client.post(link, follow_redirects=False)
    assert response.status_code == 303, response.text
