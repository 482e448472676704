"""Baselines for comparison with the Context Embedding Network (CEN section 4.2)."""

from learning.baselines.bayesian_crowd import BayesianCrowdClustering
from learning.baselines.conditional_similarity import ConditionalSimilarity
from learning.baselines.paper_network import PUBLISHED_SETTINGS, PaperContextEmbedding
from learning.baselines.siamese import SiameseEmbedding
from learning.baselines.triplet import TripletEmbedding

__all__ = [
    "PUBLISHED_SETTINGS",
    "BayesianCrowdClustering",
    "ConditionalSimilarity",
    "PaperContextEmbedding",
    "SiameseEmbedding",
    "TripletEmbedding",
]
