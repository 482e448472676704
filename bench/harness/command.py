"""The command line of a benchmark that has parts: `python -m bench.NAME [PART ...]`."""

from __future__ import annotations

import argparse
from collections.abc import Collection


def parts_parser(
    description: str | None, parts: Collection[str], seeds: int
) -> argparse.ArgumentParser:
    """A parser of the parts to measure and the number of seeds."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(parts)} or report")
    parser.add_argument("--seeds", type=int, default=seeds)
    return parser


def parsed(parser: argparse.ArgumentParser, parts: Collection[str]) -> argparse.Namespace:
    """The options; `parts` are those to measure: all by default, none for `report`. Ends the
    program at an unknown part."""
    options = parser.parse_args()
    if unknown := set(options.parts) - {*parts, "report"}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts are {', '.join(parts)}")
    options.parts = [part for part in options.parts or parts if part != "report"]
    return options
