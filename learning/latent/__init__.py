"""Attributes as hidden causes of answers, of the default Context Embedding Network.

sweeps      which attribute each answer is about and where the images stand, in turn
discovery   which attributes there are: random directions compete
growth      how many columns each needs
pair_model  how likely two images are grouped together, given the attribute of the answer
habits      which attribute an answer is about, given its annotator and its grid
model       the three together: fit, posterior, prediction
"""
