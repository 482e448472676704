"""Commands of the `likewise` program, one file a group."""
