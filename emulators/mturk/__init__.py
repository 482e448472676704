"""A strict emulator of Amazon Mechanical Turk: requester API, worker site, clock and faults."""
