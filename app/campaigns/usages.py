"""Which campaigns show the images of a collection."""

from sqlalchemy import any_, func, literal, select, true
from sqlalchemy.orm import Session

from app.campaigns.asking import is_chosen
from app.campaigns.models import Campaign, Grid
from app.collections import hooks
from app.collections.dependents import Usage
from app.collections.models import Collection, Image
from app.features import hooks as feature_hooks
from app.strategies import get_strategy
from app.strategies.base import features_named


@hooks.usages.answered_by
def usages_of(session: Session, collection: Collection) -> list[Usage]:
    """List the campaigns whose answers or known answers refer to images by position, newest
    first."""
    known = func.unnest(Grid.images).table_valued("position").render_derived().lateral()
    last_known = (
        select(func.max(known.c.position))
        .select_from(Grid)
        .join(known, true())
        .where(Grid.campaign_id == Campaign.id, Grid.role.in_(("practice", "gold")))
        .scalar_subquery()
    )
    n_images = func.greatest(Campaign.n_images, func.coalesce(last_known + 1, 0))
    query = select(Campaign.id, Campaign.name, Campaign.state, n_images.label("n_images"))
    rows = session.execute(
        query.where(Campaign.collection_id == collection.id).order_by(Campaign.id.desc())
    )
    return [Usage(*row) for row in rows if row.n_images]


@hooks.showings.answered_by
def showings_of(session: Session, image: Image) -> list[hooks.Showing]:
    """Campaigns over the image's collection that show it, newest first."""
    grids = (
        select(func.count().label("n_grids"), func.coalesce(func.sum(Grid.n_answers), 0).label("n"))
        .where(Grid.campaign_id == Campaign.id, literal(image.position) == any_(Grid.images))
        .lateral()
    )
    rows = session.execute(
        select(Campaign.id, Campaign.name, Campaign.state, grids.c.n_grids, grids.c.n)
        .join(grids, true())
        .where(
            Campaign.collection_id == image.collection_id,
            (Campaign.n_images > image.position) | (grids.c.n_grids > 0),
        )
        .order_by(Campaign.id.desc())
    )
    return [hooks.Showing(*row) for row in rows]


@feature_hooks.learners.answered_by
def learners_of(session: Session, collection: Collection, name: str) -> list[Usage]:
    """Running and paused campaigns over the collection that learn from these features, or
    choose the images that they ask about by them, newest first."""
    campaigns = session.scalars(
        select(Campaign)
        .where(Campaign.collection_id == collection.id, Campaign.state.in_(("running", "paused")))
        .order_by(Campaign.id.desc())
    )
    return [
        Usage(campaign.id, campaign.name, campaign.state, campaign.n_images)
        for campaign in campaigns
        if features_named(get_strategy(campaign.strategy), campaign.settings) == name
        or (campaign.ask_by == name and not is_chosen(session, campaign))
    ]
