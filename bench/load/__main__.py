"""Campaigns under load, on servers of their own: `python -m bench.load [PART ...]`.

Every part starts a system over a new database with durable commits, bins campaigns of 300 images,
and a crowd in a process of its own on the same cores. Reports answers per second, how long
annotators waited, and processor time per answer by process, in `docs/benchmarks/load.md`.
`label-studio` needs a package registry the first time; `laws` takes as long as its answers do.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from bench.harness.paths import BENCHMARKS, publish
from bench.harness.servers import own_servers
from bench.harness.store import RowFile
from bench.harness.tables import Row
from bench.load.label_studio import VERSION, label_studio_row
from bench.load.laws import kept
from bench.load.measuring import write_to_disk
from bench.load.parts import CROWDS, GROUPS, PARTS
from bench.load.report import COMPARISON, LAWS, TODAY, report
from bench.load.runs import measured
from testbed.servers import Servers

STORED = RowFile(BENCHMARKS / "load.json", ("code", "part"), digits=3)
LABEL_STUDIO, REPORT = "label-studio", "report"
NAMES = [*PARTS, *GROUPS, LABEL_STUDIO, LAWS, REPORT]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help=f"the crowds by default, or any of {', '.join(NAMES)}")  # fmt: skip
    parser.add_argument("--code", default=TODAY, help="the name of the code that is measured")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each part but laws")
    parser.add_argument("--answers", type=int, default=100_000, help="of the laws")
    options = parser.parse_args()
    if unknown := {*options.parts} - {*NAMES}:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; parts are {', '.join(NAMES)}")
    with own_servers() as (servers, folder):
        write_to_disk(servers)
        for row in rows_of(options, servers, folder):
            print(row, flush=True)
            STORED.add(row)
    publish("load.md", report(STORED.rows()))


def rows_of(options: argparse.Namespace, servers: Servers, folder: Path) -> Iterator[Row]:
    """As they are measured."""
    code, seconds = options.code, options.seconds
    for name in expanded(options.parts or [*CROWDS]):
        if name == LAWS:
            yield {"code": code, "part": LAWS, **kept(servers, folder, options.answers)}
        elif name == LABEL_STUDIO:
            own = measured(PARTS["ten"], servers, folder, seconds)
            yield {"code": code, "part": COMPARISON, **own}
            theirs = label_studio_row(servers, folder, PARTS["ten"].people, seconds)
            yield {"code": f"Label Studio {VERSION}", "part": COMPARISON, **theirs}
        else:
            yield {"code": code, "part": name, **measured(PARTS[name], servers, folder, seconds)}


def expanded(names: list[str]) -> list[str]:
    """With the parts of each group in its place; `report` measures nothing."""
    parts = [part for name in names for part in GROUPS.get(name, [name]) if part != REPORT]
    return list(dict.fromkeys(parts))


if __name__ == "__main__":
    main()
