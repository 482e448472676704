"""Measures all learners of pair similarity on real annotators' answers and a foreign simulator.

`python -m bench.real_crowds --data FOLDER` measures everything and writes
`docs/benchmarks/real_crowds.md`; `--parts` picks some of splits, curve, seeds, foreign, noise
and report. Rows are stored in `docs/benchmarks/real_crowds.json` as they are measured, so an
interrupted run continues where it stopped. `--quick` measures the default against a few baselines
and prints the comparison.

`bench/real_crowds/data.py` describes the folder of data.
"""
