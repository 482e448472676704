"""A study's lifecycle: draft, published, paused, stopped and enlarged."""

from dataclasses import replace
from datetime import datetime

from pydantic import ValidationError

from emulators.prolific.errors import Refused, bad
from emulators.prolific.models.completion import AddToGroup, RemoveFromGroup
from emulators.prolific.models.studies import StudyPatch, StudySettings, StudyStatus
from emulators.prolific.objects import Project, Researcher, Study
from emulators.prolific.rules import money
from emulators.prolific.rules.filters import check_filters, freeze
from emulators.prolific.world import World

# Prolific's published table of (status, action) → status.
TRANSITIONS: dict[tuple[str, str], StudyStatus] = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("UNPUBLISHED", "SCHEDULE_PUBLISH"): "SCHEDULED",
    ("SCHEDULED", "CANCEL_PUBLISH"): "UNPUBLISHED",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
PATCHABLE_WHEN_PUBLISHED = {
    "internal_name",
    "total_available_places",
    "submissions_config",
    "completion_codes",
}


def create(world: World, me: Researcher, settings: StudySettings) -> Study:
    study = Study(_project(world, me, settings.project), settings, world.now)
    study.settings = settings.model_copy(update={"project": study.project.id})
    check(world, study)
    world.studies[study.id] = study
    return study


def _project(world: World, me: Researcher, id: str | None) -> Project:
    """The given project, or the researcher's first."""
    if id is None:
        return world.my_projects(me)[0]
    try:
        return world.project_of(me, id)
    except Refused as unknown:
        raise bad({"project": [str(unknown.detail)]}) from unknown


def check(world: World, study: Study) -> None:
    """Check what needs more than one field: groups, filters, hourly pay and features."""
    settings, options = study.settings, world.options
    check_filters(world, study)
    for code in study.codes:
        for action in code.actions:
            if isinstance(action, AddToGroup | RemoveFromGroup):
                group = world.groups.get(action.participant_group)
                if group is None or group.deleted or group.workspace is not study.workspace:
                    raise bad({"completion_codes": ["participant_group does not exist."]})
    least = options.least_hourly.get(study.workspace.currency, 0)
    if settings.reward * 60 < least * settings.estimated_completion_time:
        raise bad({"reward": [f"The reward must be at least {least} per hour."]})
    names = {action.action for code in study.codes for action in code.actions}
    wanted = {
        "secure-url": settings.is_external_study_url_secure,
        "screen-out": "FIXED_SCREEN_OUT_PAYMENT" in names,
        "dynamic": "DYNAMIC_PAYMENT" in names,
    }
    if settings.submissions_config.auto_rejection_categories:
        raise Refused(403, "This workspace cannot reject automatically.")
    for feature, used in wanted.items():
        if used and feature not in options.features:
            raise Refused(403, f"This workspace cannot use {feature}.")


def patch(world: World, study: Study, change: StudyPatch) -> None:
    """Change any field of a draft, or the fields of a published study that Prolific permits."""
    given = change.model_fields_set
    if not given:
        return
    before = replace(study)
    values = study.settings.model_dump()
    if study.status == "UNPUBLISHED":
        values |= change.model_dump(include=given)
    else:
        _check_published(study, change)
        values |= change.model_dump(include=given - {"completion_codes"})
        values["completion_codes"] = _codes_with_slots(study, change)
    try:
        study.settings = StudySettings.model_validate(values)
        check(world, study)
        if study.status == "UNPUBLISHED" and study.settings.project is not None:
            study.project = _project(world, study.workspace.owner, study.settings.project)
        if settings_grew(before, study):
            _reopen(study)
        if study.status not in ("UNPUBLISHED", "SCHEDULED"):
            money.check_funds(world, study.workspace)
    except ValidationError as error:
        raise bad([problem["msg"] for problem in error.errors()]) from error
    except Refused:
        study.settings, study.status, study.project = before.settings, before.status, before.project
        raise
    if study.status != before.status:
        world.hooks.study_changed(study)
    if settings_grew(before, study):
        world.hooks.progress_changed(study)


