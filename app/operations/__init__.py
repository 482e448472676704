"""For operators of the server: is it alive, ready, and healthy (docs/operations.md)."""
