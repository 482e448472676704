"""The manifest of an archive, and the names of its members (docs/exports.md)."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field

# This number is raised when an older Likewise could misread the file. New tables and columns do not
# raise it.
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
# Hashes of the images in the format of sha256sum; there are too many for the manifest.
CHECKSUMS = "images.sha256"
# These sizes of every image are archived; the smaller size is made from them on the first request.
SIZES = ("thumb", "large")
IMAGE = re.compile(rf"images/({'|'.join(SIZES)})/\d{{6,9}}\.webp", re.ASCII)
# Parts never begin with a dot, so that no path leads upwards, and no type is allowed that runs code
# when it is read.
ARTIFACT = re.compile(
    r"models/(\d{4,9})/((?:\w[\w.-]*/)*\w[\w.-]*\.(?:safetensors|json))", re.ASCII
)

# The vectors of a feature set: its number among the names of all sets, and the number of the part.
FEATURES = re.compile(r"features/(\d{3,6})/(\d{6}\.safetensors|columns\.json)", re.ASCII)

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class TableSummary(BaseModel):
    rows: Count
    columns: list[str]


class MemberSummary(BaseModel):
    sha256: Hash
    size: Count


class Manifest(BaseModel):
    """`learning`: a training was waiting or running, and is requested again after the import;
    `missing_images`: number of images that were no longer in storage."""

    format: Literal["likewise-campaign"] = "likewise-campaign"
    format_version: int = FORMAT_VERSION
    product_version: Annotated[str, Field(max_length=50)]
    made_at: str
    campaign: str
    learning: bool
    missing_images: Count
    tables: dict[str, TableSummary]
    members: dict[str, MemberSummary]


def image_name(position: int, size: str) -> str:
    return f"images/{size}/{position:06d}.webp"


def artifact_name(model_version: int, file: str) -> str:
    return f"models/{model_version:04d}/{file}"


def features_name(number: int, file: str) -> str:
    """Return the member with a part of the vectors of a feature set, or with its column names."""
    return f"features/{number:03d}/{file}"
