"""A fitted latent attribute model, asked about grids in numpy."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor

from learning.answers import Answers
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.base import Arrays, Progress
from learning.groupings import Groupings
from learning.latent import model as latent
from learning.latent.habits import grid_spread
from learning.latent.pair_model import N_LEVELS

_CPU = torch.device("cpu")
_BLOCK = 8_192


class LatentEngine:
    """embedding: (N, K); annotator_activation: (W, K), rows that sum to 1."""

    def __init__(self, model: latent.LatentAttributes) -> None:
        self.model = model
        self.embedding = _array(model.pairs.positions)
        self.annotator_activation = self._preferences()

    @classmethod
    def fit(
        cls,
        groupings: Groupings,
        n_dimensions: int,
        variant: str,
        n_starts: int,
        generator: torch.Generator,
        device: torch.device,
        progress: Progress | None,
        previous: LatentEngine | None = None,
    ) -> Self:
        """Learn from all answers that part their images or keep them together."""
        answers = Answers.of(groupings.subset(groupings.informative_grids()), device)
        total = latent.n_steps(n_starts) if previous is None else 1
        step = _Steps(total, progress)
        if previous is None:
            model = latent.fit(answers, n_dimensions, variant, n_starts, generator, step)
        else:
            model = latent.refit(answers, previous.model.to(device), variant, generator, step)
        step.finish()
        return cls(model.to(_CPU))

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) probability that a typical annotator's answer is about each attribute."""
        typical = self.model.habits.typical()
        parts = [np.zeros((0, self.embedding.shape[1]))]
        for start in range(0, len(images), _BLOCK):
            block = torch.as_tensor(images[start : start + _BLOCK].copy())
            present = block >= 0
            spread = grid_spread(self.model.pairs.positions, block.clamp(min=0), present)
            nobody = torch.zeros(len(block), dtype=torch.int64)
            parts.append(_array(self.model.attributes(typical.log_probability(nobody, spread))))
        return np.concatenate(parts)

    def activation(self, groupings: Groupings) -> FloatArray:
        """(G, K) probability that the answer is about each attribute, before its grouping."""
        return self.attribute_probability(groupings, before_grouping=True)

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) -log P(same), for every pair of the grid."""
        answers = Answers.of(groupings, _CPU)
        return -np.log(_all_pairs(groupings, answers, self.model.probability_same(answers)))

    def expected_same(self, groupings: Groupings) -> BoolArray:
        """(G, P) whether an answer about the attribute that this one shows puts it together."""
        answers = Answers.of(groupings, _CPU)
        expected = self.model.probability_same_after(answers)
        return np.asarray(_all_pairs(groupings, answers, expected) > 0.5)

    def attribute_probability(self, groupings: Groupings, before_grouping: bool) -> FloatArray:
        """(G, K) rows that sum to 1."""
        if not len(groupings):
            return np.zeros((0, self.embedding.shape[1]))
        answers = Answers.of(groupings, _CPU)
        if before_grouping:
            return _array(self.model.attribute_before(answers))
        return _array(self.model.attribute_after(answers))

    def arrays(self) -> Arrays:
        """All that was learned."""
        return {name: tensor.numpy() for name, tensor in self.model.tensors().items()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """What `arrays` gave."""
        tensors = {name: torch.as_tensor(array) for name, array in arrays.items()}
        return cls(latent.LatentAttributes.from_tensors(tensors))

    def _preferences(self) -> FloatArray:
        """(W, K) what each annotator looks at in an ordinary grid."""
        habits = self.model.habits
        everyone = torch.arange(len(habits.detail))
        ordinary = habits.spread_mean.expand(len(everyone), -1)
        return _array(self.model.attributes(habits.log_probability(everyone, ordinary)))

    def rearranged(self, order: IntArray, sign: FloatArray) -> LatentEngine:
        """With its dimensions in another (K,) order, turned round where sign (K,) is -1."""
        columns = self.model.columns(
            torch.as_tensor(order.copy()), torch.as_tensor(sign, dtype=torch.float32)
        )
        return LatentEngine(columns)

    def information(self) -> FloatArray:
        """(N, K) answers, in fractions, that placed each image on each attribute."""
        return _array(self.model.information)

    def level_of_detail(self) -> FloatArray:
        """(W,) probability of a fine grouping."""
        levels, _ = self._ordinary_classes()
        return _array(levels[:, :, 1].sum(dim=1) / levels.sum(dim=(1, 2)))

    def carelessness(self) -> FloatArray:
        """(W,) probability of an answer about none of the attributes."""
        _, noise = self._ordinary_classes()
        return _array(noise)

    def _ordinary_classes(self) -> tuple[Tensor, Tensor]:
        habits = self.model.habits
        everyone = torch.arange(len(habits.detail))
        ordinary = habits.spread_mean.expand(len(everyone), -1)
        probability = habits.log_probability(everyone, ordinary).exp()
        n_clean = self.model.n_dimensions * N_LEVELS
        levels = probability[:, :n_clean].reshape(len(everyone), -1, N_LEVELS)
        return levels, probability[:, n_clean:].sum(dim=1)


class _Steps:
    """Turns the model's steps into progress; the last one is told by `finish`."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self.progress = total, 0, progress

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None and self.done < self.total:
            self.progress(self.done, self.total, {})

    def finish(self) -> None:
        """All done, whether or not every step was needed."""
        if self.progress is not None:
            self.progress(self.total, self.total, {})


def _all_pairs(groupings: Groupings, answers: Answers, values: Tensor) -> FloatArray:
    """(G, P) of the groupings' width, NaN for columns that only pad: answers drop those."""
    first, second = np.triu_indices(groupings.grid_size, 1)
    width = answers.images.shape[1]
    result = np.full((len(groupings), len(first)), np.nan)
    result[:, (first < width) & (second < width)] = _array(values)
    return result


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.numpy(), np.float64)
