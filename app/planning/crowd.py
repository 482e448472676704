"""Simulated crowds for a collection, based on what is known about its images."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, func, null, select, true
from sqlalchemy.orm import Session

from app.campaigns.annotation_settings import annotation_of
from app.campaigns.asking import n_asked
from app.campaigns.known import frequent_values
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.core.errors import InvalidInput
from app.features.reading import n_of
from app.kinds import Kind, kind_of
from app.kinds.votes import VoteKind
from learning.simulation import AttributeCrowd, Crowd, FeatureCrowd

FEATURES = "features"
IMAGINED = "imagined"
# An attribute with one value separates nothing, and one with a different value for every image is a
# name.
FEWEST_VALUES, MOST_VALUES = 2, 30
MOST_ATTRIBUTES = 3
IMAGINED_DIMENSIONS = 3
# The minimum number of images in a sample that show what is voted on, if it is rare.
RAREST = 3


@dataclass(frozen=True)
class CrowdTraits:
    """The behaviour of a simulated crowd's annotators; see AttributeCrowd.from_table.

    Crowds that group by features use only the first three. In crowds that vote, `careless` is the
    share of annotators who guess.
    """

    annotators: int = 8
    noise: float = 0.1
    seed: int = 0
    preference: float = 0.8
    coarse: float = 0.0
    careless: float = 0.0
    salience: float = 0.0


@dataclass(frozen=True)
class ImageTable:
    """What is known about a campaign's images."""

    positions: list[int]
    filenames: list[str]
    attributes: list[dict[str, Any]]
    features: list[list[float] | None]

    def __len__(self) -> int:
        return len(self.filenames)


def read_images(session: Session, campaign: Campaign, *, features: bool = True) -> ImageTable:
    """Return all images that take part, or would take part if the campaign started now, with or
    without their features, which need much more memory than the rest."""
    return _read(session, _of(campaign), features=features)


def sample_images(session: Session, campaign: Campaign, n: int, by: list[str]) -> ImageTable:
    """Return n images, the same ones each time, or as many as the campaign asks about if these are
    fewer. If a
    crowd votes on an attribute's value (`by` of `make_crowd`), the sample contains some images with
    this value, even if it is rare."""
    among, n = n_of(session, campaign), min(n, n_asked(session, campaign))
    if among <= n:
        return read_images(session, campaign)
    order = np.random.default_rng(campaign.seed).permutation(among)
    chosen = order[:n].tolist()
    if kind_of(campaign).form == "votes" and len(by) == 1 and "=" in by[0]:
        name, _, value = by[0].partition("=")
        shows = Image.attributes[name].astext == value
        query = select(Image.position).where(*_of(campaign), shows)
        rare = np.isin(order, session.scalars(query).all())
        missing = RAREST - int(rare[:n].sum())
        if missing > 0:
            more = order[n:][rare[n:]][:missing].tolist()
            chosen = [*chosen[: n - len(more)], *more]
    return _read(session, [*_of(campaign), Image.position.in_(chosen)])


def _of(campaign: Campaign) -> list[ColumnElement[bool]]:
    mine = [Image.collection_id == campaign.collection_id]
    return [*mine, Image.position < campaign.n_images] if campaign.n_images else mine


def _read(
    session: Session, conditions: list[ColumnElement[bool]], *, features: bool = True
) -> ImageTable:
    vectors = Image.features if features else null().label("features")
    query = (
        select(Image.position, Image.filename, Image.attributes, vectors)
        .where(*conditions)
        .order_by(Image.position)
    )
    rows = session.execute(query).all()
    return ImageTable(
        [row.position for row in rows],
        [row.filename for row in rows],
        [row.attributes for row in rows],
        [row.features for row in rows],
    )


@dataclass(frozen=True)
class Groupings:
    """What a simulated crowd could group the campaign's images by.

    attributes: attributes that every image has and that separate images.
    known: attributes that separate images and that enough images for a grid have.
    features: whether all images have features.
    votes: what a crowd votes on, if the campaign asks for votes.
    values: the values of each of `known`, if known answers need one, the most frequent first.
    """

    attributes: list[str]
    known: list[str]
    features: bool
    votes: str | None = None
    values: dict[str, list[str]] = field(default_factory=dict)

    @property
    def usual(self) -> list[str]:
        """The default: features, otherwise attributes, otherwise imagined similarity. For votes:
        the known answers, otherwise something imagined."""
        if self.votes is not None:
            return [self.votes]
        if self.features:
            return [FEATURES]
        return self.attributes[:MOST_ATTRIBUTES] or [IMAGINED]


