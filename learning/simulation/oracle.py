"""The best possible predictions of a simulated crowd's answers."""

from __future__ import annotations

import numpy as np

from learning.arrays import FloatArray, IntArray
from learning.simulation.attribute_crowd import _RANDOM_GROUPS, AttributeCrowd
from learning.simulation.attributes import GradedAttribute


def probability_same(
    crowd: AttributeCrowd,
    images: IntArray,
    annotators: IntArray,
    attribute: IntArray | None = None,
    knows_grid: bool = True,
) -> FloatArray:
    """(G, P) that two images of a grid are grouped together, in triu_indices(S, 1) order.

    The oracle knows the crowd, the annotator and, with `knows_grid`, what stands out in the
    grid; with `attribute` (G,) also what each answer was about (-1: noise). No model can be
    better on average unless it has seen the answers. images: (G, S). Leftovers are not modelled.
    """
    careless = crowd.carelessness[annotators][:, None]
    fine = crowd.fineness[annotators][:, None]
    noise = _noise(crowd, images, fine)
    by_attribute = [_along(crowd, a, images, fine) for a in crowd.attributes]
    if attribute is not None:
        # Index -1, of a noisy answer, is the last row.
        known = np.stack([*by_attribute, noise])
        return np.asarray(known[attribute, np.arange(len(images))])
    odds = crowd.attribute_odds(images, annotators) if knows_grid else crowd.preferences[annotators]
    clean = sum(odds[:, [k]] * same for k, same in enumerate(by_attribute))
    return np.asarray((1 - careless) * clean + careless * noise)


def _noise(crowd: AttributeCrowd, images: IntArray, fine: FloatArray) -> FloatArray:
    one_group, scattered, other = crowd.noise_mix
    by_chance = float(np.mean([1 / m for m in range(*_RANDOM_GROUPS)]))
    width = images.shape[1] * (images.shape[1] - 1) // 2
    same = np.full((len(images), width), one_group + scattered * by_chance)
    if crowd.other:
        outside = [_along(crowd, a, images, fine) for a in crowd.other]
        return np.asarray(same + other * np.mean(outside, axis=0))
    return same + other


def _along(
    crowd: AttributeCrowd, attribute: GradedAttribute, images: IntArray, fine: FloatArray
) -> FloatArray:
    """(G, P) of answers about one attribute, each annotator fine with probability (G, 1)."""
    first, second = np.triu_indices(images.shape[1], 1)
    total = np.zeros((len(images), len(first)))
    for is_fine, weight in ((False, 1 - fine), (True, fine)):
        member = attribute.membership(is_fine, crowd.perception)
        member = (1 - crowd.slips) * member + crowd.slips / member.shape[1]
        shown = member[images]
        same = np.einsum("gsc,gtc->gst", shown, shown)
        total += weight * same[:, first, second]
    return total
