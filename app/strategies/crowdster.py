"""Strategy `crowdster`: the progressive query generator, grids that become more local."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from app.strategies.base import (
    Learned,
    LearningData,
    Progress,
    StrategySettings,
    register,
)
from app.strategies.grids import NextGrids


class CrowdsterSettings(StrategySettings):
    n_dimensions: int = Field(
        default=3,
        ge=2,
        le=32,
        title="Dimensions",
        description="Of the embedding. Three suit most collections; more suit likeness with many "
        "independent sides.",
    )
    beta: float = Field(
        default=4.0,
        ge=1.5,
        le=16.0,
        title="β",
        description="Factor by which the distance of a pair shrinks or grows after an answer.",
    )


class CrowdsterStrategy:
    name: ClassVar[str] = "crowdster"
    title: ClassVar[str] = "CrowdSter"
    summary: ClassVar[str] = (
        "Asks about images that seem alike already, round after round, and finds every image's "
        "nearest neighbours with few answers."
    )
    kinds: ClassVar[tuple[str, ...]] = ("bins", "grid")
    settings_model: ClassVar[type[StrategySettings]] = CrowdsterSettings
    default_rounds: ClassVar[int] = 5

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        # Imported here: the web server lists strategies without loading the numerics.
        from learning.crowdster import CrowdSter

        chosen = CrowdsterSettings.model_validate(settings)
        model = CrowdSter(
            n_images=data.n_images,
            grid_size=data.grid_size,
            n_bins=data.n_groups,
            n_dimensions=chosen.n_dimensions,
            beta=chosen.beta,
            n_phases=data.n_rounds,
            random_state=data.seed,
        )
        # Replayed from the first round: the result depends on the answers alone, not on which
        # of the jobs before this one came through.
        for done, answers in enumerate(data.rounds, start=1):
            model.update(answers)
            progress(done / len(data.rounds))
        return Learned(
            embedding=np.asarray(model.embedding_, dtype=np.float64),
            metrics={},
            select_grids=lambda n: NextGrids.alike(model.select_grids(n), "local"),
            save=model.save,
        )


register(CrowdsterStrategy())
