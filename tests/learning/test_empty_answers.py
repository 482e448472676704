"""A fold without any answer about an attribute leaves a model as its priors say."""

import torch

from learning.answers import Answers, upper_triangle
from learning.latent.pair_model import Assigned, PairModel, fit_positions, fit_thresholds


def no_answers() -> Assigned:
    none = torch.zeros((0, 4), dtype=torch.int64)
    answers = Answers(none, none.bool(), none, none[:, 0], 5, 1)
    return Assigned(answers, none[:, 0], none[:, 0], none[:, 0], torch.zeros(0))


def test_positions_and_thresholds_are_fitted_to_no_answers() -> None:
    model = PairModel.start(torch.randn(5, 1), torch.zeros(1, dtype=torch.int64))
    fitted = fit_thresholds(fit_positions(model, no_answers(), 3), no_answers())
    assert fitted.positions.abs().max() < model.positions.abs().max()
    assert torch.isfinite(fitted.thresholds).all()


def test_no_grids_have_no_pairs() -> None:
    assert upper_triangle(torch.zeros((0, 4, 4))).shape == (0, 6)
