"""The built-in encoder: its numbers, its weights file, and what it takes."""

import multiprocessing
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from learning.appearance import appearance_features
from learning.encoder import Encoder
from learning.encoder_files import packaged_file
from learning.encoder_weights import convert
from tests.support.encoder_files import converted_weights
from tests.support.encoder_images import distorted_crop, reference_images, scenes

REFERENCE = Path(__file__).parent / "encoder_reference.safetensors"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted_weights(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def encoder(weights: Path) -> Encoder:
    return Encoder.load(weights, "cpu")


def test_features_are_those_of_the_original_package(encoder: Encoder) -> None:
    """The stored features come from efficientnet-lite-pytorch 0.1.0 with the same weights, computed
    in float64: the mean over the image of `extract_features((pixels - 127) / 128)`."""
    expected = load_file(REFERENCE)["features"]
    assert expected.std() > 0.1
    assert np.abs(encoder.encode(reference_images()) - expected).max() < 1e-4


def test_weights_that_differ_give_other_features(encoder: Encoder, weights: Path) -> None:
    network = Encoder.load(weights, "cpu")
    bias = dict(network._network.named_parameters())["blocks.3.project.bias"]
    bias.data[0] += 0.1
    difference = network.encode(reference_images()) - encoder.encode(reference_images())
    assert np.abs(difference).max() > 1e-4


def test_batches_do_not_change_features(encoder: Encoder) -> None:
    images = scenes(11)
    together = encoder.encode(images, 11)
    for batch_size in (1, 4, 10):
        assert np.abs(encoder.encode(images, batch_size) - together).max() < 1e-5
    assert np.array_equal(encoder.encode(images), encoder.encode(images))


def test_batches_are_computed_as_they_are_read(encoder: Encoder) -> None:
    read = []

    def images() -> Iterator[np.ndarray]:
        for k, image in enumerate(scenes(7)):
            read.append(k)
            yield image

    batches = encoder.encode_batches(images(), 3)
    assert next(batches).shape == (3, 1280)
    assert len(read) == 3
    assert [len(batch) for batch in batches] == [3, 1]
    assert len(read) == 7


@pytest.mark.parametrize("size", [(1, 1), (1, 4_000), (4_000, 1), (223, 3)])
def test_images_of_any_size(encoder: Encoder, size: tuple[int, int]) -> None:
    image = np.full((*size, 3), 90, np.uint8)
    features = encoder.encode([image])
    assert features.shape == (1, 1280)
    # The whole of it is one colour, whatever its shape.
    assert np.allclose(features, encoder.encode([np.full((50, 50, 3), 90, np.uint8)]), atol=1e-5)


def test_the_edge_of_an_image_counts(encoder: Encoder) -> None:
    plain = np.full((100, 300, 3), 128, np.uint8)
    striped = plain.copy()
    striped[:, :40:4] = (200, 30, 30)
    assert np.abs(np.diff(encoder.encode([plain, striped]), axis=0)).max() > 0.5


def test_grey_images_are_taken_as_rgb(encoder: Encoder) -> None:
    grey = np.repeat(scenes(1)[0].mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)
    assert encoder.encode([grey]).std() > 0.1


def test_no_images_have_no_features(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 1280)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((5, 5), np.uint8),
        np.zeros((5, 5, 4), np.uint8),
        np.zeros((5, 5, 3)),
        np.zeros((0, 5, 3), np.uint8),
    ],
)
def test_arrays_that_are_no_images_are_refused(encoder: Encoder, wrong: np.ndarray) -> None:
    with pytest.raises(ValueError, match="image 1 must be an array"):
        encoder.encode([np.zeros((5, 5, 3), np.uint8), wrong])


@pytest.mark.parametrize("batch_size", [0, -1, 5_000])
def test_unusable_batch_sizes_are_refused(encoder: Encoder, batch_size: int) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        encoder.encode(scenes(1), batch_size)


def share_recognised(features: np.ndarray, n: int) -> float:
    """The share of distorted crops (the last n) nearest to the image they were cut from."""
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    return float(np.mean((unit[n:] @ unit[:n].T).argmax(axis=1) == np.arange(n)))


def test_distorted_crops_are_recognised_better_than_by_appearance(encoder: Encoder) -> None:
    rng = np.random.default_rng(5)
    originals = scenes(40, 5)
    images = [*originals, *(distorted_crop(image, rng) for image in originals)]
    seen = share_recognised(encoder.encode(images), 40)
    assert seen > share_recognised(appearance_features(images), 40) + 0.1
    assert seen > 0.5


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot be read.*python -m likewise.encoder_weights"):
        Encoder.load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "one bit", "another network"])
def test_damaged_weights_say_what_to_do(weights: Path, tmp_path: Path, damage: str) -> None:
    content = weights.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    path = tmp_path / "damaged.safetensors"
    if damage == "another network":
        save_file({"stem.weight": np.zeros((3, 3), np.float32)}, path)
    else:
        damaged = {
            "empty": b"",
            "cut": content[:-1_000],
            "text": b"<html>Not found</html>" * 1_000,
            "one bit": bytes(flipped),
        }
        path.write_bytes(damaged[damage])
    with pytest.raises(ValueError, match=r"python -m likewise\.encoder_weights"):
        Encoder.load(path)


def test_a_package_file_with_other_content_is_not_opened(tmp_path: Path) -> None:
    source = tmp_path / "weights.pth"
    # A pickle that would raise if anything read it.
    source.write_bytes(b"cos\nabort\n(tR.")
    with pytest.raises(ValueError, match="SHA-256"):
        convert(source, tmp_path / "converted.safetensors")
    assert not (tmp_path / "converted.safetensors").exists()


def test_processes_that_convert_at_once_write_one_whole_file(tmp_path: Path) -> None:
    source, target = packaged_file(), tmp_path / "there" / "converted.safetensors"
    spawning = multiprocessing.get_context("spawn")
    processes = [spawning.Process(target=convert, args=(source, target)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert Encoder.load(target, "cpu").n_features == 1280
    assert {path.suffix for path in target.parent.iterdir()} == {".lock", ".safetensors"}
    # Another user than the one that installs can read it.
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


def test_an_unknown_device_is_refused(weights: Path) -> None:
    with pytest.raises(ValueError, match="device must be"):
        Encoder.load(weights, "abacus")
