"""How people bin images that lie in a space: the likelihood behind CrowdSter's default.

`likelihood` says how probable an answer is, `trust` how far each annotator is believed,
`start` where a fit begins, `fitting` how it goes on, `dimension` how many coordinates.
"""
