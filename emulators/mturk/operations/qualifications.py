"""Qualification types and the workers who have them."""

from emulators.mturk.errors import Refused, not_emulated, wrong_state
from emulators.mturk.operations.call import Call, operation
from emulators.mturk.records import Grant, QualificationType
from emulators.mturk.shapes import Document


def shown(kind: QualificationType) -> Document:
    return {
        "QualificationTypeId": kind.type_id,
        "CreationTime": kind.created,
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords,
        "QualificationTypeStatus": kind.status,
        "RetryDelayInSeconds": kind.retry_delay,
        "IsRequestable": True,
        "AutoGranted": kind.auto_granted,
        "AutoGrantedValue": kind.auto_value if kind.auto_granted else None,
    }


def _grant_shown(grant: Grant) -> Document:
    return {
        "QualificationTypeId": grant.type_id,
        "WorkerId": grant.worker_id,
        "GrantTime": grant.granted,
        "IntegerValue": grant.value,
        "Status": grant.status,
    }


def _refuse_tests(call: Call) -> None:
    for name in ("Test", "AnswerKey", "TestDurationInSeconds"):
        if name in call.params:
            raise not_emulated(f"A qualification type with {name}")


@operation("CreateQualificationType")
def create_qualification_type(call: Call) -> Document:
    params, state = call.params, call.state
    _refuse_tests(call)
    call.not_blank("Name", "Description")
    call.longest(Name=200, Description=2000, Keywords=1000)
    same = [k for k in state.qualification_types.values() if k.owner == call.owner]
    if any(kind.name == params["Name"] for kind in same):
        raise Refused(
            "You have already created a QualificationType with this name. A QualificationType's "
            "name must be unique among all of the QualificationTypes created by the same user.",
            "QualificationTypeAlreadyExists",
        )
    kind = QualificationType(
        type_id=state.new_id(),
        owner=call.owner,
        created=state.clock.now(),
        name=params["Name"],
        description=params["Description"],
        keywords=params.get("Keywords"),
        status=params["QualificationTypeStatus"],
        retry_delay=params.get("RetryDelayInSeconds"),
        auto_granted=params.get("AutoGranted", False),
        auto_value=params.get("AutoGrantedValue", 1),
    )
    state.qualification_types[kind.type_id] = kind
    return {"QualificationType": shown(kind)}


@operation("UpdateQualificationType")
def update_qualification_type(call: Call) -> Document:
    params = call.params
    _refuse_tests(call)
    call.longest(Description=2000)
    kind = call.qualification_type()
    kind.description = params.get("Description", kind.description)
    kind.status = params.get("QualificationTypeStatus", kind.status)
    kind.retry_delay = params.get("RetryDelayInSeconds", kind.retry_delay)
    kind.auto_granted = params.get("AutoGranted", kind.auto_granted)
    kind.auto_value = params.get("AutoGrantedValue", kind.auto_value)
    return {"QualificationType": shown(kind)}


@operation("GetQualificationType")
def get_qualification_type(call: Call) -> Document:
    return {"QualificationType": shown(call.qualification_type())}


@operation("ListQualificationTypes")
def list_qualification_types(call: Call) -> Document:
    query = call.params.get("Query", "").casefold()
    owned = call.params.get("MustBeOwnedByCaller", False)
    kinds = sorted(
        (
            kind
            for kind in call.state.qualification_types.values()
            if (kind.owner == call.owner or not owned)
            and query in f"{kind.name} {kind.description} {kind.keywords or ''}".casefold()
        ),
        key=_age,
    )
    return call.page("QualificationTypes", kinds, _age, shown)


def _age(kind: QualificationType) -> str:
    return f"{kind.created.timestamp():020.6f}{kind.type_id}"


@operation("DeleteQualificationType")
def delete_qualification_type(call: Call) -> Document:
    """Delete the type. HITs that require it keep the requirement, which nobody then meets."""
    kind, state = call.qualification_type(), call.state
    del state.qualification_types[kind.type_id]
    for key in [key for key in state.grants if key[0] == kind.type_id]:
        del state.grants[key]
    return {}


@operation("AssociateQualificationWithWorker")
def associate_qualification(call: Call) -> Document:
    kind, worker, state = call.qualification_type(), call.worker(), call.state
    value = call.params.get("IntegerValue", 1)
    key = (kind.type_id, worker.worker_id)
    state.grants[key] = Grant(*key, value=value, granted=state.clock.now())
    return {}


@operation("DisassociateQualificationFromWorker")
def disassociate_qualification(call: Call) -> Document:
    grant = _grant(call)
    if grant.status != "Granted":
        raise wrong_state("Granted", "InvalidQualificationState")
    grant.status = "Revoked"
    return {}


def _grant(call: Call) -> Grant:
    kind, worker = call.qualification_type(), call.worker()
    grant = call.state.grants.get((kind.type_id, worker.worker_id))
    if grant is None:
        raise Refused(
            "You requested a Qualification that does not exist.", "QualificationDoesNotExist"
        )
    return grant


@operation("GetQualificationScore")
def get_qualification_score(call: Call) -> Document:
    grant = _grant(call)
    if grant.status != "Granted":
        raise wrong_state("Granted", "InvalidQualificationState")
    return {"Qualification": _grant_shown(grant)}


@operation("ListWorkersWithQualificationType")
def list_workers_with_qualification_type(call: Call) -> Document:
    kind, status = call.qualification_type(), call.params.get("Status", "Granted")
    grants = sorted(
        (g for g in call.state.grants.values() if g.type_id == kind.type_id and g.status == status),
        key=lambda grant: grant.worker_id,
    )
    return call.page("Qualifications", grants, lambda grant: grant.worker_id, _grant_shown)
