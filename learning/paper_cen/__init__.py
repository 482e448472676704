"""The Context Embedding Network as the paper prints it: three encoders, hinge loss.

network    the encoders (section 3.1, supplement A)
training   eq. 8 and Adam
engine     predictions
"""
