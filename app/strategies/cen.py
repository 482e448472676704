"""Strategy `cen`: Context Embedding Networks on grid or bins answers.

Later rounds mix random grids with grids synthesised to be about one attribute (paper 4.6).
"""

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.strategies.base import (
    Learned,
    LearningData,
    Progress,
    StrategySettings,
    register,
)
from learning.metrics import pair_scores
from learning.queries import random_grids

HELD_OUT_FROM = 20


class CenSettings(StrategySettings):
    n_dimensions: int = Field(
        default=4, ge=1, le=32, title="Attributes", description="Dimensions of the embedding."
    )
    variant: Literal["mixture", "annotator", "context"] = Field(
        default="mixture",
        title="Variant",
        description="What weighs the attributes: annotator and grid (mixture), or one of them.",
    )
    random_share: float = Field(
        default=0.5,
        ge=0.0,
        le=1.0,
        title="Share of random grids",
        description="Of the later rounds' grids; the others are synthesised to be about one "
        "attribute each.",
    )


class CenStrategy:
    name: ClassVar[str] = "cen"
    title: ClassVar[str] = "Context Embedding Network"
    summary: ClassVar[str] = (
        "Learns the attributes by which people group, each annotator's preferences, and an "
        "embedding with one dimension an attribute."
    )
    kinds: ClassVar[tuple[str, ...]] = ("grid", "bins")
    settings_model: ClassVar[type[StrategySettings]] = CenSettings
    default_rounds: ClassVar[int] = 2

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        # Imported here: the web server lists strategies without loading torch.
        from learning.cen import ContextEmbeddingNetwork

        chosen = CenSettings.model_validate(settings)
        answers = data.all_answers

        def network() -> ContextEmbeddingNetwork:
            return ContextEmbeddingNetwork(
                n_dimensions=chosen.n_dimensions, variant=chosen.variant, random_state=data.seed
            )

        metrics: dict[str, float] = {}
        with_validation = len(answers.images) >= HELD_OUT_FROM
        if with_validation:
            train, test = answers.split(0.15, data.seed)
            probe = network().fit(train, progress=lambda d, t, m: progress(0.5 * d / t))
            labels = test.pair_labels()
            asked = labels >= 0
            scores = pair_scores(
                labels[asked] == 1,
                probe.predict_same(test)[asked],
                probe.pair_distance(test)[asked],
            )
            metrics = {f"held_out_{name}": value for name, value in scores.items()}
        start = 0.5 if with_validation else 0.0
        model = network().fit(
            answers, progress=lambda d, t, m: progress(start + (1 - start) * d / t)
        )

        def select(n: int) -> NDArray[np.int64]:
            n_random = round(n * chosen.random_share)
            rng = np.random.default_rng([data.seed, len(data.rounds)])
            grids = [random_grids(n_random, data.grid_size, data.n_images, rng)]
            if n > n_random:
                grids.append(
                    model.synthesize_grids(
                        n - n_random,
                        data.grid_size,
                        n_candidates=max(2000, 50 * n),
                        random_state=data.seed + len(data.rounds),
                    )
                )
            return rng.permutation(np.concatenate(grids))

        return Learned(
            embedding=np.asarray(model.embedding_, dtype=np.float64),
            metrics=metrics,
            select_grids=select,
            save=model.save,
        )


register(CenStrategy())
