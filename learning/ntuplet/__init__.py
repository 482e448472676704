"""The parts of NeuCrowd (Hao et al., 2021): assurance, safe examples, n-tuplets and networks."""
