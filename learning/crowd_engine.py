"""A numpy interface to a fitted crowd model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from learning import crowd_model
from learning.answers import Answers
from learning.arrays import BoolArray, FloatArray, IntArray
from learning.base import Arrays, Progress, State
from learning.crowd_model import ATTRIBUTES, NONE, CrowdModel, Settings
from learning.crowd_places import place_variance
from learning.evidence import Evidence
from learning.feature_prior import FeaturePrior
from learning.groupings import Groupings
from learning.latent.behaviour import grid_spread
from learning.latent.model import LatentAttributes
from learning.latent.pair_model import N_LEVELS
from learning.layout import Layout, lay_out
from learning.pooled.model import PooledModel
from learning.pooled.views import Views

_CPU = torch.device("cpu")
_BLOCK = 8_192


class CrowdEngine:
    """Attributes numbered below K, and an embedding in K columns.

    A pooled embedding is one attribute, number 0, with as many columns as it needs.
    """

    def __init__(self, model: CrowdModel, k: int, number: IntArray, sign: FloatArray) -> None:
        """number: (A,) number of each attribute; sign: (K,) -1 for columns that are reversed."""
        self.model, self.k, self.number, self.sign = model, k, number, sign
        self.pooled = model.shown_pooled
        layout = lay_out(self._positions()[self.answered()], self._owner(), number, k)
        self.layout = Layout(layout.turn * sign, layout.attribute)
        self.embedding = self.layout.embedding(self._positions())
        self.embedding_error = self.layout.deviation(self._variance())
        self.annotator_activation = self._preferences()

    @classmethod
    def fit(
        cls,
        groupings: Groupings,
        settings: Settings,
        k: int,
        generator: torch.Generator,
        device: torch.device,
        progress: Progress | None,
    ) -> CrowdEngine:
        """Learn from all answers that separate their images or keep them together."""
        answers = Answers.of(groupings.subset(groupings.informative_grids()), device)
        step = _Steps(crowd_model.n_steps(len(answers), settings.n_starts) + 1, progress)
        model = _moved(crowd_model.learn(answers, settings, generator, step), _CPU)
        step.finish()
        number = np.zeros(1, np.int64)
        if _shows_attributes(model):
            number = _by_use(model, Answers.of(groupings, _CPU))
        return cls(model, k, number, np.ones(k))

    def with_model(self, model: CrowdModel) -> CrowdEngine:
        """A copy with a model of the same attributes."""
        return CrowdEngine(model, self.k, self.number, self.sign)

    @property
    def shows_attributes(self) -> bool:
        """Whether attributes are supported, rather than one embedding for everyone or nothing."""
        return _shows_attributes(self.model)

    @property
    def latent(self) -> LatentAttributes:
        """The attributes; only if `shows_attributes`."""
        assert self.model.latent is not None
        return self.model.latent

    def grid_activation(self, images: IntArray) -> FloatArray:
        """(G, K) probability that a typical annotator's answer is about each attribute."""
        parts = [np.zeros((0, self.k))]
        for start in range(0, len(images), _BLOCK):
            block = torch.as_tensor(images[start : start + _BLOCK].copy())
            parts.append(self._grid_activation(block))
        return np.concatenate(parts)

    def _grid_activation(self, images: Tensor) -> FloatArray:
        if not self.shows_attributes:
            typical = 1.0 - torch.sigmoid(self.pooled.error)
            return self._single(typical.expand(len(images)))
        behaviour = self.latent.behaviour.typical()
        present = images >= 0
        spread = grid_spread(self.latent.pairs, images.clamp(min=0), present)
        nobody = torch.zeros(len(images), dtype=torch.int64)
        return self._numbered(self.latent.attributes(behaviour.log_probability(nobody, spread)))

    def attribute_probability(self, groupings: Groupings, before_grouping: bool) -> FloatArray:
        """(G, K) probability that an answer is about each attribute; the rest to 1 is none."""
        if not len(groupings):
            return np.zeros((0, self.k))
        answers = Answers.of(groupings, _CPU)
        if self.shows_attributes:
            classes = self.latent.prior if before_grouping else self.latent.posterior
            return self._numbered(self.latent.attributes(classes(answers)))
        if before_grouping:
            return self._single(1.0 - self.pooled.errors(answers.annotators))
        return self._single(self.pooled.attribute_probability(answers))

    def pair_distance(self, groupings: Groupings) -> FloatArray:
        """(G, P) -log P(same), for every pair of the grid."""
        answers = Answers.of(groupings, _CPU)
        distance = -functional.logsigmoid(self.model.log_odds(answers))
        return _all_pairs(groupings, answers, distance)

    def expected_same(self, groupings: Groupings) -> BoolArray:
        """(G, P) whether an answer about this answer's attribute puts the pair together."""
        answers = Answers.of(groupings, _CPU)
        if self.shows_attributes:
            expected = self.latent.probability_same_after(answers)
        else:
            mean, _ = self.pooled.moments(answers.images, answers.annotators)
            expected = torch.sigmoid(mean)
        return np.asarray(_all_pairs(groupings, answers, expected) > 0.5)

    def held_out(self) -> tuple[NDArray[np.int8], FloatArray] | None:
        """(G, P) labels and -log P(same) of the held-out answers; None if there are none, and in
        a loaded model."""
        if self.model.held_out is None:
            return None
        distance = -functional.logsigmoid(self.model.held_out.log_odds)
        return self.model.held_out.labels.numpy(), _array(distance)

    def information(self) -> FloatArray:
        """(N, K) fractional number of answers about each image for each attribute."""
        if not self.shows_attributes:
            information = _array(self.pooled.placements).reshape(-1, 1)
            return np.repeat(information, self.k, axis=1)
        result = np.zeros((len(self.embedding), self.k))
        information, owner = _array(self.latent.information), self._owner()
        for place, number in enumerate(self.number):
            result[:, number] = information[:, owner == place].mean(axis=1)
        return result

    def answered(self) -> BoolArray:
        """(N,) images that features alone did not place."""
        prior = self.model.prior
        return np.ones(len(self._positions()), np.bool_) if prior is None else ~prior.unseen.numpy()

    def level_of_detail(self) -> FloatArray:
        """(W,) probability of a fine grouping."""
        if not self.shows_attributes:
            return _array(torch.sigmoid(-2.0 * self.pooled.coarseness))
        levels, _ = self._ordinary_classes()
        return _array(levels[:, :, 1].sum(dim=1) / levels.sum(dim=(1, 2)))

    def carelessness(self) -> FloatArray:
        """(W,) probability of an answer about none of the attributes."""
        if not self.shows_attributes:
            everyone = torch.arange(len(self.pooled.coarseness))
            return _array(self.pooled.errors(everyone))
        return _array(self._ordinary_classes()[1])

    def confidence(self) -> FloatArray:
        """(K,) probability that each attribute predicts held-out answers."""
        result = np.zeros(self.k)
        if self.model.structure != NONE:
            for number, evidence in zip(self.number, self.model.evidence, strict=True):
                result[number] = evidence.confidence
        return result

    def renumbered(self, order: IntArray) -> CrowdEngine:
        """A copy in which attribute order[k] gets number k; order: (K,)."""
        place = np.empty(self.k, np.int64)
        place[order] = np.arange(self.k)
        return CrowdEngine(self.model, self.k, place[self.number], np.ones(self.k))

    def turned(self, sign: FloatArray) -> CrowdEngine:
        """A copy with the columns reversed for which sign (K,) is -1."""
        return CrowdEngine(self.model, self.k, self.number, self.sign * sign)

    def arrays(self) -> tuple[Arrays, State]:
        """Everything that was learned."""
        model = self.model
        arrays = {"weights": model.weights.numpy(), "number": self.number, "sign": self.sign}
        arrays["places"] = model.places.numpy()
        parts = {"pooled": model.pooled.tensors()}
        if model.latent is not None:
            parts["latent"] = model.latent.tensors()
        if model.views is not None:
            parts["views"] = model.views.tensors()
        if model.prior is not None:
            parts["prior"] = model.prior.tensors()
            parts["expected"] = model.prior.pooled.tensors()
        for part, tensors in parts.items():
            arrays |= {f"{part}.{name}": tensor.numpy() for name, tensor in tensors.items()}
        evidence = [[each.gain, each.error, each.n] for each in model.evidence]
        state = {
            "structure": model.structure,
            "evidence": evidence,
            "trace": model.trace,
        }
        return arrays, state

    @classmethod
    def from_arrays(cls, arrays: Arrays, state: State, k: int) -> CrowdEngine:
        """Restore the engine from what `arrays` returned."""

        def tensors(part: str) -> dict[str, Tensor]:
            return {
                name.removeprefix(f"{part}."): torch.as_tensor(array)
                for name, array in arrays.items()
                if name.startswith(f"{part}.")
            }

        latent, views, prior = tensors("latent"), tensors("views"), tensors("prior")
        pooled = PooledModel(**tensors("pooled"))
        # Models that were saved before separate positions were shown do not have them.
        places = arrays.get("places")
        model = CrowdModel(
            LatentAttributes.from_tensors(latent) if latent else None,
            pooled,
            Views(**views) if views else None,
            pooled.positions if places is None else torch.as_tensor(places),
            torch.as_tensor(arrays["weights"]),
            str(state["structure"]),
            tuple(Evidence(*each) for each in state["evidence"]),
            dict(state["trace"]),
            prior=FeaturePrior(PooledModel(**tensors("expected")), **prior) if prior else None,
        )
        return cls(model, k, arrays["number"], arrays["sign"])

    def _positions(self) -> FloatArray:
        tensor = self.latent.pairs.positions if self.shows_attributes else self.model.places
        return _array(tensor)

    def _owner(self) -> IntArray:
        if self.shows_attributes:
            return self.latent.pairs.owner.numpy()
        return np.zeros(self.model.places.shape[1], np.int64)

    def _variance(self) -> FloatArray:
        """(N, M) variance of the coordinates that remains after this many answers."""
        if self.shows_attributes:
            spread = self._positions()[self.answered()].var(axis=0)
            variance = np.asarray(spread / (1.0 + _array(self.latent.information)))
        else:
            variance = _array(place_variance(self.pooled, self.model.places))
        prior = self.model.prior
        if prior is not None and not prior.is_shown:
            variance[prior.unseen.numpy()] = _array(prior.variance)
        return variance

    def _preferences(self) -> FloatArray:
        """(W, K) preference of each annotator in an ordinary grid."""
        if not self.shows_attributes:
            everyone = torch.arange(len(self.pooled.coarseness))
            return self._single(1.0 - self.pooled.errors(everyone))
        levels, _ = self._ordinary_classes()
        return self._numbered(levels.sum(dim=2))

    def _ordinary_classes(self) -> tuple[Tensor, Tensor]:
        behaviour = self.latent.behaviour
        everyone = torch.arange(len(behaviour.detail))
        ordinary = behaviour.spread_mean.expand(len(everyone), -1)
        probability = behaviour.log_probability(everyone, ordinary).exp()
        n_clean = self.latent.n_attributes * N_LEVELS
        levels = probability[:, :n_clean].reshape(len(everyone), -1, N_LEVELS)
        return levels, probability[:, n_clean:].sum(dim=1)

    def _numbered(self, by_place: Tensor) -> FloatArray:
        """Reorder (G, A) to (G, K) by the attributes' numbers."""
        result = np.zeros((len(by_place), self.k))
        result[:, self.number] = _array(by_place)
        return result

    def _single(self, probability: Tensor) -> FloatArray:
        """(G, K) of a pooled embedding; 0 if nothing is supported."""
        result = np.zeros((len(probability), self.k))
        if self.model.structure != NONE:
            result[:, self.number[0]] = _array(probability)
        return result


