"""Background jobs: recorded in PostgreSQL, fenced by epochs, sent to Celery through the outbox."""
