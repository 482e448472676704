"""The routes of the API v1. Each names Prolific's operation, its models and one rule."""
