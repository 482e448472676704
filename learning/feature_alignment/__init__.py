"""Learned alignment: a map from features of images to the space that groupings imply.

inputs         checks, robust scaling and principal components of the features
pair_map       a low-rank map (linear, or with one hidden layer) from groupings
folds          answers and images that are held out together
space          regression from features and map to a campaign's embedding, with uncertainty
selection      which map held-out images support, or that none is
model          `FeatureAlignment`, the estimator
judging        how well features, map and campaign predict held-out grids, per attribute
unseen         a campaign's model with places for images never shown
"""

from learning.feature_alignment.judging import Judgement, judge
from learning.feature_alignment.model import FeatureAlignment

__all__ = ["FeatureAlignment", "Judgement", "judge"]
