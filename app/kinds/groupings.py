"""What the kinds have in common in which annotators put images that belong together into groups."""

from typing import ClassVar

import numpy as np

from app.kinds.base import AnswerForm, Groups, Kind
from app.kinds.known import BadKnownAnswers, KnownAnswer, KnownTable, Row
from learning.quality import Agreement, agreement, consistency, is_one_group

MOST_KNOWN_GROUPS = 4


class GroupingKind(Kind):
    """Two answers are compared by which images are together in them."""

    question: ClassVar[str] = "Which of these images belong together?"
    form: ClassVar[AnswerForm] = "groupings"
    views: ClassVar[int] = 16
    fewest_views: ClassVar[float] = 4.0
    views_tried: ClassVar[tuple[int, ...]] = (4, 8, 16, 32, 64)

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        return agreement(known, given)

    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        return consistency(earlier, later)

    def is_flat(self, groups: Groups) -> bool:
        return is_one_group(groups)

    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return a grid with a few values of an attribute, in random places.

        It uses as many values as it needs to fill the grid: two to four if they are enough. Raises
        BadKnownAnswers if fewer than two values have at least two images, or if there are too few
        images in all.
        """
        usable = [value for value, images in sorted(values.items()) if len(images) > 1]
        most = min(max_groups, len(usable), size // 2)
        if most < 2:
            raise BadKnownAnswers(
                "Known answers need an attribute with at least two values that have at least two "
                "images each."
            )
        n_groups = int(rng.integers(2, min(MOST_KNOWN_GROUPS, most) + 1))
        order_of = rng.permutation(len(usable))
        chosen = [values[usable[which]] for which in order_of[:n_groups]]
        for which in order_of[n_groups:most]:
            if sum(map(len, chosen)) >= size:
                break
            chosen.append(values[usable[which]])
        if sum(map(len, chosen)) < size:
            chosen = sorted((values[value] for value in usable), key=len)[-most:]
        shares = _shares([len(images) for images in chosen], size)
        placed = [
            (int(image), group)
            for group, (images, share) in enumerate(zip(chosen, shares, strict=True))
            for image in rng.permutation(images)[:share]
        ]
        order = rng.permutation(len(placed))
        return KnownAnswer([placed[k][0] for k in order], [placed[k][1] for k in order])

    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        return [_read_grid(name, rows, max_groups) for name, rows in table.items()]

    def few_views(self, views: float) -> str | None:
        if views >= self.fewest_views:
            return None
        return (
            f"Each image is shown only {views:.1f} times on average, which is too few to find its "
            "neighbours. Choose a larger budget or a smaller collection."
        )


def _shares(available: list[int], size: int) -> list[int]:
    """Return how many images each value gets, as evenly as possible. Raises BadKnownAnswers."""
    if sum(available) < size:
        raise BadKnownAnswers(
            f"Known answers need {size} images with the attribute's most frequent values. There "
            f"are only {sum(available)}."
        )
    shares = [0] * len(available)
    while sum(shares) < size:
        unfilled = [k for k, n in enumerate(available) if shares[k] < n]
        fewest = min(unfilled, key=lambda k: shares[k])
        shares[fewest] += 1
    return shares


def _read_grid(name: str, rows: list[Row], max_groups: int) -> KnownAnswer:
    numbers: dict[str, int] = {}
    truth = [numbers.setdefault(row.group, len(numbers)) for row in rows]
    if not 2 <= len(numbers) <= max_groups or len(numbers) == len(rows):
        raise BadKnownAnswers(
            f"Grid {name!r} has {len(numbers)} groups of {len(rows)} images. It needs 2 to "
            f"{max_groups} groups, one of them with at least two images."
        )
    return KnownAnswer([row.image for row in rows], truth)