def read_groupings(session: Session, campaign: Campaign) -> Groupings:
    """Return the possible groupings. The database counts them, so that a large collection need not
    be loaded."""
    mine = _of(campaign)
    pair = func.jsonb_each_text(Image.attributes).table_valued("key", "value")
    counted = (
        select(pair.c.key, func.count(), func.count(pair.c.value.distinct()))
        .select_from(Image)
        .join(pair, true())
        .where(*mine)
        .group_by(pair.c.key)
        .order_by(pair.c.key)
    )
    n_images = n_of(session, campaign)
    parting = [
        (name, n_with)
        for name, n_with, n_values in session.execute(counted)
        if FEWEST_VALUES <= n_values <= MOST_VALUES
    ]
    attributes = [name for name, n_with in parting if n_with == n_images]
    known = [name for name, n_with in parting if n_with >= campaign.grid_size]
    features = session.scalar(select(func.bool_and(Image.features.is_not(None))).where(*mine))
    values = (
        frequent_values(session, campaign, known) if kind_of(campaign).needs_known_value else {}
    )
    voted_on = _voted_on(campaign, attributes)
    return Groupings(attributes, known, bool(features), voted_on, values)


def _voted_on(campaign: Campaign, attributes: list[str]) -> str | None:
    kind = kind_of(campaign)
    if kind.form != "votes":
        return None
    settings = annotation_of(campaign.annotation)
    if settings.known_attribute in attributes:
        if not kind.needs_known_value:
            return settings.known_attribute
        return f"{settings.known_attribute}={settings.known_value}"
    return IMAGINED


def make_crowd(
    table: ImageTable, by: list[str], traits: CrowdTraits, kind: Kind | None = None
) -> Crowd:
    """Return a crowd that groups these images by attributes, by features (k-means) or by imagined
    similarity. If people vote in tasks of this kind, it votes on one attribute or on something
    imagined; on an `attribute=value` if the kind needs a value.

    Raises InvalidInput if an image lacks the attribute or features.
    """
    known = sorted({name for attributes in table.attributes for name in attributes})
    if isinstance(kind, VoteKind):
        truth = _right_answers(table, by, known, kind, traits.seed)
        return kind.crowd(truth, traits.annotators, traits.noise, traits.careless, traits.seed)
    if not by:
        raise InvalidInput(
            "Choose what the crowd groups by: --by with one or more of "
            f"{', '.join([*known, FEATURES])}."
        )
    if by == [IMAGINED]:
        points = np.random.default_rng(traits.seed).random((len(table), IMAGINED_DIMENSIONS))
        return FeatureCrowd(points, traits.annotators, traits.noise, random_state=traits.seed)
    if by == [FEATURES]:
        return FeatureCrowd(
            _features(table), traits.annotators, traits.noise, random_state=traits.seed
        )
    columns = {name: _column(table, name, known) for name in by}
    return AttributeCrowd.from_table(
        columns,
        traits.annotators,
        noise=traits.noise,
        preference=traits.preference,
        coarse=traits.coarse,
        careless=traits.careless,
        salience=traits.salience,
        random_state=traits.seed,
    )


def _right_answers(
    table: ImageTable, by: list[str], known: list[str], kind: VoteKind, seed: int
) -> Any:
    """Return (N, …) the right answer about each image."""
    if by == [IMAGINED]:
        return kind.imagined(len(table), np.random.default_rng(seed))
    if len(by) != 1 or kind.needs_known_value != ("=" in by[0]):
        what = (
            "an attribute and a value, such as category=food"
            if kind.needs_known_value
            else "an attribute whose values are names of classes, such as species"
        )
        raise InvalidInput(
            f"Choose one thing to vote on: --by with {what}. Attributes: "
            f"{', '.join(known) or 'none'}."
        )
    name, _, value = by[0].partition("=")
    return kind.truth_from(_column(table, name, known), name, value)


def _column(table: ImageTable, name: str, known: list[str]) -> list[str]:
    pairs = zip(table.filenames, table.attributes, strict=True)
    missing = [filename for filename, attributes in pairs if name not in attributes]
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {len(table)} images have no attribute {name!r} "
            f"(for example {missing[0]}). Attributes: {', '.join(known) or 'none'}."
        )
    return [str(attributes[name]) for attributes in table.attributes]


def _features(table: ImageTable) -> NDArray[np.float64]:
    pairs = zip(table.filenames, table.features, strict=True)
    missing = [filename for filename, features in pairs if not features]
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {len(table)} images have no features (for example {missing[0]})."
        )
    lengths = {len(features or []) for features in table.features}
    if len(lengths) > 1:
        raise InvalidInput(
            f"All images must have the same number of features, not {sorted(lengths)}."
        )
    return np.array(table.features, dtype=np.float64)
