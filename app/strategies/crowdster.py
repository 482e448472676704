"""Strategy `crowdster`: a progressive query generator whose grids become more and more local."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from app.core.fields import SHARE
from app.features.sources import NOTHING, check_features_or_nothing, offered
from app.kinds import AnswerForm
from app.strategies.agreement import agreement_of
from app.strategies.base import (
    Learned,
    LearningData,
    Progress,
    StartsAtRandom,
    StrategySettings,
    register,
)
from app.strategies.grids import NextGrids
from app.strategies.settling import SettledTarget
from app.strategies.uncertainty import Uncertainty

if TYPE_CHECKING:
    from learning.crowdster import CrowdSter

# The neighbourhoods that suit the paper's update. The estimator's own suit its default.
_SCHEDULES: dict[str, dict[str, Any]] = {
    "likelihood": {},
    "paper": {"neighbors_start": 0.15, "neighbors_end": 1.75},
}


class CrowdsterSettings(StrategySettings):
    unset: ClassVar[frozenset[str]] = frozenset({"settled_target"})

    algorithm: Literal["likelihood", "paper"] = Field(
        default="likelihood",
        title="Algorithm",
        description="likelihood: learns from all answers and trusts annotators as far as they "
        "agree. paper: CrowdSter as published.",
    )
    n_dimensions: int | None = Field(
        default=None,
        ge=1,
        le=32,
        title="Dimensions",
        description="Dimensions of the embedding. Empty: as many as the answers support (paper: "
        "3).",
    )
    start_from: Annotated[str, AfterValidator(check_features_or_nothing)] = Field(
        default=NOTHING,
        title="Start from",
        description="What is known about the images in advance. An informative start helps early "
        "on, and its influence fades as answers come in. It also places images that were never "
        "shown, if it predicts what annotators put together.",
        json_schema_extra=offered(NOTHING),
    )
    random_share: float = Field(
        default=0.05,
        ge=0.0,
        le=1.0,
        title="Share of random grids",
        description="Share of the later rounds' grids. They are a control for comparing rounds.",
        json_schema_extra=SHARE,
    )
    beta: float = Field(
        default=4.0,
        ge=1.5,
        le=16.0,
        title="β (paper)",
        description="Factor by which the distance between two images shrinks or grows after an "
        "answer.",
    )
    focus_images: list[int] = Field(
        default=[],
        max_length=1_000,
        title="Images to ask about",
        description="Half of the later rounds' local grids show images near these.",
    )
    settled_target: SettledTarget = None


class CrowdsterStrategy(StartsAtRandom):
    name: ClassVar[str] = "crowdster"
    title: ClassVar[str] = "CrowdSter"
    summary: ClassVar[str] = (
        "Asks about images that already seem similar, round after round, and finds every image's "
        "nearest neighbours with few answers."
    )
    learns_from: ClassVar[AnswerForm] = "groupings"
    settings_model: ClassVar[type[StrategySettings]] = CrowdsterSettings
    default_rounds: ClassVar[int] = 5
    features_setting: ClassVar[str | None] = "start_from"

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        chosen = CrowdsterSettings.model_validate(settings)
        model = _fitted(chosen, data, progress)
        if data.begun is not None:
            model.mark_asked(data.begun)
        return Learned(
            embedding=np.asarray(model.embedding_, dtype=np.float64),
            metrics=_metrics(model, data),
            select_grids=lambda n, number: _next_grids(model, chosen, data, n, number),
            save=model.save,
            uncertainty=_uncertainty(model, data),
        )

    def positions(self, data: LearningData, settings: dict[str, Any]) -> NDArray[np.float64]:
        chosen = CrowdsterSettings.model_validate(settings)
        return np.asarray(_fitted(chosen, data, lambda _: None).embedding_, np.float64)


def _fitted(chosen: CrowdsterSettings, data: LearningData, progress: Progress) -> "CrowdSter":
    # This is imported here so that the web server can list strategies without loading the
    # numerics.
    from learning.crowdster import CrowdSter

    model = CrowdSter(
        n_images=data.n_images,
        grid_size=data.grid_size,
        n_bins=data.n_groups,
        n_dimensions=chosen.n_dimensions,
        algorithm=chosen.algorithm,
        random_share=chosen.random_share,
        beta=chosen.beta,
        n_phases=data.n_rounds,
        random_state=data.seed,
        **_SCHEDULES[chosen.algorithm],
    )
    _learn_all(model, data, progress)
    return model


def _uncertainty(model: "CrowdSter", data: LearningData) -> Uncertainty | None:
    """Return how certain positions are, if some can come from features alone."""
    if model.algorithm != "likelihood" or data.features is None:
        return None
    return Uncertainty(model.embedding_error_.astype(np.float32), model.placed_)


def _learn_all(model: "CrowdSter", data: LearningData, progress: Progress) -> None:
    """Learn from the first answer on, so that the result depends only on the answers and not on
    which earlier trainings succeeded."""
    n = len(data.rounds)
    if model.algorithm == "likelihood":
        model.update(
            data.all_answers,
            lambda done, total, _: progress(done / total),
            features=None if data.features is None else _as_table(data.features),
            n_phases=n,
            known=data.known,
        )
        return
    for number, answers in enumerate(data.rounds, start=1):
        # A round with only leftovers does no harm, unless all rounds are like that.
        model.update(answers, learn=number == n)
        progress(number / n)


def _as_table(features: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return features as (N, F), with small images row by row."""
    return features.reshape(len(features), -1).astype(np.float64)


def _metrics(model: "CrowdSter", data: LearningData) -> dict[str, float]:
    metrics = {"dimensions": float(model.n_dimensions_)}
    if model.algorithm == "likelihood":
        control = [purpose == "random" for purpose in data.purposes]
        metrics |= agreement_of(model.held_out_, control)
    return metrics


def _next_grids(
    model: "CrowdSter", settings: CrowdsterSettings, data: LearningData, n: int, number: int
) -> NextGrids:
    known = [image for image in settings.focus_images if 0 <= image < data.n_images]
    # The grids of a prepared round use neighbourhoods that this model can distinguish.
    parts = model.plan_grids(n, known or None, phase=data.n_full)
    return NextGrids.mixed([(purpose, None, grids) for purpose, grids in parts], data.seed + number)


register(CrowdsterStrategy())
