"""Compares NeuCrowd's representations from few noisy votes with the paper's baselines."""
