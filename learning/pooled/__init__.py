"""One embedding for everyone: what remains when no single attribute explains the answers.

model    how likely two images are grouped together, given their places and the annotator
fitting  the most probable places, then their distribution (variational)
engine   a fitted model, asked about grids in numpy
"""
