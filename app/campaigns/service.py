"""Creating, starting, pausing and ending campaigns."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns import alt_texts, hooks, rounds
from app.campaigns.annotation_settings import checked_annotation
from app.campaigns.asking import (
    add_asked,
    checked_part,
    choosing_job,
    is_chosen,
    request_choice,
)
from app.campaigns.known import add_known_answers, prepare_practice, require_known
from app.campaigns.locks import keep_out_submissions
from app.campaigns.models import Campaign, Share
from app.campaigns.plan import CampaignPlan, check_ranges, checked_classes
from app.campaigns.plan_settings import checked_plan
from app.campaigns.quota import require_room_for_answers
from app.campaigns.sharing import MayNotChange, access_of
from app.campaigns.translations import changed_questions, check_class_names, swapped_name
from app.collections.models import Collection
from app.collections.service import get_collection, require_images
from app.core.database import locked
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.events import campaign_changed
from app.core.security import new_token
from app.features.reading import require_features
from app.features.sets import set_names
from app.jobs.service import request_job, retry_failed_job
from app.kinds import get_kind
from app.strategies import get_strategy, kinds_of
from app.strategies.base import check_settings, features_named


class BadState(Conflict):
    """The campaign is not in a state that allows the action."""

    code = "bad_state"


class Frozen(Conflict):
    """The value can't be changed because the campaign has started."""

    code = "frozen"


def create_campaign(session: Session, owner: Account, plan: CampaignPlan) -> Campaign:
    """Create a draft. Raises InvalidInput, NotFound or Conflict with what is wrong."""
    campaign = Campaign(owner_id=owner.id, link_token=new_token(), state="draft")
    apply_plan(session, owner, campaign, plan)
    record_audit(session, owner.id, "campaign.created", "campaign", campaign.id)
    return campaign


def apply_plan(session: Session, account: Account, campaign: Campaign, plan: CampaignPlan) -> None:
    """Set all fields of a draft from a plan. Raises the same errors as `create_campaign`.

    After an error, the campaign is partly changed, so the caller must not commit its transaction.
    """
    # Someone who edits a shared draft need not own its collection, but can't choose one that
    # belongs to someone else.
    collection = (
        session.get_one(Collection, plan.collection_id)
        if plan.collection_id == campaign.collection_id
        else get_collection(session, account, plan.collection_id)
    )
    strategy = get_strategy(plan.strategy)
    classes = checked_classes(get_kind(plan.kind), plan.classes)
    kind = get_kind(plan.kind).with_classes(classes)
    if kind.form != strategy.learns_from:
        names = [usable.name for usable in kinds_of(strategy)]
        raise InvalidInput(
            f"The strategy {strategy.title} can't learn from answers of kind {plan.kind!r}. "
            f"Choose the kind {' or '.join(names)}."
        )
    sets = set_names(session, collection.id)
    grid_size = plan.grid_size if plan.grid_size is not None else kind.grid_size
    values = plan.model_dump() | {
        "name": plan.name.strip(),
        "settings": check_settings(strategy, plan.settings, sets),
        "question": (kind.question if plan.question is None else plan.question).strip(),
        "seed": plan.seed if plan.seed is not None else secrets.randbits(31),
        "rounds": plan.rounds if plan.rounds is not None else strategy.default_rounds,
        "grid_size": grid_size,
        "ask_by": checked_part(plan.ask_about, plan.ask_by, grid_size, sets),
        "classes": classes,
        "max_groups": kind.checked_max_groups(plan.max_groups),
        "annotation": checked_annotation(plan.annotation),
        "plan": checked_plan(plan.plan),
        "currency": plan.currency.strip().upper(),
    }
    before = campaign.collection_id, (campaign.annotation or {}).get(alt_texts.SETTING)
    for name, value in values.items():
        setattr(campaign, name, value)
    check_ranges(campaign)
    kind.check_grid_size(campaign.grid_size)
    require_images(collection, campaign.grid_size)
    check_budget(campaign)
    session.add(campaign)
    session.flush()
    require_class_names(campaign)
    described = collection.id, campaign.annotation[alt_texts.SETTING]
    if described != before:
        alt_texts.require_attribute(session, campaign)
    if campaign.annotation["known_attribute"]:
        require_known(session, campaign)


def check_budget(campaign: Campaign) -> None:
    """Raise InvalidInput if the budget is too small for one grid per round."""
    if campaign.budget < campaign.rounds * campaign.answers_per_grid:
        raise InvalidInput(
            f"A budget of {campaign.budget} answers is too small for {campaign.rounds} rounds with "
            f"{campaign.answers_per_grid} answers per grid. Raise the budget or choose fewer "
            "rounds.",
            code="bad_budget",
            fields=["budget", "rounds", "answers_per_grid"],
        )


