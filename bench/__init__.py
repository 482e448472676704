"""Benchmarks: what is measured, never asserted. `python -m bench` runs all of them."""
