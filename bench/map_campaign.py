"""Writes a campaign with any number of images and some models directly into the database."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pillow
from sqlalchemy import insert
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import create_account
from app.campaigns.models import Campaign
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign, start_campaign
from app.collections.models import Collection, Image
from app.collections.service import create_collection, image_key
from app.core.database import transaction
from app.core.storage import put_object
from app.jobs.models import Job
from app.results.models import EmbeddedImage, Model

N_CLUSTERS, N_MODELS, EDGE, AT_ONCE = 60, 3, 64, 5_000


def a_mapped_campaign(n: int) -> tuple[Account, Campaign]:
    rng = np.random.default_rng(n)
    with transaction() as session:
        owner = create_account(session, f"owner{n}@example.org")
        collection = create_collection(session, owner, f"{n} images")
        kinds = rng.integers(0, N_CLUSTERS, n)
        add_images(session, collection, kinds)
        plan = CampaignPlan(
            name=f"{n} images", collection_id=collection.id, kind="bins", strategy="crowdster",
            budget=1_000, rounds=5,
        )  # fmt: skip
        campaign = create_campaign(session, owner, plan)
        start_campaign(session, owner, campaign.id)
        centres = rng.random((N_CLUSTERS, 2))
        places = centres[kinds] + rng.normal(0, 0.035, (n, 2))
        for version in range(1, N_MODELS + 1):
            _add_model(session, campaign, version, places)
            places = places + 0.35 * (centres[kinds] - places) + rng.normal(0, 0.008, (n, 2))
        return owner, campaign


def add_images(session: Session, collection: Collection, kinds: NDArray[np.int64]) -> None:
    """Add an image for each entry of kinds (N,); images of one kind are similar."""
    for start in range(0, len(kinds), AT_ONCE):
        rows = []
        for position in range(start, min(start + AT_ONCE, len(kinds))):
            data = a_picture(position, int(kinds[position]))
            sha256 = hashlib.sha256(data).hexdigest()
            for size in ("small", "thumb"):
                put_object(image_key(collection.id, sha256, size), data)
            rows.append({
                "collection_id": collection.id, "position": position, "sha256": sha256,
                "filename": f"picture-{position:06d}.webp", "width": EDGE, "height": EDGE,
                "attributes": {"kind": f"kind {kinds[position] % 12}"},
            })  # fmt: skip
        session.execute(insert(Image), rows)
    collection.n_images = len(kinds)
    session.flush()


def a_picture(number: int, kind: int) -> bytes:
    """A disc on a ground in the colours of its kind; sixteen squares below encode its number."""
    rng = np.random.default_rng([kind, number])
    hue = np.array([np.sin(kind * k + k) for k in (1.0, 2.3, 4.1)]) * 90 + 140
    pixels = np.full((EDGE, EDGE, 3), np.clip(hue + rng.normal(0, 12, 3), 0, 255))
    rows, columns = np.mgrid[:EDGE, :EDGE]
    x, y, radius = rng.uniform(20, 44), rng.uniform(16, 36), rng.uniform(8, 16)
    pixels[(columns - x) ** 2 + (rows - y) ** 2 < radius**2] = 255 - hue
    for bit in range(20):
        left = 2 + 3 * bit
        pixels[-6:, left : left + 3] = 255 if number >> bit & 1 else 0
    buffer = io.BytesIO()
    Pillow.fromarray(pixels.astype(np.uint8)).save(buffer, "WEBP", quality=80, method=0)
    return buffer.getvalue()


def _add_model(
    session: Session, campaign: Campaign, version: int, places: NDArray[np.float64]
) -> None:
    job = Job(campaign_id=campaign.id, state="done", watermark=version)
    session.add(job)
    session.flush()
    model = Model(
        campaign_id=campaign.id, job_id=job.id, version=version, round_number=version,
        strategy="crowdster", settings={}, metrics={}, n_answers=100 * version, artifact_key="-",
    )  # fmt: skip
    session.add(model)
    session.flush()
    low, high = places.min(axis=0), places.max(axis=0)
    flat = (places - low) / (high - low).max()
    for start in range(0, len(flat), AT_ONCE):
        session.execute(insert(EmbeddedImage), list(_rows(model.id, start, flat)))


def _rows(model: UUID, start: int, flat: NDArray[np.float64]) -> Iterator[dict[str, Any]]:
    for position in range(start, min(start + AT_ONCE, len(flat))):
        x, y = flat[position].tolist()
        yield {"model_id": model, "position": position, "vector": [x, y], "x": x, "y": y}
