"""A requester with something of every kind, all of whose texts are payloads."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from fastapi.testclient import TestClient
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.alignments.models import Alignment
from app.annotation.models import (
    Annotator,
    Assignment,
    ConsentText,
    Questionnaire,
    QuestionnaireReply,
    Remark,
)
from app.campaigns.links import annotator_link
from app.campaigns.models import Campaign
from app.campaigns.pages import sections_of
from app.campaigns.plan import CampaignPlan
from app.campaigns.service import create_campaign
from app.collections.models import Collection, CollectionImport, ImportProblem
from app.core.database import transaction
from app.core.documents import GUIDES
from app.core.security import sign
from app.features.models import FeatureSet
from app.jobs.models import Job
from app.operations.models import CspViolation
from app.recruitment.calls import LINK
from app.recruitment.models import (
    ChannelAccount,
    ChannelCall,
    LinkParameters,
    Payment,
    Posting,
    Recruitment,
)
from app.results.clusterings import make_clustering
from app.results.models import Model
from app.webhooks.models import Webhook
from testbed.builders import (
    a_campaign,
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
from tests.app.test_annotation import a_lease, a_session
from tests.app.test_labels import a_labelled_campaign
from tests.support.payloads import PAYLOADS, plant_everywhere
from tests.system.test_insight_page import a_sorted_campaign

# Enough rows of a kind for all payloads to fit, however short a text may be.
TURNS = len(PAYLOADS)
TEXTS = {"title": "T", "description": "D"}
QUESTION = {"key": "words", "type": "text", "title": "Words", "help": "Words"}


@dataclass(frozen=True)
class Poisoned:
    """planted: texts by table and column; pages: addresses by the route that they belong to;
    links: of annotators' pages, by kind of campaign, "begun" where work waits to be gone on with;
    campaigns: those with answers and models."""

    owner: Account
    planted: dict[str, list[str]]
    pages: list[tuple[str, str]]
    links: dict[str, str]
    campaigns: list[UUID]


_FIGURES = {
    "raw": None, "aligned": None, "used_share": 0.0, "explained": [], "gain": 0.0,
    "gain_error": 0.0, "campaign": None, "people": None,
    "by_attribute": [
        {"attribute": 0, "low": ["gone"], "high": ["gone"], "raw": None, "aligned": None}
    ],
}  # fmt: skip


def a_poisoned_requester(base_url: str) -> Poisoned:
    owner = an_account()
    from app.main import app

    with TestClient(app) as client:
        sorted_campaign = a_sorted_campaign(client, owner)
    with transaction() as session:
        collection = session.get_one(Collection, sorted_campaign.collection_id)
    labelled = a_labelled_campaign(owner, collection=collection)
    classified = a_campaign(
        owner, collection, kind="classify", strategy="neucrowd", classes=["cat", "dog"]
    )
    draft = a_draft(owner, sorted_campaign)
    begun = _begun(owner, collection)
    _recruitments(owner, labelled)
    a_personal_link(owner, sorted_campaign)
    _an_import(sorted_campaign)
    _clusterings(owner, sorted_campaign)
    _things_gone_wrong(sorted_campaign, labelled)
    for k in range(TURNS):
        an_account(f"invited-{k}@example.org")
        an_api_token(owner)
        a_read_only_link(owner, sorted_campaign)
    a_delivery(a_webhook(owner))
    with transaction() as session:
        session.get_one(Account, owner.id).role = "admin"
        session.add_all(_a_report(k) for k in range(TURNS))
        session.execute(
            update(Webhook).values(disabled_at=datetime.now(UTC), disabled_because="gone")
        )
        _consenting(session, session.get_one(Campaign, sorted_campaign.id))
        _consenting(session, session.get_one(Campaign, labelled.id))
    planted = plant_everywhere()
    with transaction() as session:
        links = {
            name: annotator_link(session.get_one(Campaign, campaign.id), base_url)
            for name, campaign in (
                ("grid", sorted_campaign),
                ("select", labelled),
                ("classify", classified),
                ("begun", begun),
            )
        }
        recruitments = session.scalars(select(Recruitment).where(Recruitment.channel != "link"))
        tokens = {
            recruitment.channel: sign(LINK, recruitment.link_token) for recruitment in recruitments
        }
    pages = [
        *_own_pages([sorted_campaign, labelled, classified], draft),
        *_pages_of_platforms(tokens["mturk"], tokens["prolific"]),
    ]
    return Poisoned(owner, planted, pages, links, [sorted_campaign.id, labelled.id])


def _a_report(number: int) -> CspViolation:
    """What some browser says that it has blocked: anybody may claim anything."""
    return CspViolation(directive="img-src", blocked="inline", page=f"/{number}", n=1)


def _consenting(session: Session, campaign: Campaign) -> None:
    texts = dict.fromkeys(("consent", "instructions", "thanks"), "Words")
    translations = {"de": {**texts, "question": "Words"}}
    campaign.annotation = {**campaign.annotation, **texts, "translations": translations}
    session.add(ConsentText(campaign_id=campaign.id, version=1, sha256="0" * 64, text="Words"))
    asked = Questionnaire(
        campaign_id=campaign.id, place="before", version=1, sha256="0" * 64, questions=[QUESTION]
    )
    session.add(asked)
    session.flush()
    people = select(Annotator.id).where(Annotator.campaign_id == campaign.id).limit(TURNS)
    session.add_all(
        QuestionnaireReply(
            annotator_id=annotator_id, questionnaire_id=asked.id, answers={"words": "Words"},
            answered_at=datetime.now(UTC),
        )
        for annotator_id in session.scalars(people)
    )  # fmt: skip


def a_draft(owner: Account, campaign: Campaign) -> Campaign:
    plan = CampaignPlan(
        name="Draft", collection_id=campaign.collection_id, kind="grid", strategy="cen", budget=4,
        rounds=1, grid_size=6, seed=0, annotation={"questions_before": [QUESTION]},
    )  # fmt: skip
    with transaction() as session:
        return create_campaign(session, owner, plan)


def _begun(owner: Account, collection: Collection) -> Campaign:
    """With a grid that somebody has put aside."""
    campaign = a_campaign(owner, collection)
    from app.main import create_app

    with TestClient(create_app()) as client:
        who = a_session(client, campaign)
        lease = a_lease(client, who)
        groups = [0] * len(lease["images"])
        body = {"version": 1, "groups": groups, "descriptions": ["words"]}
        reply = client.put(f"/api/v1/annotate/leases/{lease['id']}/draft", headers=who, json=body)
        assert reply.status_code == 200, reply.text
    return campaign


def _recruitments(owner: Account, campaign: Campaign) -> None:
    second = a_recruitment(owner, campaign, "prolific", settings=TEXTS)
    a_submission(second, state="rejected", reason="late")
    recruitment = a_recruitment(owner, campaign, settings=TEXTS)
    submission = a_submission(recruitment, flag="unknown_worker", reason="late", code="X")
    a_payment(recruitment, submission)
    with transaction() as session:
        row = session.get_one(Recruitment, recruitment.id)
        row.poll_error = "no answer"
        session.execute(
            update(Recruitment)
            .where(Recruitment.channel != "link")
            .values(state="open", opened_at=datetime.now(UTC))
        )
        session.execute(update(Posting).values(state="open"))
        account = session.get_one(ChannelAccount, recruitment.channel_account_id)
        account.source, account.secret = "environment", None
        session.execute(update(Payment).values(state="parked", why="unknown", external_id="B1"))
        session.add(
            ChannelCall(
                recruitment_id=recruitment.id,
                submission_id=submission.id,
                action="reject",
                state="parked",
                why="unknown",
                due_at=datetime.now(UTC) + timedelta(days=9),
            )
        )
        session.add(
            ChannelCall(recruitment_id=second.id, action="pause", state="failed", why="no",
                        ended_at=datetime.now(UTC))
        )  # fmt: skip
    # A plan, which its form shows.
    a_recruitment(owner, campaign, "prolific", settings=TEXTS)
    with transaction() as session:
        session.execute(update(ChannelAccount).values(checked_at=datetime.now(UTC)))


def _an_import(campaign: Campaign) -> None:
    with transaction() as session:
        collection_import = CollectionImport(
            collection_id=campaign.collection_id, kind="manifest", source="list.csv",
            state="failed", n_rows=TURNS, n_done=TURNS, n_rejected=TURNS, error="gone",
        )  # fmt: skip
        session.add(collection_import)
        feature_set = FeatureSet(
            collection_id=campaign.collection_id, name="clip", kind="uploaded", state="failed",
            file="clip.csv", n_features=2, error="gone",
        )  # fmt: skip
        session.add(feature_set)
        session.flush()
        alignment = Alignment(
            campaign_id=campaign.id, set_id=feature_set.id, state="failed", error="gone",
            figures=_FIGURES,
        )  # fmt: skip
        session.add(alignment)
        session.add_all(
            ImportProblem(
                import_id=collection_import.id, row=k, address="a", code="unreachable", reason="r"
            )
            for k in range(TURNS)
        )


def _clusterings(owner: Account, sorted_campaign: Campaign) -> None:
    with transaction() as session:
        models = session.scalars(select(Model).where(Model.campaign_id == sorted_campaign.id)).all()
        for model in models:
            campaign = session.get_one(Campaign, sorted_campaign.id)
            make_clustering(session, owner, campaign, model, "k-means", 3, "Three")


def _things_gone_wrong(*campaigns: Campaign) -> None:
    campaign_id = campaigns[0].id
    with transaction() as session:
        annotators = session.scalars(
            select(Annotator)
            .where(Annotator.campaign_id == campaign_id)
            .order_by(Annotator.position)
        ).all()
        annotators[0].stopped_at = annotators[0].reviewed_at = datetime.now(UTC)
        for kind, image in (("comment", None), ("skipped", None), ("broken_image", 3)):
            session.add(
                Remark(
                    campaign_id=campaign_id, annotator_id=annotators[0].id, kind=kind, image=image
                )
            )
        session.execute(update(Assignment).values(external_id=None))
        came = session.scalars(
            select(Assignment).where(Assignment.annotator_id == annotators[0].id).limit(1)
        ).one()
        session.add(
            LinkParameters(
                assignment_id=came.id, annotator_id=came.annotator_id, campaign_id=campaign_id,
                values={"source": "class"},
            )
        )  # fmt: skip
        for campaign in campaigns:
            session.add(Job(campaign_id=campaign.id, kind="learn", state="failed",
                            attempts=3, error="broken", finished_at=datetime.now(UTC)))  # fmt: skip


def _own_pages(campaigns: list[Campaign], draft: Campaign) -> list[tuple[str, str]]:
    """Route and address of every page that a requester can open."""
    sorted_campaign = campaigns[0]
    collection = f"/collections/{sorted_campaign.collection_id}"
    simple = (
        "/", "/sign-in", "/sign-in/code", "/account", "/account/confirm", "/account/platforms",
        "/account/webhooks", "/accounts",
        "/collections/new", "/campaigns/new", "/campaigns/import", "/docs/api",
    )  # fmt: skip
    guides = ("/docs", *(f"/docs/{address}" for address, _ in GUIDES.values()))
    pages = [(page, page) for page in (*simple, *guides)]
    pages += [
        ("/sign-in/{token}", "/sign-in/nothing"),
        ("/r/{token}", "/r/nothing"),
        ("/collections/{collection_id}", collection),
        ("/collections/{collection_id}/delete", f"{collection}/delete"),
        ("/campaigns/{campaign_id}/edit", f"/campaigns/{draft.id}/edit"),
    ]
    for campaign in campaigns:
        base = f"/campaigns/{campaign.id}"
        pages.append(("/campaigns/{campaign_id}", base))
        pages += [
            ("/campaigns/{campaign_id}/{section}", f"{base}/{section}")
            for section in sections_of(campaign)
        ]
        pages += [
            (f"/campaigns/{{campaign_id}}/{page}", f"{base}/{page}")
            for page in ("preview", "annotation")
        ]
    # What an annotator did, played back.
    played = f"/campaigns/{sorted_campaign.id}/annotators#play-0"
    pages.append(("/campaigns/{campaign_id}/{section}", played))
    return pages


def _pages_of_platforms(mturk: str, prolific: str) -> list[tuple[str, str]]:
    """With payloads for ids: what stands in an address is text too."""
    id_ = "%3Cscript%3Eran(1)%3C/script%3E%22%27%3E%3Cimg%20src=x%20onerror=ran(2)%3E"
    return [
        ("/a/{channel}/{link}", f"/a/mturk/{mturk}"),
        ("/a/{channel}/{link}", f"/a/mturk/{mturk}?assignmentId={id_}&hitId={id_}&workerId={id_}"),
        ("/a/{channel}/{link}/thanks", f"/a/mturk/{mturk}/thanks"),
        ("/a/{channel}/{link}", f"/a/prolific/{prolific}"),
        (
            "/a/{channel}/{link}",
            f"/a/prolific/{prolific}?PROLIFIC_PID={id_}&STUDY_ID={id_}&SESSION_ID={id_}",
        ),
    ]
