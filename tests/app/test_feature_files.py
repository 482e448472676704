"""Files of vectors that become feature sets: tables and arrays, good and bad ones."""

import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from numpy.typing import NDArray
from safetensors.numpy import save

from app.accounts.models import Account
from app.collections.models import Collection
from app.core.storage import list_objects
from tests.support.feature_sets import (
    a_vector_table,
    an_npy,
    names_of,
    plain_collection,
    random_values,
    root_of,
    table_of,
    upload,
    uploaded,
)

N = 12
NAMES = names_of(N)


@pytest.fixture
def collection(owner: Account) -> Collection:
    return plain_collection(owner, N)


BAD_TABLES = [
    (b"", "The file is empty"),
    (b"filename,a\n", "The file has no row"),
    (b"filename\nimage-000.png\n", "A feature set has 1 to 65,536 numbers for each image"),
    (b"name,a\nimage-000.png,1\n", "needs a column 'filename'"),
    (b"filename;a\nimage-000.png;1\n", "Separate the columns by commas"),
    (b"filename,a,a\nimage-000.png,1,2\n", "Column 3 has no name of its own ('a')"),
    (b"filename,a\nimage-000.png,1\nimage-001.png,red\n", "Line 3, column 'a' contains 'red', wh"),
    (b"filename,a,b\nimage-000.png,1,\n", "Line 2, column 'b' is empty"),
    (b"filename,a\nimage-000.png,nan\n", "Line 2, column 'a' contains 'nan'. Numbers must be fin"),
    (b"filename,a\nimage-000.png,inf\n", "Line 2, column 'a' contains 'inf'"),
    (b"filename,a\nimage-000.png,1e39\n", "Line 2, column 'a' contains '1e39'"),
    (b"filename,a,b\nimage-000.png,1\n", "Line 2 has 2 cells, and the header names 3 columns"),
    (b"filename,a\nimage-000.png,1\nimage-001.png,2\nimage-000.png,3\n",
     "Line 4 is about 'image-000.png', which already has a row (line 2)"),
    (b"filename,a\n,1\n", "Line 2 has no file name"),
    (b"filename,a\nimage-000.png,1\nimage-001.png,1\n", "All columns have the same value"),
    (b"filename,a\nx.png,1\ny.png,2\n", "none of its file names is that of an image in this"),
    (b"filename,a\nimage-000.png,1\nx.png,2\ny.png,3\nz.png,4\n",
     "Only 1 of 4 rows name an image of this collection, which has 12 images"),
    (b"filename,a\nimage-000.png,\xff\n", "not UTF-8 text"),
    (b'filename,a\n"image-000.png,1\n', "Line 2 has 1 cells"),
]  # fmt: skip


