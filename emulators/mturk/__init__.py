"""A strict stand-in for Amazon Mechanical Turk: requester API, worker site, clock and faults."""
