"""API of feature sets: uploaded tables of vectors, and features that the server computes."""

from collections.abc import Iterator
from typing import Annotated
from uuid import UUID

from fastapi import File, Form, UploadFile
from fastapi.responses import Response

from app.accounts.api import api_router
from app.accounts.routes import SignedIn
from app.collections.models import Collection
from app.collections.service import get_collection
from app.core.attachments import attachment
from app.core.bodies import takes, uploads
from app.core.copying import in_pieces
from app.core.database import snapshot
from app.core.heavy import heavy
from app.core.row_security import scope_to_account
from app.core.spool import Download
from app.core.web import DatabaseSession
from app.features import sets
from app.features.downloads import as_csv
from app.features.models import FeatureSet
from app.features.set_schemas import (
    ComputeIn,
    FeatureSetOut,
    FeatureSetsOut,
    SetName,
    UploadedSetOut,
    computed_sources,
)
from app.features.uploading import upload_set
from app.features.vector_files import MOST_NAMES_BYTES

api = api_router("/collections/{collection_id}/feature-sets", "features")


@api.get("")
def list_feature_sets(
    collection_id: UUID, session: DatabaseSession, account: SignedIn
) -> FeatureSetsOut:
    """List the feature sets of a collection, and the features that the server can compute."""
    collection = get_collection(session, account, collection_id)
    items = [
        FeatureSetOut.of(feature_set, collection.n_images)
        for feature_set in sets.list_sets(session, collection)
    ]
    return FeatureSetsOut(items=items, sources=computed_sources())


@api.post("", status_code=201)
@heavy
@takes(uploads)
def upload_feature_set(
    collection_id: UUID,
    session: DatabaseSession,
    account: SignedIn,
    response: Response,
    name: Annotated[str, Form(max_length=200)],
    file: Annotated[
        UploadFile,
        File(
            description="A CSV with the column `filename` and one column for each number, or an "
            "array (N, F) as .npy, .npz or .safetensors."
        ),
    ],
    names: Annotated[
        UploadFile | None,
        File(
            description="The file names of the rows of an array, one in each line. Without it, an "
            "array has one row for each image, in the order of the images."
        ),
    ] = None,
) -> UploadedSetOut:
    """Upload a table of vectors as a new feature set. Nothing is stored if anything is wrong."""
    collection = get_collection(session, account, collection_id)
    listed = None if names is None else names.file.read(MOST_NAMES_BYTES + 1)
    given = (file.filename or "unnamed", file.file)
    summary = upload_set(session, account, collection, name, given, listed)
    uploaded = summary.feature_set
    response.headers["Location"] = f"/api/v1/collections/{collection.id}/feature-sets/{uploaded.id}"
    return UploadedSetOut.of_upload(summary)


@api.post("/compute", status_code=202)
def compute_feature_set(
    collection_id: UUID, body: ComputeIn, session: DatabaseSession, account: SignedIn
) -> FeatureSetOut:
    """Compute the features of a source for all images that do not have them. A worker does it;
    read the feature set to follow its progress."""
    collection = get_collection(session, account, collection_id)
    feature_set = sets.compute_set(session, account, collection, body.source)
    session.refresh(feature_set)
    return FeatureSetOut.of(feature_set, collection.n_images)


@api.get("/{set_id}")
def get_feature_set(
    collection_id: UUID, set_id: UUID, session: DatabaseSession, account: SignedIn
) -> FeatureSetOut:
    """Return a feature set with its progress."""
    collection, feature_set = _collection_and_set(session, account, collection_id, set_id)
    return FeatureSetOut.of(feature_set, collection.n_images)


@api.patch("/{set_id}")
def rename_feature_set(
    collection_id: UUID, set_id: UUID, body: SetName, session: DatabaseSession, account: SignedIn
) -> FeatureSetOut:
    """Rename an uploaded feature set that no running campaign learns from."""
    collection, feature_set = _collection_and_set(session, account, collection_id, set_id)
    sets.rename_set(session, account, collection, feature_set, body.name)
    return FeatureSetOut.of(feature_set, collection.n_images)


@api.delete("/{set_id}", status_code=204)
def delete_feature_set(
    collection_id: UUID, set_id: UUID, session: DatabaseSession, account: SignedIn
) -> None:
    """Delete a feature set that no running campaign learns from, with its vectors."""
    collection, feature_set = _collection_and_set(session, account, collection_id, set_id)
    sets.delete_set(session, account, collection, feature_set)


@api.get("/{set_id}/vectors.csv", response_class=Response)
@heavy
def download_vectors(
    collection_id: UUID, set_id: UUID, session: DatabaseSession, account: SignedIn
) -> Response:
    """Download the vectors as they are stored, as a table that you can upload again."""
    collection, feature_set = _collection_and_set(session, account, collection_id, set_id)

    def lines() -> Iterator[bytes]:
        # The request's session ends before the body is sent.
        with snapshot() as own:
            scope_to_account(own, account.id)
            yield from in_pieces(line.encode() for line in as_csv(own, feature_set))

    headers = attachment(f"{collection.name} {feature_set.name}", "vectors.csv")
    return Download(account.id, lines, "text/csv; charset=utf-8", headers)


def _collection_and_set(
    session: DatabaseSession, account: SignedIn, collection_id: UUID, set_id: UUID
) -> tuple[Collection, FeatureSet]:
    collection = get_collection(session, account, collection_id)
    return collection, sets.get_set(session, collection, set_id)
