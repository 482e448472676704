"""Annotators, their assignments, leases and answers."""