def test_images_without_a_row_are_told_and_get_the_mean(
    client: TestClient, collection: Collection
) -> None:
    values = random_values(N)
    text = a_vector_table(values[:9]).decode() + f"\n{NAMES[9]},,,,\nunknown.png,1,2,3,4\n"
    reply = uploaded(client, collection.id, text.encode())
    assert reply["n_known"] == 9
    assert reply["notes"] == [
        "1 of 11 rows were not used, because no image of this collection has the name: "
        "unknown.png.",
        "3 of 12 images have no row, and will be treated like the mean of the others.",
    ]
    table = table_of(collection, "clip")
    assert table.known.tolist() == [True] * 9 + [False] * 3
    assert np.allclose(table.values[9:], table.values[:9].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize(("data", "message"), BAD_TABLES)
def test_a_bad_table_says_where_and_leaves_nothing(
    client: TestClient, collection: Collection, data: bytes, message: str
) -> None:
    reply = upload(client, collection.id, data)
    assert reply.status_code == 422, reply.text
    assert reply.json()["code"] == "bad_feature_table"
    assert message in reply.json()["detail"]
    assert client.get(root_of(collection.id)).json()["items"] == []
    assert list_objects(f"features/{collection.id}") == []


def test_too_many_columns_are_refused_and_65536_are_not(
    client: TestClient, collection: Collection
) -> None:
    width = 65_536
    header = ",".join(["filename", *(f"f{number}" for number in range(width + 1))])
    reply = upload(client, collection.id, f"{header}\n".encode())
    assert "this file has 65,537" in reply.json()["detail"]
    values = random_values(N, width)
    assert uploaded(client, collection.id, an_npy(values), file="wide.npy")["n_features"] == width
    table = table_of(collection, "clip")
    # Too wide for memory, so it is projected, and distances stay as they were.
    assert table.values.shape == (N, 2_048)
    assert np.isfinite(table.values).all()
    whole = np.linalg.norm(values[0] - values[1])
    assert np.linalg.norm(table.values[0] - table.values[1]) == pytest.approx(whole, rel=0.3)


def test_arrays_with_and_without_names(client: TestClient, collection: Collection) -> None:
    values = random_values(N)
    names = "\n".join(reversed(NAMES)).encode()
    buffer = io.BytesIO()
    np.savez(buffer, values=values, filenames=np.array(NAMES))
    files = {
        "in order": (an_npy(values), "a.npy", None),
        "with names": (an_npy(values[::-1].astype(np.float64)), "a.npy", names),
        "npz": (buffer.getvalue(), "a.npz", None),
        "safetensors": (save({"x": values}), "a.safetensors", None),
    }
    for name, (data, file, listed) in files.items():
        uploaded(client, collection.id, data, name=name, file=file, names=listed)
        assert np.allclose(
            table_of(collection, name).values, table_of(collection, "in order").values
        )
    items = client.get(root_of(collection.id)).json()["items"]
    assert [item["name"] for item in items] == list(files)


def a_changed_npz(values: NDArray[np.float32]) -> bytes:
    """Of which a value was changed in storage."""
    file = io.BytesIO()
    np.savez(file, values)
    data = bytearray(file.getvalue())
    data[data.index(values.tobytes()) + 1] ^= 1
    return bytes(data)


def a_nested_header() -> bytes:
    header = b"[" * 100_000
    return len(header).to_bytes(8, "little") + header


def test_bad_arrays_are_refused(client: TestClient, collection: Collection) -> None:
    values = random_values(N)
    objects = io.BytesIO()
    np.save(objects, np.array([{"a": 1}]), allow_pickle=True)
    broken = values.copy()
    broken[3, 1] = np.nan
    for data, file, names, message in (
        (an_npy(values[:5]), "a.npy", None, "has 5 rows, and the collection has 12 images"),
        (an_npy(values), "a.npy", b"a.png\n", "12 rows, and the list has 1 file names"),
        (an_npy(values[0]), "a.npy", None, "It must be (N, F)"),
        (an_npy(broken), "a.npy", None, "Row 3, column 1 contains nan"),
        (an_npy(values)[:-8], "a.npy", None, "it was cut off"),
        (an_npy(np.asfortranarray(values)), "a.npy", None, "column by column"),
        (an_npy(np.array([["a"] * 2] * N)), "a.npy", None, "must contain real numbers"),
        (objects.getvalue(), "a.npy", None, "Python objects, which are never loaded"),
        (b"nothing", "a.npy", None, "cannot be read"),
        (b"nothing", "a.npz", None, "cannot be read"),
        (b"nothing", "a.safetensors", None, "cannot be read"),
        (a_changed_npz(values), "a.npz", None, "cannot be read: Bad CRC-32"),
        (a_nested_header(), "a.safetensors", None, "cannot be read"),
        (b"x", "a.parquet", None, "is not a file of features. Upload one of: .csv"),
        (a_vector_table(values), "a.csv", b"a\n", "Upload it without a list of file names"),
    ):
        reply = upload(client, collection.id, data, file=file, names=names)
        assert reply.status_code == 422, (file, reply.text)
        assert message in reply.json()["detail"], reply.json()["detail"]
    assert list_objects(f"features/{collection.id}") == []
