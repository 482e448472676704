"""What a model has learned about attributes and annotators, and how to ask more about some of
it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from app.campaigns.locks import locked_campaign
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import Conflict, InvalidInput
from app.core.events import campaign_changed
from app.features.sets import set_names
from app.results.attribute_parts import annotators_of, merged_numbers
from app.results.model_parts import required_insight, tells
from app.results.models import Model
from app.results.service import get_model, read_map
from app.strategies import get_strategy
from app.strategies.base import check_settings, stored_settings

N_EXAMPLES = 5
MAX_ANNOTATORS = 500


@dataclass(frozen=True)
class Examples:
    """Example images of one attribute.

    low, high: the lowest and the highest in its strongest column, the most extreme first; clusters:
    typical ones of each cluster; grid: those of its example grid with their groups.
    """

    low: list[Image]
    high: list[Image]
    clusters: list[list[Image]]
    grid: list[tuple[Image, int]]


@dataclass(frozen=True)
class Insight:
    """A model's insight. insight: stored by the strategy; examples: by attribute; annotators: those
    with the most answers, at most MAX_ANNOTATORS of n_annotators."""

    model: Model
    focus: int | None
    insight: dict[str, Any]
    annotators: list[dict[str, Any]]
    n_annotators: int
    examples: dict[int, Examples]

    @property
    def attributes(self) -> list[dict[str, Any]]:
        """Return the attributes in use, by number."""
        attributes: list[dict[str, Any]] = self.insight["attributes"]
        return attributes


def read_insight(session: Session, campaign: Campaign, model: Model) -> Insight:
    """Return the insight of `model`; raises NotFound if its strategy has none."""
    insight = _required_insight(model)
    annotators = sorted(annotators_of(insight), key=lambda annotator: -annotator["n_answers"])
    return Insight(
        model=model,
        focus=_focus(campaign, insight["attributes"]),
        insight=insight,
        annotators=annotators[:MAX_ANNOTATORS],
        n_annotators=len(annotators),
        examples=examples_of(session, campaign, model, insight["attributes"]),
    )


def _focus(campaign: Campaign, attributes: list[dict[str, Any]]) -> int | None:
    focus: int | None = campaign.settings.get("focus")
    return None if focus is None else merged_numbers(attributes).get(focus, focus)


def full_insight(model: Model) -> dict[str, Any]:
    """Return the whole insight of a model; raises NotFound if its strategy has none."""
    return _required_insight(model)


def set_focus(session: Session, campaign: Campaign, attribute: int | None) -> None:
    """Make the next rounds ask about one attribute, or about all in turn.

    Raises Conflict for a finished campaign, InvalidInput for an attribute that the newest model
    does not have, NotFound before the first model or for a strategy without attributes.
    """
    campaign = locked_campaign(session, campaign.id)
    if campaign.state == "finished":
        raise Conflict("This campaign is finished, so there are no more rounds to change.")
    known = [
        known_attribute["index"]
        for known_attribute in _required_insight(get_model(session, campaign))["attributes"]
    ]
    if attribute is not None and attribute not in known:
        listed = ", ".join(str(index) for index in known) or "none yet"
        raise InvalidInput(
            f"There is no attribute {attribute}. The attributes in use are: {listed}.",
            code="unknown_attribute",
        )
    campaign.settings = {**campaign.settings, "focus": attribute}
    campaign_changed(session, campaign.id)


def set_focus_images(session: Session, campaign: Campaign, images: list[int]) -> None:
    """Make the next rounds ask more about images similar to some, or about all equally.

    images: positions. Raises Conflict for a finished campaign, InvalidInput for images outside the
    campaign or a strategy that cannot ask about images.
    """
    campaign = locked_campaign(session, campaign.id)
    if campaign.state == "finished":
        raise Conflict("This campaign is finished, so there are no more rounds to change.")
    strategy = get_strategy(campaign.strategy)
    if "focus_images" not in strategy.settings_model.model_fields:
        raise InvalidInput(
            f"The strategy {strategy.title} cannot ask about chosen images.",
            code="no_focus_on_images",
        )
    unknown = [image for image in images if not 0 <= image < campaign.n_images]
    if unknown:
        raise InvalidInput(
            f"There is no image {unknown[0]}. Images of this campaign are numbered 0 to "
            f"{campaign.n_images - 1}.",
            code="unknown_image",
        )
    stored = stored_settings(strategy, campaign.settings)
    chosen = {**stored, "focus_images": sorted(set(images))}
    campaign.settings = check_settings(strategy, chosen, set_names(session, campaign.collection_id))
    campaign_changed(session, campaign.id)


def tells_attributes(model: Model) -> bool:
    return tells(model, "attributes")


def finds_no_agreement(model: Model) -> bool:
    """Tell whether nothing that the model learned predicts the held-out answers; False if there
    were too few to judge."""
    insight = model.insight or {}
    return insight.get("structure") == "none" and bool(insight.get("held_out_answers"))


def _required_insight(model: Model) -> dict[str, Any]:
    return required_insight(model, "attributes", "information about attributes or annotators")


def is_ordered(attribute: dict[str, Any]) -> bool:
    """Tell whether an attribute is ordered; those of models of earlier versions are."""
    return len(attribute.get("columns", [0])) == 1


def examples_of(
    session: Session, campaign: Campaign, model: Model, attributes: list[dict[str, Any]]
) -> dict[int, Examples]:
    """Return example images of each attribute, by its number."""
    if not attributes:
        return {}
    rows = read_map(session, campaign, model)
    places = np.array([np.asarray(place.vector) for _, place in rows])
    images = {image.position: image for image, _ in rows}
    examples = {}
    for attribute in attributes:
        order = np.argsort(places[:, attribute["index"]], kind="stable")
        grid = attribute.get("example") or {"images": [], "groups": []}
        examples[attribute["index"]] = Examples(
            low=[rows[row][0] for row in order[:N_EXAMPLES]],
            high=[rows[row][0] for row in order[::-1][:N_EXAMPLES]],
            clusters=[
                [images[position] for position in cluster["images"]]
                for cluster in attribute.get("clusters", [])
            ],
            grid=[
                (images[position], group)
                for position, group in zip(grid["images"], grid["groups"], strict=True)
            ],
        )
    return examples
