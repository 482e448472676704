"""Benchmarks, which measure and assert nothing. `python -m bench` runs all of them."""
