"""HIT types and HITs."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from emulators.mturk import money, notices
from emulators.mturk.errors import Refused, already_processed, not_emulated, wrong_state
from emulators.mturk.market import (
    count,
    look_whether_reviewable,
    places_left,
    set_expiry,
    status,
)
from emulators.mturk.operations.call import TOKENS_KEPT, Call, operation
from emulators.mturk.operations.requirements import check_requirements
from emulators.mturk.question import read_question
from emulators.mturk.records import Hit, HitType
from emulators.mturk.shapes import Document
from emulators.mturk.state import State

YEAR = 365 * 86_400
MONTH = 30 * 86_400
MOST_ASSIGNMENTS = 1_000_000_000
# The latest end that UpdateExpirationForHIT can set.
FARTHEST = timedelta(days=365)


@operation("CreateHITType")
def create_hit_type(call: Call) -> Document:
    return {"HITTypeId": _hit_type_of(call).hit_type_id}


def _hit_type_of(call: Call) -> HitType:
    """The HIT type with these properties, which is created if it does not exist, as documented."""
    params, state = call.params, call.state
    call.not_blank("Title", "Description")
    call.longest(Title=128, Description=2000, Keywords=1000)
    duration = call.between("AssignmentDurationInSeconds", 30, YEAR)
    approval = call.between("AutoApprovalDelayInSeconds", 0, MONTH, default=MONTH)
    requirements = params.get("QualificationRequirements", [])
    check_requirements(state, call.owner, requirements)
    wanted = HitType(
        hit_type_id="",
        group_id="",
        owner=call.owner,
        title=params["Title"],
        description=params["Description"],
        keywords=params.get("Keywords", ""),
        reward=Decimal(params["Reward"]),
        duration=timedelta(seconds=duration),
        auto_approval=timedelta(seconds=approval),
        requirements=requirements,
    )
    for standing in state.hit_types.values():
        if _properties(standing) == _properties(wanted):
            return standing
    wanted.hit_type_id, wanted.group_id = state.new_id(), state.new_id()
    state.hit_types[wanted.hit_type_id] = wanted
    return wanted


def _properties(kind: HitType) -> tuple[object, ...]:
    return (
        kind.owner,
        kind.title,
        kind.description,
        kind.keywords,
        kind.reward,
        kind.duration,
        kind.auto_approval,
        kind.requirements,
    )


@operation("CreateHIT")
def create_hit(call: Call) -> Document:
    _refuse_second_hit(call)
    return _create(call, _hit_type_of(call))


@operation("CreateHITWithHITType")
def create_hit_with_hit_type(call: Call) -> Document:
    _refuse_second_hit(call)
    return _create(call, call.hit_type())


def _refuse_second_hit(call: Call) -> None:
    earlier = call.earlier()
    if earlier is not None:
        raise Refused(f'The HIT with ID "{earlier}" already exists.', "HitAlreadyExists")


def _create(call: Call, hit_type: HitType) -> Document:
    params, state = call.params, call.state
    for name in ("HITLayoutId", "HITLayoutParameters", "AssignmentReviewPolicy", "HITReviewPolicy"):
        if name in params:
            raise not_emulated(name)
    if "Question" not in params:
        raise Refused("Either Question or HITLayoutId must be given.", "MissingParameter")
    call.longest(RequesterAnnotation=255)
    question = read_question(params["Question"], state.options.allow_http)
    now = state.clock.now()
    lifetime = call.between("LifetimeInSeconds", 30, YEAR)
    hit = Hit(
        hit_id=state.new_id(),
        hit_type=hit_type,
        owner=call.owner,
        created=now,
        expires=now + timedelta(seconds=lifetime),
        max_assignments=call.between("MaxAssignments", 1, MOST_ASSIGNMENTS, default=1),
        question=params["Question"],
        url=question.url,
        frame_height=question.frame_height,
        annotation=params.get("RequesterAnnotation"),
    )
    money.require_funds(state, call.owner, money.place_cost(hit) * hit.max_assignments)
    state.hits[hit.hit_id] = hit
    state.plan(hit.expires, "expiry", hit.hit_id)
    call.remember(hit.hit_id)
    notices.tell(state, "HITCreated", hit)
    return {"HIT": shown(state, hit)}


def shown(state: State, hit: Hit) -> Document:
    """The API's representation of a HIT."""
    kind = hit.hit_type
    pending = count(hit, "Accepted")
    return {
        "HITId": hit.hit_id,
        "HITTypeId": kind.hit_type_id,
        "HITGroupId": kind.group_id,
        "CreationTime": hit.created,
        "Title": kind.title,
        "Description": kind.description,
        "Question": hit.question,
        "Keywords": kind.keywords,
        "HITStatus": status(state, hit),
        "MaxAssignments": hit.max_assignments,
        "Reward": money.as_amount(kind.reward),
        "AutoApprovalDelayInSeconds": int(kind.auto_approval.total_seconds()),
        "Expiration": hit.expires,
        "AssignmentDurationInSeconds": int(kind.duration.total_seconds()),
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": kind.requirements,
        "HITReviewStatus": "MarkedForReview" if hit.reviewing else "NotReviewed",
        "NumberOfAssignmentsPending": pending,
        "NumberOfAssignmentsAvailable": places_left(hit),
        "NumberOfAssignmentsCompleted": count(hit, "Approved", "Rejected"),
    }


