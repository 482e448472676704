"""Descriptions of images for people who use screen readers, from an attribute of the collection."""

from collections.abc import Sequence

from sqlalchemy import ARRAY, Integer, Text, any_, bindparam, func, select
from sqlalchemy.orm import Session

from app.campaigns.models import Campaign
from app.collections.attributes import MAX_VALUE
from app.collections.models import Collection, Image
from app.collections.tables import attribute_names
from app.core.errors import InvalidInput
from app.core.prepared import Prepared

SETTING = "alt_text_attribute"
# As long as attributes are kept, so that a longer text was cut anywhere when it was uploaded.
LONGEST = MAX_VALUE
_TEXTS = Prepared(
    select(
        Image.position,
        func.left(Image.attributes.op("->>")(bindparam("attribute", type_=Text)), LONGEST),
    ).where(
        Image.collection_id == bindparam("collection_id"),
        Image.position == any_(bindparam("positions", type_=ARRAY(Integer))),
    )
)


def alt_texts(session: Session, campaign: Campaign, positions: Sequence[int]) -> dict[int, str]:
    """Return the descriptions of images by position; those without one are not among them.

    Campaigns without the setting need no statement. Attributes can change at any time, so they are
    not remembered.
    """
    attribute = campaign.annotation.get(SETTING)
    if not attribute:
        return {}
    rows = _TEXTS.rows(
        session,
        collection_id=campaign.collection_id,
        positions=list(positions),
        attribute=attribute,
    )
    return {position: shortened(text) for position, text in rows if text and text.strip()}


def shortened(text: str) -> str:
    """Return a text in one line without a final full stop, or cut between words if it is too
    long."""
    words = " ".join(text.split())
    # A space at the cut is not kept.
    if len(text) < LONGEST - 1:
        return words.removesuffix(".")
    cut = words[: LONGEST - 1]
    # A text without spaces, as in Chinese, is cut anywhere.
    whole, _, rest = cut.rpartition(" ")
    return (whole if whole and len(rest) < LONGEST // 2 else cut) + "…"


def is_described(session: Session, campaign: Campaign) -> bool:
    """Return whether an image has the attribute that the campaign's settings name."""
    name = campaign.annotation.get(SETTING)
    if not name:
        return False
    query = select(Image.id).where(
        Image.collection_id == campaign.collection_id, Image.attributes.has_key(name)
    )
    return session.scalar(query.limit(1)) is not None


def require_attribute(session: Session, campaign: Campaign) -> None:
    """Raise InvalidInput if the campaign's settings name an attribute that no image of the
    collection has."""
    name = campaign.annotation.get(SETTING)
    if not name or is_described(session, campaign):
        return
    names = attribute_names(session, session.get_one(Collection, campaign.collection_id))
    there_are = f"Its attributes: {', '.join(names)}." if names else "It has no attributes yet."
    raise InvalidInput(
        f"Image descriptions from attribute ({SETTING}): no image of the collection has the "
        f"attribute {name!r}. {there_are}",
        code="bad_annotation",
        fields=[f"annotation.{SETTING}"],
    )
