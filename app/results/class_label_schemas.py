"""Bodies of the API of labels in campaigns with classes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import BaseModel

from app.campaigns.models import Campaign
from app.results.class_labels import Classified, GoldClasses
from app.results.explore_schemas import ShownImage
from app.results.label_schemas import ReliabilityBin, expected_quality
from app.results.models import Model
from app.strategies.class_labels import ClassLabels


class ClassifiedOut(ShownImage):
    """An image with its labels: one name of a class, or several (or none) if the kind allows it.
    Lists have one entry for each of the campaign's classes: `probability` from votes and
    classifier, `prior` from the classifier without the image's own votes, `majority`, `dawid_skene`
    and `glad` from the votes alone (null without any), and `votes` counts annotators. `sureness` is
    the probability of the label, or of the least certain one. `answers` and `unsure` count
    annotators who answered about the image, and who saw it but did not."""

    labels: list[str]
    sureness: float
    probability: list[float]
    prior: list[float]
    majority: list[float] | None
    dawid_skene: list[float] | None
    glad: list[float] | None
    votes: list[int]
    answers: int
    unsure: int

    @classmethod
    def of_classified(cls, classified: Classified, classes: list[str]) -> "ClassifiedOut":
        return cls.of_row(classified, labels=[classes[number] for number in classified.labels])


class ClassVoterOut(BaseModel):
    """An annotator by position, without identity. `right`: mean over classes of the share of right
    answers; `confusion`: share of each class (inner list) among their answers to images of each
    class; `sensitivity` and `specificity`: for each label, the share of right answers among images
    that have it, and among the others; `quality`: expected share of right answers, by each method
    that uses votes alone."""

    annotator: int
    n_votes: int
    right: float
    confusion: list[list[float]] | None = None
    sensitivity: list[float] | None = None
    specificity: list[float] | None = None
    quality: dict[str, float]


class KnownClassOut(BaseModel):
    """A class on images with known answers; null if there are no such images."""

    n: int
    precision: float | None
    recall: float | None


class GoldClassesOut(BaseModel):
    """Quality on known answers: shares of right labels (`classifier_right`: without the image's own
    votes), null if too few images are known. `confusion`: numbers of images of each class (outer
    list) with each label, null if an image can have several."""

    n_images: int
    right: float | None
    classifier_right: float | None
    by_class: list[KnownClassOut]
    confusion: list[list[int]] | None


class ClassOut(BaseModel):
    """A class: how many images have its label, and the share of labels that is expected to be right
    for it, null if hardly any image is expected to have it."""

    name: str
    n_images: int
    expected_right: float | None


class ClassQualityOut(BaseModel):
    """Expected quality of the labels. `several`: whether an image can have several labels;
    `expected_right`: share of correct labels; `expected_balanced`: its mean over the classes;
    `gain_of_next_grid`: number of labels that it is expected to correct; `enough`: why no more
    grids were requested, null while more are."""

    version: int
    features: str
    has_classifier: bool
    several: bool
    n_images: int
    n_contested: int
    n_unlabelled: int
    votes_per_image: float
    expected_right: float
    expected_balanced: float
    gain_of_next_grid: float
    enough: str | None
    classes: list[ClassOut]
    reliability: list[ReliabilityBin]
    gold: GoldClassesOut
    annotators: list[ClassVoterOut]

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        model: Model,
        insight: Mapping[str, Any],
        labels: ClassLabels,
        gold: GoldClasses,
    ) -> "ClassQualityOut":
        counts = labels.chosen().sum(axis=0).tolist()
        by_class = insight["expected_by_class"]
        return cls(
            **expected_quality(model, insight),
            several=labels.can_have_several,
            n_images=len(labels),
            n_unlabelled=int(np.sum(~labels.chosen().any(axis=1))),
            classes=[
                ClassOut(name=name, n_images=count, expected_right=right)
                for name, count, right in zip(campaign.classes, counts, by_class, strict=True)
            ],
            reliability=[
                ReliabilityBin(
                    probability=figures["probability"],
                    yes_share=figures["vote_share"],
                    n_images=figures["n_images"],
                )
                for figures in insight["reliability"]
            ],
            gold=GoldClassesOut(
                n_images=gold.n_images,
                right=gold.right,
                classifier_right=gold.classifier_right,
                by_class=[KnownClassOut(**vars(known)) for known in gold.by_class],
                confusion=gold.confusion,
            ),
            annotators=[ClassVoterOut(**voter) for voter in insight["voters"]],
        )
