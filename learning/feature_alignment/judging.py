"""How well features predict held-out grids of held-out images, overall and per attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import BoolArray, FloatArray, IntArray, as_index_array
from learning.base import Progress
from learning.feature_alignment.ceiling import Ceiling, split_half
from learning.feature_alignment.folds import only_images
from learning.feature_alignment.inputs import Inputs, checked_features, in_blocks
from learning.feature_alignment.model import MIN_IMAGES, FeatureAlignment, in_grids
from learning.groupings import Groupings, Pairs
from learning.metrics import best_threshold, pair_accuracy, pair_auc

# Share of the grids that are held out, and of the images in each repeat.
_GRIDS, _IMAGES = 0.3, 0.5
MIN_PAIRS = 30

# Distances of pairs of images i, j (P,) by a model of these answers.
CampaignModel = Callable[[Groupings], Callable[[IntArray, IntArray], FloatArray]]


@dataclass(frozen=True)
class Score:
    """Of `n_pairs` pairs. accuracy: with the threshold that suits the training pairs; majority:
    of always predicting the more frequent label; error: standard deviation of the AUC over
    repeats, 0 with one."""

    auc: float
    accuracy: float
    majority: float
    n_pairs: int
    error: float


@dataclass(frozen=True, eq=False)
class FeatureScores:
    """raw: by the distance of scaled features; aligned: by a learned alignment; used: share of
    the repeats in which it used the features; by_attribute: raw and aligned scores of the held-out
    answers about each attribute."""

    raw: Score
    aligned: Score
    used: float
    by_attribute: dict[int, tuple[Score, Score]]


@dataclass(frozen=True, eq=False)
class Judgement:
    """features: of each set; seen: the campaign's model, for pairs of held-out grids whose
    images it was shown in others, None without a model; people: None if too few pairs were
    answered by both halves. Chance is an AUC of 0.5 and the majority's accuracy.
    """

    features: dict[str, FeatureScores]
    seen: Score | None
    people: Ceiling | None


@dataclass(frozen=True, eq=False)
class _Repeat:
    """train: grids without held-out images; test: held-out grids with only held-out images;
    seen: held-out grids with all images; whole: the training grids with all images;
    rows: (G',) the held-out grids."""

    train: Groupings
    test: Groupings
    whole: Groupings
    seen: Groupings
    rows: IntArray


def judge(
    features: Mapping[str, ArrayLike],
    groupings: Groupings,
    known: Mapping[str, ArrayLike] | None = None,
    attribute: ArrayLike | None = None,
    campaign: CampaignModel | None = None,
    n_repeats: int = 2,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Judgement:
    """Compare feature sets by held-out grids and images.

    features: (N, F) tables by name; known: (N,) bool by name, by default all; attribute: (G,)
    what each answer is about, -1 for nothing; campaign: fits a model to answers and returns its
    distances of pairs, for grids with images that were seen.

    In each repeat, half of the images and three in ten grids are held out: learning sees neither
    these grids nor these images. Both images of a tested pair are held out. Images
    without features in a set are left out of its test, so compare sets only with equal `known`.
    progress: of each fit; with fewer than MIN_IMAGES images to learn from there is none, and no
    score.
    Raises ValueError as `FeatureAlignment.fit` does.
    """
    tables = {
        name: checked_features(table, (known or {}).get(name), groupings.n_images)
        for name, table in features.items()
    }
    about = None if attribute is None else as_index_array("attribute", attribute, 1)
    if about is not None and len(about) != len(groupings):
        raise ValueError(f"attribute must be ({len(groupings)},), got shape {about.shape}")
    repeats = [_repeat(groupings, random_state + number) for number in range(n_repeats)]
    scores = {}
    for name, (table, mask) in tables.items():
        parts = [_of_set(table, mask, repeat, about, random_state, progress) for repeat in repeats]
        scores[name] = _joined(parts)
    return Judgement(scores, _seen(campaign, repeats), split_half(groupings, random_state))


def _repeat(groupings: Groupings, seed: int) -> _Repeat:
    train, test = groupings.split_rows(_GRIDS, seed)
    shown = np.flatnonzero(in_grids(groupings))
    held = np.zeros(groupings.n_images, np.bool_)
    order = np.random.default_rng([seed, 1]).permutation(shown)
    held[order[: round(_IMAGES * len(shown))]] = True
    whole, seen = groupings.subset(train), groupings.subset(test)
    return _Repeat(only_images(whole, ~held), only_images(seen, held), whole, seen, test)


@dataclass(frozen=True, eq=False)
class _Part:
    """Scores of one repeat, overall and by attribute; None with too few pairs."""

    raw: Score | None
    aligned: Score | None
    used: bool
    by_attribute: dict[int, tuple[Score, Score]]


def _of_set(
    table: NDArray[np.floating],
    mask: BoolArray,
    repeat: _Repeat,
    about: IntArray | None,
    seed: int,
    progress: Progress | None,
) -> _Part:
    shown = mask & in_grids(repeat.train)
    if shown.sum() < MIN_IMAGES:
        return _Part(None, None, False, {})
    model = FeatureAlignment(random_state=seed)
    model.fit(table, repeat.train, mask, progress=progress)
    scaling = Inputs.fit(table, seed, np.flatnonzero(shown))
    test = only_images(repeat.test, mask).pairs()
    train = only_images(repeat.train, mask).pairs()
    rows = np.unique(np.concatenate([test.i, test.j, train.i, train.j]))
    raw, places = (_of_rows(of, table, rows) for of in (scaling.transform, model.metric_places))

    def by_map(pairs: Pairs) -> FloatArray:
        return 1.0 - model.probability_of_places(places[pairs.i], places[pairs.j])

    def by_features(pairs: Pairs) -> FloatArray:
        return np.asarray(np.linalg.norm(raw[pairs.i] - raw[pairs.j], axis=1), np.float64)

    thresholds = [best_threshold(by(train), train.same) for by in (by_features, by_map)]
    distances = [by_features(test), by_map(test)]
    groups: dict[int | None, BoolArray] = {None: np.ones(len(test), np.bool_)}
    if about is not None and test.grid is not None:
        of_pair = about[repeat.rows[test.grid]]
        groups |= {int(k): of_pair == k for k in np.unique(of_pair[of_pair >= 0])}
    scored = {
        k: [
            _score(test.same[some], d[some], cut)
            for d, cut in zip(distances, thresholds, strict=True)
        ]
        for k, some in groups.items()
    }
    by_attribute = {
        k: (pair[0], pair[1])
        for k, pair in scored.items()
        if k is not None and pair[0] is not None and pair[1] is not None
    }
    overall = scored[None]
    return _Part(overall[0], overall[1], model.used_, by_attribute)


def _of_rows(
    of: Callable[[NDArray[np.floating]], ArrayLike], table: NDArray[np.floating], rows: IntArray
) -> FloatArray:
    """(N, d) what a transformation makes of these rows of (N, F), 0 for the others."""
    result: FloatArray | None = None
    for start, stop in in_blocks(len(rows), table.shape[1]):
        part = np.asarray(of(table[rows[start:stop]]), np.float64)
        if result is None:
            result = np.zeros((len(table), part.shape[1]))
        result[rows[start:stop]] = part
    return np.zeros((len(table), 1)) if result is None else result


def _score(same: BoolArray, distance: FloatArray, threshold: float) -> Score | None:
    if len(same) < MIN_PAIRS or same.all() or not same.any():
        return None
    share = float(same.mean())
    return Score(
        pair_auc(same, distance),
        pair_accuracy(same, distance < threshold),
        max(share, 1 - share),
        len(same),
        0.0,
    )


def _joined(parts: list[_Part]) -> FeatureScores:
    attributes = sorted({k for part in parts for k in part.by_attribute})
    return FeatureScores(
        _mean([part.raw for part in parts]),
        _mean([part.aligned for part in parts]),
        float(np.mean([part.used for part in parts])),
        {
            k: (
                _mean([part.by_attribute[k][0] for part in parts if k in part.by_attribute]),
                _mean([part.by_attribute[k][1] for part in parts if k in part.by_attribute]),
            )
            for k in attributes
        },
    )


def _mean(scores: list[Score | None] | list[Score]) -> Score:
    """Over the repeats; an AUC of NaN if none had enough pairs."""
    given = [score for score in scores if score is not None]
    if not given:
        return Score(float("nan"), float("nan"), float("nan"), 0, 0.0)
    aucs = [score.auc for score in given]
    return Score(
        float(np.mean(aucs)),
        float(np.mean([score.accuracy for score in given])),
        float(np.mean([score.majority for score in given])),
        round(float(np.mean([score.n_pairs for score in given]))),
        float(np.std(aucs, ddof=1)) if len(aucs) > 1 else 0.0,
    )


def _seen(campaign: CampaignModel | None, repeats: list[_Repeat]) -> Score | None:
    if campaign is None:
        return None
    scores = []
    for repeat in repeats:
        distance = campaign(repeat.whole)
        test, train = repeat.seen.pairs(), repeat.whole.pairs()
        cut = best_threshold(distance(train.i, train.j), train.same)
        scores.append(_score(test.same, distance(test.i, test.j), cut))
    return _mean(scores)
