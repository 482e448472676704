"""Context Embedding Networks against their baselines, on simulated crowds.

`python -m bench.cen` measures everything and writes `docs/benchmarks/cen.md`; with the
name of a part, only that part: prediction, dimensions, gamma, reliability, warm, size,
synthesis. Results are kept in `docs/benchmarks/cen.json`, from which `report` alone
makes the pages again.
"""
