"""Backing up a whole installation to one file, and restoring it (docs/operations.md)."""
