"""What the kinds have in common in which annotators choose from names that the requester gives."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from app.core.errors import InvalidInput
from app.kinds.known import BadKnownAnswers, KnownAnswer, KnownTable, Row
from app.kinds.votes import VoteKind

# In attributes, known answers and exports, this separates the labels of an image. Names can't
# contain it.
SEPARATOR = ";"


def same_name(name: str) -> str:
    """Return a name without what does not distinguish names: case and spaces."""
    return " ".join(name.split()).casefold()


class NamedChoicesKind(VoteKind):
    """Annotators answer about each image with the campaign's own names, `choices`. A kind of a
    campaign has them (`with_classes`); the kind itself has none.

    fewest_classes, most_classes: how many names a campaign has.
    """

    asks_for_classes: ClassVar[bool] = True
    # Shown to a requester who has not chosen names yet.
    suggested_classes: ClassVar[tuple[str, ...]] = ("class 1", "class 2")
    has_fixed_groups: ClassVar[bool] = False
    needs_known_value: ClassVar[bool] = False
    max_groups: ClassVar[int] = 2
    strategy: ClassVar[str] = "neucrowd"
    grid_size: ClassVar[int] = 24
    columns: ClassVar[int] = 6

    def __init__(self, classes: Sequence[str] = ()) -> None:
        self.choices = tuple(classes)  # type: ignore[misc]
        self.group_names = self._names_of_groups()  # type: ignore[misc]

    def with_classes(self, classes: Sequence[str]) -> Self:
        bound = copy(self)
        bound.__init__(classes)  # type: ignore[misc]
        return bound

    def checked_max_groups(self, wanted: int | None) -> int:
        """Return the number of names. Raises InvalidInput if `wanted` differs from it."""
        n_names = len(self.choices)
        if wanted not in (None, n_names):
            raise InvalidInput(
                f"A {self.name} campaign has as many groups as classes, which are {n_names}, so "
                f"max_groups can't be {wanted}. Leave it out.",
                code="bad_max_groups",
                fields=["max_groups"],
            )
        return n_names

    @abstractmethod
    def _names_of_groups(self) -> tuple[str, ...]:
        """Return what each group number means, in words."""

    @abstractmethod
    def _group_of(self, words: str) -> int | None:
        """Return the group number of an attribute's value, or of a group in a requester's list;
        None if it names no choice."""

    def known_from_values(
        self,
        values: dict[str, list[int]],
        wanted: str,
        size: int,
        max_groups: int,
        rng: np.random.Generator,
    ) -> KnownAnswer:
        """Return a grid of images whose values name choices, about as many of each value as there
        are of others, in random places.

        Raises BadKnownAnswers if there are fewer than two such values, or too few images.
        """
        images_of: dict[int, list[int]] = {}
        for value, images in sorted(values.items()):
            group = self._group_of(value)
            if group is not None:
                images_of.setdefault(group, []).extend(images)
        n_images = sum(map(len, images_of.values()))
        if len(images_of) < 2 or n_images < size:
            raise BadKnownAnswers(
                f"Known answers need {size} images whose value is the name of a class, of two "
                f"classes at least. There are {n_images} such images of {len(images_of)} classes. "
                f"The classes are {', '.join(map(repr, self.choices))}; the values are "
                f"{', '.join(map(repr, sorted(values)))[:200]}."
            )
        chosen = _evenly({group: list(rng.permutation(g)) for group, g in images_of.items()}, size)
        order = rng.permutation(len(chosen))
        return KnownAnswer([chosen[k][0] for k in order], [chosen[k][1] for k in order])

    def known_from_table(self, table: KnownTable, max_groups: int) -> list[KnownAnswer]:
        return [self._read_named_grid(name, rows) for name, rows in table.items()]

    def _read_named_grid(self, name: str, rows: list[Row]) -> KnownAnswer:
        truth = [self._read_group(row) for row in rows]
        if len(set(truth)) < 2:
            raise BadKnownAnswers(
                f"Grid {name!r} has the same group for all images, so the same answer for all "
                "images would be right. Each grid needs at least two groups."
            )
        return KnownAnswer([row.image for row in rows], truth)

    def _read_group(self, row: Row) -> int:
        group = self._group_of(row.group)
        if group is None:
            raise BadKnownAnswers(
                f"Line {row.line}: The group must be {self._group_rule()}, not {row.group[:200]!r}."
            )
        return group

    def _group_rule(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def _number_of(self, name: str) -> int | None:
        numbers = {same_name(choice): number for number, choice in enumerate(self.choices)}
        return numbers.get(same_name(name))

    def numbers_of(self, values: Sequence[str], attribute: str) -> NDArray[np.int64]:
        """Return (N,) the group number of each image from an attribute's values. Raises
        BadKnownAnswers with the values that are not names of classes."""
        groups = {value: self._group_of(value) for value in sorted(set(values))}
        unknown = [value for value, group in groups.items() if group is None]
        if unknown:
            raise BadKnownAnswers(
                f"The values of {attribute!r} must be {self._group_rule()}. These are not: "
                f"{', '.join(map(repr, unknown))[:200]}."
            )
        return np.array([groups[value] for value in values], np.int64)


def _evenly(images_of: dict[int, list[int]], size: int) -> list[tuple[int, int]]:
    """Take images with their groups, from each group in turn."""
    chosen: list[tuple[int, int]] = []
    while len(chosen) < size:
        for group, images in sorted(images_of.items()):
            if images and len(chosen) < size:
                chosen.append((int(images.pop()), group))
    return chosen
