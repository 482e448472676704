"""Simulated annotators: the crowd of `likewise simulate` and of the benchmarks."""

from learning.simulation.answers import Crowd, SimulatedAnswer
from learning.simulation.attribute_crowd import AttributeCrowd
from learning.simulation.feature_crowd import FeatureCrowd

__all__ = ["AttributeCrowd", "Crowd", "FeatureCrowd", "SimulatedAnswer"]
