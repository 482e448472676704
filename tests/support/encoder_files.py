"""The encoder's weights in tests."""

from pathlib import Path

from learning.encoder_files import packaged_file
from learning.encoder_weights import convert


def converted_weights(folder: Path) -> Path:
    """The weights of the installed package, converted into a folder."""
    source = packaged_file()
    assert source is not None, "the package with the encoder's weights is not installed"
    target = folder / "weights.safetensors"
    convert(source, target)
    return target
