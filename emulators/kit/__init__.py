"""What the emulators share: server, clock and pages."""
