"""Run all benchmarks."""

from bench.colours_campaign import main

main()
