"""Data of the demo collections: emoji kept in the repository, colours drawn when needed."""

from pathlib import Path

# Only what is imported: the images and their `attributes.csv`; licence and origin lie beside it.
EMOJI_FOLDER = Path(__file__).parent / "emoji" / "images"
