"""The fields of a campaign: each with its type, default, range, title and help, once.

Bodies of the API, forms, the command line and the table in docs/user-guide.md are made from
`CampaignPlan`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from app.campaigns.models import Campaign
from app.core.errors import InvalidInput
from app.core.fields import MONEY, SHARE, StrictInt
from app.features.sources import LONGEST_NAME
from app.kinds import Kind, all_kinds
from app.kinds.classes import SEPARATOR, same_name
from app.strategies import all_strategies

Mark = TypeVar("Mark")
FEWEST_CLASSES, MOST_CLASSES, LONGEST_CLASS = 2, 10, 40


@dataclass(frozen=True)
class Range:
    """The smallest and largest value of a number, or length of a text or list.

    Requests are not checked against it but campaigns are, by `check_ranges`, once the defaults of
    kind and strategy are filled in.

    unit: what is counted, for messages
    form: what else a form needs to know, as keywords of a JSON schema
    """

    lowest: int
    highest: int
    unit: str = ""
    form: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        ends = dict.fromkeys((f"{self.lowest:,}", f"{self.highest:,}"))
        return f"{' to '.join(ends)} {self.unit}".strip()

    def check(self, name: str, value: float | str | list[str]) -> None:
        """Raise InvalidInput with the field's name if the value is out of range."""
        measured = len(value) if isinstance(value, str | list) else value
        if not self.lowest <= measured <= self.highest:
            raise InvalidInput(
                f"{name} must be between {self.lowest} and {self.highest} {self.unit}".strip()
                + f"; it is {measured}.",
                code=f"bad_{name}",
                fields=[name],
                words=f"{CampaignPlan.model_fields[name].title}: {self._limit(measured)}.",
            )

    def _limit(self, measured: float) -> str:
        """Return the end of the range that a value has passed, as forms say it."""
        highest = measured > self.highest
        value: float = self.highest if highest else self.lowest
        if self.form.get("unit") == MONEY["unit"]:
            value /= 100
        limit = f"{value:,.0%}" if self.form.get("unit") == SHARE["unit"] else f"{value:,g}"
        return f"{'at most' if highest else 'at least'} {limit} {self.unit}".strip()


@dataclass(frozen=True)
class Changeable:
    """A started campaign can change the field. `effect` says from when on the change counts."""

    effect: str = ""


class CampaignPlan(BaseModel):
    """What a requester decides about a campaign. None means the default of the kind or strategy."""

    name: Annotated[str, Range(1, 200, "characters"), Changeable()] = Field(
        title="Campaign name", description="Annotators see it too."
    )
    collection_id: UUID = Field(title="Collection", description="The images to ask about.")
    ask_about: Annotated[StrictInt, Range(0, 1_000_000, "images")] = Field(
        default=0,
        title="Images to ask about",
        description="How many of the images are shown to annotators; 0: all. They are chosen to "
        "represent the collection. All images take part; the others are placed by their features, "
        "if the strategy learns from features.",
    )
    ask_by: Annotated[str | None, Range(0, LONGEST_NAME, "characters")] = Field(
        default=None,
        title="Features to choose them by",
        description="A source of features or a feature set of the collection. Only used if "
        "annotators see a part of the images.",
    )
    kind: str = Field(
        default="grid",
        title="Kind of task",
        description=f"One of: {', '.join(kind.name for kind in all_kinds())}.",
    )
    strategy: str = Field(
        default="cen",
        title="Strategy",
        description=f"One of: {', '.join(strategy.name for strategy in all_strategies())}.",
    )
    question: Annotated[str | None, Range(1, 2000, "characters", {"lines": 2})] = Field(
        default=None,
        title="Question for annotators",
        description="Shown above the images.",
    )
    budget: Annotated[
        StrictInt,
        Range(1, 1_000_000, "answers"),
        Changeable("Answers beyond those in existing rounds are added to upcoming rounds."),
    ] = Field(default=100, title="Budget (answers)", description="Total number of answers.")
    rounds: Annotated[
        StrictInt | None, Range(1, 100), Changeable("Existing rounds do not change.")
    ] = Field(
        default=None,
        title="Rounds",
        description="Each round's grids are based on the answers of earlier rounds.",
    )
    grid_size: Annotated[StrictInt | None, Range(2, 60, "images")] = Field(
        default=None, title="Images per grid", description="How many images are shown together."
    )
    max_groups: Annotated[StrictInt | None, Range(2, 10)] = Field(
        default=None,
        title="Maximum number of groups",
        description="How many groups an answer can have; in bins, how many bins are shown.",
    )
    classes: Annotated[
        list[str],
        Range(0, MOST_CLASSES, "names", {"one_per_line": True}),
        Changeable("You can only correct a name. Answers keep their class."),
    ] = Field(
        default=[],
        title="Classes",
        description=f"The names that annotators choose from: {FEWEST_CLASSES} to {MOST_CLASSES}, "
        f"of up to {LONGEST_CLASS} characters. Only for the kinds "
        f"{' and '.join(kind.name for kind in all_kinds() if kind.asks_for_classes)}.",
    )
    answers_per_grid: Annotated[StrictInt, Range(1, 50)] = Field(
        default=1,
        title="Answers per grid",
        description="How many people answer each grid. 1 shows the most images.",
    )
    grids_per_assignment: Annotated[
        StrictInt, Range(1, 1000), Changeable("Applies to assignments started from now on.")
    ] = Field(
        default=10,
        title="Grids per assignment",
        description="How many grids one person does and is paid for.",
    )
    learn_every: Annotated[StrictInt, Range(1, 1_000_000, "answers"), Changeable()] = Field(
        default=50,
        title="Answers between trainings",
        description="How many answers come between trainings. A model is also trained at the end "
        "of each round.",
    )
    ready_share: Annotated[
        float, Range(0, 1, form=SHARE), Changeable("Applies to upcoming rounds.")
    ] = Field(
        default=1.0,
        title="Share of grids prepared in advance",
        description="Share of a round's grids prepared while the previous round is being learned. "
        "1: nobody waits. 0: annotators wait for the newest model.",
    )
    annotation: dict[str, Any] = Field(
        default_factory=dict,
        title="Annotators' pages",
        description="Settings of the annotators' pages: AnnotationSettings. You can always change "
        "them on their own page.",
    )
    plan: Annotated[dict[str, Any], Changeable()] = Field(
        default_factory=dict,
        title="Assumptions",
        description="Assumptions for planning: PlanSettings.",
    )
    reward_cents: Annotated[
        StrictInt,
        Range(0, 10_000_000, form=MONEY | {"description": "Shown to annotators unless it is 0."}),
        Changeable(
            "Shown to people who use the link. People already being recruited keep their own "
            "reward."
        ),
    ] = Field(
        default=0,
        title="Reward per assignment",
        description="Payment for a whole assignment, in cents (minor units).",
    )
    currency: Annotated[str, Range(3, 3, "letters")] = Field(
        default="USD", title="Currency", description="Three-letter code."
    )
    settings: Annotated[dict[str, Any], Changeable()] = Field(
        default_factory=dict, title="Settings", description="Settings of the strategy."
    )
    seed: Annotated[StrictInt | None, Range(0, 2**31 - 1)] = Field(
        default=None,
        title="Seed",
        description="Repeats the random choices of another campaign. Empty: a random one.",
    )


