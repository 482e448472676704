"""A small client for Likewise's API. `docs/api.md` has examples.

    from likewise.client import Likewise

    with Likewise("http://127.0.0.1:8000", "lw_…") as likewise:
        for campaign in likewise.campaigns():
            print(campaign.name, campaign.progress().answers)

It needs only httpx, and numpy for embeddings.
"""

from likewise.client.alignments import Alignment, NearestImage, NewPlace
from likewise.client.api import Likewise
from likewise.client.campaigns import Campaign
from likewise.client.collections import Collection
from likewise.client.errors import (
    BadRequest,
    BadSignature,
    Conflict,
    Forbidden,
    LikewiseApiError,
    NotFound,
    TrainingFailed,
    Unauthorized,
    Unavailable,
)
from likewise.client.objects import (
    Answer,
    AskAgain,
    Attempt,
    Classified,
    Delivery,
    Embedding,
    Image,
    Job,
    Label,
    Membership,
    Model,
    Neighbour,
    Progress,
    UploadReport,
)
from likewise.client.signatures import verify_webhook
from likewise.client.webhooks import Webhook

__all__ = [
    "Alignment",
    "Answer",
    "AskAgain",
    "Attempt",
    "BadRequest",
    "BadSignature",
    "Campaign",
    "Classified",
    "Collection",
    "Conflict",
    "Delivery",
    "Embedding",
    "Forbidden",
    "Image",
    "Job",
    "Label",
    "Likewise",
    "LikewiseApiError",
    "Membership",
    "Model",
    "NearestImage",
    "Neighbour",
    "NewPlace",
    "NotFound",
    "Progress",
    "TrainingFailed",
    "Unauthorized",
    "Unavailable",
    "UploadReport",
    "Webhook",
    "verify_webhook",
]
