"""Attributes as hidden causes of answers, for the default Context Embedding Network.

sweeps      alternates between each answer's attribute and the images' positions
discovery   finds the attributes, by competition of random directions
growth      finds the number of columns of each attribute
pair_model  probability that two images are grouped together, given the answer's attribute
behaviour   probability of an answer's attribute, given its annotator and its grid
model       combines them: fit, posterior, prediction
"""
