"""Studies on Prolific: creating, publishing, enlarging, pausing and stopping them. Everything can
be repeated.

Prolific has no tokens for requests. Instead, a study has the token in its internal name, and the
current state is read before each change.
"""

from typing import Any, Literal

from app.recruitment.channel import (
    ChannelError,
    ChannelRefused,
    ChannelUnavailable,
    PostingOrder,
    PostingStatus,
)
from app.recruitment.channels.prolific.account import workspace_of
from app.recruitment.channels.prolific.http import ProlificHttp
from app.recruitment.channels.prolific.replies import (
    Balance,
    Cost,
    Counts,
    Group,
    Nothing,
    Project,
    Study,
    StudyShort,
)
from app.recruitment.channels.prolific.settings import ProlificSettings
from app.recruitment.channels.prolific.study import (
    EXCLUDED_GROUP,
    check_order,
    codes_of,
    mark,
    study_body,
    study_filters,
)

State = Literal["open", "paused", "closed"]
# A full study waits for review. If someone returns a place, it becomes active again.
STATES: dict[str, State] = {
    "ACTIVE": "open",
    "PUBLISHING": "open",
    "SCHEDULED": "open",
    "PAUSED": "paused",
    "AWAITING REVIEW": "closed",
    "COMPLETED": "closed",
    "UNPUBLISHED": "closed",
}
_STUDIES = "/api/v1/studies/"
_GROUPS = "/api/v1/participant-groups/"
_PEOPLE_AT_ONCE = 500


def publish(
    http: ProlificHttp, order: PostingOrder, settings: ProlificSettings, wanted_workspace: str
) -> tuple[str, dict[str, Any]]:
    """Publish a study and return its id and details (see `Prolific.publish`)."""
    check_order(order, settings)
    workspace = workspace_of(http, wanted_workspace).id
    _check_currency(http, workspace, order.currency)
    group = _group(http, workspace, order) if settings.exclude_former else None
    study = _standing(http, order) or _drafted(http, workspace, order, settings, group)
    cost = http.post(
        "/api/v1/study-cost-calculator/",
        {"reward": order.reward_cents, "total_available_places": order.places},
        Cost,
    )
    if study.status == "UNPUBLISHED":
        _published(http, study.id)
    return study.id, {
        "study_id": study.id,
        "workspace_id": workspace,
        "group_id": _group_of(study),
        "codes": codes_of(study),
        "cost_cents": round(cost.total_cost),
        "currency": order.currency,
        "screen_out": _screen_out(study),
    }


def read(http: ProlificHttp, study: str) -> Study:
    return http.get(f"{_STUDIES}{study}/", Study)


def enlarge(http: ProlificHttp, study: str, total_places: int) -> None:
    """Set the total number of places. Prolific does not accept fewer, and the same number changes
    nothing."""
    if read(http, study).total_available_places < total_places:
        body = {"total_available_places": total_places}
        http.patch(f"{_STUDIES}{study}/", body, Nothing)


def move(http: ProlificHttp, study: str, action: str, done: set[State]) -> None:
    """Send PAUSE, START or STOP, unless the study is already in one of the states `done`."""
    status = read(http, study).status
    if STATES.get(status) in done:
        return
    if status == "PUBLISHING":
        raise ChannelUnavailable("Prolific is still publishing the study.")
    if action == "START" and STATES.get(status) == "closed":
        raise ChannelRefused(
            "The study has ended on Prolific. To open it again, add places.", "study_ended"
        )
    try:
        http.post(f"{_STUDIES}{study}/transition/", {"action": action}, Nothing)
    except ChannelRefused:
        # Prolific may have changed the state in the meantime because the last place was taken.
        if STATES.get(read(http, study).status) not in done:
            raise


def status(http: ProlificHttp, study: str) -> PostingStatus:
    details = read(http, study)
    counts = http.get(f"{_STUDIES}{study}/submissions/counts/", Counts)
    # Submissions that were returned, timed out, rejected or screened out free their place.
    at_work = counts.reserved + counts.active
    decided = counts.approved + counts.partially_approved
    return PostingStatus(
        state=STATES.get(details.status, "open"),
        places=int(details.total_available_places),
        taken=at_work + counts.awaiting_review + decided,
        at_work=at_work,
    )


