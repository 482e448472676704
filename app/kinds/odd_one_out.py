"""The kind `odd_one_out`: people choose the image that is least like the others."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

import numpy as np

from app.kinds.base import Descriptions, Groups
from app.kinds.groupings import GroupingKind
from app.kinds.known import BadKnownAnswers, KnownAnswer, KnownTable, Row
from learning.quality import Agreement, Enough
from learning.simulation import Crowd, SimulatedAnswer

# The group of the images that belong together, and that of the one that does not.
TOGETHER, ODD = 0, 1
FEWEST = 3


class OddOneOutKind(GroupingKind):
    """A choice of one image, as in the THINGS data (Hebart et al. 2020). With three images, the
    other two are the most similar pair."""

    name: ClassVar[str] = "odd_one_out"
    interface: ClassVar[str] = "odd_one_out"
    title: ClassVar[str] = "Odd one out"
    about: ClassVar[str] = (
        "People choose which of three images is least like the others. A few seconds each; the "
        "answers are triplets, as in other studies of similarity."
    )
    question: ClassVar[str] = "Which image is least like the others?"
    strategy: ClassVar[str] = "crowdster"
    grid_size: ClassVar[int] = 3
    smallest_grid: ClassVar[int] = FEWEST
    largest_grid: ClassVar[int] = 8
    max_groups: ClassVar[int] = 2
    has_fixed_groups: ClassVar[bool] = True
    group_noun: ClassVar[str] = ""
    known_rule: ClassVar[str] = (
        "All images but one have the same value. The one with another value is to be chosen."
    )
    known_groups: ClassVar[str] = (
        "All images but one have the same group. The one with another group is to be chosen."
    )
    columns: ClassVar[int] = 3
    grids_per_assignment: ClassVar[int] = 20
    seconds_per_grid: ClassVar[float] = 4.0
    # One answer about three images says little.
    views: ClassVar[int] = 40
    views_tried: ClassVar[tuple[int, ...]] = (10, 20, 40, 80, 160)
    fewest_views: ClassVar[float] = 10.0
    # With these, the answers of 40 views are as many as a dry run can simulate.
    simulated_images: ClassVar[int] = 150
    group_names: ClassVar[tuple[str, ...]] = ("with the others", "odd one out")
    # One of three is right by chance in a third of the cases, and honest people choose another one
    # in a fifth: of those, 2 % are below LIKELY after 12 checks, and 3 in 1,000 after 20.
    checks_needed: ClassVar[Enough] = Enough(verdict=8, warn=12, stop=20)

    def descriptions_of(self, chosen: str) -> Descriptions:
        return "none"

    def colours(self, max_groups: int, lease_id: UUID) -> list[int | None]:
        return [None, 0]

    def problem_of(self, groups: Groups) -> str | None:
        if len(groups) < FEWEST:
            return None
        if groups.count(ODD) == 1 and groups.count(TOGETHER) == len(groups) - 1:
            return None
        return (
            f"The answer must have exactly one image in group {ODD}, the odd one out, and all "
            f"others in group {TOGETHER}."
        )

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        """Cohen's kappa of one choice: 1 for the same image, below 0 for another; 0 on average if
        images are chosen at random."""
        n = len(known)
        if n < FEWEST or ODD not in known or ODD not in given:
            return None
        return kappa(n, known.index(ODD) == given.index(ODD))

    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        return self.agreement(earlier, later)

    def is_flat(self, groups: Groups) -> bool:
        return False

    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return a grid of images with one value of an attribute, and one image with another."""
        frequent = [value for value, images in sorted(values.items()) if len(images) >= size - 1]
        if not frequent or len(values) < 2:
            raise BadKnownAnswers(
                f"Known answers need an attribute with a value that at least {size - 1} images "
                "have, and another value."
            )
        value = frequent[int(rng.integers(len(frequent)))]
        others = [image for other in sorted(values) if other != value for image in values[other]]
        images = rng.permutation(values[value])[: size - 1].tolist()
        place = int(rng.integers(size))
        images.insert(place, others[int(rng.integers(len(others)))])
        return KnownAnswer(images, truth(place, size))

    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        return [_read_grid(name, rows) for name, rows in table.items()]

    def simulate(
        self, crowd: Crowd, annotator: int, images: Sequence[int], max_groups: int
    ) -> SimulatedAnswer:
        """The crowd's annotator groups the images, and chooses one of the smallest group."""
        grouped = crowd.answer(annotator, images, n_bins=2)
        _, sizes = np.unique(grouped.groups, return_counts=True)
        size_of = dict(zip(np.unique(grouped.groups).tolist(), sizes.tolist(), strict=True))
        # Images in no group are alone.
        size_of[-1] = 1
        each = np.array([size_of[group] for group in grouped.groups.tolist()])
        rng = np.random.default_rng([crowd.random_state, annotator, *images])
        groups = truth(int(rng.choice(np.flatnonzero(each == each.min()))), len(images))
        return SimulatedAnswer(np.array(groups, np.int64), [], grouped.attribute)


def kappa(n_choices: int, is_same: bool) -> Agreement:
    """Cohen's kappa of two choices of one among `n_choices` images."""
    chance = 1 / n_choices
    deviation = (chance / (1 - chance)) ** 0.5
    return Agreement((float(is_same) - chance) / (1 - chance), deviation)


def truth(place: int, size: int) -> list[int]:
    """Return the groups of a grid whose odd one is at `place`."""
    return [ODD if k == place else TOGETHER for k in range(size)]


def _read_grid(name: str, rows: list[Row]) -> KnownAnswer:
    names = [row.group for row in rows]
    alone = [k for k, group in enumerate(names) if names.count(group) == 1]
    if len(set(names)) != 2 or len(alone) != 1:
        raise BadKnownAnswers(
            f"Grid {name!r} needs one image with one group, the odd one out, and another group "
            "for all other images."
        )
    return KnownAnswer([row.image for row in rows], truth(alone[0], len(rows)))
