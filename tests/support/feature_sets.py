"""Tables of vectors, and feature sets of collections."""

import io
from typing import Any
from uuid import UUID

import numpy as np
from fastapi.testclient import TestClient
from numpy.typing import NDArray

from app.accounts.models import Account
from app.collections.models import Collection
from app.core.database import transaction
from app.features.computing import run_feature_set
from app.features.models import FeatureSet
from app.features.reading import read_set
from app.features.tables import FeatureTable
from testbed.builders import a_collection


def a_vector_table(
    values: NDArray[Any], names: list[str] | None = None, columns: list[str] | None = None
) -> bytes:
    """A CSV with a row for each of `image-000.png`, …"""
    names = names or names_of(len(values))
    columns = columns or [f"f{number}" for number in range(values.shape[1])]
    lines = [",".join(["filename", *columns])]
    for name, row in zip(names, values, strict=True):
        lines.append(",".join([name, *(f"{value:.9g}" for value in row)]))
    return "\n".join(lines).encode()


def an_npy(values: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values)
    return buffer.getvalue()


def plain_collection(owner: Account, n: int) -> Collection:
    """A collection without features in its table."""
    lines = ["filename,colour", *(f"{name},red" for name in names_of(n))]
    return a_collection(owner, n, "\n".join(lines).encode())


def names_of(n: int) -> list[str]:
    return [f"image-{index:03d}.png" for index in range(n)]


def table_of(collection: Collection, name: str, n: int = 0) -> FeatureTable:
    class Part:
        collection_id = collection.id
        n_images = n

    with transaction() as session:
        make = read_set(session, Part(), name)
    return make()


def random_values(n: int, width: int = 4, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def root_of(collection_id: object) -> str:
    return f"/api/v1/collections/{collection_id}/feature-sets"


def upload(
    client: TestClient,
    collection_id: object,
    data: bytes,
    name: str = "clip",
    file: str = "clip.csv",
    names: bytes | None = None,
) -> Any:
    files: dict[str, Any] = {"file": (file, data)}
    if names is not None:
        files["names"] = ("names.txt", names)
    return client.post(root_of(collection_id), data={"name": name}, files=files)


def uploaded(client: TestClient, collection_id: object, data: bytes, **more: Any) -> dict[str, Any]:
    reply = upload(client, collection_id, data, **more)
    assert reply.status_code == 201, reply.text
    result: dict[str, Any] = reply.json()
    return result


def compute(client: TestClient, collection_id: object, source: str) -> Any:
    return client.post(f"{root_of(collection_id)}/compute", json={"source": source})


def computed(client: TestClient, collection_id: object, source: str) -> dict[str, Any]:
    """The set after a worker has computed it."""
    reply = compute(client, collection_id, source)
    assert reply.status_code == 202, reply.text
    run_feature_set(UUID(reply.json()["id"]), lambda: False)
    return read(client, collection_id, reply.json()["id"])


def read(client: TestClient, collection_id: object, set_id: object) -> dict[str, Any]:
    result: dict[str, Any] = client.get(f"{root_of(collection_id)}/{set_id}").json()
    return result


def stored_set(set_id: object) -> FeatureSet:
    with transaction() as session:
        return session.get_one(FeatureSet, UUID(str(set_id)))
