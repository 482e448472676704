"""Bodies of the API of attributes and annotators."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from app.collections.media import image_url
from app.collections.models import Image
from app.core.fields import StrictInt
from app.results.attribute_names import MOST_NAME
from app.results.attribute_parts import parts_of
from app.results.insight import Examples, Insight, is_ordered

MOST_MERGED = 1_000


class ExampleOut(BaseModel):
    image: int
    url: str
    filename: str


class AttributeClusterOut(BaseModel):
    """A cluster of images that are similar in an unordered attribute: its size, mean `silhouette`,
    typical images, and the annotators' words."""

    size: int
    silhouette: float
    words: list[str]
    images: list[ExampleOut]


class GroupedImageOut(ExampleOut):
    """An image of an example grid. `group`: where an answer about the attribute would put it: the
    number of a cluster or, for an ordered attribute, its level from the lowest up."""

    group: int


class AttributeOut(BaseModel):
    """An attribute that answers are about: one or more `columns` of the embedding.

    `name`: given by a requester, or empty; `share` of the answers, with its standard error;
    `confidence`: probability that it predicts answers that the model has not learned from, null if
    the model does not estimate it. `overall`: it is the one overall notion of similarity that all
    answers follow, not one attribute of several. `ordered`: its images form one line. `low`,
    `high`: the annotators' words for the two sides of its strongest column, the most telling first,
    and the most extreme images on each side; `middle`: their words for what lies between.
    `clusters`: of an unordered attribute, the largest first. `example`: a grid whose images differ
    in this attribute. `parts`: numbers of the learned attributes that were merged into it.
    """

    index: int
    name: str = ""
    share: float
    share_error: float | None = None
    confidence: float | None = None
    overall: bool
    ordered: bool
    columns: list[int]
    low: list[str]
    high: list[str]
    middle: list[str] = []
    low_images: list[ExampleOut]
    high_images: list[ExampleOut]
    clusters: list[AttributeClusterOut] = []
    example: list[GroupedImageOut] = []
    parts: list[int] = []

    @classmethod
    def of(cls, attribute: dict[str, Any], examples: Examples, overall: bool) -> "AttributeOut":
        clusters = zip(attribute.get("clusters", []), examples.clusters, strict=True)
        return cls(
            **{
                "columns": [attribute["index"]],
                **attribute,
                "overall": overall,
                "ordered": is_ordered(attribute),
                "parts": [part["index"] for part in parts_of(attribute)],
                "low_images": _examples(examples.low),
                "high_images": _examples(examples.high),
                "clusters": [
                    {**cluster, "images": _examples(images)} for cluster, images in clusters
                ],
                "example": [
                    GroupedImageOut(**vars(_example(image)), group=group)
                    for image, group in examples.grid
                ],
            }
        )


class AttributeNameIn(BaseModel, extra="forbid"):
    """The name of an attribute; a blank one removes it."""

    name: Annotated[str, Field(max_length=MOST_NAME)]


class MergeIn(BaseModel, extra="forbid"):
    """Attributes to merge, by number. `name`: of the merged attribute; blank for the name of the
    largest part that has one."""

    attributes: Annotated[list[StrictInt], Field(min_length=2, max_length=MOST_MERGED)]
    name: Annotated[str, Field(max_length=MOST_NAME)] = ""


class MergedOut(BaseModel):
    """The merged attribute's number: that of the part with the largest share."""

    attribute: int


class AnnotatorOut(BaseModel):
    """An annotator by position, without identity.

    `preference[k]`: how often attribute k is expected to decide in an ordinary grid; `used[k]`: how
    often it decided in the annotator's answers, with its standard error. Lists are empty and values
    null if nothing is known; the user guide explains the numbers.
    """

    annotator: int
    n_answers: int
    preference: list[float]
    used: list[float | None] = []
    used_error: list[float | None] = []
    n_groups: float | None
    detail: float | None
    carelessness: float | None
    agreement: float | None
    n_repeats: int
    consistency: float | None


class InsightOut(BaseModel):
    """What a model has learned about attributes and annotators. `structure`: `attributes` if
    several attributes describe the answers, `pooled` if it is one notion of similarity, `none`
    if nothing predicts held-out answers, null if the model does not judge. `held_out_answers`:
    number of answers it was judged by. `none_share`: share of answers about none of the
    attributes, with its standard error. `focus`: the attribute that the next rounds ask about,
    null for all in turn. `features`: those that the campaign names, null for none;
    `features_used`: whether they predict which held-out images are put together, with
    `features_auc`; `n_placed`: number of images that features alone place."""

    version: int
    focus: int | None
    structure: Literal["attributes", "pooled", "none"] | None = None
    held_out_answers: int | None = None
    none_share: float | None = None
    none_share_error: float | None = None
    features: str | None = None
    features_used: bool | None = None
    features_auc: float | None = None
    n_placed: int | None = None
    attributes: list[AttributeOut]
    annotators: list[AnnotatorOut]
    n_annotators: int

    @classmethod
    def of(cls, insight: Insight) -> "InsightOut":
        stored = insight.insight
        optional = (
            "structure", "held_out_answers", "none_share", "none_share_error",
            "features", "features_used", "features_auc", "n_placed",
        )  # fmt: skip
        overall = stored.get("structure") == "pooled"
        return cls(
            version=insight.model.version,
            focus=insight.focus,
            **{name: stored.get(name) for name in optional},
            attributes=[
                AttributeOut.of(attribute, insight.examples[attribute["index"]], overall)
                for attribute in insight.attributes
            ],
            annotators=[AnnotatorOut(**annotator) for annotator in insight.annotators],
            n_annotators=insight.n_annotators,
        )


def _example(image: Image) -> ExampleOut:
    return ExampleOut(image=image.position, url=image_url(image), filename=image.filename)


def _examples(images: list[Image]) -> list[ExampleOut]:
    return [_example(image) for image in images]


class FocusIn(BaseModel, extra="forbid"):
    """What the next rounds ask about: one attribute (null for all in turn), or images similar to
    some `images` (an empty list for all images equally). The strategy determines which of the two
    it accepts."""

    attribute: StrictInt | None = None
    images: list[StrictInt] | None = None

    @model_validator(mode="after")
    def _requires_exactly_one(self) -> "FocusIn":
        if len(self.model_fields_set) != 1:
            raise ValueError("set either attribute or images, not both")
        return self
