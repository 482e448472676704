"""The parts of the deep mixture, held to what the paper's equations say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from learning.deep_mixture.batches import Sampler
from learning.deep_mixture.conjugate import (
    MixtureParameters,
    divergence,
    expected,
    prior_parameters,
    statistics,
)
from learning.deep_mixture.crowd_groups import crowd_groups
from learning.deep_mixture.features import fit_scaling
from learning.deep_mixture.local import local_optimum, update_x, update_z
from learning.deep_mixture.merging import merged
from learning.deep_mixture.pair_batches import PairSampler
from learning.deep_mixture.pair_classifier import classes_of_pairs, held_out_pairs
from learning.deep_mixture.pair_graph import PairGraph, make_graph
from learning.deep_mixture.workers import prior_workers, updated_workers
from learning.groupings import Groupings, Pairs
from tests.learning.semicrowd_data import blobs, crowd, matched_accuracy

CPU = torch.device("cpu")
PRIOR = (4.0, 1.0)


def _mixture(seed: int, n_clusters: int = 3, n_latent: int = 2) -> MixtureParameters:
    generator = torch.Generator().manual_seed(seed)
    points = 3 * torch.randn(40, n_latent, generator=generator)
    weights = torch.softmax(torch.randn(40, n_clusters, generator=generator), dim=1)
    second = points[:, :, None] * points[:, None, :]
    prior = prior_parameters(n_clusters, n_latent, 0.5, 0.1, CPU)
    return prior.plus(statistics(weights, points, second))


def _graph(pairs: Pairs) -> PairGraph:
    return make_graph(pairs, CPU)


def test_expectations_are_those_of_draws_from_the_posterior() -> None:
    mixture = _mixture(0, n_clusters=1)
    mean, scale, kappa, nu = mixture.standard()
    precision = torch.distributions.Wishart(nu[0], precision_matrix=scale[0]).sample((20_000,))
    noise = torch.randn(20_000, 2, 1, dtype=torch.float64)
    factor = torch.linalg.cholesky(kappa[0] * precision)
    drawn = mean[0] + torch.linalg.solve(factor.mT, noise)[:, :, 0]
    expectations = expected(mixture)
    pull = (precision @ drawn[:, :, None])[:, :, 0]
    torch.testing.assert_close(expectations.pull[0].double(), pull.mean(0), rtol=0.02, atol=0.02)
    torch.testing.assert_close(
        expectations.curve[0].double(), -0.5 * precision.mean(0), rtol=0.02, atol=0.02
    )
    offset = -0.5 * (drawn * pull).sum(dim=1).mean()
    torch.testing.assert_close(expectations.offset[0].double(), offset, rtol=0.02, atol=0.02)
    volume = 0.5 * torch.linalg.slogdet(precision)[1].mean()
    torch.testing.assert_close(expectations.volume[0].double(), volume, rtol=0.02, atol=0.02)


def test_the_divergence_is_zero_for_the_prior_and_positive_elsewhere() -> None:
    prior = prior_parameters(3, 2, 0.5, 0.1, CPU)
    assert abs(divergence(prior, prior)) < 1e-9
    assert divergence(_mixture(1), prior) > 1.0


def test_the_divergence_is_that_of_a_normal_gamma_also_for_many_items() -> None:
    prior = prior_parameters(1, 1, 0.5, 0.1, CPU)
    points = 50 + 0.1 * torch.randn(60_000, 1, dtype=torch.float64)
    posterior = prior.plus(
        statistics(torch.ones(60_000, 1), points, points[:, :, None] * points[:, None, :])
    )
    (m0, s0, k0, nu0), (m, s, k, nu) = (
        (part.reshape(()) for part in parameters.standard()) for parameters in (prior, posterior)
    )
    gamma = torch.distributions.Gamma
    wanted = torch.distributions.kl_divergence(gamma(nu / 2, s / 2), gamma(nu0 / 2, s0 / 2))
    wanted += 0.5 * (torch.log(k / k0) + k0 / k + k0 * nu / s * (m - m0) ** 2 - 1)
    assert divergence(posterior, prior) == pytest.approx(float(wanted), abs=1e-2)


def test_a_full_natural_gradient_step_is_the_conjugate_posterior() -> None:
    target, start = _mixture(2), _mixture(3)
    for actual, wanted in zip(start.toward(target, 1.0).tensors(), target.tensors(), strict=True):
        torch.testing.assert_close(actual, wanted)


def test_sweeps_end_where_neither_equation_moves_anything() -> None:
    mixture = expected(_mixture(4))
    mean, precision = torch.randn(7, 2), torch.rand(7, 2) + 0.5
    messages = torch.randn(7, 3)
    local = local_optimum(mixture, mean, precision, messages, 200)
    again = update_z(update_x(local.belief, mixture, mean, precision), mixture, messages)
    torch.testing.assert_close(again.belief, local.belief, rtol=1e-4, atol=1e-5)
    curve = (local.belief[0] @ mixture.curve.flatten(1)).view(2, 2)
    spread = torch.linalg.inv(torch.diag(precision[0]) - 2 * curve)
    right = precision[0] * mean[0] + local.belief[0] @ mixture.pull
    torch.testing.assert_close(local.mean[0], spread @ right, rtol=1e-4, atol=1e-4)


def test_messages_are_the_sum_over_annotated_neighbours_both_ways() -> None:
    pairs = Pairs(
        np.array([0, 1, 0]), np.array([4, 2, 9]), np.array([2, 9, 4]),
        np.array([True, False, True]), 10, 2,
    )  # fmt: skip
    graph = _graph(pairs)
    beliefs = torch.softmax(torch.randn(3, 4), dim=1)
    weights = torch.tensor([1.5, -2.0, 0.5])
    positions = {int(item): place for place, item in enumerate(graph.items)}
    wanted = torch.zeros(3, 4)
    for row in range(3):
        i, j = positions[int(pairs.i[row])], positions[int(pairs.j[row])]
        wanted[i] += weights[row] * beliefs[j]
        wanted[j] += weights[row] * beliefs[i]
    torch.testing.assert_close(graph.all_messages(weights, beliefs), wanted)
    some = torch.tensor([2, 0])
    torch.testing.assert_close(graph.messages(some, weights, beliefs), wanted[some])


def test_annotators_count_right_and_wrong_answers() -> None:
    prior = prior_workers(2, (4.0, 1.0), CPU)
    annotator = torch.tensor([0, 0, 0, 1])
    same = torch.tensor([True, False, False, True])
    workers = updated_workers(prior, annotator, same, torch.tensor([1.0, 1.0, 0.0, 0.25]))
    torch.testing.assert_close(workers.sensitivity[0], torch.tensor([5.0, 2.0]).double())
    torch.testing.assert_close(workers.specificity[0], torch.tensor([5.0, 1.0]).double())
    torch.testing.assert_close(workers.sensitivity[1], torch.tensor([4.25, 1.0]).double())
    torch.testing.assert_close(workers.specificity[1], torch.tensor([4.0, 1.75]).double())
    assert prior.divergence(prior) == 0
    assert workers.divergence(prior) > 0


def test_weights_of_a_batch_make_its_sum_an_unbiased_mean() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.arange(100, dtype=torch.float64) ** 2
    sampler = Sampler(100, torch.arange(80, 100), 16, generator)
    sums = []
    for _ in range(4000):
        batch = sampler.next()
        assert len(batch.items) == 16
        assert (batch.items[: len(batch.positions)] >= 80).all()
        sums.append((batch.weights.double() * values[batch.items]).sum())
    assert abs(float(torch.stack(sums).mean() / values.mean()) - 1) < 0.02


def test_pairs_come_grid_by_grid_without_bias() -> None:
    groupings = Groupings(
        np.array([[0, 1, 2, 3], [4, 5, -1, -1], [1, 4, 6, -1]]),
        np.array([[0, 0, 1, 1], [0, 0, -1, -1], [0, 1, 1, -1]]),
        np.array([0, 1, 1]), 7, 2,
    )  # fmt: skip
    graph = _graph(groupings.pairs())
    sampler = PairSampler(graph, 4, torch.Generator().manual_seed(0))
    drawn = [sampler.next() for _ in range(3000)]
    counts = sum(
        (scale * torch.bincount(chosen, minlength=len(graph)).double() for chosen, scale in drawn),
        torch.zeros(len(graph), dtype=torch.float64),
    )
    torch.testing.assert_close(
        counts / 3000, torch.ones(len(graph), dtype=torch.float64), rtol=0.1, atol=0.1
    )


def test_the_crowd_s_groups_are_found_beside_an_adversary() -> None:
    labels = np.repeat(np.arange(6), 12)
    truth = [0.9, 0.9, 0.9, 0.9, 0.1]
    pairs = crowd(labels, truth, truth, [300] * 5, seed=0)
    groups = crowd_groups(pairs.i, pairs.j, pairs.annotator, pairs.same, len(labels))
    assert matched_accuracy(labels, groups) > 0.95
    assert (np.diff(np.bincount(groups)) <= 0).all()


def test_a_classifier_of_pairs_finds_classes_that_answers_alone_cannot_join() -> None:
    features, labels = blobs(0)
    pairs = crowd(labels, [0.9] * 2, [0.9] * 2, [90] * 2, seed=1)
    graph = _graph(pairs)
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    scaled = fit_scaling(features, "gaussian")[1]
    classes = classes_of_pairs(scaled, graph, 3, held_out_pairs(graph, generator), PRIOR, generator)
    assert classes is not None
    assert matched_accuracy(labels, classes[0].argmax(dim=1).numpy()) > 0.9
    alone = crowd_groups(pairs.i, pairs.j, pairs.annotator, pairs.same, len(labels))
    assert matched_accuracy(labels, alone) < 0.9


def test_a_classifier_that_foretells_nothing_is_not_used() -> None:
    rng = np.random.default_rng(0)
    pairs = crowd(np.repeat([0, 1], 300), [0.9], [0.9], [120], seed=2)
    torch.manual_seed(0)
    noise = torch.from_numpy(rng.normal(size=(600, 3)).astype(np.float32))
    generator = torch.Generator().manual_seed(0)
    graph = _graph(pairs)
    split = held_out_pairs(graph, generator)
    assert classes_of_pairs(noise, graph, 2, split, PRIOR, generator) is None


def test_components_are_joined_when_the_crowd_says_so_and_only_then() -> None:
    labels = np.repeat([0, 1], 10)
    graph = _graph(crowd(labels, [1.0], [1.0], [200], seed=3))
    weights = torch.where(graph.same, 2.0, -2.0)
    item = graph.items
    # The first class lies in components 0 and 2 by its features, the second in 1.
    places = torch.where(item >= 10, 1, torch.where(item < 5, 0, 2))
    alone = torch.nn.functional.one_hot(places, 3).float()
    informed = torch.nn.functional.one_hot((item >= 10).long(), 3).float()
    mixture, prior = _mixture(5), prior_parameters(3, 2, 0.5, 0.1, CPU)
    merged_mixture, joined = merged(mixture, prior, graph, weights, alone, informed)
    kept = sorted(_used(merged_mixture, prior))
    assert kept in ([0, 1], [1, 2])
    torch.testing.assert_close(merged_mixture.strength.sum(), mixture.strength.sum())
    assert (alone @ joined)[:, kept].sum() == len(item)


def _used(mixture: MixtureParameters, prior: MixtureParameters) -> list[int]:
    held: Tensor = mixture.concentration - prior.concentration
    return [int(k) for k in torch.nonzero(held > 1e-6)[:, 0]]
