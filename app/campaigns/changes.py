"""Changing, copying, archiving and reopening campaigns, including running ones."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.campaigns import hooks, service
from app.campaigns.alt_texts import SETTING, is_described
from app.campaigns.annotation_settings import annotation_of
from app.campaigns.models import IMPORTED_ROUND, Campaign, Grid, Round
from app.campaigns.plan import CHANGEABLE, CampaignPlan, check_ranges, checked_classes
from app.campaigns.plan_settings import checked_plan
from app.campaigns.quota import require_room_for_answers
from app.campaigns.rounds import n_existing_rounds, n_full_rounds
from app.campaigns.service import BadState, Frozen
from app.campaigns.sharing import MayNotChange
from app.campaigns.translations import with_classes
from app.core.errors import Conflict, InvalidInput
from app.core.events import campaign_changed
from app.features.sets import set_names
from app.jobs.service import SPLIT_HALF, active_job, latest_job, request_job
from app.kinds import get_kind
from app.kinds.classes import same_name
from app.strategies import get_strategy
from app.strategies.base import check_settings, stored_settings
from app.strategies.settling import target_of

# These are changed field by field.
NESTED = ("annotation", "plan", "settings")
# Known answers from a list depend on these fields.
DECIDE_GRIDS = ("collection_id", "kind", "grid_size", "max_groups", "classes")


def plan_of(campaign: Campaign) -> CampaignPlan:
    """Return the plan that would create this campaign."""
    return CampaignPlan.model_validate(campaign, from_attributes=True)


def change_campaign(
    session: Session, account: Account, campaign_id: UUID, values: dict[str, Any]
) -> Campaign:
    """Change the fields in `values` (fields of CampaignPlan). All other fields stay as they are.

    A new kind or strategy brings its own defaults for fields that `values` does not set. Raises
    InvalidInput for a wrong value, and Frozen for a value that a started campaign can't change.
    """
    campaign = service.get_campaign(session, account, campaign_id, edit=True)
    unknown = sorted(set(values) - set(CampaignPlan.model_fields))
    if unknown:
        raise InvalidInput(f"Campaigns have no field {', '.join(unknown)}.")
    if campaign.state == "draft":
        _change_draft(session, account, campaign, values)
    else:
        _change_started(session, campaign, values)
    record_audit(
        session, account.id, "campaign.changed", "campaign", campaign.id, fields=sorted(values)
    )
    campaign_changed(session, campaign.id)
    return campaign


def _change_draft(
    session: Session, account: Account, campaign: Campaign, values: dict[str, Any]
) -> None:
    defaults: dict[str, Any] = {}
    if values.get("kind", campaign.kind) != campaign.kind:
        defaults |= {"grid_size": None, "max_groups": None}
        if campaign.question == get_kind(campaign.kind).question:
            defaults["question"] = None
        if not get_kind(values["kind"]).asks_for_classes:
            defaults["classes"] = []
    if "classes" in values:
        defaults["max_groups"] = None
    if values.get("strategy", campaign.strategy) != campaign.strategy:
        defaults |= {"settings": {}, "rounds": None}
    merged = {name: values[name] for name in values if name not in NESTED}
    for name in NESTED:
        before = defaults.get(name, getattr(campaign, name))
        merged[name] = {**before, **values.get(name, {})}
    if "translations" not in values.get("annotation", {}):
        # Classes that are no more have no names in other languages either.
        classes = values.get("classes", defaults.get("classes", campaign.classes))
        known = merged["annotation"].get("translations", {})
        kept = {name.strip(): name.strip() for name in classes}
        merged["annotation"]["translations"] = with_classes(known, kept)
    moves = values.get("collection_id", campaign.collection_id) != campaign.collection_id
    if moves and campaign.owner_id != account.id:
        raise MayNotChange("Only the campaign's owner can change its collection.")
    _keep_known_answers(session, campaign, merged)
    plan = plan_of(campaign).model_copy(update=defaults | merged)
    service.apply_plan(session, account, campaign, plan)


def _keep_known_answers(session: Session, campaign: Campaign, values: dict[str, Any]) -> None:
    """Raise Conflict if known answers from a list would no longer fit the campaign's images or
    groups."""
    changed = [
        name
        for name in DECIDE_GRIDS
        if values.get(name, getattr(campaign, name)) != getattr(campaign, name)
    ]
    known = select(func.count()).where(Grid.campaign_id == campaign.id, Grid.truth.is_not(None))
    if changed and (n_known := session.scalar(known)):
        raise Conflict(
            f"This campaign has {n_known} known answers from a list, which would no longer fit. "
            f"Delete them before you change {', '.join(changed)}.",
            code="known_answers",
        )


def _measure_again(session: Session, campaign: Campaign, before: float | None) -> None:
    """A new target may be reached already."""
    target = target_of(campaign.settings)
    if target is None or target == before or campaign.state == "finished":
        return
    if latest_job(session, campaign.id, SPLIT_HALF) is not None:
        request_job(session, campaign.id, campaign.n_answers, SPLIT_HALF)


def _change_started(session: Session, campaign: Campaign, values: dict[str, Any]) -> None:
    frozen = [
        name
        for name, value in values.items()
        if name not in CHANGEABLE and value != getattr(campaign, name)
    ]
    if frozen:
        raise Frozen(
            f"You can't change {', '.join(frozen)} because the campaign has started. Clone the "
            "campaign to ask again with other settings."
        )
    if "settings" in values:
        strategy = get_strategy(campaign.strategy)
        before = target_of(campaign.settings)
        chosen = {**stored_settings(strategy, campaign.settings), **values["settings"]}
        campaign.settings = check_settings(
            strategy, chosen, set_names(session, campaign.collection_id)
        )
        _measure_again(session, campaign, before)
    if "plan" in values:
        campaign.plan = checked_plan({**campaign.plan, **values["plan"]})
    if "learn_every" in values:
        campaign.learn_at = campaign.n_answers + int(values["learn_every"])
    if "classes" in values:
        _rename_classes(campaign, values["classes"])
    reward = campaign.reward_cents
    budget, rounds = values.get("budget"), values.get("rounds")
    for name in (
        set(values).intersection(CHANGEABLE).difference(NESTED, ("budget", "rounds", "classes"))
    ):
        value = values[name]
        setattr(campaign, name, value.strip() if isinstance(value, str) else value)
    if budget is not None or rounds is not None:
        budget_before = campaign.budget
        _change_budget(session, campaign, budget or campaign.budget, rounds)
        if campaign.budget > budget_before:
            require_room_for_answers(session, campaign.owner_id)
    check_ranges(campaign)
    hooks.reward_changed(session, campaign, reward)


def _change_budget(session: Session, campaign: Campaign, budget: int, rounds: int | None) -> None:
    """Existing rounds keep their grids. Later rounds share what is left of the budget."""
    asked = (Round.campaign_id == campaign.id, Round.number != IMPORTED_ROUND)
    query = select(Round.n_wanted).where(*asked).order_by(Round.number)
    stood = [wanted // campaign.answers_per_grid for wanted in session.scalars(query)]
    laid_out = sum(stood) * campaign.answers_per_grid
    if rounds is None:
        # If the existing rounds have no room for the additional answers, one more round is needed.
        needs_more = budget - laid_out >= campaign.answers_per_grid
        rounds = max(campaign.rounds, len(stood) + 1) if needs_more else campaign.rounds
    if budget < laid_out:
        raise InvalidInput(
            f"The budget can't be below {laid_out} answers, which the existing rounds ask for. "
            "Finish the campaign to stop earlier.",
            code="bad_budget",
            fields=["budget"],
        )
    left = (budget - laid_out) // campaign.answers_per_grid
    if rounds < len(stood) or left < rounds - len(stood):
        raise InvalidInput(
            f"{len(stood)} rounds with {laid_out} answers already exist. With {rounds} rounds and "
            f"a budget of {budget}, the later rounds would not get a grid each. Raise the budget "
            "or choose another number of rounds.",
            code="bad_rounds",
            fields=["rounds", "budget"],
        )
    if rounds == len(stood) and left:
        raise InvalidInput(
            f"All {rounds} rounds already exist, with {laid_out} answers. Add a round for the "
            f"remaining {budget - laid_out} answers.",
            code="bad_rounds",
            fields=["rounds", "budget"],
        )
    campaign.budget, campaign.rounds, campaign.laid_out = budget, rounds, stood
    if active_job(session, campaign.id) is not None:
        # The running job makes grids for the old rounds, so another job is needed.
        request_job(session, campaign.id, campaign.n_answers, again=True)


def _rename_classes(campaign: Campaign, names: list[str]) -> None:
    """Rename the classes of a started campaign, which keep their names in other languages."""
    before = campaign.classes
    campaign.classes = _renamed_classes(campaign, names)
    translations = with_classes(
        campaign.annotation.get("translations", {}),
        dict(zip(before, campaign.classes, strict=True)),
    )
    campaign.annotation = {**campaign.annotation, "translations": translations}
    service.require_class_names(campaign)


def _renamed_classes(campaign: Campaign, names: list[str]) -> list[str]:
    """Return the new names of a started campaign's classes. Raises Frozen if answers would mean
    something else."""
    before, after = campaign.classes, checked_classes(get_kind(campaign.kind), names)
    if len(after) != len(before):
        raise Frozen(
            f"The campaign has started with {len(before)} classes, and answers refer to them. You "
            "can only correct their names. Clone the campaign to ask about other classes."
        )
    taken = {same_name(name) for name in before}
    others = [
        new
        for old, new in zip(before, after, strict=True)
        if same_name(old) != same_name(new) and same_name(new) in taken
    ]
    if others:
        raise Frozen(
            f"{others[0]!r} is already the name of another class, and answers would change their "
            "meaning. Keep the order of the classes."
        )
    changed = [
        new for old, new in zip(before, after, strict=True) if same_name(old) != same_name(new)
    ]
    attribute = annotation_of(campaign.annotation).known_attribute
    if changed and attribute:
        raise Frozen(
            f"Known answers come from the values of {attribute!r}, which are the names of the "
            "classes, so they can't change now."
        )
    return after


def clone_campaign(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    """Create a draft with the same plan for this account. Known answers from a list are not
    copied."""
    campaign = service.get_campaign(session, account, campaign_id)
    plan = plan_of(campaign)
    settings = {
        # What later rounds ask about refers to models of the old campaign.
        name: value
        for name, value in plan.settings.items()
        if name not in ("focus", "focus_images")
    }
    annotation = dict(plan.annotation)
    if not is_described(session, campaign):
        # The attribute was deleted since.
        annotation |= {SETTING: ""}
    if not annotation.get("known_attribute"):
        annotation |= {"practice": 0, "gold_share": 0.0}
    changes = {
        "name": _name_of_copy(session, account, campaign),
        "seed": None,
        "settings": settings,
        "annotation": annotation,
    }
    return service.create_campaign(session, account, plan.model_copy(update=changes))


def _name_of_copy(session: Session, account: Account, campaign: Campaign) -> str:
    """Return `Name (copy)`, then `Name (copy 2)`. Names must differ because commands and people
    choose campaigns by name."""
    owned = select(Campaign.name).where(Campaign.owner_id == account.id)
    taken = set(session.scalars(owned))
    wanted = (f"{campaign.name[:190]} (copy{f' {n}' if n > 1 else ''})" for n in count(1))
    return next(name for name in wanted if name not in taken)


def archive_campaign(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    """Hide a draft or finished campaign from the list."""
    campaign = service.in_state(session, account, campaign_id, "archive", "draft", "finished")
    campaign.archived_at = campaign.archived_at or datetime.now(UTC)
    return service.moved(session, account, campaign, campaign.state, "archived")


def unarchive_campaign(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    campaign = service.get_campaign(session, account, campaign_id, edit=True)
    campaign.archived_at = None
    return service.moved(session, account, campaign, campaign.state, "unarchived")


def reopen_campaign(session: Session, account: Account, campaign_id: UUID) -> Campaign:
    """Set a finished campaign to running, to use the rest of its budget or an increased budget. So
    can a campaign that runs only for the places that are asked again.

    Raises Conflict if no budget is left, or if the campaign would end again immediately.
    """
    campaign = service.get_campaign(session, account, campaign_id, edit=True)
    if not campaign.reopened_only:
        service.require_state(campaign, "reopen", "finished")
    all_exist = n_existing_rounds(session, campaign) == campaign.rounds
    is_asked = all_exist and n_full_rounds(session, campaign) == campaign.rounds
    if is_asked and not (campaign.n_reopened and campaign.state == "finished"):
        raise Conflict(
            f"The campaign already has all {campaign.n_answers} answers of its budget. Raise the "
            "budget first.",
            code="budget_spent",
        )
    if (reason := hooks.reason_to_end(session, campaign)) is not None:
        raise Conflict(
            f"The campaign would end again immediately. {reason} Change the target in its "
            "settings first.",
            code="good_enough",
        )
    campaign.finished_at = campaign.archived_at = None
    campaign.reopened_only = False
    service.choose_if_needed(session, campaign)
    service.moved(session, account, campaign, "running", "reopened")
    require_room_for_answers(session, campaign.owner_id)
    if campaign.n_finished:
        # The next round's grids are made by a job that sees the campaign as running.
        request_job(session, campaign.id, campaign.n_answers, again=True)
    return campaign


def delete_known_list(session: Session, account: Account, campaign_id: UUID) -> int:
    """Delete the known answers of a draft and return how many there were. Raises BadState if it is
    not a draft."""
    campaign = service.in_state(session, account, campaign_id, "delete known answers of", "draft")
    deleted = session.scalars(
        delete(Grid)
        .where(Grid.campaign_id == campaign.id, Grid.truth.is_not(None))
        .returning(Grid.id)
    ).all()
    record_audit(session, account.id, "campaign.known_answers_deleted", "campaign", campaign.id)
    return len(deleted)


def delete_draft(session: Session, account: Account, campaign_id: UUID) -> None:
    """Delete a campaign that never started. Raises BadState if it has started."""
    campaign = service.get_campaign(session, account, campaign_id, edit=True)
    if campaign.state != "draft":
        raise BadState(
            f"This campaign is {campaign.state}. You can delete only drafts. Finish and archive "
            "it instead."
        )
    record_audit(session, account.id, "campaign.deleted", "campaign", campaign.id)
    session.delete(campaign)


Action = Literal[
    "start",
    "pause",
    "resume",
    "finish",
    "retry",
    "admit",
    "reopen",
    "archive",
    "unarchive",
]
ACTIONS: dict[Action, Callable[[Session, Account, UUID], Campaign]] = {
    "start": service.start_campaign,
    "pause": service.pause_campaign,
    "resume": service.resume_campaign,
    "finish": service.finish_campaign,
    "retry": service.retry_learning,
    "admit": service.admit_new_images,
    "reopen": reopen_campaign,
    "archive": archive_campaign,
    "unarchive": unarchive_campaign,
}