@operation("GetHIT")
def get_hit(call: Call) -> Document:
    return {"HIT": shown(call.state, call.hit())}


def _own(call: Call, *states: str) -> list[Hit]:
    """The caller's HITs, oldest first, without disposed ones."""
    return sorted(
        (
            hit
            for hit in call.state.hits.values()
            if hit.owner == call.owner
            and not hit.disposed
            and (not states or status(call.state, hit) in states)
        ),
        key=_age,
    )


def _age(hit: Hit) -> str:
    return f"{hit.created.timestamp():020.6f}{hit.hit_id}"


@operation("ListHITs")
def list_hits(call: Call) -> Document:
    return call.page("HITs", _own(call), _age, lambda hit: shown(call.state, hit))


@operation("ListReviewableHITs")
def list_reviewable_hits(call: Call) -> Document:
    wanted = call.params.get("Status", "Reviewable")
    kind = call.hit_type().hit_type_id if "HITTypeId" in call.params else None
    hits = [hit for hit in _own(call, wanted) if kind in (None, hit.hit_type.hit_type_id)]
    return call.page("HITs", hits, _age, lambda hit: shown(call.state, hit))


def _standing(call: Call) -> Hit:
    hit = call.hit()
    if hit.disposed:
        raise wrong_state("Assignable,Unassignable,Reviewable,Reviewing", "InvalidHITState")
    return hit


@operation("CreateAdditionalAssignmentsForHIT")
def create_additional_assignments(call: Call) -> Document:
    call.refuse_repeat()
    hit, state = _standing(call), call.state
    more = call.between("NumberOfAdditionalAssignments", 1, MOST_ASSIGNMENTS)
    total = hit.max_assignments + more
    if hit.max_assignments < money.MANY <= total:
        raise Refused(
            f"HITs created with fewer than {money.MANY} assignments cannot be extended to have "
            f"{money.MANY} or more.",
            "InvalidMaximumAssignmentsIncrease",
        )
    if total > MOST_ASSIGNMENTS:
        raise Refused("Too many assignments.", "InvalidMaximumAssignmentsIncrease")
    if hit.expires > state.clock.now():
        money.require_funds(state, call.owner, money.place_cost(hit) * more)
    hit.max_assignments = total
    call.remember(hit.hit_id)
    look_whether_reviewable(state, hit, state.clock.now())
    notices.tell(state, "HITExtended", hit)
    return {}


@operation("UpdateExpirationForHIT")
def update_expiration(call: Call) -> Document:
    """Set the end of a HIT; an end in the past ends it now.

    The service makes its own token from HIT and time, and so refuses the same later end within a
    day as already processed (Dallinger's issue 3109). Whether it refuses a repeated end in the past
    is unknown; the emulator does not.
    """
    hit, state = _standing(call), call.state
    now = state.clock.now()
    expires = datetime.fromtimestamp(float(call.params["ExpireAt"]), UTC)
    if expires <= now:
        if hit.expires > now:
            set_expiry(state, hit, now)
        return {}
    if expires > now + FARTHEST:
        raise Refused("ExpireAt is more than 365 days away.", "ParameterOutOfRange")
    token = f"{hit.hit_id}{expires:%a %b %d %H:%M:%S UTC %Y}"
    key = (call.owner, call.operation, token)
    seen = state.tokens.get(key)
    if seen and now - seen[0] < TOKENS_KEPT:
        raise already_processed(token)
    if hit.expires <= now:
        money.require_funds(state, call.owner, money.place_cost(hit) * places_left(hit))
    state.tokens[key] = (now, hit.hit_id)
    set_expiry(state, hit, expires)
    notices.tell(state, "HITExtended", hit)
    return {}


@operation("UpdateHITTypeOfHIT")
def update_hit_type(call: Call) -> Document:
    """Change all properties of the HIT, including the reward of work that is not yet approved."""
    hit, state, kind = _standing(call), call.state, call.hit_type()
    older, hit.hit_type = hit.hit_type, kind
    if money.available(state, call.owner) < 0:
        hit.hit_type = older
        money.require_funds(state, call.owner, Decimal("Infinity"))
    return {}


@operation("UpdateHITReviewStatus")
def update_review_status(call: Call) -> Document:
    hit, revert = call.hit(), call.params.get("Revert", False)
    needed = "Reviewing" if revert else "Reviewable"
    if status(call.state, hit) != needed:
        raise wrong_state(needed, "InvalidHITState")
    hit.reviewing = not revert
    return {}


@operation("DeleteHIT")
def delete_hit(call: Call) -> Document:
    hit, state = call.hit(), call.state
    if status(state, hit) not in ("Reviewable", "Reviewing") or count(hit, "Submitted"):
        # This is possible even while work waits for review, as documented.
        raise wrong_state("Reviewing,Reviewable", "InvalidHITState")
    hit.disposed = True
    notices.tell(state, "HITDisposed", hit)
    return {}
