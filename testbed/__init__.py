"""Real servers and processes, a browser, and builders of campaigns: for tests and benchmarks."""
