"""Data of the demo collections: emoji in the repository, and colours that are drawn when needed."""

from pathlib import Path

# This folder has only what is imported; the licence and the origin are next to it.
EMOJI_FOLDER = Path(__file__).parent / "emoji" / "images"
