"""What hostile requests know: somebody's own campaign with all that belongs to it, its ids, tokens
and routes; and a second one of somebody else's, whose ids they know and nothing more."""

import hashlib
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from sqlalchemy import select, text

from app import tables
from app.accounts.models import Account
from app.accounts.service import create_sign_in_link, use_sign_in_link
from app.alignments.models import Alignment
from app.campaigns.models import Campaign
from app.collections.media import image_url
from app.collections.models import CollectionImport, Image
from app.core.database import transaction
from app.core.web import cookie_name
from app.features.models import FeatureSet
from app.recruitment.calls import link_of
from app.recruitment.models import Recruitment
from testbed.builders import (
    a_campaign,
    a_collection,
    a_delivery,
    a_payment,
    a_personal_link,
    a_read_only_link,
    a_recruitment,
    a_submission,
    a_webhook,
    an_account,
    an_api_token,
)
from tests.app.test_insight import a_model
from tests.support.people import Person, a_grouping, a_person

Schema = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """A route: its template, the method, its part of the OpenAPI document (or what fields its form
    has), and names of what it reads from the query."""

    path: str
    method: str
    body: Schema | None
    media_type: str
    query: tuple[str, ...]


def name_of(target: Target) -> str:
    """A route in records."""
    return f"{target.method} {target.path[:60]}"


def targets_of(app: FastAPI) -> list[Target]:
    """Every route of the application, with every method that it has."""
    paths: dict[str, Any] = app.openapi()["paths"]
    targets = []
    for context in iter_route_contexts(app.routes):
        path, dependant = context.path, getattr(context, "dependant", None)
        if path is None:
            targets.append(Target("/static/{file}", "GET", None, "", ()))
            continue
        for method in sorted(context.methods or {"GET"}):
            described = paths.get(path, {}).get(method.lower(), {})
            content = described.get("requestBody", {}).get("content", {})
            media_type, body = next(iter(content.items()), ("", None))
            names = [
                parameter["name"]
                for parameter in described.get("parameters", ())
                if parameter["in"] == "query"
            ]
            if dependant is not None and not described:
                names = [field.alias for field in dependant.query_params]
                fields = {field.alias: {"type": "string"} for field in dependant.body_params}
                body = {"schema": {"type": "object", "properties": fields}}
                media_type = "application/x-www-form-urlencoded" if method == "POST" else ""
            schema = body["schema"] if body and media_type else None
            targets.append(Target(path, method, schema, media_type, tuple(names)))
    return targets


@dataclass(frozen=True)
class World:
    """ids: values of the parameters of paths, and of fields of the same name."""

    account: Account
    campaign: Campaign
    ids: dict[str, str]
    images: list[str]
    cookie: str
    write_token: str
    read_token: str
    person: Person
    lease: dict[str, Any]

    def is_alive(self, http: httpx.Client) -> bool:
        """Whether nothing that requests need has been deleted, stopped or signed out."""
        path, token = f"/api/v1/campaigns/{self.campaign.id}", f"Bearer {self.write_token}"
        http.post(f"{path}/actions/resume", headers={"Authorization": token})
        reply = http.get(path, headers={"Cookie": self.cookie})
        mine = http.get("/api/v1/campaigns", headers={"Authorization": token})
        return reply.is_success and reply.json()["state"] == "running" and mine.is_success


def a_world(http: httpx.Client, name: str) -> World:
    """A campaign with a model, a webhook, a recruitment with money in it, links and answers, and
    somebody at work on it."""
    account = an_account(f"{name}@example.org")
    campaign = a_campaign(account, a_collection(account, n=12), budget=200, grid_size=6)
    rng = np.random.default_rng(0)
    a_model(campaign, rng.normal(size=(campaign.n_images, 4)))
    person = a_person(http, campaign, f"somebody-of-{name}-0001")
    assert person.submit(person.lease()).status_code == 200
    lease = person.lease()
    with transaction() as session:
        link = create_sign_in_link(session, account, "")
        cookie = f"{cookie_name()}={use_sign_in_link(session, link.rpartition('/')[2])}"
    ids, images = _ids(account, campaign)
    ids["lease_id"] = lease["id"]
    tokens = [an_api_token(account, scope) for scope in ("write", "read")]
    return World(account, campaign, ids, images, cookie, tokens[0], tokens[1], person, lease)


def _ids(account: Account, campaign: Campaign) -> tuple[dict[str, str], list[str]]:
    webhook, recruitment = a_webhook(account), a_recruitment(account, campaign)
    submission = a_submission(recruitment)
    link, invitation = a_personal_link(account, campaign)
    with transaction() as session:
        begun = CollectionImport(collection_id=campaign.collection_id, kind="prefix", source="s3:")
        clip = FeatureSet(
            collection_id=campaign.collection_id, name="clip", kind="uploaded", state="done",
            n_features=2,
        )  # fmt: skip
        session.add_all([begun, clip])
        session.flush()
        alignment = Alignment(campaign_id=campaign.id, set_id=clip.id)
        session.add(alignment)
        mine = Image.collection_id == campaign.collection_id
        images = session.scalars(select(Image).where(mine).limit(3)).all()
        answer, assignment = session.execute(
            text("SELECT id, assignment_id FROM answer WHERE campaign_id = :id LIMIT 1"),
            {"id": campaign.id},
        ).one()
        # As if it were open on its platform, so that its people's address leads somewhere.
        opened = session.get_one(Recruitment, recruitment.id)
        opened.state = "open"
        way_in = link_of(opened)
    ids = {
        "account_id": account.id, "answer_id": answer, "assignment_id": assignment,
        "campaign_id": campaign.id, "channel_account_id": recruitment.channel_account_id,
        "clustering_id": account.id, "collection_id": campaign.collection_id,
        "delivery_id": a_delivery(webhook), "import_id": begun.id, "set_id": clip.id,
        "read_only_link_id": a_read_only_link(account, campaign)[0].id,
        "invitation_id": invitation.id, "alignment_id": alignment.id,
        "link_id": link.id, "payment_id": a_payment(recruitment, submission).id,
        "recruitment_id": recruitment.id, "submission_id": submission.id,
        "webhook_id": webhook.id, "sha256": images[0].sha256, "version": 1, "position": 0,
        "level": 0, "column": 0, "row": 0, "size": "small", "link": way_in,
        "email": account.email,
    }  # fmt: skip
    return {name: str(value) for name, value in ids.items()}, [image_url(image) for image in images]


