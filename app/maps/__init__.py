"""The map of a model's embedding: positions, pictures, colours."""
