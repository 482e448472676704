"""Object storage: a local folder by default, or S3-compatible storage by `STORAGE_URL`.

This is a thin layer over `obstore`, so that the rest of the code needs a few verbs and no library.
"""

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit
from urllib.request import url2pathname

import obstore
from obstore.exceptions import BaseError, GenericError
from obstore.store import ObjectStore, from_url

from app.core.errors import NoRoom
from app.core.settings import get_settings

# Errors of storage that is not a folder; the second, if it does not respond, or with an error of
# its own.
StorageError = BaseError
StorageUnavailable = GenericError
# The names of an S3-compatible server's address. If it is not https, that is meant.
ENDPOINTS = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
FULL = (errno.ENOSPC, errno.EDQUOT)
# In bytes; less free space than this counts as none.
LEAST_ROOM = 16 * 2**20


def is_local() -> bool:
    """Tell whether storage is a folder of this machine."""
    return get_settings().storage.startswith("file:")


@lru_cache
def _store() -> ObjectStore:
    url = get_settings().storage
    if is_local():
        # Only local storage has folders, which we create and remove ourselves.
        return from_url(url, mkdir=True, automatic_cleanup=True)
    return open_store(url)


def open_store(url: str) -> ObjectStore:
    """Return storage in the network, with the credentials of the server's environment."""
    if any(os.environ.get(name, "").startswith("http://") for name in ENDPOINTS):
        return from_url(url, client_options={"allow_http": True})
    return from_url(url)


def check_storage() -> None:
    """Raise an error unless storage responds. A folder must also be writable, and its disk must
    have free space (NoRoom)."""
    url = get_settings().storage
    if not is_local():
        # For a single object, a bucket that does not exist responds as if only the object did not.
        next(iter(obstore.list(_store(), "no/such/object")), None)
        return
    has_object("no/such/object")
    folder = url2pathname(urlsplit(url).path)
    if not os.access(folder, os.W_OK):
        raise PermissionError("The storage folder is not writable.")
    if shutil.disk_usage(folder).free < LEAST_ROOM:
        raise NoRoom


def put_object(key: str, data: bytes) -> None:
    """Store `data` under `key`, replacing what was there; raises NoRoom when the disk is full, and
    StorageError or OSError when storage fails otherwise."""
    with _raising_no_room():
        obstore.put(_store(), key, data)


def put_pieces(key: str, pieces: Iterable[bytes]) -> None:
    """Store data like `put_object`, in pieces, if it is too large to hold in memory."""
    with _raising_no_room():
        obstore.put(_store(), key, pieces)


def copy_object(key: str, other: str) -> None:
    """Copy an object, replacing what was there. Raises FileNotFoundError if there is none under
    `key`, and otherwise like `put_object`."""
    with _raising_no_room():
        obstore.copy(_store(), key, other)


@contextmanager
def _raising_no_room() -> Iterator[None]:
    try:
        yield
    except (StorageError, OSError) as error:
        # The library wraps the system's errors, and keeps their number only in the message.
        if any(f"(os error {number})" in str(error) for number in FULL) or is_full(error):
            raise NoRoom from error
        raise


def storage_reason(error: BaseException) -> str:
    """Describe an error of storage in one line; the library adds its own state for debugging."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def is_full(error: BaseException) -> bool:
    """Tell whether the system reported a full disk or an exhausted quota."""
    return isinstance(error, OSError) and error.errno in FULL


def get_object(key: str) -> bytes:
    """Return the bytes under `key`; raises FileNotFoundError if there are none."""
    return bytes(obstore.get(_store(), key).bytes())


def stream_object(key: str) -> Iterator[bytes]:
    """Yield the bytes under `key` in pieces; raises FileNotFoundError if there are none."""
    for piece in obstore.get(_store(), key).stream(min_chunk_size=2**20):
        yield bytes(piece)


def has_object(key: str) -> bool:
    try:
        obstore.head(_store(), key)
    except FileNotFoundError:
        return False
    return True


def delete_objects(keys: list[str]) -> None:
    """Remove the objects under `keys`; missing ones are ignored."""
    for key in keys:
        if has_object(key):
            obstore.delete(_store(), key)


def list_objects(prefix: str) -> list[str]:
    """Return the keys of all objects in the folder `prefix`, sorted."""
    pages = obstore.list(_store(), prefix=prefix.rstrip("/") + "/")
    return sorted(item["path"] for some in pages for item in some)


def all_keys() -> Iterator[str]:
    """Yield the keys of all objects in storage, unordered, a page at a time."""
    for page in obstore.list(_store()):
        for item in page:
            yield item["path"]


def delete_everything() -> None:
    """Remove all objects."""
    for page in obstore.list(_store()):
        obstore.delete(_store(), [item["path"] for item in page])


def delete_below(prefix: str) -> None:
    """Remove all objects whose keys begin with the folders of `prefix`; there may be none.

    Raises ValueError for a prefix without a folder name, which would match everything.
    """
    if not prefix.strip("/. "):
        raise ValueError(f"{prefix!r} is not the name of a folder.")
    for page in obstore.list(_store(), prefix):
        obstore.delete(_store(), [item["path"] for item in page])
