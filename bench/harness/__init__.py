"""What benchmarks share: their command line, processes, stored rows, tables, plots and systems."""
