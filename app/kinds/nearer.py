"""The kind `nearer`: people choose which of two images is nearer to a third one."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from app.kinds.base import Groups
from app.kinds.known import BadKnownAnswers, KnownAnswer, KnownTable
from app.kinds.odd_one_out import FEWEST, ODD, TOGETHER, OddOneOutKind, kappa, truth
from learning.quality import Agreement, Enough
from learning.simulation import Crowd, SimulatedAnswer


class NearerKind(OddOneOutKind):
    """The other question about three images: the first one is given, and the answer says which of
    the other two is more like it (for example Tamuz et al. 2011). The image that is not chosen is
    the odd one out of the answer."""

    name: ClassVar[str] = "nearer"
    interface: ClassVar[str] = "nearer"
    title: ClassVar[str] = "Nearer of two"
    about: ClassVar[str] = (
        "People choose which of two images is more like a third one. A few seconds each; the "
        "answers are triplets with an anchor, as in other tools for similarity."
    )
    question: ClassVar[str] = "Which image is more like the one above?"
    largest_grid: ClassVar[int] = 3
    known_rule: ClassVar[str] = "The image with the value of the one above is to be chosen."
    known_groups: ClassVar[str] = (
        "The first image is the one above. The image with the same group is to be chosen."
    )
    has_reference: ClassVar[bool] = True
    group_names: ClassVar[tuple[str, ...]] = ("the pair", "the other image")
    # One of two is right by chance in half of the cases, and honest people choose the other one in
    # a fifth: of those, 7 % are below LIKELY after 24 checks, and 1 % after 40.
    checks_needed: ClassVar[Enough] = Enough(verdict=12, warn=24, stop=40)

    def problem_of(self, groups: Groups) -> str | None:
        if len(groups) < FEWEST:
            return None
        if groups[0] == TOGETHER and sorted(groups[1:]) == [TOGETHER, ODD]:
            return None
        return (
            f"The answer must have the first image and the one that is nearer to it in group "
            f"{TOGETHER}, and the other image in group {ODD}."
        )

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        """Cohen's kappa of one choice between two images: 1 if it is the same, -1 if not."""
        if len(known) < FEWEST or ODD not in known or ODD not in given:
            return None
        return kappa(2, known.index(ODD) == given.index(ODD))

    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return two images with one value of an attribute, and one image with another, which is
        never the first."""
        odd_one = super().known_from_values(values, wanted, size, max_groups, rng)
        place = odd_one.truth.index(ODD)
        pair = [image for k, image in enumerate(odd_one.images) if k != place]
        choices = [pair[1], odd_one.images[place]]
        is_swapped = bool(rng.integers(2))
        images = [pair[0], *(reversed(choices) if is_swapped else choices)]
        return KnownAnswer(images, truth(1 if is_swapped else 2, size))

    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        for name, rows in table.items():
            if [row.group for row in rows].count(rows[0].group) == 1:
                raise BadKnownAnswers(
                    f"The first image of grid {name!r} is the one that the others are compared "
                    "with, so one of them must have its group."
                )
        return super().known_from_table(table, max_groups)

    def simulate(
        self, crowd: Crowd, annotator: int, images: Sequence[int], max_groups: int
    ) -> SimulatedAnswer:
        """The crowd's annotator groups the images, and chooses the one with the first image; at
        random if that does not say which."""
        grouped = crowd.answer(annotator, images, n_bins=2)
        groups = grouped.groups.tolist()
        is_near = [group == groups[0] >= 0 for group in groups[1:]]
        if is_near.count(True) == 1:
            odd = 1 + is_near.index(False)
        else:
            rng = np.random.default_rng([crowd.random_state, annotator, *images])
            odd = int(rng.integers(1, 3))
        return SimulatedAnswer(np.array(truth(odd, len(images)), np.int64), [], grouped.attribute)