def campaigns_of(account: Account, *, archived: bool = False) -> Select[Campaign]:
    """Select the campaigns that the account owns or that are shared with it: either the archived
    ones or the others."""
    shared = select(Share.campaign_id).where(Share.account_id == account.id)
    return select(Campaign).where(
        or_(Campaign.owner_id == account.id, Campaign.id.in_(shared)),
        Campaign.archived_at.is_not(None) if archived else Campaign.archived_at.is_(None),
    )


def list_campaigns(session: Session, owner: Account, *, archived: bool = False) -> list[Campaign]:
    """List the campaigns of `campaigns_of`, the newest first."""
    return list(
        session.scalars(campaigns_of(owner, archived=archived).order_by(Campaign.created_at.desc()))
    )


def get_campaign(
    session: Session, account: Account, campaign_id: UUID, *, edit: bool = False
) -> Campaign:
    """Return a campaign that the account owns or that is shared with it. With `edit`, its row is
    locked.

    Raises NotFound if the account has no access, and MayNotChange if `edit` is set but the account
    can only view the campaign.
    """
    campaign = session.get(Campaign, campaign_id)
    access = access_of(session, account, campaign) if campaign is not None else None
    if access is None:
        campaign = None
    if edit and access == "view":
        raise MayNotChange("You can view this campaign but not change it.")
    if edit and campaign is not None:
        # An account that can't change a row can't lock it either (app/core/row_security.py).
        keep_out_submissions(session, campaign_id)
        lock = {"key_share": True}
        campaign = session.get(Campaign, campaign_id, with_for_update=lock, populate_existing=True)
    if campaign is None:
        raise NotFound("There is no such campaign.")
    return campaign


