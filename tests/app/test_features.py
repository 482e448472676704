"""The register of features: built in, of the table, and by a function of one's own."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.collections.models import Image
from app.core.database import transaction
from app.core.errors import InvalidInput
from app.core.settings import Settings, get_settings
from app.core.storage import list_objects
from app.features import custom
from app.features.reading import computed_features, features_wanted
from app.features.sources import BUILT_IN, SHOWN_OBJECTS, check_source, get_source, source_names
from app.strategies import get_strategy
from app.strategies.base import check_settings
from learning.appearance import appearance_features
from testbed.builders import a_campaign, a_collection, an_account, sign_in
from testbed.servers import ROOT

MODULE = """
import numpy as np

calls = []

def means(images):
    calls.append(1)
    return np.array([image.mean(axis=(0, 1)) for image in images])

def short(images):
    return np.zeros((1, 2))

def broken(images):
    for image in images:
        raise RuntimeError("no such layer")

def hasty(images):
    rows = []
    try:
        for image in images:
            rows.append(image.mean(axis=(0, 1)))
    except OSError:
        pass
    return np.array(rows)

def wrapped(images):
    try:
        return np.array([image.mean(axis=(0, 1)) for image in images])
    except OSError as error:
        raise RuntimeError("loading failed") from error

def holes(images):
    rows = [image.mean(axis=(0, 1)) for image in images]
    rows[3][0] = np.nan
    return rows

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of one's own on the path; returns its name."""
    name = f"my_features_{uuid4().hex}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def use(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("LIKEWISE_FEATURES", address)
    get_settings.cache_clear()


def wanted(name: str, n: int = 12) -> np.ndarray:
    owner = an_account()
    campaign = a_campaign(owner, a_collection(owner, n=n))
    with transaction() as session:
        make = features_wanted(session, campaign, name)
    features = make()
    assert features is not None
    again = make()
    assert again is not None
    assert np.array_equal(features, again)
    return features


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("appearance", (12, 12)),
        ("components", (12, 12)),
        ("pixels", (12, 16, 16, 3)),
        ("grey", (12, 28, 28)),
        ("features", (12, 2)),
        ("objects", (12, 11)),
    ],
)
def test_built_in_features_of_a_campaign(
    environment: dict[str, str], name: str, shape: tuple[int, ...]
) -> None:
    features = wanted(name)
    assert features.shape == shape
    assert np.isfinite(features).all()
    assert features.std() > 0


def test_features_are_computed_once(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def counted(images: object) -> np.ndarray:
        calls.append(1)
        return appearance_features(images)  # type: ignore[arg-type]

    monkeypatch.setattr("learning.appearance.appearance_features", counted)
    wanted("appearance")
    assert calls == [1]


def test_a_function_of_one_s_own_is_offered_and_used(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    owner = an_account("boss@example.org")
    sign_in(client, owner)

    def choices() -> dict[str, object]:
        strategies = client.get("/api/v1/options").json()["strategies"]
        (scdc,) = [strategy for strategy in strategies if strategy["name"] == "scdc"]
        schema: dict[str, object] = scdc["settings"]["properties"]["features"]
        return schema

    assert "custom" not in choices()["enum"]  # type: ignore[operator]
    use(monkeypatch, f"{module}:means")
    assert choices()["enum"] == source_names()
    assert choices()["labels"]["custom"] == f"{module}:means"  # type: ignore[index]
    features = wanted("custom")
    assert features.shape == (12, 3)
    # Twice asked for, once computed.
    assert len(sys.modules[module].calls) == 1


def test_what_another_version_of_a_function_computed_is_not_taken(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    use(monkeypatch, f"{module}:means")
    owner = an_account()
    collection = a_collection(owner, n=3)
    campaign = a_campaign(owner, collection, grid_size=2)
    with transaction() as session:
        features_wanted(session, campaign, "custom")()
    file = Path(sys.modules[module].__file__ or "")
    file.write_text(MODULE + "\n# another network\n")
    with transaction() as session:
        features_wanted(session, campaign, "custom")()
    assert len(sys.modules[module].calls) == 2
    assert len(list_objects(f"features/{collection.id}")) == 2


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("short", "returned an array of shape (1, 2) for 5 images; the shape must be (N, F)"),
        ("broken", "failed after 1 images: RuntimeError: no such layer"),
        ("holes", "returned numbers that are not finite, first for image 3"),
        ("number", "has no function 'number'"),
        ("missing", "has no function 'missing'"),
    ],
)
def test_a_function_that_does_not_do_says_why(module: str, function: str, message: str) -> None:
    images = [np.zeros((4, 4, 3), np.uint8)] * 5
    with pytest.raises(ValueError, match=re.escape(message)):
        custom.load_custom(f"{module}:{function}").compute(iter(images))


@pytest.mark.parametrize("function", ["means", "hasty", "wrapped"])
def test_a_failing_storage_is_not_taken_for_the_function_s_fault(
    module: str, function: str
) -> None:
    def images() -> Iterator[np.ndarray]:
        yield np.zeros((4, 4, 3), np.uint8)
        raise FileNotFoundError("images/1")

    with pytest.raises(FileNotFoundError, match="images/1"):
        custom.load_custom(f"{module}:{function}").compute(images())


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="the module not_here cannot be imported"):
        custom.load_custom("not_here:function")


def test_the_setting_has_a_form() -> None:
    for wrong in ("module", "a:b:c", "a b:c", "os;rm:x"):
        with pytest.raises(ValueError, match="should match pattern"):
            Settings(features=wrong, database_url="x", redis_url="x", secret_key="x")


def test_a_choice_that_this_server_does_not_offer_is_refused(
    environment: dict[str, str],
) -> None:
    for strategy, field in (("scdc", "features"), ("crowdster", "start_from")):
        for name in ("custom", "thoughts"):
            with pytest.raises(InvalidInput, match="choose one of: objects, appearance"):
                check_settings(get_strategy(strategy), {field: name})
    with pytest.raises(ValueError, match="This server has no custom feature function"):
        get_source("custom")
    assert check_source("grey") == "grey"


def test_every_source_is_documented() -> None:
    text = (ROOT / "docs" / "features.md").read_text()
    for source in (*BUILT_IN, SHOWN_OBJECTS):
        assert f"`{source.name}`" in text
        assert source.title in text


def test_what_is_kept_depends_on_the_images(environment: dict[str, str]) -> None:
    collection = a_collection(an_account(), n=4)
    with transaction() as session:
        rows = select(Image.sha256).where(Image.collection_id == collection.id)
        hashes = list(session.scalars(rows.order_by(Image.position)))
    whole, part, turned = (
        computed_features(collection.id, some, get_source("grey"))
        for some in (hashes, hashes[:2], hashes[::-1])
    )
    assert np.array_equal(part, whole[:2])
    assert np.array_equal(turned, whole[::-1])
    assert len(list_objects(f"features/{collection.id}")) == 3


def test_features_of_a_table_are_not_computed() -> None:
    with pytest.raises(ValueError, match="not computed from images"):
        computed_features(uuid4(), ["0"], get_source("features"))