class _Steps:
    """Reports the model's steps as progress; `finish` reports the last one."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.total, self.done, self.progress = total, 0, progress

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None and self.done < self.total:
            self.progress(self.done, self.total, {})

    def finish(self) -> None:
        """Report that all is done, even if not every step was needed."""
        if self.progress is not None:
            self.progress(self.total, self.total, {})


def _by_use(model: CrowdModel, answers: Answers) -> IntArray:
    """(A,) numbers of the attributes, 0 for the one that most answers are about."""
    assert model.latent is not None
    share = model.latent.attributes(model.latent.posterior(answers)).mean(dim=0)
    number = np.empty(len(share), np.int64)
    number[np.argsort(-_array(share), kind="stable")] = np.arange(len(share))
    return number


def _shows_attributes(model: CrowdModel) -> bool:
    return model.structure == ATTRIBUTES


def _moved(model: CrowdModel, device: torch.device) -> CrowdModel:
    return replace(
        model,
        held_out=None if model.held_out is None else model.held_out.to(device),
        latent=None if model.latent is None else model.latent.to(device),
        pooled=model.pooled.to(device),
        views=None if model.views is None else model.views.to(device),
        places=model.places.to(device),
        weights=model.weights.to(device),
    )


def _all_pairs(groupings: Groupings, answers: Answers, values: Tensor) -> FloatArray:
    """(G, P) at the groupings' width, NaN for columns of padding, which answers drop."""
    first, second = np.triu_indices(groupings.grid_size, 1)
    width = answers.images.shape[1]
    result = np.full((len(groupings), len(first)), np.nan)
    result[:, (first < width) & (second < width)] = _array(values)
    return result


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.numpy(), np.float64)
