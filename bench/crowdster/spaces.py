"""True spaces of images, and annotators who put near images into the same bin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from sklearn.decomposition import PCA

from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings

N_ANNOTATORS = 30
_STARTS, _STEPS = 6, 25
# With more, a block of grids x images x bins would not stay small.
_BLOCK = 2_048

FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSansMono.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Italic.ttf",
    "DejaVuSansMono-BoldOblique.ttf",
    "STIXGeneral.ttf",
    "STIXGeneralBolIta.ttf",
    "cmr10.ttf",
    "cmss10.ttf",
    "cmtt10.ttf",
    "cmti10.ttf",
)
LETTERS = "abdefghkmnpqrst"


@dataclass(frozen=True)
class Crowd:
    """Annotators who bin by k-means of true features (N, D); a share `noise` is misplaced."""

    features: FloatArray
    noise: float = 0.0
    n_bins: int = 4

    def answer(self, grids: IntArray, rng: np.random.Generator) -> Groupings:
        """The annotators' bins for grids (G, S)."""
        groups = np.concatenate(
            [
                self._bins(grids[start : start + _BLOCK], rng)
                for start in range(0, len(grids), _BLOCK)
            ]
        )
        stray = rng.random(groups.shape) < self.noise
        groups = np.where(stray, rng.integers(0, self.n_bins, groups.shape), groups)
        who = rng.integers(0, N_ANNOTATORS, len(grids))
        return Groupings(grids, groups, who, len(self.features), N_ANNOTATORS)

    def _bins(self, grids: IntArray, rng: np.random.Generator) -> IntArray:
        """K-means of all grids at once: the best of several k-means++ starts with Lloyd's steps."""
        shown = self.features[grids]
        best = np.full(len(grids), np.inf)
        bins = np.zeros(grids.shape, np.int64)
        for _ in range(_STARTS):
            groups, inertia = _lloyd(shown, _spread_starts(shown, self.n_bins, rng))
            better = inertia < best
            bins[better], best[better] = groups[better], inertia[better]
        return bins


def _spread_starts(shown: FloatArray, n_bins: int, rng: np.random.Generator) -> FloatArray:
    rows = np.arange(len(shown))
    middles = np.empty((len(shown), n_bins, shown.shape[2]))
    middles[:, 0] = shown[rows, rng.integers(0, shown.shape[1], len(shown))]
    gaps = ((shown - middles[:, [0]]) ** 2).sum(axis=2)
    for k in range(1, n_bins):
        odds = gaps + 1e-12
        odds /= odds.sum(axis=1, keepdims=True)
        chosen = (odds.cumsum(axis=1) > rng.random((len(shown), 1))).argmax(axis=1)
        middles[:, k] = shown[rows, chosen]
        gaps = np.minimum(gaps, ((shown - middles[:, [k]]) ** 2).sum(axis=2))
    return middles


def _lloyd(shown: FloatArray, middles: FloatArray) -> tuple[IntArray, FloatArray]:
    n_bins = middles.shape[1]
    for _ in range(_STEPS):
        gaps = ((shown[:, :, None] - middles[:, None]) ** 2).sum(axis=3)
        bins = gaps.argmin(axis=2)
        members = np.eye(n_bins)[bins]
        count = members.sum(axis=1)
        moved = np.einsum("gsc,gsd->gcd", members, shown) / np.maximum(count, 1)[..., None]
        middles = np.where(count[..., None] > 0, moved, middles)
    return bins, gaps.min(axis=2).sum(axis=1)


def space(name: str, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, D) true features of one of SPACES."""
    if name == "colours":
        return rng.random((n, 3))
    if name == "plane":
        return rng.random((n, 2))
    if name == "clusters":
        middles = 1.5 * rng.normal(size=(25, 3))
        return np.asarray(middles[rng.integers(0, 25, n)] + 0.3 * rng.normal(size=(n, 3)))
    if name == "features":
        # Forty non-linear features of six latent ones.
        latent = rng.normal(size=(n, 6))
        return np.asarray(np.tanh(latent @ rng.normal(size=(6, 40)) / 2.5))
    if name == "objects":
        return _objects(n, rng)
    if name == "mixture":
        # Forty categories in 40 dimensions whose spread decays.
        spread = np.arange(1, 41) ** -0.5
        middles = rng.normal(size=(40, 40)) * spread
        return np.asarray(middles[rng.integers(0, 40, n)] + 0.6 * rng.normal(size=(n, 40)) * spread)
    known = ", ".join([*SPACES, *HIGH_SPACES])
    raise ValueError(f"unknown space {name!r}; choose one of {known}")


SPACES = ("colours", "plane", "clusters", "features")
HIGH_SPACES = ("objects", "mixture")


def _objects(n: int, rng: np.random.Generator) -> FloatArray:
    """(n, 42) everyday objects with non-negative dimensions, of which each has a few.

    Objects come from 27 categories of unequal size with a profile of two to five dimensions,
    and also have some of the widespread dimensions, like the 1,854 objects of Hebart
    et al. (2020).
    """
    n_dimensions, n_categories = 42, 27
    size = np.arange(1, n_categories + 1) ** -0.6
    category = rng.choice(n_categories, n, p=size / size.sum())
    profile = np.zeros((n_categories, n_dimensions))
    for row in profile:
        n_own = rng.integers(2, 6)
        row[rng.choice(n_dimensions, n_own, replace=False)] = rng.gamma(2.0, 0.5, n_own)
    typical = np.exp(0.45 * rng.normal(size=(n, n_dimensions)))
    common = profile[category] * typical * (rng.random((n, n_dimensions)) < 0.85)
    widespread = np.arange(1, n_dimensions + 1) ** -0.5
    widespread = rng.permutation(widespread / widespread.sum())
    own = rng.random((n, n_dimensions)) < 5 * widespread
    own_size = own * rng.exponential(0.5, (n, n_dimensions))
    return np.asarray(common + own_size + rng.exponential(0.05, (n, n_dimensions)))


@cache
def letters() -> tuple[FloatArray, FloatArray, IntArray]:
    """The style of 180 letters of 12 fonts as people see them; their pixels; their fonts.

    The style of a font is what its letters have in common beyond the letter itself:
    pixels minus the mean of the same letter in all fonts, averaged over the letters, in
    the directions that distinguish fonts; each letter shows it slightly differently.
    returns (180, 11), (180, P), (180,)
    """
    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    pixels = np.stack([[_rendered(folder / font, letter) for letter in LETTERS] for font in FONTS])
    style = pixels - pixels.mean(axis=0)
    common = style.mean(axis=1)
    seen = PCA(len(FONTS) - 1).fit(common)
    own = seen.transform(style.reshape(-1, style.shape[2])).reshape(*style.shape[:2], -1)
    shared = seen.transform(common)[:, None]
    appearance = shared + 0.1 * (own - own.mean(axis=1, keepdims=True))
    fonts = np.repeat(np.arange(len(FONTS)), len(LETTERS))
    return appearance.reshape(len(fonts), -1), pixels.reshape(len(fonts), -1), fonts


def _rendered(font: Path, letter: str) -> FloatArray:
    """(32 * 32,) ink of a letter, centred on its baseline."""
    canvas = Image.new("L", (32, 32))
    draw = ImageDraw.Draw(canvas)
    draw.text((16, 23), letter, fill=255, font=ImageFont.truetype(str(font), 24), anchor="ms")
    return np.asarray(canvas, np.float64).ravel() / 255
