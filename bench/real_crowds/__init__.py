"""Every learner of pair similarity on answers of real annotators and on a foreign simulator.

`python -m bench.real_crowds --data FOLDER` measures everything and writes
`docs/benchmarks/real_crowds.md`; `--parts` picks some of splits, curve, seeds, foreign, noise
and report. Rows are kept in `docs/benchmarks/real_crowds.json` as they are measured, so a run
that was stopped goes on where it was. `--quick` measures the default against a few baselines
and prints the comparison.

The folder of data is described in `bench/real_crowds/data.py`.
"""
