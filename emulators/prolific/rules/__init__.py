"""The marketplace's rules for `World`: what is permitted when, and what it costs."""
