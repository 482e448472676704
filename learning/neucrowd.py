"""NeuCrowd (Hao et al., 2021): a representation, and a classifier, from few noisy votes."""

from learning.ntuplet.class_classifier import NeuCrowdClasses
from learning.ntuplet.classifier import NeuCrowdClassifier
from learning.ntuplet.representation import NeuCrowd

__all__ = ["NeuCrowd", "NeuCrowdClasses", "NeuCrowdClassifier"]
