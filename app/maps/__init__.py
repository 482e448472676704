"""The map of a model's embedding: places, pictures, colours."""
