"""Compares Context Embedding Networks with baselines, on simulated crowds.

`python -m bench.cen` measures everything and writes `docs/benchmarks/cen.md`; with the
name of a part, only that part: prediction, dimensions, gamma, reliability, warm, size,
synthesis. Results are stored in `docs/benchmarks/cen.json`, from which `report` alone
writes the pages again.
"""
