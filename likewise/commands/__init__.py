"""Commands of the `likewise` program, one file a group."""

from app import tables

# Services of any capability are called from here, and SQLAlchemy must know all their tables.
__all__ = ["tables"]
