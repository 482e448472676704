"""Builders: `a_campaign(kind="bins")` instead of twenty lines of set-up."""

import io
import zipfile
from collections.abc import Sequence
from uuid import UUID

import httpx
import numpy as np
from fastapi.testclient import TestClient
from PIL import Image
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import create_account, create_sign_in_link
from app.accounts.tokens import create_token
from app.campaigns.models import Campaign, ReadOnlyLink
from app.campaigns.plan import CampaignPlan
from app.campaigns.read_only import create_link
from app.campaigns.service import create_campaign, start_campaign
from app.collections.models import Collection
from app.collections.service import add_files, create_collection
from app.core.database import Base, transaction
from app.jobs.models import Job
from app.jobs.service import request_job
from app.planning.models import DryRun
from app.recruitment.accounts import add_account
from app.recruitment.invitations import invite_people
from app.recruitment.ledger import NewPayment, owe
from app.recruitment.links import LinkPlan, make_link
from app.recruitment.models import Invitation, Payment, Posting, Recruitment, Submission
from app.recruitment.service import RecruitmentPlan, plan_recruitment
from app.results.models import Clustering, EmbeddedImage, Model
from app.webhooks.events import EVENTS
from app.webhooks.models import Webhook
from app.webhooks.service import create_webhook, ping_webhook

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
    draft = a_draft(owner, collection, **plan)
    with transaction() as session:
        return start_campaign(session, owner, draft.id)


def a_draft(
    owner: Account | None = None, collection: Collection | None = None, **plan: object
) -> Campaign:
    """A campaign over a small collection that has not been started."""
    owner = owner or an_account()
    collection = collection or a_collection(owner)
    annotation = plan.get("annotation", {})
    assert isinstance(annotation, dict)
    values: dict[str, object] = {
        "name": "Campaign",
        "kind": "grid",
        "strategy": "cen",
        "budget": 8,
        "rounds": 1,
        "grid_size": 6,
        "seed": 0,
        **plan,
        # Tests answer at a machine's speed.
        "annotation": {"quick_pause": 0, **annotation},
    }
    if values["strategy"] == "cen":
        # Features double the time of each training.
        settings = plan.get("settings", {})
        assert isinstance(settings, dict)
        values["settings"] = {"features": "nothing", **settings}
    with transaction() as session:
        return create_campaign(
            session,
            owner,
            CampaignPlan(collection_id=collection.id, **values),
        )


def an_api_token(account: Account, scope: str = "write") -> str:
    with transaction() as session:
        return create_token(session, account, "test", scope, None)[1]


def a_webhook(
    owner: Account,
    url: str = "https://example.org/hook",
    events: Sequence[str] = EVENTS,
    campaign_id: UUID | None = None,
) -> Webhook:
    with transaction() as session:
        return create_webhook(session, owner, url, events, campaign_id)[0]


def a_delivery(webhook: Webhook) -> UUID:
    """The id of a ping that waits to be sent."""
    with transaction() as session:
        return ping_webhook(session, session.get_one(Webhook, webhook.id)).id


def a_recruitment(
    owner: Account, campaign: Campaign, channel: str = "mturk", **plan: object
) -> Recruitment:
    """A draft on an account of the owner's; nobody is told of it."""
    secret = {"access_key_id": "emulator", "secret_access_key": "emulator-secret"}
    with transaction() as session:
        account = add_account(
            session,
            owner,
            channel=channel,
            name="Mine",
            environment="production" if channel == "prolific" else "sandbox",
            secret=secret if channel == "mturk" else {"token": "emulator"},
        )
        values: dict[str, object] = {"places": 3, "reward_cents": 100, **plan}
        return plan_recruitment(
            session,
            owner,
            campaign.id,
            RecruitmentPlan(channel, channel_account_id=account.id, **values),  # type: ignore[arg-type]
        )


def a_submission(recruitment: Recruitment, **values: object) -> Submission:
    """Of somebody who never began here, with a bonus that is held."""
    with transaction() as session:
        posting = Posting(recruitment_id=recruitment.id, number=1, places=3, external_id="HIT1")
        session.add(posting)
        session.flush()
        columns = {"external_id": "A1", "person_hash": "0" * 64, "state": "submitted", **values}
        row = Submission(recruitment_id=recruitment.id, posting_id=posting.id, **columns)
        session.add(row)
        return row


def a_payment(recruitment: Recruitment, submission: Submission) -> Payment:
    """A bonus that waits for the requester's word."""
    with transaction() as session:
        recruitment_row = session.get_one(Recruitment, recruitment.id)
        bonus = NewPayment("bonus", "test", 50, "For the test.", awaits_word=True)
        row = session.get_one(Submission, submission.id)
        return owe(session, recruitment_row, bonus, assignment=None, submission=row)


def a_personal_link(owner: Account, campaign: Campaign) -> tuple[Recruitment, Invitation]:
    """A link for the people of a list, and the address of the only one in it."""
    with transaction() as session:
        link = make_link(session, owner, campaign.id, LinkPlan(settings={"access": "listed"}))
        invite_people(session, owner, campaign.id, link.id, "Ada")
        return link, session.scalars(
            select(Invitation).where(Invitation.recruitment_id == link.id)
        ).one()


def a_read_only_link(owner: Account, campaign: Campaign) -> tuple[ReadOnlyLink, str]:
    """A read-only link, and its token."""
    with transaction() as session:
        return create_link(session, owner, campaign, "Reviewer 2", None)


def reloaded(campaign_id: UUID) -> Campaign:
    with transaction() as session:
        return session.get_one(Campaign, campaign_id)


def sign_in(client: TestClient | httpx.Client, account: Account) -> None:
    """Sign a test client in as a browser would: by a one-time link."""
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
    response = client.post(link, follow_redirects=False)
    assert response.status_code == 303, response.text


def a_model(session: Session, campaign: Campaign) -> None:
    """A model of one image and its clusters, with the rows that it follows from."""
    job: Job = request_job(session, campaign.id, 0)
    added(session, DryRun(campaign_id=campaign.id, job_id=job.id, asked={}))
    model = Model(
        campaign_id=campaign.id,
        job_id=job.id,
        version=1,
        round_number=1,
        strategy="cen",
        settings={},
        metrics={},
        n_answers=0,
        artifact_key="models/none",
    )
    added(session, model)
    added(session, EmbeddedImage(model_id=model.id, position=0, vector=[0.0, 1.0], x=0.0, y=1.0))
    clustering = Clustering(
        model_id=model.id,
        name="Clusters",
        algorithm="k-means",
        parameters={},
        labels=[0],
        silhouettes=[0.0],
        clusters=[],
    )
    added(session, clustering)


def added(session: Session, row: Base) -> None:
    session.add(row)
    session.flush()
