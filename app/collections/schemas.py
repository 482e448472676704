"""Bodies of the collections API."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from app.collections.dependents import Dependents
from app.collections.models import Collection
from app.collections.service import UploadReport


class NewCollection(BaseModel):
    name: str = Field(description="1 to 200 characters.", examples=["Emoji"])


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


class PartlyUsedTable(BaseModel):
    filename: str
    reason: str


class UploadOut(BaseModel):
    """The result of an upload. Every file is in exactly one of the lists, except for a table whose
    rows were all used: it is in none."""

    added: list[AddedFile]
    duplicates: list[DuplicateFile]
    rejected: list[RejectedFile]
    partly_used: list[PartlyUsedTable]
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
            partly_used=[
                PartlyUsedTable(filename=name, reason=reason) for name, reason in report.partly_used
            ],
            attributes=report.attributes,
            n_images=n_images,
        )


class FileHashes(BaseModel):
    sha256: list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]] = Field(max_length=2000)


class KnownFile(BaseModel):
    sha256: str
    filename: str


class KnownFiles(BaseModel):
    """The files that the collection already has, with the names they have there."""

    known: list[KnownFile]


class CollectionName(BaseModel):
    name: str


class DependentCampaignOut(BaseModel, from_attributes=True):
    id: UUID
    name: str
    state: str
    n_answers: int
    n_models: int


class DependentsOut(BaseModel):
    """What is deleted together with a collection. `refusal` says why it cannot be deleted, if
    so."""

    n_images: int
    n_answers: int
    n_annotators: int
    n_models: int
    campaigns: list[DependentCampaignOut]
    sentence: str
    refusal: str | None

    @classmethod
    def of(cls, dependents: Dependents) -> "DependentsOut":
        return cls.model_validate(dependents, from_attributes=True)
