"""Bodies of the API of labels by votes."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from app.results.explore_schemas import ShownImage
from app.results.labels import Gold, Labelled
from app.results.models import Model
from learning.calibration import BinaryScores


class LabelOut(ShownImage):
    """An image and its label. Probabilities are of yes: `probability` from votes and classifier,
    `prior` from the classifier without the image's own votes, `majority`, `dawid_skene` and `glad`
    from the votes alone (null without any). `yes`, `no` and `unsure` count votes."""

    label: Literal["yes", "no"]
    probability: float
    prior: float
    majority: float | None
    dawid_skene: float | None
    glad: float | None
    yes: int
    no: int
    unsure: int

    @classmethod
    def of_labelled(cls, labelled: Labelled) -> "LabelOut":
        return cls.of_row(labelled, label=labelled.label)


class JurorOut(BaseModel):
    """An annotator by position, without identity. `sensitivity`: share of yes votes among images
    that show it; `specificity`: share of no votes among the others; `quality`: expected share of
    correct votes, by each method that uses votes alone; `yes_share`: share of yes among their
    votes."""

    annotator: int
    n_votes: int
    yes_share: float
    sensitivity: float
    specificity: float
    quality: dict[str, float]


class ReliabilityBin(BaseModel):
    """Images with about this `probability` from the classifier, and the share of them that show it.
    The share comes from votes that the classifier had not seen, corrected for the errors of an
    average annotator."""

    probability: float
    yes_share: float
    n_images: int


class ScoresOut(BaseModel):
    """Quality on images with known answers; `precision` and `recall` are ordered from the most
    certain yes on."""

    accuracy: float
    auc: float
    average_precision: float
    brier: float
    precision: list[float]
    recall: list[float]

    @classmethod
    def of(cls, scores: BinaryScores | None) -> "ScoresOut | None":
        return None if scores is None else cls(**vars(scores))


class GoldOut(BaseModel):
    """Quality on known answers. `labels`: with votes; `classifier`: without the image's own votes;
    null if too few images are known."""

    n_yes: int
    n_no: int
    labels: ScoresOut | None
    classifier: ScoresOut | None


def expected_quality(model: Model, insight: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the quality of labels that do not depend on the form of the votes."""
    figures = ("votes_per_image", "expected_right", "expected_balanced", "gain_of_next_grid")
    return {
        "version": model.version,
        "n_contested": round(model.metrics["contested"]),
        **{name: model.metrics[name] for name in figures},
        **{name: insight[name] for name in ("features", "has_classifier", "enough")},
    }


class LabelQualityOut(BaseModel):
    """Expected quality of the labels. `expected_right`: share of correct labels;
    `expected_balanced`: mean of the shares of correct labels among images that show it and among
    the others; `gain_of_next_grid`: number of labels that it is expected to correct; `enough`: why
    no more grids were requested, null while more are."""

    version: int
    features: str
    has_classifier: bool
    n_images: int
    n_yes: int
    n_contested: int
    votes_per_image: float
    expected_right: float
    expected_balanced: float
    gain_of_next_grid: float
    enough: str | None
    reliability: list[ReliabilityBin]
    gold: GoldOut
    annotators: list[JurorOut]

    @classmethod
    def of(
        cls, model: Model, insight: Mapping[str, Any], n_images: int, gold: Gold
    ) -> "LabelQualityOut":
        return cls(
            **expected_quality(model, insight),
            n_images=n_images,
            n_yes=round(model.metrics["yes_share"] * n_images),
            reliability=[ReliabilityBin(**figures) for figures in insight["reliability"]],
            gold=GoldOut(
                n_yes=gold.n_yes,
                n_no=gold.n_no,
                labels=ScoresOut.of(gold.labels),
                classifier=ScoresOut.of(gold.classifier),
            ),
            annotators=[JurorOut(**voter) for voter in insight["jury"]],
        )
