"""Campaigns: one question about one collection, its rounds and grids."""
