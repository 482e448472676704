"""Facts about the benchmark of NeuCrowd: its data, its baselines, how it is told."""

from pathlib import Path

import numpy as np
import pytest

from bench.neucrowd import labels, lines, methods
from bench.neucrowd.data import Question, simulated_votes, synthetic
from bench.neucrowd.embeddings import LOSSES, embedded
from bench.neucrowd.paper import TABLES
from bench.neucrowd.report import write_report
from learning.votes import MISSING


def an_easy_question(n: int = 120) -> Question:
    rng = np.random.default_rng(0)
    truth = np.arange(n + 60) % 2
    features = rng.normal(size=(n + 60, 5))
    features[:, 0] += 4 * truth
    votes = simulated_votes(truth[:n], 5, rng)
    return Question(features[:n], votes, features[n:], truth[n:])


def test_all_features_of_syn_deviate_as_in_the_authors_own_file() -> None:
    question = synthetic(7, 100)
    assert question.features.shape == (1_000, 1_200)
    assert question.unseen.shape == (500, 1_200)
    assert question.votes.shape == (1_000, 7)
    deviation = question.features.std(axis=0)
    # In `syn_valid`: 15.9 to 23.3.
    assert deviation.min() > 15
    assert deviation.max() < 25
    few = synthetic(7, 100, n_informative=2)
    assert few.features.std() == pytest.approx(1.0, abs=0.1)


def test_workers_mislabel_as_often_as_their_probability_says() -> None:
    truth = np.arange(4_000) % 2
    votes = simulated_votes(truth, 11, np.random.default_rng(0))
    wrong = (votes != truth[:, None]).mean(axis=0)
    assert ((wrong > 0) & (wrong < 0.5)).all()
    assert wrong.std() > 0.02


def test_labels_out_of_votes() -> None:
    votes = np.array([[1, 1, 0], [0, 1, MISSING], [MISSING] * 3, [0, 0, 1]], np.int8)
    question = Question(np.zeros((4, 1)), votes, np.zeros((1, 1)), np.zeros(1, np.int64))
    majority = labels.majority(question)
    assert majority.share[[0, 3]].tolist() == [1, 0]
    assert majority.weight.tolist() == [1, 0, 0, 1]
    items, label, weight = labels.all_votes(question).doubled(np.ones(4, np.bool_))
    assert weight.sum() == 8
    assert weight[(items == 0) & (label == 1)].tolist() == [2]
    assert 2 not in items


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_learns_what_is_easy(name: str) -> None:
    question = an_easy_question()
    margin = embedded(name, labels.majority, question, 0)
    assert ((margin > 0) == question.truth).mean() > 0.9


def test_regressions_learn_what_is_easy() -> None:
    question = an_easy_question()
    for labelling in (labels.all_votes, labels.dawid_skene):
        margin = lines.regression(labelling, question, 0)
        assert ((margin > 0) == question.truth).mean() > 0.9
    margin = lines.sparse_regression(labels.majority, question, 0)
    assert ((margin > 0) == question.truth).mean() > 0.9


def test_every_row_of_the_papers_tables_is_run() -> None:
    assert set(TABLES) <= set(methods.METHODS)


def test_the_report_sets_the_papers_figures_beside_ours(tmp_path: Path) -> None:
    question = an_easy_question()
    rows = [
        row
        for name in ("SoftProb", "EM")
        for seed in (0, 1)
        for row in methods.measured(name, question, seed)
    ]
    write_report({"syn1": rows}, tmp_path)
    report = (tmp_path / "neucrowd.md").read_text()
    line = next(line for line in report.splitlines() if line.startswith("| SoftProb |"))
    assert "| 0.666 |" in line
    assert "| 0.720 |" in line
    assert "## Hotel reviews" not in report
    assert [path.name for path in tmp_path.glob("*.svg")] == ["neucrowd_methods.svg"]
