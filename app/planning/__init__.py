"""Before the launch: what a campaign will need, cost and find."""
