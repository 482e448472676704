"""Which worker can discover, preview and accept which HIT."""

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne

from emulators.mturk.records import Hit, Worker
from emulators.mturk.shapes import Document
from emulators.mturk.state import State

NUMBER_APPROVED = "00000000000000000040"
ADULT = "00000000000000000060"
LOCALE = "00000000000000000071"
PERCENT_APPROVED = "000000000000000000L0"
# The Masters qualifications of the sandbox and of production, which no worker here has.
MASTERS = ("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH")
SYSTEM = (NUMBER_APPROVED, ADULT, LOCALE, PERCENT_APPROVED, *MASTERS)

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "LessThan": lt,
    "LessThanOrEqualTo": le,
    "GreaterThan": gt,
    "GreaterThanOrEqualTo": ge,
    "EqualTo": eq,
    "NotEqualTo": ne,
}
# The actions that each kind of requirement guards.
_GUARDED = {
    "Accept": ("accept",),
    "PreviewAndAccept": ("preview", "accept"),
    "DiscoverPreviewAndAccept": ("discover", "preview", "accept"),
}


def unmet(state: State, worker: Worker, hit: Hit, action: str) -> list[str]:
    """Ids of the requirements that prevent a worker's `discover`, `preview` or `accept`."""
    return [
        requirement["QualificationTypeId"]
        for requirement in hit.hit_type.requirements
        if action in _GUARDED[guard(requirement)] and not meets(state, worker, requirement)
    ]


def guard(requirement: Document) -> str:
    older = "PreviewAndAccept" if requirement.get("RequiredToPreview") else "Accept"
    return str(requirement.get("ActionsGuarded", older))


def meets(state: State, worker: Worker, requirement: Document) -> bool:
    kind: str = requirement["QualificationTypeId"]
    comparator: str = requirement["Comparator"]
    if kind == LOCALE:
        return _locale_meets(worker, comparator, requirement.get("LocaleValues", []))
    score = _score(state, worker, kind)
    if comparator == "Exists" or comparator == "DoesNotExist":
        return (score is not None) == (comparator == "Exists")
    values: list[int] = requirement.get("IntegerValues", [])
    if score is None:
        # A worker without a score only meets requirements of the kind "not equal".
        return comparator in ("NotEqualTo", "NotIn")
    if comparator in ("In", "NotIn"):
        return (score in values) == (comparator == "In")
    return _COMPARE[comparator](score, values[0])


def _score(state: State, worker: Worker, kind: str) -> int | None:
    if kind == PERCENT_APPROVED:
        return worker.percent_approved
    if kind == NUMBER_APPROVED:
        return worker.number_approved
    if kind == ADULT:
        return 1 if worker.adult else None
    grant = state.grants.get((kind, worker.worker_id))
    return grant.value if grant and grant.status == "Granted" else None


def _locale_meets(worker: Worker, comparator: str, places: list[Document]) -> bool:
    if comparator in ("Exists", "DoesNotExist"):
        return comparator == "Exists"
    here = any(
        place["Country"] == worker.country
        and place.get("Subdivision") in (None, worker.subdivision)
        for place in places
    )
    return here == (comparator in ("EqualTo", "In"))
