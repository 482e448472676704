"""Errors of archives that cannot be restored."""

from app.core.errors import InvalidInput


class DamagedArchive(InvalidInput):
    """The file is not a campaign archive, was cut off, or was changed. Nothing was restored."""

    code = "damaged_archive"


class TooNewArchive(InvalidInput):
    """The archive contains data that this version of Likewise does not know."""

    code = "archive_too_new"
