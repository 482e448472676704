"""The routes of the API v1. Each names Prolific's operation and models, and applies one rule."""
