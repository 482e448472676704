"""Celery application, tasks, the dispatcher and the training process: thin, they call services."""
