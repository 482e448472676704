"""Ids of somebody else's things, one at a time beside one's own, in every route that takes ids."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update

from app.accounts.models import Account, ApiToken, BrowserSession
from app.alignments.models import Alignment
from app.annotation.models import Answer, Assignment
from app.campaigns.models import Campaign, ReadOnlyLink
from app.collections.models import Collection, CollectionImport, Image
from app.collections.service import add_files
from app.core.database import Base, transaction
from app.features.models import FeatureSet
from app.planning.models import DryRun
from app.recruitment.models import (
    ChannelAccount,
    Invitation,
    Payment,
    Recruitment,
    Submission,
)
from app.results.models import Clustering, Model
from app.webhooks.models import Delivery, Webhook
from testbed.builders import a_png, an_api_token, sign_in
from tests.support.everything import an_account_with_everything
from tests.support.hostile_world import fingerprint
from tests.support.questions import AGE
from tests.support.requests_of_routes import body_of, query_of

# Words of Bob's, which nobody else may be told.
BOBS = "Words-of-Bob"
# Names of what is chosen from a few, or counted; the same for everybody.
NO_IDS: dict[str, Any] = {
    "position": 0, "decision": "stop", "action": "pause", "file": "answers.csv", "level": 0,
    "column": 0, "row": 0, "index": 0, "size": "small", "section": "map",
}  # fmt: skip
# What stands in an address instead of a session: whoever has it may come in.
KEYS = {"link", "token"}
# Kept by other tests: leases belong to annotators (test_annotators_token…), notifications are
# signed by the platform, and of one's own second factor there is only one.
ELSEWHERE = {"/hooks/{channel}/{channel_account_id}", "/account/factor/{action}"}
SIGNED = "/media/{collection_id}/{sha256}/{size}.webp"
FORM = {"name": "x", "email": "ada@example.org", "access": "view", "action": "pause"}


@dataclass(frozen=True)
class Somebody:
    account: Account
    campaign: Campaign
    ids: dict[str, Any]


def somebody(name: str, email: str) -> Somebody:
    account, campaign = an_account_with_everything(f"{name}@example.org", email)
    files = [(f"{name}.png", a_png(sum(name.encode())))]
    with transaction() as session:
        add_files(session, account, session.get_one(Collection, campaign.collection_id), files)
        # Without clusters, an image is in none.
        session.execute(update(Clustering).values(labels=[], silhouettes=[]))
        session.execute(delete(DryRun))
        done = {"state": "submitted", "submitted_at": func.now(), "groups": [0] * 6}
        session.execute(update(Answer).values(descriptions=["x"], **done))
        asking = session.get_one(Campaign, campaign.id)
        question = {**AGE, "key": f"age_of_{name}"}
        asking.annotation = {**asking.annotation, "questions_before": [question]}
    return Somebody(account, campaign, ids_of(account, campaign, name))


def ids_of(account: Account, campaign: Campaign, name: str) -> dict[str, Any]:
    """By the names that routes have for them."""
    of_campaign, owned = {"campaign_id": campaign.id}, {"account_id": account.id}
    with transaction() as session:
        recruitments = session.scalars(select(Recruitment).filter_by(**of_campaign)).all()
        submission = next(row for row in session.scalars(select(Submission))
                          if row.recruitment_id in [each.id for each in recruitments])  # fmt: skip
        recruitment = session.get_one(Recruitment, submission.recruitment_id)
        link = next(row for row in recruitments if row.channel == "link" and row.id in
                    session.scalars(select(Invitation.recruitment_id)).all())  # fmt: skip
        webhook = session.scalars(select(Webhook).filter_by(**owned)).one()
        model = session.scalars(select(Model).filter_by(**of_campaign)).one()

        def first(kind: type[Base], **by: Any) -> Any:
            return session.scalars(select(kind).filter_by(**by)).first()

        return {
            **NO_IDS,
            "campaign_id": campaign.id,
            "collection_id": campaign.collection_id,
            "account_id": account.id,
            "version": model.version,
            "key": f"age_of_{name}",
            "clustering_id": first(Clustering, model_id=model.id).id,
            "answer_id": first(Answer, **of_campaign).id,
            "assignment_id": first(Assignment, **of_campaign).id,
            "webhook_id": webhook.id,
            "delivery_id": first(Delivery, webhook_id=webhook.id).id,
            "sha256": first(Image, filename=f"{name}.png").sha256,
            "set_id": first(FeatureSet, collection_id=campaign.collection_id, name="clip").id,
            "alignment_id": first(Alignment, **of_campaign).id,
            "import_id": first(CollectionImport, collection_id=campaign.collection_id).id,
            "channel_account_id": first(ChannelAccount, **owned).id,
            "recruitment_id": recruitment.id,
            "submission_id": submission.id,
            "payment_id": first(Payment, recruitment_id=recruitment.id).id,
            "link_id": link.id,
            "read_only_link_id": first(ReadOnlyLink, **of_campaign).id,
            "invitation_id": first(Invitation, recruitment_id=link.id).id,
            "session_id": first(BrowserSession, **owned).id,
            "token_id": first(ApiToken, **owned).id,
        }


@pytest.fixture
def bob(client: TestClient) -> Somebody:
    person = somebody("bob", "root@example.org")
    # What he wrote, and his second model, of which the other has none.
    with transaction() as session:
        session.execute(update(Campaign).values(name=f"Campaign {BOBS}", question=BOBS))
        session.execute(update(Collection).values(name=f"Collection {BOBS}"))
        session.execute(update(Model).values(version=2))
    return Somebody(person.account, person.campaign, {**person.ids, "version": 2})


@pytest.fixture
def stranger(client: TestClient, bob: Somebody) -> Somebody:
    person = somebody("stranger", "root@example.org")
    return person


@pytest.fixture(autouse=True)
def an_admin(client: TestClient) -> None:
    """With whom both share something."""
    with transaction() as session:
        session.add(Account(email="root@example.org", role="admin"))


def routes() -> list[tuple[str, str]]:
    """Method and path of every route with an id."""
    from app.main import app

    return [
        (method, str(route.path))
        for route in iter_route_contexts(app.routes)
        for method in sorted(route.methods or ())
        if ids_in(str(route.path)) and str(route.path) not in ELSEWHERE
    ]


def ids_in(path: str) -> list[str]:
    names = re.findall(r"{(\w+)", path)
    if KEYS & set(names) or path.startswith("/api/v1/annotate"):
        return []
    return [name for name in names if name not in NO_IDS]


def ask(client: TestClient, method: str, path: str, ids: dict[str, Any]) -> Any:
    address = path.format(**{**ids, **deeds(path)}) + query_of(path)
    if path.startswith("/api/") or path.endswith(("/files", "/known-answers")):
        return client.request(method, address, **body_of(path, ids))
    form = FORM if method == "POST" else None
    return client.request(method, address, data=form, follow_redirects=False)


def deeds(path: str) -> dict[str, str]:
    """Those that a route has beside what is usual."""
    if "/payments/" in path:
        return {"decision": "release"}
    if path.startswith("/account/webhooks"):
        return {"action": "ping"}
    return {"action": "disable"} if path.startswith("/accounts/") else {}


@pytest.mark.parametrize("by", ["cookie", "write"])
def test_an_id_of_anothers_among_ones_own_leads_nowhere(
    client: TestClient, bob: Somebody, stranger: Somebody, by: str
) -> None:
    """Campaign and collection are one's own, so that every id has to be looked at by itself."""
    enter(client, stranger, by)
    before, walked, wrong = fingerprint(bob.campaign), 0, []
    for method, path in routes():
        if by != "cookie" and not path.startswith("/api/"):
            continue
        for name in ids_in(path):
            reply = ask(client, method, path, {**stranger.ids, name: bob.ids[name]})
            walked += 1
            if reply.status_code != 404 or BOBS in reply.text:
                wrong.append((method, path, name, reply.status_code, reply.text[:200]))
    assert wrong == []
    assert walked > (150 if by == "cookie" else 130)
    assert fingerprint(bob.campaign) == before


def test_ones_own_ids_are_found(client: TestClient, stranger: Somebody) -> None:
    """So that what is said of foreign ones says something. The made-up model has no labels,
    clusters of its own or map; pictures are behind signed addresses."""
    enter(client, stranger, "cookie")
    lost = {
        path
        for method, path in routes()
        if method == "GET"
        and not path.endswith("/events")  # which goes on for ever
        and ask(client, method, path, stranger.ids).status_code == 404
    }
    of_things = {path for path in lost if len(ids_in(path)) > 1}
    assert {path for path in of_things if "{version}" not in path} == {SIGNED}
    assert not any("{clustering_id}" in path for path in lost)


def enter(client: TestClient, who: Somebody, by: str) -> None:
    if by == "cookie":
        sign_in(client, who.account)
    else:
        client.headers["Authorization"] = f"Bearer {an_api_token(who.account)}"
