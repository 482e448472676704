"""CrowdSter on simulated crowds as in the paper: `python -m bench.crowdster`.

It measures figures 5, 6, 9 and 10 of the paper, noise, early answers, triplets, and time and
memory by the size of the collection. No figure is asserted; `report` writes the results.
"""
