"""Webhooks: other programs are notified of rounds, campaigns and failed jobs."""
