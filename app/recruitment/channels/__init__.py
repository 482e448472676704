"""One file per channel."""
