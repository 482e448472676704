"""All tables, imported so that `metadata` knows them, and all answers to hooks.

Every process imports this module: services of any room are called from all of them.
"""

from app.accounts import models as accounts
from app.alignments import models as alignments
from app.annotation import held
from app.annotation import models as annotation
from app.archive import writer
from app.campaigns import announcements, choices, read_only, usages
from app.campaigns import models as campaigns
from app.collections import models as collections
from app.core import idempotency, outbox
from app.core.database import Base
from app.features import models as features
from app.features import sets as feature_sets
from app.jobs import models as jobs
from app.operations import models as operations
from app.operations import violations
from app.planning import models as planning
from app.recruitment import extras, links, service
from app.recruitment import models as recruitment
from app.results import dependents, vouching
from app.results import models as results
from app.results import service as results_service
from app.webhooks import models as webhooks

metadata = Base.metadata
# Modules that answer hooks of the rooms below them (`app.core.hooks`).
ANSWERS = (
    held,
    announcements,
    choices,
    read_only,
    usages,
    feature_sets,
    extras,
    links,
    service,
    dependents,
    results_service,
    vouching,
    writer,
    violations,
)

__all__ = [
    "accounts",
    "alignments",
    "annotation",
    "campaigns",
    "collections",
    "features",
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
