"""Runs the acceptance tests at full size and writes a report of the results."""
