"""Strategy `cen`: Context Embedding Networks on grid or bins answers.

Rounds use random grids. Grids about one attribute (paper 4.6) and grids of the least-known images
can be mixed in. With the same number of answers, neither predicted better than random grids
(`bench.cen.loop`).
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from app.core.fields import SHARE
from app.features.sources import NOTHING, check_features_or_nothing, objects_or, offered
from app.kinds import AnswerForm
from app.strategies.answer_attributes import answer_attributes_of
from app.strategies.base import (
    Learned,
    LearningData,
    Progress,
    StartsAtRandom,
    StrategySettings,
    register,
)
from app.strategies.grids import NextGrids
from app.strategies.held_out import HELD_OUT_FROM, held_out_scores, scores_on_unseen_grids
from app.strategies.insight import insight_of
from app.strategies.settling import SettledTarget
from app.strategies.uncertainty import Uncertainty
from learning.queries import random_grids

if TYPE_CHECKING:
    from learning.baselines import PaperContextEmbedding
    from learning.cen import ContextEmbeddingNetwork
    from learning.groupings import Groupings

    Network = ContextEmbeddingNetwork | PaperContextEmbedding

# The share of the later rounds' grids about the attribute that a requester asks about, if the
# settings leave none for it.
_FOCUS_SHARE = 0.3
# The share of the progress bar for training; scoring takes the rest.
_FIT_SHARE = 0.6
# How many exchanges of images are tried per grid about one attribute.
_CANDIDATES = 4_000
_DEFAULT_FEATURES = objects_or(NOTHING)


class CenSettings(StrategySettings):
    # Without the setting, campaigns learned without features.
    before: ClassVar[dict[str, Any]] = {"features": NOTHING}
    unset: ClassVar[frozenset[str]] = frozenset({"settled_target"})

    @classmethod
    def reads_features(cls, settings: dict[str, Any]) -> bool:
        return settings.get("model") != "published"

    n_dimensions: int = Field(
        default=8,
        ge=1,
        le=32,
        title="Maximum number of attributes",
        description="Dimensions of the embedding. Dimensions that no answer needs stay empty.",
    )
    model: Literal["default", "published"] = Field(
        default="default",
        title="Model",
        description="The default, or the network as published (Kim et al., 2018), for comparison. "
        "The published network learns from all answers each time. It does not know which images "
        "are uncertain, so it asks random grids instead.",
    )
    variant: Literal["mixture", "annotator", "context"] = Field(
        default="mixture",
        title="Variant",
        description="What determines which attribute an answer is about: both the annotator and "
        "the grid (mixture), or only one of them.",
    )
    features: Annotated[str, AfterValidator(check_features_or_nothing)] = Field(
        default_factory=_DEFAULT_FEATURES,
        title="Features",
        description="What is known about the images in advance. It places images that no answer "
        "shows, and helps with images in few answers. Features that do not predict held-out "
        "answers are not used. Not for the published network.",
        json_schema_extra=offered(NOTHING, default=_DEFAULT_FEATURES),
    )
    attribute_share: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title="Share of grids about one attribute",
        description="Share of the later rounds' grids whose images differ in one attribute and "
        "are similar in the others. Random grids teach the model at least as much, but these "
        "grids show one attribute more closely.",
        json_schema_extra=SHARE,
    )
    uncertain_share: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        title="Share of grids with little-known images",
        description="Share of the later rounds' grids. The remaining grids are random.",
        json_schema_extra=SHARE,
    )
    focus: int | None = Field(
        default=None,
        ge=0,
        title="Attribute to ask about",
        description="Its number on the results page. Empty: all attributes in turn.",
    )
    settled_target: SettledTarget = None

    @model_validator(mode="after")
    def _shares_leave_room(self) -> Self:
        total = self.attribute_share + self.uncertain_share
        if total > 1.0:
            raise ValueError(
                f"attribute_share and uncertain_share add up to {total:g}; the maximum is 1"
            )
        return self


class CenStrategy(StartsAtRandom):
    name: ClassVar[str] = "cen"
    title: ClassVar[str] = "Context Embedding Network"
    summary: ClassVar[str] = (
        "Learns the attributes by which people group images, each annotator's preferences, and an "
        "embedding with one dimension per attribute."
    )
    learns_from: ClassVar[AnswerForm] = "groupings"
    settings_model: ClassVar[type[StrategySettings]] = CenSettings
    default_rounds: ClassVar[int] = 2
    features_setting: ClassVar[str | None] = "features"

    def settings_of_part(self, settings: dict[str, Any], share: float) -> dict[str, Any]:
        """Return settings without features. They would double the time, and all images would have
        to be encoded for a simulation of some."""
        return {**settings, "features": NOTHING}

    def learn(self, data: LearningData, settings: dict[str, Any], progress: Progress) -> Learned:
        chosen = CenSettings.stored(settings)
        answers = data.all_answers
        model, notes = _fit(_network(chosen, data.seed), answers, data, progress)
        metrics = _scores(model, answers, data.seed, progress)
        insight = {**insight_of(model, answers, data.words), **_features_in(model, chosen)}
        known = {attribute["index"]: attribute for attribute in insight["attributes"]}
        if chosen.focus is not None and chosen.focus not in known:
            notes["focus_not_in_use"] = chosen.focus
        return Learned(
            embedding=np.asarray(model.embedding_, dtype=np.float64),
            metrics=metrics,
            select_grids=lambda n, number: next_grids(model, chosen, data, known, n, number),
            save=model.save,
            insight=insight,
            notes=notes,
            answer_attributes=answer_attributes_of(
                model.attribute_probability(answers), list(known), answers
            ),
            uncertainty=_uncertainty(model),
        )

    def positions(self, data: LearningData, settings: dict[str, Any]) -> NDArray[np.float64]:
        chosen = CenSettings.stored(settings)
        alone = replace(data, previous=None)
        model, _ = _fit(_network(chosen, data.seed), data.all_answers, alone, lambda _: None)
        return np.asarray(model.embedding_, np.float64)


def _network(chosen: CenSettings, seed: int) -> "Network":
    # This is imported here so that the web server can list strategies without loading torch.
    from learning.baselines import PaperContextEmbedding
    from learning.cen import ContextEmbeddingNetwork

    kind = PaperContextEmbedding if chosen.model == "published" else ContextEmbeddingNetwork
    return kind(n_dimensions=chosen.n_dimensions, variant=chosen.variant, random_state=seed)


def _fit(
    model: "Network", answers: "Groupings", data: LearningData, progress: Progress
) -> tuple["Network", dict[str, Any]]:
    """Return a trained model whose attributes keep the numbers of the previous model, and notes for
    the next training. Raises what `fit` raises."""
    from learning.baselines import PaperContextEmbedding

    def listen(done: int, total: int, metrics: Any) -> None:
        progress(_FIT_SHARE * done / total)

    features = _table(data.features)
    previous = data.previous.load(type(model)) if data.previous is not None else None
    if data.previous is None or previous is None or not _same_shape(previous, model):
        if isinstance(model, PaperContextEmbedding):
            return model.fit(answers, progress=listen), {}
        return model.fit(answers, progress=listen, features=features, known=data.known), {}
    notes = {"from_version": data.previous.version}
    if isinstance(model, PaperContextEmbedding):
        assert isinstance(previous, PaperContextEmbedding)
        return model.fit(answers, progress=listen).aligned_with(previous), notes
    assert not isinstance(previous, PaperContextEmbedding)
    fitted = model.fit(answers, init=previous, progress=listen, features=features, known=data.known)
    return fitted, notes


def _table(features: NDArray[np.floating[Any]] | None) -> NDArray[np.floating[Any]] | None:
    """Return features as (N, F), with small images row by row."""
    return None if features is None else features.reshape(len(features), -1)


def _uncertainty(model: "Network") -> Uncertainty | None:
    from learning.baselines import PaperContextEmbedding

    if isinstance(model, PaperContextEmbedding):
        return None
    return Uncertainty(model.embedding_error_.astype(np.float32), model.placed_)


def _features_in(model: "Network", chosen: CenSettings) -> dict[str, Any]:
    """Return what the requester sees of features, if the campaign names any."""
    from learning.baselines import PaperContextEmbedding

    if isinstance(model, PaperContextEmbedding) or chosen.features == NOTHING:
        return {}
    return {
        "features": chosen.features,
        "features_used": bool(model.held_out_.get("features_used")),
        "features_auc": round(model.held_out_.get("features_auc", 0.5), 4),
        "n_placed": int(model.placed_.sum()),
    }


def _scores(
    model: "Network", answers: "Groupings", seed: int, progress: Progress
) -> dict[str, float]:
    """Return scores on grids that the model has not seen. The default model uses the grids that its
    own fit held out before it learned from them as well. The published network holds out none, so
    it is scored by a second fit on 85 % of the grids."""
    from learning.baselines import PaperContextEmbedding

    if isinstance(model, PaperContextEmbedding):
        if len(answers) < HELD_OUT_FROM:
            return {}
        probe = PaperContextEmbedding(**model.get_params(deep=False))
        return scores_on_unseen_grids(
            probe, answers, seed, lambda done: progress(_FIT_SHARE + (1 - _FIT_SHARE) * done)
        )
    pairs = model.held_out_pairs()
    if pairs is None:
        return {}
    labels, distance = pairs
    return held_out_scores(labels, distance < model.threshold_, distance, seed)


def _same_shape(previous: "Network", model: "Network") -> bool:
    return (previous.n_dimensions, previous.variant) == (model.n_dimensions, model.variant)


def next_grids(
    model: "Network",
    settings: CenSettings,
    data: LearningData,
    attributes: dict[int, dict[str, Any]],
    n: int,
    number: int,
) -> NextGrids:
    """Return n grids for round `number` in the shares of the settings.

    `attributes` are those in use, with their words.
    """
    from learning.baselines import PaperContextEmbedding

    seed = data.seed + number
    size, n_images = data.grid_size, data.n_images
    published = isinstance(model, PaperContextEmbedding)
    # Without a context encoder, the published network can't tell what a grid is about.
    in_use = [] if published and settings.variant == "annotator" else list(attributes)
    n_uncertain = 0 if published else round(n * settings.uncertain_share)
    share = settings.attribute_share
    # An attribute that later answers do not support can't be asked about. Then all attributes are
    # asked about in turn.
    wanted = in_use
    if settings.focus in in_use:
        wanted = [settings.focus]
        share = share or _FOCUS_SHARE
    n_about = min(round(n * share), n - n_uncertain) if in_use else 0
    n_random = n - n_uncertain - n_about
    rng = np.random.default_rng([data.seed, number])
    parts: list[tuple[str, int | None, NDArray[np.int64]]] = [
        ("random", None, random_grids(n_random, size, n_images, rng))
    ]
    if not isinstance(model, PaperContextEmbedding):
        parts.append(("uncertain", None, model.uncertain_grids(n_uncertain, size, seed)))
    for turn, attribute in enumerate(wanted):
        count = (n_about + len(wanted) - 1 - turn) // len(wanted)
        if count:
            grids = model.synthesize_grids(count, size, attribute, _CANDIDATES * count, seed)
            parts.append(("attribute", attribute, grids))
    chosen = NextGrids.mixed(parts, seed)
    spread = _relative_spread(model.embedding_, parts, attributes, rng)
    focus = settings.focus if settings.focus in in_use else None
    return NextGrids(
        chosen.images,
        chosen.purposes,
        chosen.attributes,
        {**chosen.contents, "focus": focus, "spread": spread},
    )


def _relative_spread(
    embedding: NDArray[np.float64],
    parts: list[tuple[str, int | None, NDArray[np.int64]]],
    attributes: dict[int, dict[str, Any]],
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Return how far grids about each attribute spread along it and, on average, along the other
    attributes in use (None if there are none). An ordinary grid has 1."""
    about = [(attribute, grids) for _, attribute, grids in parts if attribute is not None]
    if not about:
        return []
    size = about[0][1].shape[1]
    ordinary = random_grids(200, size, len(embedding), rng)
    usual = embedding[ordinary].std(axis=1).mean(axis=0)
    result = []
    for attribute, grids in about:
        spread = embedding[grids].std(axis=1).mean(axis=0)
        others = [spread[k] / usual[k] for k in attributes if k != attribute]
        result.append(
            {
                "attribute": attribute,
                **{side: attributes[attribute][side][:1] for side in ("low", "high")},
                "grids": len(grids),
                "wanted": float(spread[attribute] / usual[attribute]),
                "others": float(np.mean(others)) if others else None,
            }
        )
    return result


register(CenStrategy())
