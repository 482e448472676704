"""Weighted Sammon projection over a sparse set of pairs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

from learning.arrays import FloatArray, IntArray

_TINY = 1e-9


def random_scatter(n_images: int, n_dimensions: int, rng: np.random.Generator) -> FloatArray:
    """(N, d) images scattered uniformly, at unit scale."""
    return unit_scale(rng.uniform(-1.0, 1.0, (n_images, n_dimensions)))


def unit_scale(embedding: FloatArray) -> FloatArray:
    """Centre the embedding and scale it to a root mean square distance of 1 from the centre.

    Distances are only known up to scale. Without this, the factors of the update rule
    accumulate over the phases, and a tiny embedding stalls.
    """
    centred = embedding - embedding.mean(axis=0)
    scale = float(np.sqrt((centred**2).sum(axis=1).mean()))
    return np.asarray(centred / scale if scale > _TINY else centred)


def sammon_projection(
    start: FloatArray,
    i: IntArray,
    j: IntArray,
    target: FloatArray,
    epsilon: float,
    n_iterations: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Coordinates whose distances approximate the targets of the given pairs.

    start: (N, d); i, j: (P,) pairs; target: (P,) distances > 0. Minimises Sammon's
    stress  sum_p w_p (d_p - D_p)^2 / D_p  with w = 1 for these pairs. A positive
    `epsilon` adds the pairs not given, at their present distances, with that weight each,
    through a random sample of them. Returns (N, d) at unit scale.
    """
    weight = 1.0 / target
    if epsilon > 0:
        extra_i, extra_j, extra_target, share = _sample_others(start, len(i), rng)
        i, j = np.concatenate([i, extra_i]), np.concatenate([j, extra_j])
        weight = np.concatenate([weight, epsilon * share / extra_target])
        target = np.concatenate([target, extra_target])
    stress = _SparseStress(start.shape, i, j, target, weight)
    result = minimize(
        stress,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": n_iterations, "maxcor": 8},
    )
    return unit_scale(result.x.reshape(start.shape))


class _SparseStress:
    """Stress and its gradient; the pattern of pairs is computed once."""

    def __init__(
        self,
        shape: tuple[int, ...],
        i: IntArray,
        j: IntArray,
        target: FloatArray,
        weight: FloatArray,
    ) -> None:
        order = np.argsort(i, kind="stable")
        self.shape, self.i, self.j = shape, i[order], j[order]
        self.target = target[order]
        self.weight = weight[order] / weight.sum()
        rows = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=shape[0]))])
        self.force = csr_array(
            (np.zeros(len(i)), self.j, rows), shape=(shape[0], shape[0]), copy=False
        )

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        embedding = flat.reshape(self.shape)
        gaps = embedding[self.i] - embedding[self.j]
        distance = np.sqrt(np.einsum("pd,pd->p", gaps, gaps) + _TINY)
        excess = distance - self.target
        stress = float(self.weight @ excess**2)
        # dS/dx_i = sum_j 2 w (d - D) / d (x_i - x_j): a Laplacian times the coordinates.
        strength = 2.0 * self.weight * excess / distance
        self.force.data[:] = strength
        total = np.bincount(self.i, strength, self.shape[0])
        total += np.bincount(self.j, strength, self.shape[0])
        gradient = total[:, None] * embedding
        gradient -= self.force @ embedding + self.force.T @ embedding
        return stress, gradient.ravel()


def _sample_others(
    start: FloatArray, n_pairs: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray, float]:
    """Random pairs, their present distances, and how many pairs each stands for."""
    n_images = len(start)
    i = rng.integers(0, n_images, n_pairs)
    j = (i + rng.integers(1, n_images, n_pairs)) % n_images
    distance = np.linalg.norm(start[i] - start[j], axis=1)
    n_all = n_images * (n_images - 1) / 2
    return i, j, np.maximum(distance, 1e-3), n_all / max(1, n_pairs)
