"""The Context Embedding Network as in the paper, with three encoders and a hinge loss.

network    the encoders (section 3.1, supplement A)
training   eq. 8 and Adam
engine     predictions
"""
