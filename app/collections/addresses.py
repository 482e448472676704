"""The addresses that an import can read from: public web addresses, and object storage that the
settings allow.

A requester gives addresses, and the server fetches them from inside its network and with its own
credentials. So web addresses must be public (`fetch.py` checks where the connection really goes),
and object storage must be below a prefix in `LIKEWISE_IMPORT_SOURCES`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore

from app.core.errors import InvalidInput, LikewiseError
from app.core.settings import get_settings
from app.core.storage import open_store

WEB = ("http", "https")
STORAGE = ("s3", "gs", "az", "file")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
MAX_ADDRESS = 2000


class BadAddress(InvalidInput):
    """The address cannot be used; the message says why."""

    code = "bad_address"


class NotReadable(LikewiseError):
    """The file or folder at an address could not be read."""

    code = "not_readable"
    status = 502


class TooLarge(NotReadable):
    code = "too_large"


@dataclass(frozen=True)
class Location:
    """An object or a prefix of objects: scheme, bucket (empty for files), and segments of the
    key."""

    scheme: str
    bucket: str
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        return "/".join(self.parts)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    def holds(self, other: "Location") -> bool:
        """Tell whether `other` is this location or below it, folder by folder."""
        return (self.scheme, self.bucket) == (other.scheme, other.bucket) and other.parts[
            : len(self.parts)
        ] == self.parts


def location_of(address: str) -> Location:
    """Parse `s3://bucket/key` and the like; raises BadAddress."""
    if len(address) > MAX_ADDRESS or _CONTROL.search(address):
        raise BadAddress("The address is too long, or contains backslashes or control characters.")
    scheme, separator, rest = address.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in STORAGE:
        raise BadAddress(
            f"{address[:100]!r} is not an object storage address. Use one like s3://bucket/folder."
        )
    bucket, _, key = rest.partition("/")
    if scheme == "file" and bucket:
        raise BadAddress("A file address needs three slashes: file:///folder.")
    if scheme != "file" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", bucket):
        raise BadAddress(f"{bucket[:100]!r} is not a valid bucket name.")
    return Location(scheme, bucket, _segments(key))


def _segments(key: str) -> tuple[str, ...]:
    parts = tuple(part for part in key.split("/") if part)
    if any(part in (".", "..") for part in parts):
        raise BadAddress("An address cannot contain '.' or '..' as a folder.", code="unsafe_name")
    return parts


def allowed_sources() -> list[Location]:
    """Return the prefixes that the settings allow; raises BadAddress if one is invalid."""
    return [
        location_of(address)
        for address in re.split(r"[\s,]+", get_settings().import_sources)
        if address
    ]


def checked_location(address: str) -> Location:
    """Check that an address is below one of the allowed prefixes; raises BadAddress."""
    location = location_of(address)
    if not any(source.holds(location) for source in allowed_sources()):
        raise BadAddress(
            f"Imports from {location} are not allowed on this server. An administrator can "
            "add it to LIKEWISE_IMPORT_SOURCES.",
            code="source_not_allowed",
        )
    return location


def address_of_row(text: str, base: Location | None) -> str:
    """Return the full address that a cell stands for: a web address, object storage, or a key below
    `base`.

    Raises BadAddress.
    """
    text = text.strip()
    scheme, separator, _ = text.partition("://")
    if separator and scheme.lower() in WEB:
        return _checked_web_address(text)
    if separator:
        return str(checked_location(text))
    if base is None:
        raise BadAddress(
            f"{text[:100]!r} is not a full address. Start it with https:// or s3://, or "
            "enter the folder that contains the list's keys."
        )
    if text.startswith("/") or _CONTROL.search(text) or len(text) > MAX_ADDRESS:
        raise BadAddress(f"{text[:100]!r} is not a key below {base}.", code="unsafe_name")
    return str(Location(base.scheme, base.bucket, (*base.parts, *_segments(text))))


def _checked_web_address(text: str) -> str:
    if len(text) > MAX_ADDRESS or _CONTROL.search(text) or " " in text:
        raise BadAddress("The address is too long, or contains spaces or control characters.")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadAddress(f"{text[:100]!r} is not a web address ({error}).") from error
    if not host or parts.username is not None or parts.password is not None:
        raise BadAddress("A web address needs a host, and cannot contain a user name or password.")
    return text


@lru_cache
def _bucket(scheme: str, bucket: str) -> ObjectStore:
    # Credentials come from the server's environment, like those of its own storage.
    return open_store(f"{scheme}://{bucket}")


def list_below(prefix: Location) -> Iterator[tuple[str, int]]:
    """Yield address and size in bytes of every object below a prefix; raises NotReadable."""
    if prefix.scheme == "file":
        yield from _list_folder(prefix)
        return
    try:
        for page in obstore.list(_bucket(prefix.scheme, prefix.bucket), prefix.key or None):
            for entry in page:
                yield str(Location(prefix.scheme, prefix.bucket, (entry["path"],))), entry["size"]
    except (BaseError, OSError, ValueError) as error:
        raise NotReadable(f"{prefix} cannot be listed: {_first_line(error)}") from error


def _list_folder(prefix: Location) -> Iterator[tuple[str, int]]:
    folder = _real_path(prefix)
    if not folder.is_dir():
        raise NotReadable(f"{prefix} is not a folder.")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.startswith("."):
            parts = (*prefix.parts, *path.relative_to(folder).parts)
            yield str(Location("file", "", parts)), path.stat().st_size


def read_object(address: str, max_bytes: int) -> bytes:
    """Return the bytes of an object in storage; raises BadAddress, NotReadable or TooLarge."""
    location = checked_location(address)
    if location.scheme == "file":
        return _read_file(location, max_bytes)
    try:
        stored = obstore.get(_bucket(location.scheme, location.bucket), location.key)
        _check_size(stored.meta["size"], max_bytes)
        return bytes(stored.bytes())
    except FileNotFoundError as error:
        raise NotReadable(f"{location} does not exist.", code="not_found") from error
    except (BaseError, OSError, ValueError) as error:
        raise NotReadable(f"{location} cannot be read: {_first_line(error)}") from error


def _read_file(location: Location, max_bytes: int) -> bytes:
    path = _real_path(location)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise NotReadable(f"{location} does not exist.", code="not_found") from error
    except OSError as error:
        raise NotReadable(f"{location} cannot be read: {error.strerror}.") from error
    _check_size(len(data), max_bytes)
    return data


def _real_path(location: Location) -> Path:
    """Return the path with links resolved, if it is still below an allowed folder."""
    path = Path("/", *location.parts).resolve()
    folders = [
        Path("/", *source.parts).resolve()
        for source in allowed_sources()
        if source.scheme == "file"
    ]
    if not any(path.is_relative_to(folder) for folder in folders):
        raise BadAddress(f"{location} points outside the allowed folder.", code="unsafe_name")
    return path


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise TooLarge(f"The file is larger than {max_bytes // 2**20} MB.")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason given"])[0][:300]
