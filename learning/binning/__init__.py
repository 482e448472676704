"""A model of how people bin images that have positions in a space, CrowdSter's default.

`likelihood` computes the probability of an answer, `trust` the trust in each annotator, `start`
the start of a fit, `fitting` fits, and `dimension` chooses the number of dimensions.
"""
