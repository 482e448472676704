"""Background jobs: recorded in PostgreSQL, fenced by epoch, handed to Celery by the outbox."""
