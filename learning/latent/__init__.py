"""The latent attribute model behind the default Context Embedding Network.

discovery   which attributes there are, and every image's place on each (alternating sweeps)
pair_model  how likely two images are grouped together, given the attribute of the answer
habits      which attribute an answer is about, given its annotator and its grid
model       the three together: fit, posterior, prediction
"""
