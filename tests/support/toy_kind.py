"""A kind of task that the product does not have: pairs that people call alike or not."""

from collections.abc import Sequence
from typing import ClassVar

from app.kinds.base import Descriptions, Groups
from app.kinds.groupings import GroupingKind


class PairsKind(GroupingKind):
    """Two images in one bin are alike, in two bins they are not."""

    name: ClassVar[str] = "toy_pairs"
    interface: ClassVar[str] = "bins"
    title: ClassVar[str] = "Pairs"
    about: ClassVar[str] = "People say whether two images are alike."
    question: ClassVar[str] = "Are these alike?"
    strategy: ClassVar[str] = "cen"
    grid_size: ClassVar[int] = 2
    largest_grid: ClassVar[int] = 2
    max_groups: ClassVar[int] = 2
    has_fixed_groups: ClassVar[bool] = True
    columns: ClassVar[int] = 2
    seconds_per_grid: ClassVar[float] = 3.0

    def descriptions_of(self, chosen: str) -> Descriptions:
        return "none"

    def problem_of(self, groups: Groups) -> str | None:
        return None if self.is_sorted(groups) else "Both images must be in a bin."

    @staticmethod
    def is_sorted(groups: Sequence[int]) -> bool:
        return -1 not in groups
