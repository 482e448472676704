"""Backups of a whole installation in one file, and the way back (docs/operations.md)."""
