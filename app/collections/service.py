"""What can be done with collections."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import Account
from app.accounts.service import record_audit
from app.collections.archives import is_archive, members
from app.collections.attributes import BadAttributeTable, read_attribute_table
from app.collections.images import SIZES, PreparedImage, RejectedImage, prepare_image
from app.collections.models import Collection, Image
from app.core.errors import Conflict, InvalidInput, LikewiseError, NotFound
from app.core.settings import get_settings
from app.core.storage import put_object


@dataclass
class UploadReport:
    """What became of every file of one upload."""

    added: list[tuple[str, int]] = field(default_factory=list)
    duplicates: list[tuple[str, str]] = field(default_factory=list)
    rejected: list[tuple[str, LikewiseError]] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)


def create_collection(session: Session, owner: Account, name: str) -> Collection:
    name = name.strip()
    if not 1 <= len(name) <= 200:
        raise InvalidInput("A collection needs a name of 1 to 200 characters.", code="bad_name")
    collection = Collection(owner_id=owner.id, name=name)
    session.add(collection)
    session.flush()
    record_audit(session, owner.id, "collection.created", "collection", collection.id)
    return collection


def list_collections(session: Session, owner: Account) -> list[Collection]:
    query = select(Collection).where(Collection.owner_id == owner.id)
    return list(session.scalars(query.order_by(Collection.created_at.desc())))


def get_collection(session: Session, owner: Account, collection_id: UUID) -> Collection:
    """The owner's collection; raises NotFound, also for somebody else's."""
    collection = session.get(Collection, collection_id)
    if collection is None or collection.owner_id != owner.id:
        raise NotFound("There is no such collection.")
    return collection


def list_images(
    session: Session, collection: Collection, offset: int = 0, limit: int | None = None
) -> list[Image]:
    query = select(Image).where(Image.collection_id == collection.id).order_by(Image.position)
    return list(session.scalars(query.offset(offset).limit(limit)))


def attribute_names(session: Session, collection: Collection) -> list[str]:
    """All attribute names in use, sorted."""
    rows = session.scalars(select(Image.attributes).where(Image.collection_id == collection.id))
    return sorted({name for attributes in rows for name in attributes})


def add_files(
    session: Session, owner: Account, collection: Collection, files: list[tuple[str, bytes]]
) -> UploadReport:
    """Take in images, ZIP files of images and attribute tables (CSV).

    A file that cannot be used is reported by name while the rest goes in; a file whose content is
    in the collection already is folded into it. Tables are read last, so that they may come
    together with the images they describe.
    """
    # One upload at a time per collection: positions stay dense, duplicates are seen.
    session.refresh(collection, with_for_update=True)
    report = UploadReport()
    tables: list[tuple[str, bytes]] = []
    known = dict(
        session.execute(
            select(Image.sha256, Image.filename).where(Image.collection_id == collection.id)
        ).all()
    )
    for filename, data in files:
        if is_archive(filename, data):
            _add_archive(session, collection, (filename, data), known, tables, report)
        else:
            _add_one(session, collection, (filename, data), known, tables, report)
    session.flush()
    for filename, data in tables:
        _apply_table(session, collection, filename, data, report)
    report.attributes = attribute_names(session, collection)
    record_audit(
        session,
        owner.id,
        "collection.files_added",
        "collection",
        collection.id,
        added=len(report.added),
        rejected=len(report.rejected),
    )
    return report


def _add_archive(
    session: Session,
    collection: Collection,
    file: tuple[str, bytes],
    known: dict[str, str],
    tables: list[tuple[str, bytes]],
    report: UploadReport,
) -> None:
    filename, data = file
    try:
        for name, content in members(data):
            if isinstance(content, RejectedImage):
                report.rejected.append((name, content))
            else:
                _add_one(session, collection, (name, content), known, tables, report)
    except RejectedImage as error:
        report.rejected.append((filename, error))


def _add_one(
    session: Session,
    collection: Collection,
    file: tuple[str, bytes],
    known: dict[str, str],
    tables: list[tuple[str, bytes]],
    report: UploadReport,
) -> None:
    path, data = file
    filename = PurePosixPath(path.replace("\\", "/")).name[:500].replace("\0", "") or "unnamed"
    if filename.lower().endswith(".csv"):
        tables.append((filename, data))
        return
    try:
        prepared = prepare_image(data)
        if prepared.sha256 in known:
            report.duplicates.append((filename, known[prepared.sha256]))
            return
        image = _add_image(session, collection, filename, prepared)
    except LikewiseError as error:
        report.rejected.append((filename, error))
        return
    known[prepared.sha256] = filename
    report.added.append((filename, image.position))


def _add_image(
    session: Session, collection: Collection, filename: str, prepared: PreparedImage
) -> Image:
    limit = get_settings().max_collection_images
    if collection.n_images >= limit:
        raise RejectedImage(f"The collection is full ({limit} images).", code="collection_full")
    # Objects are content-addressed: written before the commit, a rollback leaves no wrong data.
    for size, encoded in prepared.encoded.items():
        put_object(image_key(collection.id, prepared.sha256, size), encoded)
    image = Image(
        collection_id=collection.id,
        position=collection.n_images,
        sha256=prepared.sha256,
        filename=filename,
        width=prepared.width,
        height=prepared.height,
    )
    session.add(image)
    collection.n_images += 1
    return image


def image_key(collection_id: UUID, sha256: str, size: str) -> str:
    """Storage key of one encoded image; `size` is 'thumb' or 'large'."""
    if size not in SIZES:
        raise NotFound(f"Images come in the sizes {', '.join(SIZES)}, not {size!r}.")
    return f"images/{collection_id}/{sha256}/{size}.webp"


def _apply_table(
    session: Session, collection: Collection, filename: str, data: bytes, report: UploadReport
) -> None:
    try:
        rows = read_attribute_table(data)
        images = {image.filename: image for image in list_images(session, collection)}
        unknown = [row.filename for row in rows if row.filename not in images]
        lengths = {len(row.features) for row in rows if row.features}
        lengths |= {len(image.features) for image in images.values() if image.features}
        if len(lengths) > 1:
            raise BadAttributeTable(
                f"Feature vectors of one collection have one length; found {sorted(lengths)}."
            )
    except LikewiseError as error:
        report.rejected.append((filename, error))
        return
    # The duplicates of an upload are known by the name of the image that was kept.
    aliases = dict(report.duplicates)
    for row in rows:
        image = images.get(row.filename) or images.get(aliases.get(row.filename, ""))
        if image is not None:
            image.attributes = {**image.attributes, **row.attributes}
            image.features = row.features or image.features
    unknown = [name for name in unknown if aliases.get(name) not in images]
    if unknown:
        listed = ", ".join(unknown[:5])
        report.rejected.append(
            (
                filename,
                BadAttributeTable(
                    f"{len(unknown)} of {len(rows)} rows name no image of this collection: "
                    f"{listed}{'…' if len(unknown) > 5 else ''}. The other rows were used."
                ),
            )
        )


def require_images(collection: Collection, at_least: int) -> None:
    """Raise Conflict when the collection is too small for grids of `at_least` images."""
    if collection.n_images < at_least:
        raise Conflict(
            f"The collection has {collection.n_images} images, fewer than the {at_least} of one "
            "grid. Upload more images or choose a smaller grid.",
            code="collection_too_small",
        )
