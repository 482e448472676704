"""The addresses of MTurk: production, its sandbox, or a compatible service from the operator's
settings."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.errors import LikewiseError
from app.core.settings import get_settings
from app.recruitment.channel import ChannelRefused

PRODUCTION_SITE = "https://www.mturk.com"
SANDBOX_SITE = "https://workersandbox.mturk.com"
# In production, the list of tasks has another address than the one answers are posted to.
PRODUCTION_LIST = "https://worker.mturk.com"
SUBMIT_PATH = "/mturk/externalSubmit"


class BadSubmitAddress(LikewiseError):
    """Answers would be posted somewhere other than to the platform that the work is for."""

    code = "bad_submit_address"
    status = 400


@dataclass(frozen=True)
class Site:
    """One MTurk.

    endpoint: the address of its requester API.
    posts: the origin that answers are posted to.
    shows: the origins whose pages can show ours in a frame; the first one has the task list.
    """

    environment: str
    endpoint: str
    posts: str
    shows: tuple[str, ...]

    def preview_url(self, group_id: str) -> str:
        """Return the page where people find the tasks of a group."""
        return f"{self.shows[0]}/mturk/preview?groupId={group_id}"


_PRODUCTION = Site(
    "production",
    "https://mturk-requester.us-east-1.amazonaws.com",
    PRODUCTION_SITE,
    (PRODUCTION_LIST, PRODUCTION_SITE),
)
_SANDBOX = Site(
    "sandbox",
    "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
    SANDBOX_SITE,
    (SANDBOX_SITE,),
)


def site_of(environment: str) -> Site:
    """Return the site of an environment. Raises ChannelRefused if the operator has not set what it
    needs."""
    if environment == "production":
        return _PRODUCTION
    if environment == "sandbox":
        return _SANDBOX
    settings = get_settings()
    origin = _origin(settings.mturk_worker_site)
    if environment != "custom" or not settings.mturk_endpoint or not origin:
        raise ChannelRefused(
            "This server has no custom MTurk endpoint. Its operator must set "
            "LIKEWISE_MTURK_ENDPOINT and LIKEWISE_MTURK_WORKER_SITE.",
            "no_custom_endpoint",
        )
    return Site("custom", settings.mturk_endpoint, origin, (origin,))


def submit_address(turk_submit_to: str, environment: str) -> str:
    """Return the whole address that the annotator's browser posts to.

    `turk_submit_to` comes from the page's address, so anyone may have written it. It is compared
    with the environment's only origin, and the address is made from that origin. Raises
    BadSubmitAddress.
    """
    try:
        origin = site_of(environment).posts
    except ChannelRefused as error:
        raise BadSubmitAddress(str(error)) from error
    if turk_submit_to not in (origin, f"{origin}/"):
        raise BadSubmitAddress(
            "This page's address would send your answers somewhere other than Mechanical Turk. "
            "Open the task from Mechanical Turk's own list of tasks."
        )
    return origin + SUBMIT_PATH


def frame_ancestors(environment: str = "") -> str:
    """Return the origins that can show an annotator's page in a frame, as in `frame-ancestors` of a
    Content-Security-Policy. Without an environment, these are the origins of all environments that
    this server knows."""
    names = [environment] if environment else ["production", "sandbox"]
    settings = get_settings()
    if not environment and settings.mturk_endpoint and _origin(settings.mturk_worker_site):
        names.append("custom")
    return " ".join(origin for name in names for origin in site_of(name).shows)


def _origin(address: str) -> str:
    """Return scheme, host and port of an address, or an empty text if it has none."""
    parts = urlsplit(address.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
