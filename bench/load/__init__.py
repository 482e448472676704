"""How many answers a server takes, how long annotators wait, and what an answer costs."""
