"""Webhooks: programs elsewhere are told of rounds, campaigns and failed jobs."""
