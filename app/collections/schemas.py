"""Bodies of the collections API."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel

from app.collections.media import image_url
from app.collections.models import Collection, Image
from app.collections.service import UploadReport


class NewCollection(BaseModel):
    name: str


class CollectionOut(BaseModel):
    id: UUID
    name: str
    n_images: int

    @classmethod
    def of(cls, collection: Collection) -> "CollectionOut":
        return cls(id=collection.id, name=collection.name, n_images=collection.n_images)


class AddedFile(BaseModel):
    filename: str
    position: int


class DuplicateFile(BaseModel):
    filename: str
    same_as: str


class RejectedFile(BaseModel):
    filename: str
    code: str
    reason: str


class UploadOut(BaseModel):
    """Every file of the upload is in exactly one of the three lists (tables: only if refused)."""

    added: list[AddedFile]
    duplicates: list[DuplicateFile]
    rejected: list[RejectedFile]
    attributes: list[str]
    n_images: int

    @classmethod
    def of(cls, report: UploadReport, n_images: int) -> "UploadOut":
        return cls(
            added=[AddedFile(filename=name, position=at) for name, at in report.added],
            duplicates=[
                DuplicateFile(filename=name, same_as=same) for name, same in report.duplicates
            ],
            rejected=[
                RejectedFile(filename=name, code=error.code, reason=str(error))
                for name, error in report.rejected
            ],
            attributes=report.attributes,
            n_images=n_images,
        )


class ImageOut(BaseModel):
    position: int
    filename: str
    url: str
    large_url: str
    attributes: dict[str, Any]

    @classmethod
    def of(cls, image: Image) -> "ImageOut":
        return cls(
            position=image.position,
            filename=image.filename,
            url=image_url(image),
            large_url=image_url(image, "large"),
            attributes=image.attributes,
        )


class ImagePage(BaseModel):
    total: int
    images: list[ImageOut]
