"""What a strategy is, and the register of all of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from app.core.errors import InvalidInput
from app.strategies.answer_attributes import AnswerAttributes
from app.strategies.grids import FirstRound, NextGrids, random_start
from app.strategies.labels import Labels
from app.strategies.memberships import Memberships
from app.strategies.previous import PreviousModel
from learning.groupings import Groupings

Progress = Callable[[float], None]


class StrategySettings(BaseModel, extra="forbid"):
    """Base of every strategy's settings; titles, ranges and help texts make the form."""


@dataclass(frozen=True)
class LearningData:
    """What a learning job learns from.

    rounds:      answers of each round so far, oldest first; one annotator index throughout
    n_full:      rounds among them that have all their answers
    begun:       (n, S) grids that somebody has begun, answered or not
    words:       group descriptions of every answer, in the order of `all_answers`
    previous:    the campaign's newest model, if it has one
    features:    (N, F) or (N, H, W[, C]) what is known of the images beforehand, if the
                 settings ask for it
    purposes:    what the grid of every answer was for, in the order of `all_answers`
    n_images:    N, number of images of the campaign
    grid_size:   S, images per grid
    n_rounds:    rounds planned
    n_groups:    groups (bins) an answer may use
    seed:        the campaign's seed
    """

    rounds: list[Groupings]
    n_images: int
    grid_size: int
    n_rounds: int
    n_groups: int
    seed: int
    words: list[list[str]] = field(default_factory=list)
    previous: PreviousModel | None = None
    n_full: int = 0
    begun: NDArray[np.int64] | None = None
    purposes: list[str | None] = field(default_factory=list)
    features: NDArray[np.floating[Any]] | None = None

    @property
    def newest_round(self) -> int:
        """Number of the last full round, of the first while that is open."""
        return max(1, self.n_full)

    @property
    def all_answers(self) -> Groupings:
        return Groupings.concatenate(self.rounds)


@dataclass(frozen=True)
class Learned:
    """A trained model as campaigns see it.

    embedding:    (N, d) float64
    select_grids: (n, number) -> n grids for round `number`
    save:         writes the model (safetensors and JSON) to a path
    insight:      what the requester is told of attributes and annotators, as JSON
    notes:        what the next fit needs to know of this one, as JSON
    memberships:  the cluster of every image, where the model itself tells
    labels:       what every image is labelled, where that was asked
    answer_attributes: which attribute every answer is about, where there are attributes
    enough:       why the campaign may end before its last round, in a sentence
    """

    embedding: NDArray[np.float64]
    metrics: dict[str, float]
    select_grids: Callable[[int, int], NextGrids]
    save: Callable[[Path], None]
    insight: dict[str, Any] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    memberships: Memberships | None = None
    labels: Labels | None = None
    answer_attributes: AnswerAttributes | None = None
    enough: str | None = None


class Strategy(Protocol):
    """Binds an estimator to campaigns.

    features_setting: its setting that names features of app/features/sources.py, if it has one.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    settings_model: ClassVar[type[StrategySettings]]
    default_rounds: ClassVar[int]
    features_setting: ClassVar[str | None]

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """n grids of the first round, when nothing is known yet."""
        ...

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Settings for trying a campaign on a share of its images, quickly."""
        ...

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        """Fit on all answers so far; raises ValueError when they cannot be learned from."""
        ...


class StartsAtRandom:
    """For strategies whose first round asks random grids of all images."""

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """n random grids, no two alike as long as there are others."""
        return random_start(n, first)

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """None of them counts images."""
        return settings


_strategies: dict[str, Strategy] = {}


def register(strategy: Strategy) -> None:
    _strategies[strategy.name] = strategy


def all_strategies() -> list[Strategy]:
    return list(_strategies.values())


def features_named(strategy: Strategy, settings: dict[str, Any]) -> str | None:
    """The features that a campaign with these settings learns from, if any."""
    if strategy.features_setting is None:
        return None
    name = settings.get(strategy.features_setting, "nothing")
    return None if name == "nothing" else str(name)


def get_strategy(name: str) -> Strategy:
    """The strategy called `name`; raises InvalidInput."""
    if name not in _strategies:
        known = ", ".join(sorted(_strategies))
        raise InvalidInput(f"There is no strategy {name!r}. Choose one of: {known}.")
    return _strategies[name]


def check_settings(strategy: Strategy, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, completed with defaults; raises InvalidInput naming what is wrong."""
    try:
        return strategy.settings_model.model_validate(settings).model_dump()
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        raise InvalidInput(
            f"Settings of strategy {strategy.name}: {wrong}.", code="bad_settings"
        ) from error
