"""A file that tells which attribute each answer is about, for the answers that a model learned
from.

A row is found by a digest of what the model read of the answer: annotator, images and groups. So
the file contains no key of the database, and still matches a campaign that was restored from an
archive under other keys.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.strategies.stored_arrays import StoredArrays

if TYPE_CHECKING:
    from learning.groupings import Groupings

FILE = "answer_attributes.safetensors"
NONE = -1
_KEY_BYTES = 8
# With eight bytes, two of a million answers have the same key with a probability of one in ten
# million.
_KEY = np.dtype("<u8")


class AnswerAttribute(NamedTuple):
    """The most likely attribute of an answer. `attribute` is None if the answer is most likely
    about none of the attributes. `probability` is that of this attribute, or of none."""

    attribute: int | None
    probability: float


@dataclass(frozen=True, eq=False)
class AnswerAttributes(StoredArrays):
    """One row for each answer that was learned from, ascending by key.

    key: (A,) uint64, see `answer_key`.
    attribute: (A,) int16; NONE if the answer is most likely about none of the attributes in use.
    probability: (A,) float32 of this attribute, or of none.
    """

    contents: ClassVar[str] = "answers' attributes"
    key: NDArray[np.uint64]
    attribute: NDArray[np.int16]
    probability: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.key)

    def find(self, keys: Sequence[int]) -> list[AnswerAttribute | None]:
        """Return the attributes of the answers with these keys, with None for answers that the
        model did not learn from."""
        wanted = np.array(keys, _KEY)
        place = np.searchsorted(self.key, wanted)
        place[place == len(self)] = 0
        known = self.key[place] == wanted if len(self) else np.zeros(len(wanted), np.bool_)
        return [
            self._row(row) if is_known else None
            for row, is_known in zip(place.tolist(), known.tolist(), strict=True)
        ]

    def _row(self, row: int) -> AnswerAttribute:
        number = int(self.attribute[row])
        probability = round(float(self.probability[row]), 4)
        return AnswerAttribute(None if number == NONE else number, probability)

    def _check(self) -> None:
        self._check_columns((len(self),), {"key": "u", "attribute": "i"})
        if not ((self.probability >= 0) & (self.probability <= 1)).all():
            raise ValueError("probabilities must be between 0 and 1")


def answer_key(annotator: int, images: Sequence[int], groups: Sequence[int]) -> int:
    """Return a number for what a model reads of an answer. Equal inputs are about the same
    attribute.

    `images` and `groups` have equal length and leave out images that the annotator could not see.
    """
    content = array("q", [annotator, *images, *groups])
    return int.from_bytes(blake2b(content.tobytes(), digest_size=_KEY_BYTES).digest(), "little")


def answer_attributes_of(
    probability: NDArray[np.float64], in_use: Sequence[int], answers: "Groupings"
) -> AnswerAttributes:
    """Return the table for (G, K) probabilities of the attributes. Attributes in use are
    distinguished, and all others count as none."""
    none = 1.0 - probability[:, in_use].sum(axis=1, keepdims=True)
    choices = np.concatenate([none, probability[:, in_use]], axis=1)
    best = choices.argmax(axis=1)
    numbers = np.array([NONE, *in_use], np.int16)
    shown = answers.images >= 0
    keys = [
        answer_key(annotator, images[here].tolist(), groups[here].tolist())
        for annotator, images, groups, here in zip(
            answers.annotators.tolist(), answers.images, answers.groups, shown, strict=True
        )
    ]
    key, row = np.unique(np.array(keys, _KEY), return_index=True)
    return AnswerAttributes(
        key,
        numbers[best[row]],
        choices[row, best[row]].clip(0.0, 1.0).astype(np.float32),
    )
