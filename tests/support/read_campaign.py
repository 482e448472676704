"""Everything that can be read of a campaign, by whoever may see it."""

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.annotation.models import Annotator, Answer
from app.campaigns.models import Campaign
from app.collections.models import Image
from app.results.catalogue import EXPORTS
from app.results.models import Clustering, Model

PAGES = (
    "", "/edit", "/annotation", "/preview", "/map", "/labels", "/attributes", "/clusters",
    "/compare", "/alignment", "/quality", "/annotators", "/exports", "/settings", "/recruit",
)  # fmt: skip
OF_CAMPAIGN = (
    "", "/shares", "/progress", "/jobs", "/models", "/neighbours?image=1&k=5",
    "/evidence?image=0&other=1", "/map/images?at=0&at=1", "/map/pictures/small?at=0&at=1",
    "/map/columns", "/map/column?attribute=colour", "/map/column?annotator=0", "/exports", "/plan",
    "/groupings", "/recruiting/options", "/recruitments", "/payments/totals", "/links", "/people",
    "/annotators", "/answers?replay=true&order=newest", "/answers?annotator=0", "/remarks",
    "/alignments",
)  # fmt: skip
OF_MODEL = (
    "/map", "/neighbours?image=1&k=5", "/insight", "/axes", "/known-columns?column=colour",
    "/comparison?other_version={version}", "/clusterings", "/cluster-suggestion", "/own-clusters",
    "/memberships", "/memberships?order=uncertain", "/labels", "/labels?order=contested",
    "/label-quality", "/map/layout", "/map/sheets/0/0/0", "/map/labels?by=label",
    "/map/attributes", "/map/attributes/0", "/map/layout?method=axes-0-0",
)  # fmt: skip
OF_CLUSTERING = ("", "/clusters.csv", "/clusters/0/images")


def addresses_of(session: Session, campaign_id: UUID) -> list[str]:
    """Of pages, of the API, and of every file that can be taken away."""
    campaign = session.get_one(Campaign, campaign_id)
    api = f"/api/v1/campaigns/{campaign_id}"
    collection = f"/api/v1/collections/{campaign.collection_id}"
    return [
        "/", "/campaigns", f"/collections/{campaign.collection_id}",
        collection, f"{collection}/images", f"{collection}/attributes",
        f"{collection}/attributes.csv", f"{collection}/shapes", f"{collection}/dependents",
        *(f"/campaigns/{campaign_id}{page}" for page in PAGES),
        *(f"{api}{page}" for page in OF_CAMPAIGN),
        *(f"{api}/export/{export.name}" for export in EXPORTS),
        *_of_models(session, campaign_id, api),
        *_of_rows(session, campaign, api),
    ]  # fmt: skip


def _of_models(session: Session, campaign_id: UUID, api: str) -> list[str]:
    addresses = []
    models = select(Model.id, Model.version).where(Model.campaign_id == campaign_id)
    for model_id, version in session.execute(models):
        base = f"{api}/models/{version}"
        addresses += [base + page.format(version=version) for page in OF_MODEL]
        parted = select(Clustering.id).where(Clustering.model_id == model_id)
        for clustering_id in session.scalars(parted):
            addresses += [f"{base}/clusterings/{clustering_id}{page}" for page in OF_CLUSTERING]
    return addresses


def _of_rows(session: Session, campaign: Campaign, api: str) -> list[str]:
    """A few answers, annotators and images, of which some may be odd."""
    answers = select(Answer.id).where(Answer.campaign_id == campaign.id).limit(3)
    people = select(Annotator.position).where(Annotator.campaign_id == campaign.id).limit(3)
    images = select(Image.sha256).where(Image.collection_id == campaign.collection_id).limit(2)
    collection = f"/api/v1/collections/{campaign.collection_id}"
    addresses = [
        f"{api}/answers?annotator={position}&replay=true" for position in session.scalars(people)
    ]
    for answer_id in session.scalars(answers):
        addresses += [f"{api}/answers/{answer_id}", f"{api}/answers/{answer_id}/attribute"]
    return addresses + [f"{collection}/images/{sha256}" for sha256 in session.scalars(images)]
