"""Small shared core: settings, database session, security, storage, errors, outbox, events."""
