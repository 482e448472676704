"""How settled the nearest neighbours of a model are, as stored with it: what models of two halves
of its answers have in common (learning/split_half.py)."""

import logging
from dataclasses import dataclass
from datetime import UTC
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from app.annotation import hooks
from app.campaigns.models import Campaign
from app.core.errors import NotFound
from app.results.model_parts import read_arrays
from app.results.models import Model
from app.strategies.settling import target_of
from app.strategies.stored_arrays import StoredArrays
from learning.neighbor_growth import Growth
from learning.split_half import SplitHalf

logger = logging.getLogger(__name__)
# More than these are as good as impossible.
MOST_ANSWERS = 10_000_000
# What the estimate is about while a campaign has no target.
USUAL_TARGET = 0.8


@dataclass(frozen=True, eq=False)
class Kept(StoredArrays):
    """How many of the nearest neighbours of each image would stay with as many other answers. One
    row per image, by position; NaN for images that one of the halves does not show.

    expected: (N,) float32; low, high: (N,) float32, an interval that holds in 8 of 10 cases.
    """

    contents: ClassVar[str] = "kept neighbours"
    expected: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.expected)

    def _check(self) -> None:
        self._check_columns((len(self),), {})

    @classmethod
    def of(cls, halves: SplitHalf, n_images: int) -> "Kept":
        table = np.full((n_images, 3), np.nan, np.float32)
        table[halves.images] = halves.kept_by_image()
        return cls(*table.T.copy())


class StoredSettled(BaseModel, extra="forbid", allow_inf_nan=False):
    """`Model.settled`. ended_at: when the campaign ended because of it."""

    share: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    half: float = Field(ge=0, le=1)
    chance: float = Field(gt=0, lt=1)
    n_neighbors: int = Field(ge=1, le=1_000)
    n_answers: int = Field(ge=1)
    n_finished: int = Field(ge=0)
    predicts: bool
    target: float | None = Field(ge=0, le=1)
    enough: str | None = Field(max_length=500)
    file: str = Field(pattern=r"^kept-[0-9a-f-]+\.safetensors$")
    ended_at: str | None = Field(default=None, max_length=50)


def described(
    halves: SplitHalf, target: float | None, *, is_enough: bool, file: str, n_finished: int
) -> dict[str, Any]:
    """Return what is stored in `Model.settled`. file: of `Kept`, among those of the model;
    n_finished: number of all finished answers, also those that are left out."""
    low, high = halves.settled_interval()
    return StoredSettled(
        share=halves.settled,
        low=low,
        high=high,
        half=halves.growth.half,
        chance=halves.chance,
        n_neighbors=halves.n_neighbors,
        n_answers=halves.n_answers,
        n_finished=n_finished,
        predicts=halves.predicts,
        target=target,
        enough=_reason(halves.settled, low, high, target) if is_enough else None,
        file=file,
    ).model_dump()


def _reason(share: float, low: float, high: float, target: float | None) -> str:
    assert target is not None
    return (
        f"{share:.0%} of the nearest neighbours would be the same with as many other answers "
        f"({low:.0%} to {high:.0%}), and the target is {target:.0%}."
    )


def end_of(campaign: Campaign) -> str:
    """Return when the campaign ended, as it is stored in `Model.settled` of the model that ended
    it; empty if it runs."""
    return campaign.finished_at.astimezone(UTC).isoformat() if campaign.finished_at else ""


def read_kept(campaign: Campaign, model: Model) -> Kept | None:
    """Return how many neighbours of each image would stay; None if that is not measured, or the
    file is lost: everything else about the model can still be shown."""
    if model.settled is None:
        return None
    try:
        return read_arrays(Kept, model.settled["file"], campaign, model, Kept.contents)
    except NotFound:
        logger.warning("model %s: %s cannot be read", model.id, Kept.contents, exc_info=True)
        return None


@dataclass(frozen=True)
class KeptOfImage:
    """How many of the `of` nearest neighbours of an image would stay."""

    expected: float
    low: float
    high: float
    of: int


def kept_of_image(campaign: Campaign, model: Model, position: int) -> KeptOfImage | None:
    """Return how many neighbours of the image at `position` would stay; None if that is not
    measured."""
    kept = read_kept(campaign, model)
    if kept is None or position >= len(kept) or np.isnan(kept.expected[position]):
        return None
    assert model.settled is not None
    return KeptOfImage(
        float(kept.expected[position]),
        float(kept.low[position]),
        float(kept.high[position]),
        int(model.settled["n_neighbors"]),
    )


@dataclass(frozen=True)
class Needed:
    """More answers until a share of the neighbours is settled, and what they cost in cents, with
    fees; `answers` is None if no number of them is enough."""

    answers: int | None
    cents: int | None


@dataclass(frozen=True)
class Settled:
    """How settled the neighbours of a campaign's newest measured model are.

    share: of the `n_neighbors` nearest, chance included, that would be the same with as many other
    answers; low, high: an interval that holds in 8 of 10 cases; predicts: each half of the answers
    predicts the other better than chance; is_enough: two looks were sure of the target; aim: the
    campaign's target, or the usual one; needed, needed_least, needed_most: until `aim` is reached.
    """

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
    needed: Needed
    needed_least: Needed
    needed_most: Needed


def newest_settled(session: Session, campaign: Campaign, models: list[Model]) -> Settled | None:
    """Return how settled the newest of the models is for which it is measured, or None."""
    model = next((model for model in reversed(models) if model.settled is not None), None)
    if model is None:
        return None
    stored, target = StoredSettled.model_validate(model.settled), target_of(campaign.settings)
    aim = target or USUAL_TARGET

    growth = Growth(stored.half, stored.chance, stored.n_answers)
    least, most = growth.answers_between(aim) if aim > growth.chance else (0.0, 0.0)
    expected = growth.answers_for(aim) if aim > growth.chance else 0.0

    def needed(answers: float) -> Needed:
        return _needed(session, campaign, stored, answers)

    return Settled(
        version=model.version,
        share=stored.share,
        low=stored.low,
        high=stored.high,
        chance=stored.chance,
        n_neighbors=stored.n_neighbors,
        n_answers=stored.n_answers,
        predicts=stored.predicts,
        is_enough=stored.enough is not None and stored.target == target,
        target=target,
        aim=aim,
        needed=needed(expected),
        needed_least=needed(least),
        needed_most=needed(most),
    )


def _needed(session: Session, campaign: Campaign, stored: StoredSettled, answers: float) -> Needed:
    """Return what is needed beyond the answers there are. answers: learned from, in all."""
    if answers > MOST_ANSWERS:
        return Needed(None, None)
    # Those that are left out do not count.
    known = stored.n_answers + campaign.n_finished - stored.n_finished
    more = max(0, round(answers) - known)
    return Needed(more, hooks.cost_of_answers(session, campaign, more) if more else 0)
