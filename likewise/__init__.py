"""The command line and the process manager."""
