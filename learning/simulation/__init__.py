"""Simulated annotators: the crowd of `likewise simulate` and of the benchmarks."""

from learning.simulation.crowd import SimulatedAnswer, SimulatedCrowd

__all__ = ["SimulatedAnswer", "SimulatedCrowd"]
