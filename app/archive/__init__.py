"""Exports a whole campaign as one file, and restores it."""
