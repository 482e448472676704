"""Where MTurk is: production, its sandbox, or the compatible service of the operator's settings."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.errors import LikewiseError
from app.core.settings import get_settings
from app.recruitment.channel import ChannelRefused

PRODUCTION_SITE = "https://www.mturk.com"
SANDBOX_SITE = "https://workersandbox.mturk.com"
# Production's list of tasks stands elsewhere than where answers are posted.
PRODUCTION_LIST = "https://worker.mturk.com"
SUBMIT_PATH = "/mturk/externalSubmit"


class BadSubmitAddress(LikewiseError):
    """Answers were to be posted elsewhere than to the platform that the work is for."""

    code = "bad_submit_address"
    status = 400


@dataclass(frozen=True)
class Site:
    """One MTurk.

    endpoint: where its requester API answers; posts: the origin that answers are posted to;
    shows: the origins whose pages may show ours in a frame, the first of which has the task list
    """

    environment: str
    endpoint: str
    posts: str
    shows: tuple[str, ...]

    def preview_url(self, group_id: str) -> str:
        """The page where people find the tasks of a group."""
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
    """Raises ChannelRefused where the operator has not set what this environment needs."""
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
    """The whole address that the annotator's browser posts to.

    turk_submit_to: as it came in the page's address, so anybody may have written it. It is compared
    with the one origin that the environment has, and the address is made of that origin.
    Raises BadSubmitAddress.
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
    """The origins that may show an annotator's page in a frame, as in `frame-ancestors` of a
    Content-Security-Policy; without an environment those of all that this server knows."""
    names = [environment] if environment else ["production", "sandbox"]
    settings = get_settings()
    if not environment and settings.mturk_endpoint and _origin(settings.mturk_worker_site):
        names.append("custom")
    return " ".join(origin for name in names for origin in site_of(name).shows)


def _origin(address: str) -> str:
    """Scheme, host and port of an address; empty where it has none."""
    parts = urlsplit(address.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
