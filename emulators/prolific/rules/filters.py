"""The available filters and the people who pass them."""

from dataclasses import dataclass

from emulators.prolific.errors import bad
from emulators.prolific.models.filters import (
    AnyFilter,
    CompositeFilter,
    RangeFilter,
    SelectFilter,
)
from emulators.prolific.objects import Participant, Study
from emulators.prolific.world import World

FEWEST_COUNTED = 25


@dataclass(frozen=True)
class Choice:
    """A `select` filter, which participants answer with one id or a list of ids."""

    title: str
    question: str = ""
    choices: dict[str, str] | None = None
    data_type: str = "ChoiceID"


@dataclass(frozen=True)
class Span:
    """A `range` filter of whole numbers."""

    title: str
    question: str
    low: int
    high: int


# These are a few of Prolific's hundreds of filters, with Prolific's ids; `1` is the United States.
CATALOGUE: dict[str, Choice | Span] = {
    "age": Span("Age", "What is your date of birth?", 18, 100),
    "sex": Choice("Sex", "What is your sex?", {"0": "Male", "1": "Female"}),
    "current-country-of-residence": Choice(
        "Current country of residence",
        "In what country do you currently reside?",
        {"0": "United Kingdom", "1": "United States", "2": "Ireland", "3": "Germany"},
    ),
    "fluent-languages": Choice(
        "Fluent languages",
        "Which of the following languages are you fluent in?",
        {"19": "English", "26": "German"},
    ),
    "approval_rate": Span("Approval rate", "", 0, 100),
    "approval_numbers": Span("Number of previous approvals", "", 0, 100_000),
    "custom_allowlist": Choice("Custom allowlist", data_type="ParticipantID"),
    "custom_blocklist": Choice("Custom blocklist", data_type="ParticipantID"),
    "participant_group_allowlist": Choice("Participant groups", data_type="ParticipantGroupID"),
    "participant_group_blocklist": Choice(
        "Excluded participant groups", data_type="ParticipantGroupID"
    ),
    "previous_studies_allowlist": Choice("Previous studies", data_type="StudyID"),
    "previous_studies_blocklist": Choice("Excluded previous studies", data_type="StudyID"),
}


def check_filters(world: World, study: Study) -> None:
    """Refuse values that a filter does not have, and other workspaces' groups and studies."""
    for chosen in study.settings.filters or []:
        _check(world, study, chosen)


def _check(world: World, study: Study, chosen: AnyFilter) -> None:
    if isinstance(chosen, CompositeFilter):
        for part in chosen.selected_filters:
            _check(world, study, part)
        return
    known = CATALOGUE.get(chosen.filter_id)
    wrong = bad(
        {"filters": [f"{chosen.filter_id}: this filter does not exist or has another type."]}
    )
    if isinstance(chosen, RangeFilter):
        if not isinstance(known, Span):
            raise wrong
        given = (chosen.selected_range.lower, chosen.selected_range.upper)
        if any(b is not None and not (isinstance(b, int) and known.low <= b <= known.high)
               for b in given):  # fmt: skip
            raise bad(
                {
                    "filters": [
                        f"{chosen.filter_id}: the range must be from {known.low} to {known.high}."
                    ]
                }
            )
        return
    if not isinstance(known, Choice):
        raise wrong
    for value in chosen.selected_values:
        if not _chosen_exists(world, study, known, value):
            raise bad({"filters": [f"{chosen.filter_id}: {value} is not a choice."]})


def _chosen_exists(world: World, study: Study, known: Choice, value: str) -> bool:
    if known.data_type == "ParticipantGroupID":
        group = world.groups.get(value)
        return group is not None and not group.deleted and group.workspace is study.workspace
    if known.data_type == "StudyID":
        former = world.studies.get(value)
        return former is not None and former.workspace is study.workspace
    if known.data_type == "ParticipantID":
        return len(value) == 24
    return value in (known.choices or {})


def freeze(world: World, study: Study) -> None:
    """Read the lists of previous studies, which happens only when a study is published."""
    for chosen in _simple(study.settings.filters or []):
        if isinstance(chosen, SelectFilter) and chosen.filter_id.startswith("previous_studies_"):
            for former in chosen.selected_values:
                study.former[former] = {
                    submission.participant.id
                    for submission in world.of_study[former]
                    if submission.status != "RESERVED"
                }


def _simple(chosen: list[AnyFilter]) -> list[SelectFilter | RangeFilter]:
    simple: list[SelectFilter | RangeFilter] = []
    for criterion in chosen:
        if isinstance(criterion, CompositeFilter):
            simple += _simple(criterion.selected_filters)
        else:
            simple.append(criterion)
    return simple


def may_see(world: World, study: Study, person: Participant) -> bool:
    if study.only_for is not None:
        return person.id in study.only_for
    if person.tester_of is not None:
        return False
    return all(passes(world, study, chosen, person) for chosen in study.settings.filters or [])


def passes(world: World, study: Study | None, chosen: AnyFilter, person: Participant) -> bool:
    if isinstance(chosen, CompositeFilter):
        each = (passes(world, study, part, person) for part in chosen.selected_filters)
        return all(each) if chosen.filter_id == "and" else any(each)
    answer = person.attributes.get(chosen.filter_id)
    if isinstance(chosen, RangeFilter):
        low, high = chosen.selected_range.lower, chosen.selected_range.upper
        if not isinstance(answer, int | float):
            return False
        return (not isinstance(low, int | float) or answer >= low) and (
            not isinstance(high, int | float) or answer <= high
        )
    values = chosen.selected_values
    match chosen.filter_id:
        case "custom_allowlist" | "custom_blocklist":
            listed = person.id in values
        case "participant_group_allowlist" | "participant_group_blocklist":
            listed = any(person.id in world.groups[id].members for id in values)
        case "previous_studies_allowlist" | "previous_studies_blocklist":
            listed = study is not None and any(
                person.id in study.former.get(id, set()) for id in values
            )
        case _:
            answers = answer if isinstance(answer, list) else [answer]
            return any(given in values for given in answers)
    return listed if chosen.filter_id.endswith("allowlist") else not listed


def count(world: World, filters: list[AnyFilter]) -> int:
    """The number of people who pass all filters. Below 25 it is 0, to protect their privacy."""
    passing = sum(
        all(passes(world, None, chosen, person) for chosen in filters)
        for person in world.participants.values()
        if person.tester_of is None
    )
    return passing if passing >= FEWEST_COUNTED else 0
