"""CrowdSter on simulated crowds, as the paper tells it: `python -m bench.crowdster`.

Figures 5, 6, 9 and 10 of the paper, noise, early answers, triplets, and time and memory
against the size of the collection. No figure is asserted; `report` writes what was measured.
"""
