"""`python -m bench.settled [--data FOLDER]`: measure, and write `docs/benchmarks/settled.md`.

Positions of models are kept in a folder, so that a second run takes seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from bench.harness.paths import ROOT, publish
from bench.settled.coverage import Outcome, outcome
from bench.settled.fits import STRATEGIES
from bench.settled.report import report
from bench.settled.stops import TARGET, NoiseLook, Stop, careful_crowd, noise_look, play
from bench.settled.worlds import World, real, simulated

# Splits of a look, and seeds of the simulated crowds that the constants were chosen on, and of
# others.
SPLITS = {"crowdster": 2, "cen": 1, "scdc": 1}
CHOSEN = {"crowdster": range(36), "cen": range(13), "scdc": range(13)}
FRESH = {"crowdster": range(100, 120), "cen": range(100, 102), "scdc": range(100, 103)}
# Draws of each real crowd, campaigns that may end themselves, and campaigns of noise.
REAL = {"crowdster": 3, "cen": 0, "scdc": 3}
STOPS = {"crowdster": 20, "cen": 0, "scdc": 0}
NOISE = {"crowdster": 20, "cen": 10, "scdc": 20}


def main() -> None:
    options = _options()
    cache: Path = options.cache
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    stops: dict[str, list[Stop]] = {}
    noise: dict[str, list[NoiseLook]] = {}
    for name in options.strategies:
        for crowds, seeds in (("simulated, chosen", CHOSEN), ("simulated, others", FRESH)):
            worlds = (world for seed in seeds[name] for world in _both(simulated(name, seed), name))
            outcomes[name, crowds] = _outcomes(name, worlds, cache)
        if options.data:
            outcomes[name, "real"] = _outcomes(name, real(name, options.data, REAL[name]), cache)
        stops[name] = [
            play(name, careful_crowd(name, seed), TARGET, cache) for seed in range(STOPS[name])
        ]
        looks = (noise_look(name, seed, cache) for seed in range(NOISE[name]))
        noise[name] = [look for look in looks if look is not None]
    publish("settled.md", report(outcomes, stops, noise))


def _both(world: World, strategy: str) -> Iterable[World]:
    """Either half says something of the other, where fits take long."""
    yield world
    if strategy != "crowdster":
        yield World(world.name, world.second, world.first, world.features, world.seed)


def _outcomes(name: str, worlds: Iterable[World], cache: Path) -> list[Outcome]:
    rows = (outcome(name, world, SPLITS[name], cache) for world in worlds)
    return [row for row in rows if row is not None]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of data, see bench/real_crowds/data.py")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / ".settled")
    return parser.parse_args()


if __name__ == "__main__":
    main()
