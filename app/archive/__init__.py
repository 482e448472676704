"""A whole campaign as one file, and back."""
