"""What more answers would buy: the outlook, from what the models so far say."""

import numpy as np
import pytest

from app.results.stopping import MORE, Known, outlook

ERROR = 0.005


def models(n: list[int], cost: float, name: str = "agreement", noise: float = 0.0) -> list[Known]:
    """Of a crowd whose agreement is 0.8 - cost / answers."""
    rng = np.random.default_rng(0)
    shares = [0.8 - cost / n_answers + noise * rng.normal() for n_answers in n]
    return [
        Known(n_answers, {name: share, f"{name}_error": ERROR})
        for n_answers, share in zip(n, shares, strict=True)
    ]


@pytest.mark.parametrize(
    "n",
    [[100, 200, 300], [20_000, 40_000, 60_000], [900_000 + k for k in (0, 1_000, 2_000, 3_000)]],
)
def test_more_answers_buy_what_a_falling_cost_foretells(n: list[int]) -> None:
    cost = 0.4 * n[0]
    prediction = outlook(models(n, cost))
    assert prediction.agreement == pytest.approx(cost * (1 / n[-1] - 1 / (n[-1] + MORE)), rel=1e-3)


@pytest.mark.parametrize("last", [300, 10_000, 1_000_000])
def test_the_error_tells_how_little_rounds_of_like_size_say(last: int) -> None:
    apart = outlook(models([last // 3, last // 2, last], 20)).agreement_error
    alike = outlook(models([last - 2 * MORE // 10, last - MORE // 10, last], 20)).agreement_error
    assert apart is not None
    assert alike is not None
    # Never a false certainty: what tells less is less certain.
    assert alike > 5 * apart > 0


def test_the_error_is_that_of_repeated_campaigns() -> None:
    rng = np.random.default_rng(0)
    n = [50_000, 50_500, 51_000, 51_500]
    gains = []
    for _ in range(300):
        noisy = [
            Known(k, {"agreement": 0.8 + ERROR * rng.normal(), "agreement_error": ERROR}) for k in n
        ]
        gains.append(outlook(noisy).agreement or 0.0)
    error = outlook(models(n, 0)).agreement_error
    assert error == pytest.approx(np.std(gains), rel=0.15)


def test_random_grids_are_believed_first() -> None:
    known = [
        Known(control.n_answers, {**control.metrics, **other.metrics})
        for control, other in zip(
            models([100, 200, 300], 30, "control_agreement"),
            models([100, 200, 300], 0),
            strict=True,
        )
    ]
    assert outlook(known).agreement == pytest.approx(30 * (1 / 300 - 1 / 400))


def test_too_few_or_equal_models_tell_nothing() -> None:
    for n in ([100, 200], [100, 100, 100]):
        prediction = outlook(models(n, 20))
        assert (prediction.agreement, prediction.agreement_error) == (None, None)
