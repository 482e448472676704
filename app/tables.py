"""All tables, imported so that `metadata` knows them."""

from app.accounts import models as accounts
from app.annotation import models as annotation
from app.campaigns import models as campaigns
from app.collections import models as collections
from app.core import idempotency, outbox
from app.core.database import Base
from app.jobs import models as jobs
from app.operations import models as operations
from app.planning import models as planning
from app.recruitment import models as recruitment
from app.results import models as results
from app.webhooks import models as webhooks

metadata = Base.metadata

__all__ = [
    "accounts",
    "annotation",
    "campaigns",
    "collections",
    "idempotency",
    "jobs",
    "metadata",
    "operations",
    "outbox",
    "planning",
    "recruitment",
    "results",
    "webhooks",
]
