"""Creates signed addresses of images, and serves the images.

An annotator's page has no cookie, and an `<img>` sends no bearer token, so the address itself
carries a signature over collection and content hash. The content of an address never changes.
"""

from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from app.collections.images import smaller_copy
from app.collections.models import Image
from app.collections.service import image_key
from app.core.errors import NotFound
from app.core.security import signature, signature_fits
from app.core.storage import get_object, put_object

router = APIRouter(include_in_schema=False)
# Browsers keep an image for a year. Caches that several people share (a CDN) may keep it for a day,
# so that an image that is deleted here is gone there, too. Its whole address is the key.
KEPT = "public, max-age=31536000, s-maxage=86400, immutable"


def image_url(image: Image, size: str = "thumb") -> str:
    """Return the address of an image for `<img src>`; `size` is a key of SIZES."""
    return image_urls(image.collection_id, image.sha256, size)[0]


def image_urls(collection_id: UUID, sha256: str, *sizes: str) -> list[str]:
    """Return the addresses of an image in several sizes."""
    name = f"{collection_id}/{sha256}"
    signed = signature("media", name)
    return [f"/media/{name}/{size}.webp?s={signed}" for size in sizes]


def image_bytes(collection_id: UUID, sha256: str, size: str) -> bytes:
    """Return the WebP bytes of an image; raises FileNotFoundError.

    Collections from before the small size was introduced get it on the first request.
    """
    key = image_key(collection_id, sha256, size)
    try:
        return get_object(key)
    except FileNotFoundError:
        if size != "small":
            raise
    data = smaller_copy(get_object(image_key(collection_id, sha256, "thumb")), size)
    put_object(key, data)
    return data


@router.get("/media/{collection_id}/{sha256}/{size}.webp")
def serve_image(collection_id: UUID, sha256: str, size: str, s: str = "") -> Response:
    if not signature_fits("media", f"{collection_id}/{sha256}", s):
        raise NotFound("This image does not exist.")
    try:
        data = image_bytes(collection_id, sha256, size)
    except FileNotFoundError as error:
        raise NotFound("This image does not exist.") from error
    return Response(data, media_type="image/webp", headers={"Cache-Control": KEPT})
