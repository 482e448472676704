"""Collections and crowds like those of the CEN paper, section 4: CELEBA, BIRDS, RETINA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings
from learning.queries import random_grids
from learning.simulation.attribute_crowd import AttributeCrowd, Choices
from learning.simulation.attributes import GradedAttribute

GRID_SIZE = 24


@dataclass(frozen=True, eq=False)
class Scene:
    """One simulated experiment.

    groupings: (G, 24) answers to random grids; choices: what each was about;
    species: (N,) true classes, where the collection has any.
    """

    name: str
    crowd: AttributeCrowd
    groupings: Groupings
    choices: Choices
    species: IntArray | None = None


def celeba_like(
    seed: int,
    n_grids: int = 620,
    salience: float = 0.7,
    n_images: int = 300,
    n_annotators: int = 94,
) -> Scene:
    """300 faces, four attributes of two or three values, 19 % of the answers noise."""
    rng = np.random.default_rng([seed, 1])
    attributes = [
        categories("gender", [0.5, 0.5], n_images, rng, words=("men", "women")),
        categories(
            "expression",
            [0.4, 0.25, 0.35],
            n_images,
            rng,
            coarse=0,
            words=("smiling", "neutral", "serious"),
        ),
        categories(
            "skin", [0.35, 0.2, 0.45], n_images, rng, coarse=1, words=("dark", "tan", "light")
        ),
        categories(
            "gaze", [0.55, 0.25, 0.2], n_images, rng, coarse=0, words=("front", "left", "right")
        ),
    ]
    other = [categories(f"other {i}", [0.7, 0.3], n_images, rng) for i in range(6)]
    preferences = rng.dirichlet(np.full(4, 0.8), n_annotators)
    crowd = AttributeCrowd(
        attributes,
        preferences,
        fineness=rng.beta(0.6, 0.9, n_annotators),
        carelessness=_carelessness(0.191, n_annotators, rng),
        salience=salience,
        perception=0.12,
        slips=0.04,
        other=other,
        noise_mix=(0.35, 0.15, 0.5),
        random_state=seed,
    )
    return _played("celeba", crowd, n_grids, seed)


def birds_like(
    seed: int,
    n_grids: int = 3_000,
    salience: float = 0.7,
    n_images: int = 1_000,
    n_annotators: int = 252,
    n_species: int = 16,
) -> Scene:
    """1,000 birds of 16 species, each a combination of values of four attributes."""
    rng = np.random.default_rng([seed, 2])
    n_values = np.array([3, 3, 4, 2])
    codes = species_codes(n_species, n_values, rng)
    species = rng.permutation(np.arange(n_images) % n_species)
    attributes = []
    for k, v in enumerate(n_values.tolist()):
        values = codes[species, k]
        positions = values + 0.15 * rng.standard_normal(n_images)
        cuts = np.arange(v - 1) + 0.5
        coarse = cuts[[int(rng.integers(len(cuts)))]]
        attributes.append(GradedAttribute(f"attribute {k}", positions, cuts, coarse))
    other = [categories(f"other {i}", [0.7, 0.3], n_images, rng) for i in range(6)]
    crowd = AttributeCrowd(
        attributes,
        rng.dirichlet(np.full(4, 0.8), n_annotators),
        fineness=rng.beta(0.9, 0.6, n_annotators),
        carelessness=_carelessness(0.256, n_annotators, rng),
        salience=salience,
        perception=0.12,
        slips=0.05,
        other=other,
        noise_mix=(0.3, 0.3, 0.4),
        random_state=seed,
    )
    return _played("birds", crowd, n_grids, seed, species)


def retina_like(
    seed: int,
    n_grids: int = 620,
    salience: float = 0.3,
    n_images: int = 300,
    n_annotators: int = 62,
) -> Scene:
    """300 patches, four subtle and partly dependent attributes, annotators who fixate."""
    rng = np.random.default_rng([seed, 3])
    shared = rng.standard_normal(n_images)
    names = ("optic disc", "vessels", "laser scars", "exudates")
    attributes = []
    for k, (name, share) in enumerate(zip(names, (0.25, 0.5, 0.3, 0.3), strict=True)):
        own = rng.standard_normal(n_images)
        positions = 0.7 * shared + 0.714 * own if k < 2 else own
        cut = np.quantile(positions, 1 - share)
        fine = np.sort([cut, np.quantile(positions, (1 - share) / 2)])
        attributes.append(GradedAttribute(name, positions, fine, np.array([cut])))
    other = [categories(f"other {i}", [0.6, 0.4], n_images, rng) for i in range(6)]
    crowd = AttributeCrowd(
        attributes,
        rng.dirichlet(np.full(4, 0.25), n_annotators),
        fineness=rng.beta(0.5, 0.8, n_annotators),
        carelessness=_carelessness(0.2, n_annotators, rng),
        salience=salience,
        perception=0.35,
        slips=0.05,
        other=other,
        noise_mix=(0.3, 0.3, 0.4),
        random_state=seed,
    )
    return _played("retina", crowd, n_grids, seed)


SCENES: dict[str, Callable[..., Scene]] = {
    "celeba": celeba_like,
    "birds": birds_like,
    "retina": retina_like,
}


def categories(
    name: str,
    shares: list[float],
    n_images: int,
    rng: np.random.Generator,
    coarse: int | None = None,
    words: tuple[str, ...] = (),
) -> GradedAttribute:
    """An attribute with one value per share, places 0, 1, 2, ... and a little ambiguity."""
    values = rng.choice(len(shares), n_images, p=shares)
    positions = values + 0.18 * rng.standard_normal(n_images)
    cuts = np.arange(len(shares) - 1, dtype=np.float64) + 0.5
    return GradedAttribute(name, positions, cuts, cuts if coarse is None else cuts[[coarse]], words)


def species_codes(n_species: int, n_values: IntArray, rng: np.random.Generator) -> IntArray:
    """(n_species, A) different combinations of attribute values."""
    every = np.stack(np.meshgrid(*[np.arange(v) for v in n_values], indexing="ij"), -1)
    every = every.reshape(-1, len(n_values))
    return np.asarray(every[rng.choice(len(every), n_species, replace=False)])


def _carelessness(mean: float, n: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.beta(2 * mean, 2 * (1 - mean), n))


def _played(
    name: str, crowd: AttributeCrowd, n_grids: int, seed: int, species: IntArray | None = None
) -> Scene:
    rng = np.random.default_rng([seed, 5])
    grids = random_grids(n_grids, GRID_SIZE, crowd.n_images, rng)
    who = rng.permutation(np.arange(n_grids) % crowd.n_annotators)
    groupings, choices = crowd.answer_grids(grids, who, seed)
    return Scene(name, crowd, groupings, choices, species)
