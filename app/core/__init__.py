"""The shared core: settings, database sessions, security, storage, errors, outbox, events."""
