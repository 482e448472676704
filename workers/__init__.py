"""The Celery application, its tasks, the dispatcher and the training process. They are thin and
call services."""

from app import tables

# Workers call services of any capability, and SQLAlchemy must know all their tables.
__all__ = ["tables"]