def start_campaign(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    """Set a draft to running: fix its number of images and create the first round. If it asks about
    a part of its images, a job chooses them and creates the round."""
    campaign = in_state(session, owner, campaign_id, "start", "draft")
    # The collection is locked, so that images can't be deleted between being counted and being
    # used.
    collection = locked(session, Collection, campaign.collection_id)
    require_images(collection, campaign.grid_size)
    campaign.n_images = collection.n_images
    require_known(session, campaign)
    alt_texts.require_attribute(session, campaign)
    named = features_named(get_strategy(campaign.strategy), campaign.settings)
    require_features(session, campaign, named)
    prepare_practice(session, campaign)
    campaign.started_at = datetime.now(UTC)
    campaign.archived_at = None
    campaign.learn_at = campaign.learn_every
    if campaign.ask_about:
        require_features(session, campaign, campaign.ask_by)
        request_choice(session, campaign)
    else:
        rounds.open_first_round(session, campaign)
    hooks.started(session, campaign)
    moved(session, owner, campaign, "running")
    require_room_for_answers(session, campaign.owner_id)
    return campaign


def pause_campaign(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    """Stop assigning new grids. Answers in progress are still accepted."""
    campaign = in_state(session, owner, campaign_id, "pause", "running")
    hooks.paused(session, campaign.id)
    return moved(session, owner, campaign, "paused")


def resume_campaign(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    campaign = in_state(session, owner, campaign_id, "resume", "paused")
    choose_if_needed(session, campaign)
    return moved(session, owner, campaign, "running")


def finish_campaign(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    """End the campaign before its budget is spent, and train once more on the answers so far."""
    campaign = in_state(session, owner, campaign_id, "finish", "running", "paused")
    rounds.end_campaign(session, campaign)
    if campaign.n_finished:
        request_job(session, campaign.id, campaign.n_answers)
    return moved(session, owner, campaign, "finished")


def choose_if_needed(session: Session, campaign: Campaign) -> bool:
    """Request the choice of the images that a started campaign asks about, unless it is known.
    Returns whether it was not."""
    is_missing = not is_chosen(session, campaign)
    if is_missing:
        request_choice(session, campaign)
    return is_missing


def retry_learning(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    """Queue a failed training again, or the failed choice of the images to ask about. Raises
    Conflict if neither failed."""
    campaign = get_campaign(session, owner, campaign_id, edit=True)
    choosing = choosing_job(session, campaign)
    if choosing is not None and choosing.state == "failed" and campaign.state != "finished":
        request_choice(session, campaign)
    else:
        retry_failed_job(session, campaign.id, campaign.n_answers)
    record_audit(session, owner.id, "campaign.retried", "campaign", campaign.id)
    return campaign


def admit_new_images(session: Session, owner: Account, campaign_id: UUID) -> Campaign:
    """Let images that were added to the collection after the start take part. The next model
    includes them, and grids show them once a full round's model has been trained, unless the
    campaign asks about a part of its images.

    Raises Conflict if there are no such images.
    """
    campaign = in_state(session, owner, campaign_id, "admit images to", "running", "paused")
    collection = locked(session, Collection, campaign.collection_id)
    if collection.n_images <= campaign.n_images:
        raise Conflict(
            f"All {campaign.n_images} images of the collection already take part. Add images to "
            "the collection first.",
            code="no_new_images",
        )
    campaign.n_images = collection.n_images
    return moved(session, owner, campaign, campaign.state, "images_admitted")


def ask_about_images(
    session: Session, owner: Account, campaign_id: UUID, positions: Sequence[int]
) -> int:
    """Ask about more of the campaign's images, and return how many it did not ask about before.
    Grids show them from the next model on.

    Raises InvalidInput for images that do not take part, and Conflict if the campaign asks about
    all its images, or those it asks about are still being chosen.
    """
    campaign = in_state(
        session, owner, campaign_id, "ask about more images of", "running", "paused"
    )
    if not campaign.ask_about:
        raise Conflict("This campaign asks about all its images.", code="asks_about_all")
    if not is_chosen(session, campaign):
        raise Conflict(
            "The images that this campaign asks about are still being chosen.", code="choosing"
        )
    unknown = [position for position in positions if not 0 <= position < campaign.n_images]
    if unknown:
        raise InvalidInput(
            f"There is no image {unknown[0]} in this campaign. Images are numbered from 0 to "
            f"{campaign.n_images - 1}.",
            code="unknown_images",
        )
    n_added = add_asked(session, campaign, positions, "added")
    campaign.ask_about += n_added
    record_audit(
        session, owner.id, "campaign.images_asked", "campaign", campaign.id, images=n_added
    )
    campaign_changed(session, campaign.id)
    return n_added


def set_annotation(
    session: Session, owner: Account, campaign_id: UUID, values: dict[str, Any]
) -> Campaign:
    """Change settings of the annotators' pages, even while the campaign runs. Other settings stay
    as they are.

    Raises InvalidInput with what is wrong; then nothing changes.
    """
    campaign = get_campaign(session, owner, campaign_id, edit=True)
    before = campaign.annotation
    campaign.annotation = checked_annotation({**before, **values})
    require_class_names(campaign)
    if campaign.started_at is not None:
        _check_meanings(campaign, before.get("translations", {}))
    if campaign.annotation[alt_texts.SETTING] != before.get(alt_texts.SETTING, ""):
        alt_texts.require_attribute(session, campaign)
    if campaign.started_at is not None or campaign.annotation["known_attribute"]:
        require_known(session, campaign)
    if campaign.started_at is not None:
        prepare_practice(session, campaign)
    record_audit(session, owner.id, "campaign.annotation", "campaign", campaign.id)
    return campaign


def require_class_names(campaign: Campaign) -> None:
    """Raise InvalidInput if translations do not fit the classes."""
    wrong = check_class_names(campaign.annotation["translations"], campaign.classes)
    if wrong is not None:
        raise InvalidInput(
            f"Translations (translations): {wrong}",
            code="bad_annotation",
            fields=["annotation.translations"],
        )


def _check_meanings(campaign: Campaign, before: dict[str, Any]) -> None:
    """Raise Frozen if answers would mean something else with the campaign's translations than with
    those before."""
    after = campaign.annotation["translations"]
    changed = changed_questions(before, after)
    if changed:
        raise Frozen(
            f"You can't change the question in {', '.join(changed)} because the campaign has "
            "started. Clone the campaign to ask again in other words. You can add a language."
        )
    swapped = swapped_name(before, after, campaign.classes)
    if swapped is not None:
        code, name = swapped
        raise Frozen(
            f"{name!r} is already the name of another class in {code}, and answers would change "
            "their meaning."
        )


def add_known_list(session: Session, owner: Account, campaign_id: UUID, table: bytes) -> int:
    """Add known answers from a CSV file (see add_known_answers) and return the number of grids."""
    campaign = get_campaign(session, owner, campaign_id, edit=True)
    n_grids = add_known_answers(session, campaign, table)
    record_audit(session, owner.id, "campaign.known_answers", "campaign", campaign.id)
    return n_grids


def in_state(
    session: Session, owner: Account, campaign_id: UUID, verb: str, *states: str
) -> Campaign:
    """Return the campaign with its row locked. Raises BadState if it is in none of these states."""
    campaign = get_campaign(session, owner, campaign_id, edit=True)
    require_state(campaign, verb, *states)
    return campaign


def require_state(campaign: Campaign, verb: str, *states: str) -> None:
    """Raise BadState if the campaign is in none of these states."""
    if campaign.state not in states:
        raise BadState(
            f"You can't {verb} this campaign because it is {campaign.state}. Its state must be "
            f"{' or '.join(states)}."
        )


def moved(
    session: Session, owner: Account, campaign: Campaign, state: str, event: str = ""
) -> Campaign:
    """Set a campaign's state and record it in the audit log. `event` is the state by default."""
    campaign.state = state
    record_audit(session, owner.id, f"campaign.{event or state}", "campaign", campaign.id)
    campaign_changed(session, campaign.id)
    return campaign
