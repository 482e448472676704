"""What the kinds have in common in which annotators vote on each image."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from app.core.errors import InvalidInput
from app.kinds.base import AnswerForm, Ballot, Groups, Kind
from app.kinds.known import BadKnownAnswers, KnownAnswer, KnownTable, Row
from learning.ballots import CHOICES, NO, UNSURE, YES, ballot_agreement, ballot_consistency
from learning.quality import Agreement
from learning.simulation import Crowd, VoteCrowd

# The share of images that show what is asked for, if it is imagined.
IMAGINED_SHARE = 0.3


class VoteKind(Kind):
    """Annotators answer about each image separately. Answers are compared image by image."""

    form: ClassVar[AnswerForm] = "votes"
    ballot: ClassVar[Ballot]
    group_noun: ClassVar[str] = ""
    # A campaign ends by itself when its labels are good enough.
    views: ClassVar[int] = 5
    views_tried: ClassVar[tuple[int, ...]] = (1, 2, 3, 5, 8)
    prefers_new_images: ClassVar[bool] = True

    def is_flat(self, groups: Groups) -> bool:
        """If something is rare or common, an honest answer often says the same about all images, so
        only gold grids show whether someone looks."""
        return False

    @abstractmethod
    def crowd(self, truth: Any, annotators: int, noise: float, careless: float, seed: int) -> Crowd:
        """Return simulated annotators with a mean error of `noise`, of whom a share `careless`
        guesses. truth: what `truth_from` or `imagined` returned."""

    @abstractmethod
    def truth_from(self, values: Sequence[str], attribute: str, wanted: str) -> Any:
        """Return (N, …) the right answer about each image from the values of an attribute. wanted:
        the value that is asked for, where the kind needs one. Raises InvalidInput."""

    @abstractmethod
    def imagined(self, n_images: int, rng: np.random.Generator) -> Any:
        """Return (N, …) right answers that have nothing to do with the images."""

    def few_views(self, views: float) -> str | None:
        if views >= 1:
            return None
        return (
            f"The budget is enough to show only {views:.0%} of the images. The classifier alone "
            "labels the others."
        )


class YesNoKind(VoteKind):
    """Groups are the choices of learning/ballots.py."""

    ballot: ClassVar[Ballot] = "yes_no"
    choices: ClassVar[tuple[str, ...]] = CHOICES
    group_names: ClassVar[tuple[str, ...]] = CHOICES
    max_groups: ClassVar[int] = len(CHOICES)
    has_fixed_groups: ClassVar[bool] = True
    needs_known_value: ClassVar[bool] = True
    known_rule: ClassVar[str] = (
        "Images with one value of the attribute are to be ticked, all others are not."
    )
    known_groups: ClassVar[str] = (
        "The group is yes for images that are to be ticked, and no for all others."
    )
    undecided: ClassVar[tuple[int, ...]] = (UNSURE,)

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        return ballot_agreement(known, given)

    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        return ballot_consistency(earlier, later)

    def crowd(self, truth: Any, annotators: int, noise: float, careless: float, seed: int) -> Crowd:
        return VoteCrowd.of_people(truth, annotators, noise, careless, seed)

    def truth_from(self, values: Sequence[str], attribute: str, wanted: str) -> Any:
        column = np.array(values)
        if not 0 < (column == wanted).sum() < len(column):
            raise InvalidInput(
                f"Some images must have {attribute} {wanted!r} and others must not. Existing "
                f"values: {', '.join(sorted(set(column.tolist())))[:200]}."
            )
        return column == wanted

    def imagined(self, n_images: int, rng: np.random.Generator) -> Any:
        return rng.random(n_images) < IMAGINED_SHARE

    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return a grid with images in random places. If possible, a quarter to a half of them have
        the value `wanted` and should be ticked.

        Raises BadKnownAnswers if no image has the value, no image has another value, or there are
        too few images in all.
        """
        shown = values.get(wanted, [])
        others = [image for value, images in values.items() if value != wanted for image in images]
        if not shown or not others or len(shown) + len(others) < size:
            raise BadKnownAnswers(
                f"Known answers need {size} images with the attribute, some with the value "
                f"{wanted!r} and some with others. There are {len(shown)} and {len(others)}. Its "
                f"values are {', '.join(map(repr, sorted(values)))[:200]}."
            )
        n_wanted = int(rng.integers(max(1, size // 4), max(1, size // 2) + 1))
        n_shown = min(max(n_wanted, size - len(others), 1), len(shown), size - 1)
        votes = [(int(image), YES) for image in rng.permutation(shown)[:n_shown]]
        votes += [(int(image), NO) for image in rng.permutation(others)[: size - n_shown]]
        order = rng.permutation(len(votes))
        return KnownAnswer([votes[k][0] for k in order], [votes[k][1] for k in order])

    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        return [_read_grid(name, rows) for name, rows in table.items()]


def _read_grid(name: str, rows: list[Row]) -> KnownAnswer:
    truth = [_vote(row) for row in rows]
    if len(set(truth)) < 2:
        raise BadKnownAnswers(
            f"Grid {name!r} needs images with the group yes and images with the group no. "
            "Otherwise the same answer for all images would be right."
        )
    return KnownAnswer([row.image for row in rows], truth)


def _vote(row: Row) -> int:
    if row.group.lower() not in CHOICES[:2]:
        raise BadKnownAnswers(
            f"Line {row.line}: The group must be yes or no, not {row.group[:200]!r}."
        )
    return CHOICES.index(row.group.lower())
