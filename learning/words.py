"""The annotators' own words for the two sides of every attribute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import (
    CountVectorizer,
)

from learning.arrays import FloatArray
from learning.groupings import Groupings

# A word is told from chance at this many deviations of its log odds ratio.
_MIN_SCORE = 1.0
_MIN_COUNT = 1.0
# Strength of the prior of Monroe et al., in words per cell.
_PRIOR = 10.0
_MAX_PHRASE = 3


@dataclass(frozen=True)
class AttributeWords:
    """Most telling words first, for images low and high on the dimension."""

    low: tuple[str, ...]
    high: tuple[str, ...]


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

    A group's text counts for the side of a dimension on which its images lie, seen from
    the grid's mean, as far as its answer is about the dimension. Words are ranked by the
    log odds ratio of one side against all else, with an informative Dirichlet prior
    (Monroe, Colaresi and Quinn, 2008). Raises ValueError when lengths do not fit.
    """
    if len(descriptions) != len(groupings):
        raise ValueError(f"{len(descriptions)} lists of descriptions, {len(groupings)} answers")
    k = embedding.shape[1]
    texts, weights = _described_groups(embedding, probability, groupings, descriptions)
    vectorizer = CountVectorizer(analyzer=_words_and_phrase, binary=True)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:
        # Its "empty vocabulary": nobody has written a word.
        return [AttributeWords((), ())] * k
    cells = np.asarray((csr_matrix(weights).T @ counts).todense())
    vocabulary = vectorizer.get_feature_names_out()
    ranked = [_telling(cells, cell, vocabulary.tolist(), n_words) for cell in range(2 * k)]
    return [AttributeWords(ranked[2 * d], ranked[2 * d + 1]) for d in range(k)]


def _words_and_phrase(text: str) -> list[str]:
    """Its words and, if they are few, all of them as one phrase; parts of phrases, such as
    "red or", are no names."""
    words = re.findall(r"\w+", text.casefold())
    short = 1 < len(words) <= _MAX_PHRASE
    return [*words, " ".join(words)] if short else words


def _described_groups(
    embedding: FloatArray,
    probability: FloatArray,
    groupings: Groupings,
    descriptions: Sequence[Sequence[str]],
) -> tuple[list[str], FloatArray]:
    """Texts of all described groups, and (T, 2K) their weight on each side."""
    k = embedding.shape[1]
    scale = embedding.std(axis=0) + 1e-9
    texts: list[str] = []
    weights: list[FloatArray] = []
    for row, words in enumerate(descriptions):
        shown = groupings.images[row] >= 0
        images, groups = groupings.images[row][shown], groupings.groups[row][shown]
        places = embedding[images]
        for group, text in enumerate(words):
            members = groups == group
            if not text.strip() or not members.any():
                continue
            offset = (places[members].mean(axis=0) - places.mean(axis=0)) / scale
            sides = np.empty(2 * k)
            sides[0::2] = probability[row] * np.clip(-offset, 0, 1)
            sides[1::2] = probability[row] * np.clip(offset, 0, 1)
            texts.append(text)
            weights.append(sides)
    return texts, np.array(weights).reshape(-1, 2 * k)


def _telling(cells: FloatArray, cell: int, vocabulary: list[str], n_words: int) -> tuple[str, ...]:
    """The words that mark one of the cells (2K, V) of weighted counts."""
    here, everywhere = cells[cell], cells.sum(axis=0)
    prior = _PRIOR * everywhere / max(everywhere.sum(), 1e-9)
    score = _log_odds(here, prior) - _log_odds(everywhere - here, prior)
    score /= np.sqrt(1 / (here + prior + 1e-9) + 1 / (everywhere - here + prior + 1e-9))
    chosen: list[str] = []
    taken: set[str] = set()
    for word in np.argsort(-score, kind="stable"):
        if len(chosen) == n_words or score[word] < _MIN_SCORE:
            break
        parts = set(vocabulary[word].split())
        # "not smiling" and its parts are one thing said once.
        if here[word] >= _MIN_COUNT and not parts & taken:
            chosen.append(vocabulary[word])
            taken |= parts
    return tuple(chosen)


def _log_odds(counts: FloatArray, prior: FloatArray) -> FloatArray:
    smoothed = counts + prior
    return np.asarray(np.log(smoothed + 1e-9) - np.log(smoothed.sum() - smoothed + 1e-9))
