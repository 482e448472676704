"""Feature sets aligned with a campaign's answers: places for images that nobody was asked about."""
