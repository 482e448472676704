"""The kind `labels`: people give each image any of the requester's labels, several at once."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.kinds.base import Ballot, Groups
from app.kinds.classes import SEPARATOR, NamedChoicesKind
from app.kinds.votes import IMAGINED_SHARE
from learning.class_ballots import label_agreement, label_consistency, on_off
from learning.quality import Agreement
from learning.simulation import Crowd, TagCrowd


class LabelsKind(NamedChoicesKind):
    """A group's number is a bit mask: bit `k` (with the value 2 to the power of `k`) is set if the
    image has label `k` of the campaign's `classes`. 0 means that it has none of them, and 5 that it
    has the first and the third. Ten labels need numbers up to 1,023."""

    name: ClassVar[str] = "labels"
    interface: ClassVar[str] = "labels"
    title: ClassVar[str] = "Label"
    about: ClassVar[str] = (
        "People give each image any of up to ten labels that you name, several at once or none."
    )
    question: ClassVar[str] = "Which labels fit each image?"
    known_rule: ClassVar[str] = "The value of an image names its labels, as in red; round."
    known_groups: ClassVar[str] = "The group names the image's labels, as in red; round."
    ballot: ClassVar[Ballot] = "any_of"
    suggested_classes: ClassVar[tuple[str, ...]] = ("label 1", "label 2")
    grid_size: ClassVar[int] = 12
    columns: ClassVar[int] = 4
    seconds_per_grid: ClassVar[float] = 45.0

    def n_groups(self, max_groups: int) -> int:
        return int(2**max_groups)

    def _names_of_groups(self) -> tuple[str, ...]:
        masks = on_off(np.arange(2 ** len(self.choices)), len(self.choices))
        joint = f"{SEPARATOR} "
        return tuple(
            joint.join(name for name, on in zip(self.choices, mask, strict=True) if on)
            for mask in masks
        )

    def _group_of(self, words: str) -> int | None:
        names = [name for name in words.split(SEPARATOR) if name.strip()]
        numbers = [self._number_of(name) for name in names]
        if None in numbers:
            return None
        return sum(1 << number for number in set(numbers) if number is not None)

    def _group_rule(self) -> str:
        return (
            f"labels separated by {SEPARATOR!r} (or empty), each one of {', '.join(self.choices)}"
        )

    def chosen(self, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
        return on_off(groups, len(self.choices))

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        return label_agreement(known, given, len(self.choices))

    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        return label_consistency(earlier, later, len(self.choices))

    def crowd(self, truth: Any, annotators: int, noise: float, careless: float, seed: int) -> Crowd:
        return TagCrowd.of_people(truth, annotators, noise, careless, seed)

    def truth_from(self, values: Sequence[str], attribute: str, wanted: str) -> Any:
        return on_off(self.numbers_of(values, attribute), len(self.choices))

    def imagined(self, n_images: int, rng: np.random.Generator) -> Any:
        return rng.random((n_images, len(self.choices))) < IMAGINED_SHARE
