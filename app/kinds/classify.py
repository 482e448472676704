"""The kind `classify`: people give each image one of the requester's classes."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from app.kinds.base import Ballot, Groups
from app.kinds.classes import NamedChoicesKind
from learning.class_ballots import class_agreement, class_consistency
from learning.quality import Agreement
from learning.simulation import ClassCrowd, Crowd


class ClassifyKind(NamedChoicesKind):
    """A group's number is the number of the class among the campaign's `classes`. An image without
    a class has -1: the annotator could not tell."""

    name: ClassVar[str] = "classify"
    interface: ClassVar[str] = "classify"
    title: ClassVar[str] = "Classify"
    about: ClassVar[str] = (
        "People give each image one of up to ten classes that you name, such as cat, dog, neither."
    )
    question: ClassVar[str] = "Which class does each image belong to?"
    known_rule: ClassVar[str] = "The value of an image is the name of its class."
    known_groups: ClassVar[str] = "The group is the name of the image's class."
    ballot: ClassVar[Ballot] = "one_of"
    seconds_per_grid: ClassVar[float] = 45.0

    def _names_of_groups(self) -> tuple[str, ...]:
        return self.choices

    def _group_of(self, words: str) -> int | None:
        return self._number_of(words)

    def agreement(self, known: Groups, given: Groups) -> Agreement | None:
        return class_agreement(known, given)

    def consistency(self, earlier: Groups, later: Groups) -> Agreement | None:
        return class_consistency(earlier, later)

    def crowd(self, truth: Any, annotators: int, noise: float, careless: float, seed: int) -> Crowd:
        n_classes = len(self.choices)
        return ClassCrowd.of_people(truth, n_classes, annotators, noise, careless, seed)

    def truth_from(self, values: Sequence[str], attribute: str, wanted: str) -> Any:
        return self.numbers_of(values, attribute)

    def imagined(self, n_images: int, rng: np.random.Generator) -> Any:
        return rng.integers(len(self.choices), size=n_images)
