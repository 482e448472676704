"""Features of images that are known before anyone has answered: one register for all strategies."""
