"""The interface of a strategy, and the registry of all strategies."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from app.core.errors import InvalidInput
from app.core.fields import in_words
from app.features.sources import KNOWN_SETS, NOTHING
from app.kinds import AnswerForm, Ballot, Kind, all_kinds
from app.strategies.answer_attributes import AnswerAttributes
from app.strategies.class_labels import ClassLabels
from app.strategies.grids import FirstRound, NextGrids, random_start
from app.strategies.labels import Labels
from app.strategies.memberships import Memberships
from app.strategies.previous import PreviousModel
from app.strategies.uncertainty import Uncertainty
from learning.groupings import Groupings

Progress = Callable[[float], None]


class StrategySettings(BaseModel, extra="forbid"):
    """Base class of every strategy's settings. Titles, ranges and help texts make the form.

    before: the values of settings that campaigns of earlier versions do not have, if these differ
    from the defaults of new campaigns.
    unset: settings that are not stored while they are None, because processes of the previous
    release, which may still run during an upgrade, refuse settings that they do not know.
    """

    before: ClassVar[dict[str, Any]] = {}
    unset: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def stored(cls, settings: dict[str, Any]) -> Self:
        """Return the stored settings of a campaign, also of one of an earlier version."""
        return cls.model_validate({**cls.before, **settings})

    @classmethod
    def reads_features(cls, settings: dict[str, Any]) -> bool:
        """Tell whether these settings use the features that they name."""
        return True


@dataclass(frozen=True)
class LearningData:
    """What a training learns from.

    rounds: answers of each round so far, oldest first; all rounds use the same annotator numbers.
    n_full: how many of these rounds have all their answers.
    begun: (n, S) grids that someone has started, whether answered or not.
    words: group descriptions of every answer, in the order of `all_answers`.
    previous: the campaign's newest model, if it has one.
    features: (N, F) or (N, H, W[, C]) what is known about the images in advance, if the settings
        ask for it; known: (N,) which images have features of their own, rather than the mean of the
        others; None for all of them.
    purposes: the purpose of the grid of every answer, in the order of `all_answers`.
    n_images: N, the number of images of the campaign.
    grid_size: S, images per grid.
    n_rounds: planned rounds.
    n_groups: maximum number of groups (bins) in an answer, or number of classes.
    ballot: how votes are written as group numbers, if answers are votes.
    seed: the campaign's seed.
    asked: (M,) the images that the campaign asks about, ascending; None for all of them.
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
    known: NDArray[np.bool_] | None = None
    ballot: Ballot | None = None
    asked: NDArray[np.int64] | None = None

    @property
    def newest_round(self) -> int:
        """Return the number of the last full round, or of the first round while it is open."""
        return max(1, self.n_full)

    @property
    def all_answers(self) -> Groupings:
        return Groupings.concatenate(self.rounds)

    @property
    def candidates(self) -> NDArray[np.int64]:
        """Return (M,) the images that grids may show, ascending."""
        return np.arange(self.n_images) if self.asked is None else self.asked


@dataclass(frozen=True)
class Learned:
    """A trained model as campaigns see it.

    embedding: (N, d) float64.
    select_grids: (n, number) returns n grids for round `number`.
    save: writes the model (safetensors and JSON) to a path.
    insight: what the requester sees of attributes and annotators, as JSON.
    notes: what the next training needs to know about this one, as JSON.
    memberships: the cluster of every image, if the model has clusters.
    labels: the label of every image, if the campaign asks for labels.
    answer_attributes: the attribute of every answer, if the model has attributes.
    enough: why the campaign may end before its last round, in a sentence.
    uncertainty: how certain each image's position is, if the model tells.
    """

    embedding: NDArray[np.float64]
    metrics: dict[str, float]
    select_grids: Callable[[int, int], NextGrids]
    save: Callable[[Path], None]
    insight: dict[str, Any] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    memberships: Memberships | None = None
    labels: Labels | ClassLabels | None = None
    answer_attributes: AnswerAttributes | None = None
    enough: str | None = None
    uncertainty: Uncertainty | None = None


class Strategy(Protocol):
    """Connects an estimator to campaigns.

    learns_from: the form of the answers from which it learns.
    features_setting: the setting that names features of app/features/sources.py, or a feature set
    of the collection, if there is one.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    learns_from: ClassVar[AnswerForm]
    settings_model: ClassVar[type[StrategySettings]]
    default_rounds: ClassVar[int]
    features_setting: ClassVar[str | None]

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """Return n grids for the first round, when nothing is known yet."""
        ...

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Return settings for a quick simulation of a campaign on a share of its images."""
        ...

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        """Train on all answers so far. Raises ValueError if the model can't learn from them."""
        ...


class StartsAtRandom:
    """A mixin for strategies whose first round uses random grids of all images."""

    def first_grids(self, n: int, first: FirstRound, settings: dict[str, Any]) -> NextGrids:
        """Return n random grids, all different as long as that is possible."""
        return random_start(n, first)

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Return the settings unchanged, because none of them counts images."""
        return settings


_strategies: dict[str, Strategy] = {}


def register(strategy: Strategy) -> None:
    _strategies[strategy.name] = strategy


def all_strategies() -> list[Strategy]:
    return list(_strategies.values())


def kinds_of(strategy: Strategy) -> list[Kind]:
    """Return the kinds of task from whose answers a strategy can learn; first those for which it is
    suggested."""
    usable = [kind for kind in all_kinds() if kind.form == strategy.learns_from]
    return sorted(usable, key=lambda kind: kind.strategy != strategy.name)


def features_named(strategy: Strategy, settings: dict[str, Any]) -> str | None:
    """Return the name of the features that a campaign with these settings learns from, or None."""
    model = strategy.settings_model
    if strategy.features_setting is None or not model.reads_features(settings):
        return None
    name = settings.get(strategy.features_setting, NOTHING)
    return None if name == NOTHING else str(name)


def stored_settings(strategy: Strategy, settings: dict[str, Any]) -> dict[str, Any]:
    """Return a campaign's stored settings, with those that its version did not have yet."""
    return {**strategy.settings_model.before, **settings}


def get_strategy(name: str) -> Strategy:
    """Return the strategy called `name`. Raises InvalidInput."""
    if name not in _strategies:
        known = ", ".join(sorted(_strategies))
        raise InvalidInput(f"There is no strategy {name!r}. Choose one of: {known}.")
    return _strategies[name]


def check_settings(
    strategy: Strategy, settings: dict[str, Any], feature_sets: Collection[str] = ()
) -> dict[str, Any]:
    """Return the settings with defaults filled in. Raises InvalidInput with what is wrong.

    feature_sets: names of the collection's feature sets, which settings may choose.
    """
    context = {KNOWN_SETS: feature_sets}
    try:
        checked = strategy.settings_model.model_validate(settings, context=context).model_dump()
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
            for item in error.errors()
        )
        first = error.errors()[0]
        names = [str(item["loc"][0]) for item in error.errors() if item["loc"]]
        field = strategy.settings_model.model_fields.get(names[0]) if names else None
        title = field.title if field is not None and field.title else strategy.title
        raise InvalidInput(
            f"Settings of strategy {strategy.name}: {wrong}.",
            code="bad_settings",
            fields=[f"settings.{name}" for name in dict.fromkeys(names)],
            words=f"{title}: {in_words(first, field)}.",
        ) from error
    unset = strategy.settings_model.unset
    return {
        name: value for name, value in checked.items() if value is not None or name not in unset
    }
