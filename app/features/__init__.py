"""What is known of images before anybody has answered: one register for all strategies."""
