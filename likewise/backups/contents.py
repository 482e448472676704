"""A backup is a ZIP file with these members.

manifest.json  the format, what was backed up, and the SHA-256 of the list of parts
parts.jsonl    name, size and SHA-256 of every other member; too long for the manifest
database.dump  the database in pg_dump's custom format
secret_key     the value of LIKEWISE_SECRET_KEY
storage/…      every object, by its key
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import LikewiseError

# Increase this when an older Likewise could misread the file. Migrations do not need it.
FORMAT_VERSION = 1
MANIFEST, PARTS = "manifest.json", "parts.jsonl"
DATABASE, KEY, STORAGE = "database.dump", "secret_key", "storage/"
PIECE_BYTES = 2**20

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class BackupFailed(LikewiseError):
    """No backup was made, and no incomplete file is left."""

    code = "backup_failed"


class BadBackup(LikewiseError):
    """The file cannot be restored. Nothing was changed."""

    code = "bad_backup"


class CannotRestore(LikewiseError):
    """The target is not suitable or the restore failed. What it had begun was undone."""

    code = "cannot_restore"


class Part(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    size: Count
    sha256: Hash


class Manifest(BaseModel):
    """The content of manifest.json.

    revision: that of the migrations; postgres, pg_dump: major versions; rows: number of rows of
    some tables
    """

    format: Literal["likewise-backup"] = "likewise-backup"
    format_version: int = FORMAT_VERSION
    product_version: Annotated[str, Field(max_length=50)]
    made_at: str
    revision: Annotated[str, Field(max_length=50)]
    postgres: Count
    pg_dump: Count
    rows: dict[str, Count]
    objects: Count
    object_bytes: Count
    parts_sha256: Hash

    def in_words(self) -> str:
        rows = ", ".join(f"{n} {name}s" for name, n in self.rows.items())
        size = f"{self.object_bytes / 2**20:.1f} MB"
        return f"{rows}, {self.objects} objects ({size}), revision {self.revision}"
