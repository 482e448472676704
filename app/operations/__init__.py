"""For whoever operates the server: is it alive, ready, and well (docs/operations.md)."""
