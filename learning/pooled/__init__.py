"""One embedding for everyone, for answers that no single attribute explains.

model      the probability that two images are grouped together, given positions and annotator
fitting    the most probable positions, then their distribution (variational)
consensus  the average of several fits
views      each annotator's view of the embedding
"""
