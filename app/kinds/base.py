"""The interface of a kind of task, and the registry of all kinds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput
from app.kinds.known import KnownAnswer, KnownTable
from learning.quality import GROUPINGS, Agreement, Enough
from learning.simulation import Crowd, SimulatedAnswer

Groups = Sequence[int]
# What answers are: groups of images that belong together, or a vote on each image. Strategies,
# results and exports ask for a form, so that they need not know kinds.
AnswerForm = Literal["groupings", "votes"]
Descriptions = Literal["required", "optional", "none"]
# How votes are written as group numbers: yes, no or unsure (learning/ballots.py), one of several
# classes, or several labels (both learning/class_ballots.py).
Ballot = Literal["yes_no", "one_of", "any_of"]


# Of the groups on annotators' pages (frontend/src/annotator/groups.css).
N_COLOURS = 10


class Kind(ABC):
    """A kind of task. Every answer is one group number per image of a grid, -1 for none.

    title, about: for requesters.
    interface: the annotators' page for it, a folder of frontend/src/annotator/kinds/.
    question: that of a campaign whose requester gives none, and the wizard's suggestion.
    strategy: a suggestion for a new campaign.
    form: what strategies can learn from its answers, and which results they have.
    ballot: how votes are written as group numbers, if answers are votes.
    asks_for_classes: whether requesters name what annotators choose from.
    suggested_classes: names for a new campaign, if requesters choose them.
    grid_size, max_groups, columns: usual number of images in a grid, usual maximum number of
        groups in an answer, and columns of images on a wide screen.
    smallest_grid, largest_grid: the numbers of images that a grid may have.
    has_fixed_groups: whether the number of groups is always `max_groups`.
    choices: what annotators choose from, if it is the same for all grids; empty if they make groups
        themselves.
    descriptions: whether annotators describe groups, unless the campaign chooses otherwise.
    grids_per_assignment: a suggestion for a new campaign.
    seconds_per_grid: how long an unhurried person takes for one grid. Times measured in the
        requester's own campaigns are better and replace it.
    views, views_tried: how often each image is shown, for the suggested budget and for those that a
        dry run tries.
    group_noun: what requesters call the number of groups; empty if they don't choose it.
    needs_known_value: whether known answers from an attribute need one of its values.
    known_rule: what known answers from an attribute say, for requesters.
    known_groups: what the column `group` of a list of known answers says, for requesters.
    checks_needed: how many checks there must be to judge an annotator.
    simulated_images: how many images a dry run simulates at most.
    group_names: what its groups are called on requesters' pages, if always the same, by number.
    undecided: the numbers of groups that say nothing about their images.
    has_reference: whether the first image of a grid is the one that the others are compared with.
    prefers_new_images: whether an annotator's second answer about an image replaces the first, so
        that grids with images that are new to the annotator are better.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    interface: ClassVar[str]
    question: ClassVar[str]
    strategy: ClassVar[str]
    form: ClassVar[AnswerForm]
    ballot: ClassVar[Ballot | None] = None
    asks_for_classes: ClassVar[bool] = False
    suggested_classes: ClassVar[tuple[str, ...]] = ()
    grid_size: ClassVar[int]
    max_groups: ClassVar[int]
    columns: ClassVar[int]
    seconds_per_grid: ClassVar[float]
    views: ClassVar[int]
    views_tried: ClassVar[tuple[int, ...]]
    group_noun: ClassVar[str] = "groups at most"
    smallest_grid: ClassVar[int] = 2
    largest_grid: ClassVar[int] = 60
    has_fixed_groups: ClassVar[bool] = False
    grids_per_assignment: ClassVar[int] = 10
    choices: ClassVar[tuple[str, ...]] = ()
    descriptions: ClassVar[Descriptions] = "none"
    group_names: ClassVar[tuple[str, ...]] = ()
    checks_needed: ClassVar[Enough] = GROUPINGS
    simulated_images: ClassVar[int] = 500
    needs_known_value: ClassVar[bool] = False
    known_rule: ClassVar[str] = "Images with the same value belong together for everyone."
    known_groups: ClassVar[str] = "Images with the same group belong together."
    has_reference: ClassVar[bool] = False
    undecided: ClassVar[tuple[int, ...]] = ()
    prefers_new_images: ClassVar[bool] = False

    def with_classes(self, classes: Sequence[str]) -> Self:
        """Return the kind for a campaign whose annotators choose from these names."""
        return self

    def n_groups(self, max_groups: int) -> int:
        """Return how many group numbers an answer can use."""
        return max_groups

    def first_colour(self, lease_id: UUID) -> int:
        """Return the colour of the first group in a lease. Groups that always have the same names
        always have the same colours."""
        return 0 if self.choices else lease_id.int % N_COLOURS

    def colours(self, max_groups: int, lease_id: UUID) -> list[int | None]:
        """Return the colour that the annotator saw for each group number of a lease, None for
        groups without one. Empty if group numbers are masks of choices."""
        n = self.n_groups(max_groups)
        first = self.first_colour(lease_id)
        return [(group + first) % N_COLOURS for group in range(n)] if n <= max_groups else []

    def checked_max_groups(self, wanted: int | None) -> int:
        """Return a campaign's maximum number of groups. Raises InvalidInput if the kind has a fixed
        number and `wanted` differs from it."""
        if self.has_fixed_groups and wanted not in (None, self.max_groups):
            groups = f"choices {', '.join(self.choices)}" if self.choices else "groups"
            raise InvalidInput(
                f"A {self.name} campaign always has {self.max_groups} {groups}, so max_groups "
                f"can't be {wanted}. Leave it out.",
                fields=["max_groups"],
            )
        return self.max_groups if wanted is None else wanted

    def check_grid_size(self, size: int) -> None:
        """Raise InvalidInput if grids can't have that many images."""
        if not self.smallest_grid <= size <= self.largest_grid:
            raise InvalidInput(
                f"A grid of a campaign of kind {self.name} has {self.smallest_grid} to "
                f"{self.largest_grid} images, not {size}.",
                code="bad_grid_size",
                fields=["grid_size"],
            )

    def problem_of(self, groups: Groups) -> str | None:
        """Return what is wrong with an answer, given the groups of the images that could be seen;
        None if nothing is."""
        return None

    def in_another_order(self, images: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return the images of a grid in other places, for asking again."""
        n_kept = int(self.has_reference)
        return [*images[:n_kept], *rng.permutation(images[n_kept:]).tolist()]

    def chosen(self, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(n, C) which of its choices each of these groups (n,) stands for."""
        return np.asarray(groups[:, None] == np.arange(len(self.choices)))

    def descriptions_of(self, chosen: Descriptions | Literal["auto"]) -> Descriptions:
        """Return whether annotators describe groups, given the campaign's setting."""
        if self.choices:
            return "none"
        return self.descriptions if chosen == "auto" else chosen

    @property
    def takes_descriptions(self) -> bool:
        """Whether a campaign can ask for descriptions of groups."""
        return not self.asks_for_classes and self.descriptions_of("required") != "none"

    @abstractmethod
    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        """Return how well an answer matches the known one; None if that cannot be said."""

    @abstractmethod
    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        """Return how well an annotator's answer matches their own earlier one to the same grid;
        None if that cannot be said."""

    @abstractmethod
    def is_flat(self, groups: Groups) -> bool:
        """Tell whether an answer distinguishes nothing, as if given without looking."""

    @abstractmethod
    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return a grid of `size` images whose answer follows from an attribute.

        values: positions of the images with each value; wanted: the value that is asked for, where
        the kind needs one. Raises BadKnownAnswers.
        """

    @abstractmethod
    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        """Return the grids of a requester's list. Raises BadKnownAnswers with the line or grid that
        is wrong."""

    def simulate(
        self, crowd: Crowd, annotator: int, images: Sequence[int], max_groups: int
    ) -> SimulatedAnswer:
        """Return the answer of a simulated annotator to a grid."""
        return crowd.answer(annotator, images, max_groups)

    @abstractmethod
    def few_views(self, views: float) -> str | None:
        """Return a warning if each image is shown too rarely, given the mean number of times."""


class OfKind(Protocol):
    """A campaign, or a part of one that determines what its answers mean."""

    @property
    def kind(self) -> str: ...

    @property
    def classes(self) -> Sequence[str]: ...


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    _kinds[kind.name] = kind


def all_kinds() -> list[Kind]:
    return list(_kinds.values())


def get_kind(name: str) -> Kind:
    """Return the kind with this name. Raises InvalidInput if there is none."""
    if name not in _kinds:
        raise InvalidInput(f"The kind must be one of {', '.join(_kinds)}, not {name!r}.")
    return _kinds[name]


def kind_of(campaign: OfKind) -> Kind:
    """Return a campaign's kind, with the campaign's classes if it has some."""
    return get_kind(campaign.kind).with_classes(campaign.classes)