def _check_published(study: Study, change: StudyPatch) -> None:
    refused = change.model_fields_set - PATCHABLE_WHEN_PUBLISHED
    if refused:
        raise bad(
            {name: ["This cannot be changed once the study is published."] for name in refused}
        )
    places = change.total_available_places
    if places is not None and places < study.settings.total_available_places:
        raise bad({"total_available_places": ["This can only be increased."]})


def _codes_with_slots(study: Study, change: StudyPatch) -> list[dict[str, object]] | None:
    """The present codes, with the slots of screen-outs raised to the patch's number."""
    if study.settings.completion_codes is None:
        return None
    codes = [code.model_dump() for code in study.settings.completion_codes]
    for wanted in change.completion_codes or []:
        old = study.code(wanted.code)
        slots = [a.slots for a in wanted.actions if a.action == "FIXED_SCREEN_OUT_PAYMENT"]
        if old is None or old.screen_out is None or slots < [old.screen_out.slots]:
            raise bad(
                {"completion_codes": ["Once the study is published, slots can only be increased."]}
            )
        for action in codes[study.codes.index(old)]["actions"]:
            if "slots" in action:
                action["slots"] = slots[0]
    return codes


def settings_grew(before: Study, after: Study) -> bool:
    return after.settings.total_available_places > before.settings.total_available_places


def _reopen(study: Study) -> None:
    """Make a completed study active again, because it has more places."""
    if study.status in ("COMPLETED", "AWAITING REVIEW"):
        study.status = "ACTIVE"


def transition(world: World, study: Study, action: str, publish_at: datetime | None) -> None:
    after = TRANSITIONS.get((study.status, action))
    if after is None:
        raise bad(f"{action} is not possible for a study that is {study.status}.")
    if action in ("PUBLISH", "SCHEDULE_PUBLISH") and not study.codes:
        raise bad(
            {"completion_codes": ["A study needs at least one completion code to be published."]}
        )
    if action == "SCHEDULE_PUBLISH":
        _schedule(world, study, publish_at)
    if action == "PUBLISH":
        publish(world, study)
        return
    change_status(world, study, after)
    if action == "START":
        settle(world, study)


def publish(world: World, study: Study) -> None:
    before, study.status = study.status, "ACTIVE"
    try:
        money.check_funds(world, study.workspace)
    except Refused:
        study.status = before
        raise
    freeze(world, study)
    study.published_at = world.now
    world.hooks.study_changed(study)


def _schedule(world: World, study: Study, publish_at: datetime | None) -> None:
    moment = publish_at or study.publish_at
    if moment is None or moment <= world.now:
        raise bad({"publish_at": ["This must be a time in the future."]})
    study.publish_at = moment

    def due() -> None:
        if study.status == "SCHEDULED" and study.publish_at == moment:
            try:
                publish(world, study)
            except Refused:
                change_status(world, study, "UNPUBLISHED")

    world.later((moment - world.now).total_seconds(), due)


def change_status(world: World, study: Study, status: StudyStatus) -> None:
    if study.status != status:
        study.status = status
        world.hooks.study_changed(study)


def follow(world: World, study: Study) -> None:
    """Update the study after a change of a submission: full, done, open again or out of slots."""
    world.hooks.progress_changed(study)
    settle(world, study)


def settle(world: World, study: Study) -> None:
    taken = money.places_taken(world, study)
    full = taken >= study.settings.total_available_places
    slots = money.slots(study)
    if study.status == "ACTIVE" and not full and slots:
        if money.counted(world, study, ("SCREENED OUT",)) >= slots:
            change_status(world, study, "PAUSED")
        return
    if study.status not in ("ACTIVE", "AWAITING REVIEW"):
        return
    if not full:
        change_status(world, study, "ACTIVE")
    elif not money.counted(world, study, money.GOING_ON):
        waiting = money.counted(world, study, ("AWAITING REVIEW",))
        change_status(world, study, "AWAITING REVIEW" if waiting else "COMPLETED")


def delete(world: World, study: Study) -> None:
    if study.status != "UNPUBLISHED":
        raise bad("Only a draft can be deleted.")
    del world.studies[study.id]