def _marked(mark: type[Mark]) -> dict[str, Mark]:
    return {
        name: part
        for name, described in CampaignPlan.model_fields.items()
        for part in described.metadata
        if isinstance(part, mark)
    }


RANGES = _marked(Range)
# All fields that are not here decide what a started campaign's answers mean.
CHANGEABLE = _marked(Changeable)


def value_type(field: FieldInfo) -> Any:
    """Return the type of a field's values, without None and without marks."""
    kind: Any = field.annotation
    if NoneType in get_args(kind):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def checked_classes(kind: Kind, names: Sequence[str]) -> list[str]:
    """Return the names that annotators choose from, with single spaces. Raises InvalidInput if the
    kind needs names and they are too few, too many, too long or the same, or if it has none."""
    if not kind.asks_for_classes:
        if names:
            raise _bad_classes(f"A {kind.name} campaign has no classes. Leave them out.")
        return []
    classes = [" ".join(name.split()) for name in names]
    if not FEWEST_CLASSES <= len(classes) <= MOST_CLASSES:
        raise _bad_classes(
            f"A {kind.name} campaign needs {FEWEST_CLASSES} to {MOST_CLASSES} classes, not "
            f"{len(classes)}."
        )
    for name in classes:
        if not 1 <= len(name) <= LONGEST_CLASS:
            raise _bad_classes(
                f"A class must have 1 to {LONGEST_CLASS} characters. {name[:50]!r} has {len(name)}."
            )
        if SEPARATOR in name:
            raise _bad_classes(
                f"A class can't contain {SEPARATOR!r}, which separates classes in exports: "
                f"{name!r}."
            )
    seen: set[str] = set()
    for name in classes:
        if same_name(name) in seen:
            raise _bad_classes(
                f"Two classes are named {name!r}. Names must differ in more than case and spaces."
            )
        seen.add(same_name(name))
    return classes


def _bad_classes(problem: str) -> InvalidInput:
    return InvalidInput(problem, code="bad_classes", fields=["classes"])


def check_ranges(campaign: Campaign) -> None:
    """Raise InvalidInput with the name of a field whose value is out of range."""
    if not (len(campaign.currency) == 3 and campaign.currency.isalpha()):
        raise InvalidInput(
            "The currency must be a three-letter code such as USD, not "
            f"{campaign.currency[:10]!r}.",
            code="bad_currency",
            fields=["currency"],
        )
    for name, allowed in RANGES.items():
        allowed.check(name, getattr(campaign, name))
