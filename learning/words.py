"""The annotators' words for the sides of every attribute and for clusters of images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from learning.arrays import FloatArray, IntArray
from learning.groupings import Groupings

# A word differs from chance at this many standard deviations of its log odds ratio.
_MIN_SCORE = 1.0
_MIN_COUNT = 1.0
# Strength of the prior of Monroe et al., in words per cell.
_PRIOR = 10.0
_MAX_PHRASE = 3


@dataclass(frozen=True)
class AttributeWords:
    """Words for images low and high on the dimension, most distinctive first, and for groups
    between two others on it ("neutral" between "smiling" and "frowning")."""

    low: tuple[str, ...]
    high: tuple[str, ...]
    middle: tuple[str, ...] = ()


def attribute_words(
    embedding: FloatArray,
    probability: FloatArray,
    groupings: Groupings,
    descriptions: Sequence[Sequence[str]],
    n_words: int = 4,
) -> list[AttributeWords]:
    """Words and short phrases for each of K dimensions.

    embedding: (N, K); probability: (G, K) that each answer is about each dimension;
    descriptions: G sequences, the text of each group number (blank for none).

    A group's text counts for the side of a dimension on which its images are, relative to
    the grid's mean, as far as its answer is about the dimension. The text of a group between
    others counts for the middle. Raises ValueError if lengths do not match.
    """
    if len(descriptions) != len(groupings):
        raise ValueError(f"{len(descriptions)} lists of descriptions for {len(groupings)} answers")
    k = embedding.shape[1]
    texts, sides, middles = _described_groups(embedding, probability, groupings, descriptions)
    ranked = telling_words(texts, sides, n_words)
    # Words for the middle are compared with the words for all sides.
    between = telling_words(texts, np.hstack([sides, middles]), n_words)[2 * k :]
    return [AttributeWords(ranked[2 * d], ranked[2 * d + 1], between[d]) for d in range(k)]


def cluster_words(
    labels: IntArray,
    images: Sequence[Sequence[int]],
    groups: Sequence[Sequence[int]],
    descriptions: Sequence[Sequence[str]],
    n_words: int = 5,
    weights: FloatArray | None = None,
) -> list[tuple[str, ...]]:
    """Words and short phrases that distinguish each cluster, most distinctive first.

    labels: (N,) cluster of every image, from 0 on; images, groups: of each answer, aligned;
    descriptions: of each answer, by group number; weights: (G,) how much each answer counts,
    1 by default. A group's text counts for a cluster as far as its images are in it.
    """
    n_clusters = int(labels.max()) + 1
    counted = np.ones(len(descriptions)) if weights is None else weights
    texts: list[str] = []
    cells: list[FloatArray] = []
    answers = zip(images, groups, descriptions, counted, strict=True)
    for shown, given, words, weight in answers:
        where, assigned = labels[np.asarray(shown, np.int64)], np.asarray(given)
        for group, text in enumerate(words):
            members = where[assigned == group]
            if text.strip() and len(members):
                shares = np.bincount(members, minlength=n_clusters) / len(members)
                texts.append(text)
                cells.append(weight * shares)
    return telling_words(texts, np.array(cells).reshape(-1, n_clusters), n_words)


def telling_words(texts: list[str], weights: FloatArray, n_words: int) -> list[tuple[str, ...]]:
    """The words that distinguish each of C cells from the others.

    weights: (T, C) how far each text belongs to each cell. The first words serve as names, so a
    word comes first in one cell only, where its score is highest; other cells begin with their best
    word that names no cell yet, if they have one. The score is the log odds ratio of one
    cell compared with all others, with an informative Dirichlet prior (Monroe, Colaresi and Quinn,
    2008).
    """
    # Imported here: servers and commands start without it, in a second less.
    from sklearn.feature_extraction.text import CountVectorizer

    n_cells = weights.shape[1]
    vectorizer = CountVectorizer(analyzer=_words_and_phrase, binary=True)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:
        # scikit-learn raises "empty vocabulary" if nobody has written a word.
        return [()] * n_cells
    cells = np.asarray((scipy.sparse.csr_matrix(weights).T @ counts).todense())
    vocabulary = vectorizer.get_feature_names_out().tolist()
    return _different_first([_telling(cells, cell, vocabulary, n_words) for cell in range(n_cells)])


def _words_and_phrase(text: str) -> list[str]:
    """The text's words and, if they are few, all of them as one phrase. Parts of phrases, such as
    "red or", are not names."""
    words = re.findall(r"\w+", text.casefold())
    short = 1 < len(words) <= _MAX_PHRASE
    return [*words, " ".join(words)] if short else words


def _described_groups(
    embedding: FloatArray,
    probability: FloatArray,
    groupings: Groupings,
    descriptions: Sequence[Sequence[str]],
) -> tuple[list[str], FloatArray, FloatArray]:
    """Texts of all described groups, (T, 2K) their weight on each side, (T, K) in the middle."""
    k = embedding.shape[1]
    scale = embedding.std(axis=0) + 1e-9
    texts: list[str] = []
    weights: list[FloatArray] = []
    for row, words in enumerate(descriptions):
        shown = groupings.images[row] >= 0
        images, groups = groupings.images[row][shown], groupings.groups[row][shown]
        places = embedding[images]
        used_groups = np.unique(groups[groups >= 0])
        means = np.array([places[groups == group].mean(axis=0) for group in used_groups])
        for group, text in enumerate(words):
            if not text.strip() or group not in used_groups:
                continue
            mean = means[used_groups == group][0]
            offset = (mean - places.mean(axis=0)) / scale
            # The group must be between others, not just near the mean because it has most images.
            between = (means.min(axis=0) < mean) & (mean < means.max(axis=0))
            cells = np.empty(3 * k)
            cells[0 : 2 * k : 2] = probability[row] * np.clip(-offset, 0, 1)
            cells[1 : 2 * k : 2] = probability[row] * np.clip(offset, 0, 1)
            cells[2 * k :] = probability[row] * between * np.clip(1 - np.abs(offset), 0, 1)
            texts.append(text)
            weights.append(cells)
    weight_table = np.array(weights).reshape(-1, 3 * k)
    return texts, weight_table[:, : 2 * k], weight_table[:, 2 * k :]


def _different_first(ranked: list[dict[str, float]]) -> list[tuple[str, ...]]:
    """Words by cell, each with its score, as tuples whose first words differ where possible."""
    best = [max(scores.values(), default=-np.inf) for scores in ranked]
    names: dict[int, str] = {}
    for cell in sorted(range(len(ranked)), key=lambda cell: -best[cell]):
        unused = [word for word in ranked[cell] if word not in names.values()]
        if unused:
            names[cell] = unused[0]
    return [
        tuple(sorted(scores, key=lambda word: word != names.get(cell)))
        for cell, scores in enumerate(ranked)
    ]


def _telling(cells: FloatArray, cell: int, vocabulary: list[str], n_words: int) -> dict[str, float]:
    """The words that distinguish one of the cells (2K, V) of weighted counts, best first, with
    their scores."""
    here, everywhere = cells[cell], cells.sum(axis=0)
    prior = _PRIOR * everywhere / max(everywhere.sum(), 1e-9)
    score = _log_odds(here, prior) - _log_odds(everywhere - here, prior)
    score /= np.sqrt(1 / (here + prior + 1e-9) + 1 / (everywhere - here + prior + 1e-9))
    chosen: dict[str, float] = {}
    taken: set[str] = set()
    for word in np.argsort(-score, kind="stable"):
        if len(chosen) == n_words or score[word] < _MIN_SCORE:
            break
        parts = set(vocabulary[word].split())
        # "not smiling" and its parts count as one.
        if here[word] >= _MIN_COUNT and not parts & taken:
            chosen[vocabulary[word]] = float(score[word])
            taken |= parts
    return chosen


def _log_odds(counts: FloatArray, prior: FloatArray) -> FloatArray:
    smoothed = counts + prior
    return np.asarray(np.log(smoothed + 1e-9) - np.log(smoothed.sum() - smoothed + 1e-9))
