"""Simulated annotators: the crowd of `likewise simulate` and of the benchmarks."""

from learning.simulation.answers import Crowd, SimulatedAnswer
from learning.simulation.attribute_crowd import AttributeCrowd
from learning.simulation.ballot_crowd import BallotCrowd
from learning.simulation.class_crowd import ClassCrowd, TagCrowd
from learning.simulation.feature_crowd import FeatureCrowd
from learning.simulation.truth import neighbours_right, true_distances
from learning.simulation.vote_crowd import VoteCrowd

__all__ = [
    "AttributeCrowd",
    "BallotCrowd",
    "ClassCrowd",
    "Crowd",
    "FeatureCrowd",
    "SimulatedAnswer",
    "TagCrowd",
    "VoteCrowd",
    "neighbours_right",
    "true_distances",
]
