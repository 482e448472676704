"""All tables, imported so that `metadata` knows them."""

from app.accounts import models as accounts
from app.annotation import models as annotation
from app.campaigns import models as campaigns
from app.collections import models as collections
from app.core import outbox
from app.core.database import Base
from app.jobs import models as jobs
from app.results import models as results

metadata = Base.metadata

__all__ = [
    "accounts",
    "annotation",
    "campaigns",
    "collections",
    "jobs",
    "metadata",
    "outbox",
    "results",
]
