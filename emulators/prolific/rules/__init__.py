"""What may happen when, and what it costs: the marketplace's rules over `World`."""
