"""Bodies of the API of how settled nearest neighbours are."""

from pydantic import BaseModel

from app.results.settled import KeptOfImage, Needed, Settled


class NeededOut(BaseModel):
    """More `answers` and their cost with fees in `cents`; null if no number of answers is
    enough."""

    answers: int | None
    cents: int | None

    @classmethod
    def of(cls, needed: Needed) -> "NeededOut":
        return cls(answers=needed.answers, cents=needed.cents)


class SettledOut(BaseModel):
    """How settled the nearest neighbours are, from models of two halves of the answers: the `share`
    of the `n_neighbors` nearest that would be the same with as many other answers, between `low`
    and `high` in 8 of 10 cases; `chance` is the share for a model that knows nothing.
    `predicts`: each half predicts the other. `is_enough`: it is sure that the target is reached.
    `version`: the newest model for which it is measured, from `n_answers` answers. `target`:
    share at which the campaign ends; `needed`, `needed_least`, `needed_most`: until `aim` is
    settled, which is the target or 80 %."""

    version: int
    share: float
    low: float
    high: float
    chance: float
    n_neighbors: int
    n_answers: int
    predicts: bool
    is_enough: bool
    target: float | None
    aim: float
    needed: NeededOut
    needed_least: NeededOut
    needed_most: NeededOut

    @classmethod
    def of(cls, settled: Settled) -> "SettledOut":
        needs = ("needed", "needed_least", "needed_most")
        fields = {name: NeededOut.of(getattr(settled, name)) for name in needs}
        return cls(**{**vars(settled), **fields})


class KeptOut(BaseModel):
    """How many of an image's `of` nearest neighbours would stay with as many other answers:
    `expected`, and between `low` and `high` in 8 of 10 cases."""

    expected: float
    low: float
    high: float
    of: int

    @classmethod
    def of_image(cls, kept: KeptOfImage) -> "KeptOut":
        return cls(**vars(kept))