def keep_out(http: ProlificHttp, group: str, people: list[str]) -> None:
    """Add people to a group. Prolific ignores people who are already in it."""
    for start in range(0, len(people), _PEOPLE_AT_ONCE):
        body = {"participant_ids": people[start : start + _PEOPLE_AT_ONCE]}
        http.post(f"{_GROUPS}{group}/participants/", body, Nothing)


def _check_currency(http: ProlificHttp, workspace: str, currency: str) -> None:
    """Check the currency. Amounts have no currency in the API: they are in the workspace's
    currency, whatever was meant."""
    theirs = http.get(f"/api/v1/workspaces/{workspace}/balance/", Balance).currency_code
    if theirs != currency:
        raise ChannelRefused(
            f"Your Prolific workspace pays in {theirs}, but the reward is in {currency}. "
            f"Set the campaign's currency to {theirs} and plan the recruitment again.",
            "currency",
        )


def _standing(http: ProlificHttp, order: PostingOrder) -> Study | None:
    """Return the study of an earlier attempt whose response was lost, preferring a published one to
    a draft."""
    # Only the mark is compared, because the title may have changed since.
    studies = [
        study
        for study in http.pages(_STUDIES, StudyShort)
        if mark(order.token) in (study.internal_name or "")
    ]
    studies.sort(key=lambda study: (study.status == "UNPUBLISHED", study.id))
    return read(http, studies[0].id) if studies else None


def _drafted(
    http: ProlificHttp,
    workspace: str,
    order: PostingOrder,
    settings: ProlificSettings,
    group: str | None,
) -> Study:
    projects = http.pages(f"/api/v1/workspaces/{workspace}/projects/", Project)
    project = next(iter(projects), None)
    if project is None:
        raise ChannelRefused(
            "Your Prolific workspace has no project. Create one there first.", "no_project"
        )
    filters = study_filters(http, workspace, settings, group)
    return http.post(_STUDIES, study_body(order, settings, project.id, filters), Study)


def _published(http: ProlificHttp, study: str) -> None:
    try:
        http.post(f"{_STUDIES}{study}/transition/", {"action": "PUBLISH"}, Nothing)
    except ChannelRefused as refusal:
        if read(http, study).status != "UNPUBLISHED":
            return
        try:
            http.delete(f"{_STUDIES}{study}/")
        except ChannelError as error:
            raise ChannelRefused(
                f"{refusal} A draft of the study was left on Prolific.", refusal.code
            ) from error
        raise


def _group(http: ProlificHttp, workspace: str, order: PostingOrder) -> str:
    """Return the group of people who may not take part again. There is one for each campaign."""
    name = f"Likewise: took part in {order.campaign or order.token}"
    params = {"workspace_id": workspace, "active": "true"}
    group_ids = sorted(
        candidate.id
        for candidate in http.pages(_GROUPS, Group, params)
        if candidate.name == name and not candidate.is_deleted
    )
    group = group_ids[0] if group_ids else _new_group(http, workspace, name)
    keep_out(http, group, list(order.excluded))
    return group


def _new_group(http: ProlificHttp, workspace: str, name: str) -> str:
    body = {
        "workspace_id": workspace,
        "name": name,
        "description": "Maintained by Likewise: people who have done an assignment of this "
        "campaign.",
    }
    return http.post(_GROUPS, body, Group).id


def _group_of(study: Study) -> str | None:
    groups = (
        study_filter.selected_values
        for study_filter in study.filters or ()
        if study_filter.filter_id == EXCLUDED_GROUP
    )
    return next((values[0] for values in groups if values), None)


def _screen_out(study: Study) -> dict[str, int] | None:
    """Return what screen-outs may cost in addition to the places: their amount and number."""
    for code in study.completion_codes or ():
        for action in code.actions:
            if action.fixed_screen_out_reward is not None:
                return {"cents": action.fixed_screen_out_reward, "slots": action.slots or 0}
    return None