# By which column a row belongs to what, where it names neither the campaign nor its collection.
BELONGS = {
    "account_id": "SELECT owner_id FROM campaign WHERE id = :id",
    "recruitment_id": "SELECT id FROM recruitment WHERE campaign_id = :id",
    "channel_account_id": "SELECT channel_account_id FROM recruitment WHERE campaign_id = :id",
    "import_id": "SELECT i.id FROM collection_import i JOIN campaign c USING (collection_id) "
    "WHERE c.id = :id",
    "set_id": "SELECT s.id FROM feature_set s JOIN campaign c USING (collection_id) "
    "WHERE c.id = :id",
    "webhook_id": "SELECT w.id FROM webhook w JOIN campaign c ON w.account_id = c.owner_id "
    "WHERE c.id = :id",
    "model_id": "SELECT id FROM model WHERE campaign_id = :id",
    "campaign_id": "SELECT CAST(:id AS uuid)",
    "collection_id": "SELECT collection_id FROM campaign WHERE id = :id",
}
# Rows that are such a thing themselves.
THEMSELVES = {
    "account": "account_id",
    "campaign": "campaign_id",
    "collection": "collection_id",
    "channel_account": "channel_account_id",
}
# What reading changes too.
USED = "to_jsonb(t) - ARRAY['last_used_at', 'last_seen_at', 'used_at', 'seen_at']"


def rows_of(campaign: Campaign) -> dict[str, list[str]]:
    """By table, all that belongs to a campaign, to its collection and to whoever owns them."""
    by_table: dict[str, list[str]] = {}
    with transaction() as session:
        for name, table in sorted(tables.metadata.tables.items()):
            ways = [
                (column.name, BELONGS[column.name])
                for column in table.columns
                if column.name in BELONGS
            ]
            if name in THEMSELVES:
                ways.append(("id", BELONGS[THEMSELVES[name]]))
            for column, owner in ways:
                query = f"SELECT ({USED})::text FROM {name} t WHERE {column} IN ({owner})"  # noqa: S608
                rows = session.execute(text(query), {"id": campaign.id}).scalars().all()
                by_table[name] = sorted({*by_table.get(name, []), *rows})
    return by_table


def fingerprint(campaign: Campaign) -> dict[str, str]:
    """Of what `rows_of` finds, by table."""
    return {
        name: f"{len(rows)} {hashlib.sha256(chr(10).join(rows).encode()).hexdigest()[:16]}"
        for name, rows in rows_of(campaign).items()
    }


BROKEN = {
    "grids with another number of answers than they say": """
        SELECT count(*) FROM grid WHERE n_answers <> (SELECT count(*) FROM answer
        WHERE answer.grid_id = grid.id AND answer.state = 'submitted') AND role = 'ask'""",
    "campaigns with another number of answers than they say": """
        SELECT count(*) FROM campaign WHERE n_answers <> (SELECT count(*) FROM answer
        JOIN grid ON grid.id = grid_id WHERE answer.campaign_id = campaign.id
        AND answer.state = 'submitted' AND grid.role = 'ask')""",
    "answers whose groups are not those of their images": """
        SELECT count(*) FROM answer JOIN grid ON grid.id = grid_id
        WHERE answer.groups IS NOT NULL AND cardinality(answer.groups) <> cardinality(grid.images)
        """,
    "payments on platforms that are paid though no platform was asked": """
        SELECT count(*) FROM payment JOIN recruitment ON recruitment.id = recruitment_id
        WHERE payment.state = 'paid' AND channel <> 'link'""",
}


def broken_rules() -> dict[str, int]:
    """How often each rule of the database is broken; what is kept is left out."""
    with transaction() as session:
        counts = {rule: session.scalar(text(query)) or 0 for rule, query in BROKEN.items()}
    return {rule: n for rule, n in counts.items() if n}


def does_a_task(person: Person) -> None:
    """A normal task from lease over draft to answer, on a server that should be as good as new."""
    lease = person.lease()
    groups = a_grouping(lease)["groups"]
    draft = {"version": lease["draft_version"] + 1, "groups": groups}
    path = f"/api/v1/annotate/leases/{lease['id']}/draft"
    headers = {"Authorization": f"Bearer {person.token}"}
    person.http.put(path, json=draft, headers=headers).raise_for_status()
    assert person.submit(lease).json()["status"] == "stored"
