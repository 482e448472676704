"""The JSON in which the API shows objects."""

from datetime import datetime

from emulators.prolific.hooks import Event, Subscription
from emulators.prolific.models.common import stamp
from emulators.prolific.models.completion import AddToGroup, RemoveFromGroup
from emulators.prolific.objects import (
    Group,
    Message,
    Project,
    Researcher,
    Study,
    Submission,
    Workspace,
)
from emulators.prolific.rules import money
from emulators.prolific.wallet import Price
from emulators.prolific.world import World

Shape = dict[str, object]


def maybe(moment: datetime | None) -> str | None:
    return stamp(moment) if moment else None


def study_shape(study: Study) -> Shape:
    return {
        **study.settings.model_dump(),
        "maximum_allowed_time": study.allowed_minutes,
        "project": study.project.id,
        "id": study.id,
        "status": study.status,
        "is_ready_to_publish": bool(study.codes),
    }


def study_short(world: World, study: Study) -> Shape:
    settings = study.settings
    return {
        "id": study.id,
        "name": settings.name,
        "internal_name": settings.internal_name,
        "status": study.status,
        "study_type": "SINGLE",
        "estimated_completion_time": settings.estimated_completion_time,
        "total_available_places": settings.total_available_places,
        "places_taken": money.places_taken(world, study),
        "number_of_submissions": len(world.of_study[study.id]),
        "reward": settings.reward,
        "total_cost": money.full_cost(study),
        "published_at": maybe(study.published_at),
        "publish_at": maybe(study.publish_at),
        "date_created": stamp(study.created),
        "credential_pool_id": None,
        "is_ready_to_publish": bool(study.codes),
    }


def cost_shape(currency: str, cost: Price) -> Shape:
    def amount(cents: int) -> Shape:
        return {"amount": cents, "currency": currency}

    return {"rewards": amount(cost.money), "fees": amount(cost.fee), "tax": amount(cost.vat)}


def submission_short(world: World, submission: Submission) -> Shape:
    siblings = [
        other
        for other in world.of_study[submission.study.id]
        if other.participant is submission.participant
    ]
    seen = submission.visible not in money.GOING_ON
    return {
        "id": submission.id,
        "participant_id": submission.participant.id,
        "status": submission.visible,
        "started_at": stamp(submission.started_at),
        "has_siblings": len(siblings) > 1,
        "completed_at": maybe(submission.completed_at) if seen else None,
        "study_code": submission.entered_code if seen else None,
        "return_requested": maybe(submission.return_requested),
    }


def submission_shape(submission: Submission) -> Shape:
    seen = submission.visible not in money.GOING_ON
    return {
        "id": submission.id,
        "participant": submission.participant.id,
        "started_at": stamp(submission.started_at),
        "status": submission.visible,
        "study_id": submission.study.id,
        "completed_at": maybe(submission.completed_at) if seen else None,
        "entered_code": submission.entered_code if seen else None,
    }


def submission_detail(submission: Submission) -> Shape:
    return {
        **submission_shape(submission),
        "parent_study_id": None,
        "bonus_payments": list(submission.bonuses),
        "return_requested": maybe(submission.return_requested),
    }


def member(researcher: Researcher) -> Shape:
    return {
        "id": researcher.id,
        "name": researcher.email,
        "email": researcher.email,
        "roles": ["WORKSPACE_ADMIN"],
    }


def workspace_short(workspace: Workspace) -> Shape:
    return {
        "id": workspace.id,
        "title": workspace.title,
        "description": "",
        "owner": workspace.owner.id,
        "users": [member(workspace.owner)],
        "naivety_distribution_rate": None,
    }


def project_short(project: Project) -> Shape:
    return {
        "id": project.id,
        "title": project.title,
        "description": project.description,
        "owner": project.workspace.owner.id,
        "type": "PRIVATE",
        "public_details": None,
        "users": [member(project.workspace.owner)],
        "naivety_distribution_rate": project.naivety,
    }


def project_shape(project: Project) -> Shape:
    return {
        **project_short(project),
        "workspace": project.workspace.id,
        "is_longitudinal": False,
    }


def group_shape(world: World, group: Group) -> Shape:
    return {
        "id": group.id,
        "name": group.name,
        "project_id": None,
        "workspace_id": group.workspace.id,
        "organisation_id": None,
        "description": group.description,
        "participant_count": len(group.members),
        "is_deleted": group.deleted,
        "feeder_studies": _feeders(world, group),
    }


def _feeders(world: World, group: Group) -> list[Shape]:
    """The studies whose completion codes add people to the group or remove them."""
    feeders: list[Shape] = []
    for study in world.studies.values():
        codes = [
            {"code": code.code, "code_type": code.code_type, "action": action.action}
            for code in study.codes
            for action in code.actions
            if isinstance(action, AddToGroup | RemoveFromGroup)
            and action.participant_group == group.id
        ]
        if codes:
            feeders.append(
                {
                    "id": study.id,
                    "name": study.settings.name,
                    "internal_name": study.settings.internal_name or "",
                    "status": study.status,
                    "feeder_completion_codes": codes,
                }
            )
    return feeders


def memberships(members: dict[str, datetime]) -> Shape:
    return {
        "results": [
            {"participant_id": id, "datetime_created": stamp(since)}
            for id, since in members.items()
        ]
    }


def message_shape(message: Message) -> Shape:
    return {
        "id": message.id,
        "sender_id": message.sender,
        "body": message.body,
        "sent_at": stamp(message.sent_at),
        "type": "message",
        "channel_id": message.study,
        "data": {"study_id": message.study},
    }


def subscription_shape(subscription: Subscription) -> Shape:
    return {
        "id": subscription.id,
        "event_type": subscription.event_type,
        "target_url": subscription.target_url,
        "is_enabled": subscription.enabled,
        "workspace_id": subscription.workspace.id,
    }


def event_shape(event: Event) -> Shape:
    return {
        "id": event.id,
        "datetime_created": stamp(event.created),
        "datetime_updated": stamp(event.updated),
        "event_type": event.subscription.event_type,
        "resource_id": event.payload["resource_id"],
        "status": event.status,
        "target_url": event.subscription.target_url,
        "payload": event.payload,
    }
