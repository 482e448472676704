"""What jobs tell the rooms above them (see `app.core.hooks`)."""

from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from app.core.hooks import Hook

# A job has failed for good: the id of its campaign, and the job as JSON.
job_failed: Hook[[Session, UUID, dict[str, Any]], None] = Hook("jobs.job_failed")
