"""Planning: it predicts before the launch what a campaign will need, cost and find."""
