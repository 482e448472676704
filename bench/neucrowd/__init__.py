"""NeuCrowd: representations from few noisy votes, against the paper's baselines and figures."""
