"""Celery application, tasks, the dispatcher and the training process: thin, they call services."""

from app import tables

# Services of any capability are called from here, and SQLAlchemy must know all their tables.
__all__ = ["tables"]
