"""Learning results: models, embeddings, neighbours, live progress and exports."""
