"""Why an archive cannot be restored."""

from app.core.errors import InvalidInput


class DamagedArchive(InvalidInput):
    """The file is no archive of a campaign, was cut off or was changed. Nothing was restored."""

    code = "damaged_archive"


class TooNewArchive(InvalidInput):
    """The archive holds what this version of the product does not know."""

    code = "archive_too_new"
