"""An account that has something in every table."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account, RecoveryCode
from app.accounts.service import create_sign_in_link
from app.accounts.sessions import start_session
from app.alignments.models import Alignment
from app.annotation.models import (
    Annotator,
    AnnotatorIdentity,
    Answer,
    Assignment,
    ConsentAgreement,
    ConsentText,
    Questionnaire,
    QuestionnaireReply,
    Remark,
)
from app.campaigns.models import AskedImage, Campaign, Grid
from app.campaigns.sharing import share_campaign
from app.collections.models import CollectionImport, ImportProblem
from app.core.database import transaction
from app.core.idempotency import IdempotentRequest, Reply, keep_reply
from app.core.security import hash_token
from app.features.models import FeatureSet, FeatureShard
from app.operations.models import CspViolation
from app.recruitment.models import ChannelCall, LinkParameters, Recruitment, SeenEvent
from testbed.builders import (
    a_campaign,
    a_collection,
    a_delivery,
    a_model,
    a_payment,
    a_personal_link,
    a_read_only_link,
    a_recruitment,
    a_submission,
    a_webhook,
    added,
    an_account,
    an_api_token,
)

NOW = datetime.now(UTC)


def an_account_with_everything(email: str, shared_with: str) -> tuple[Account, Campaign]:
    """The account and its campaign, which another account may look at."""
    owner = an_account(email)
    campaign = a_campaign(owner, a_collection(owner, 12))
    recruitment = a_recruitment(owner, campaign)
    a_payment(recruitment, a_submission(recruitment))
    a_personal_link(owner, campaign)
    a_read_only_link(owner, campaign)
    a_delivery(a_webhook(owner))
    an_api_token(owner)
    with transaction() as session:
        create_sign_in_link(session, owner, "")
        start_session(session, owner)
        session.add(RecoveryCode(account_id=owner.id, code_hash=hash_token(email)))
        session.add(CspViolation(directive="script-src", blocked="inline", page=email, n=1))
        share_campaign(session, owner, campaign, shared_with, "view")
        reply = Reply(200, {}, b"{}")
        keep_reply(
            session, IdempotentRequest(owner.id, "POST /x", "key-of-a-test", "0" * 64), reply
        )
        added(session, AskedImage(campaign_id=campaign.id, position=0, origin="chosen"))
        session.get_one(Campaign, campaign.id).ask_about = 1
        _answered(session, campaign)
        a_model(session, campaign)
        _imported(session, campaign)
        _called(session, session.get_one(Recruitment, recruitment.id))
    return owner, campaign


def _answered(session: Session, campaign: Campaign) -> None:
    who = Annotator(campaign_id=campaign.id, position=0)
    added(session, who)
    identity = AnnotatorIdentity(
        annotator_id=who.id, campaign_id=campaign.id, channel="link", key_hash="0" * 64
    )
    added(session, identity)
    assignment = Assignment(
        campaign_id=campaign.id,
        annotator_id=who.id,
        channel="link",
        target=1,
        completion_code="CODE",
    )
    added(session, assignment)
    kept = LinkParameters(
        assignment_id=assignment.id, annotator_id=who.id, campaign_id=campaign.id, values={"a": "b"}
    )
    added(session, kept)
    grid = session.scalars(select(Grid.id).where(Grid.campaign_id == campaign.id)).first()
    answer = Answer(
        campaign_id=campaign.id,
        grid_id=grid,
        annotator_id=who.id,
        assignment_id=assignment.id,
        lease_expires_at=NOW + timedelta(hours=1),
    )
    added(session, answer)
    added(session, Remark(campaign_id=campaign.id, annotator_id=who.id, kind="comment"))
    text = ConsentText(campaign_id=campaign.id, version=1, sha256="0" * 64, text="We agree.")
    added(session, text)
    agreement = ConsentAgreement(annotator_id=who.id, consent_text_id=text.id, agreed_at=NOW)
    added(session, agreement)
    question = {"key": "age", "type": "text", "title": "How old are you?"}
    asked = Questionnaire(
        campaign_id=campaign.id, place="before", version=1, sha256="0" * 64, questions=[question]
    )
    added(session, asked)
    reply = QuestionnaireReply(
        annotator_id=who.id, questionnaire_id=asked.id, answers={"age": "30"}, answered_at=NOW
    )
    added(session, reply)


def _imported(session: Session, campaign: Campaign) -> None:
    collection_id = campaign.collection_id
    begun = CollectionImport(collection_id=collection_id, kind="prefix", source="s3:")
    added(session, begun)
    problem = ImportProblem(import_id=begun.id, row=1, address="x", code="x", reason="x")
    added(session, problem)
    uploaded = FeatureSet(
        collection_id=collection_id, name="clip", kind="uploaded", state="done", n_features=2
    )
    added(session, uploaded)
    shard = FeatureShard(set_id=uploaded.id, number=0, key="x", sha256="0" * 64, images=["0" * 64])
    added(session, shard)
    added(session, Alignment(campaign_id=campaign.id, set_id=uploaded.id, state="done"))


def _called(session: Session, recruitment: Recruitment) -> None:
    added(session, ChannelCall(recruitment_id=recruitment.id, action="notify"))
    added(session, SeenEvent(channel_account_id=recruitment.channel_account_id, event_id="event"))
