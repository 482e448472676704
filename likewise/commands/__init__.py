"""Commands of the `likewise` program, one file per group."""

from app import tables

# Commands call services of every package, and SQLAlchemy must know all their tables.
__all__ = ["tables"]
