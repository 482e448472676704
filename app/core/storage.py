"""Object storage: a local folder by default, S3-compatible by `STORAGE_URL`.

A thin layer over `obstore`, so that the rest of the code knows four verbs and no library.
"""

from functools import lru_cache

import obstore
from obstore.store import ObjectStore, from_url

from app.core.settings import get_settings


@lru_cache
def _store() -> ObjectStore:
    url = get_settings().storage
    if url.startswith("file:"):
        return from_url(url, mkdir=True)
    return from_url(url)


def put_object(key: str, data: bytes) -> None:
    """Store `data` under `key`, replacing what was there; raises OSError when storage fails."""
    obstore.put(_store(), key, data)


def get_object(key: str) -> bytes:
    """The bytes under `key`; raises FileNotFoundError when there are none."""
    return bytes(obstore.get(_store(), key).bytes())


def has_object(key: str) -> bool:
    try:
        obstore.head(_store(), key)
    except FileNotFoundError:
        return False
    return True


def delete_objects(keys: list[str]) -> None:
    """Remove the objects under `keys`; absent ones are passed over."""
    for key in keys:
        if has_object(key):
            obstore.delete(_store(), key)
