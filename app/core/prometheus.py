"""Figures in Prometheus's text format, version 0.0.4.

Written here because prometheus_client would be one more dependency for two of its classes. Labels
are bounded by whoever sets them: templates of routes and states, never paths or ids.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
Kind = Literal["counter", "gauge", "summary", "histogram"]


@dataclass
class Family:
    """One figure; samples: (suffix of the name, labels, value)."""

    name: str
    kind: Kind
    help: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def add(self, value: float, suffix: str = "", **labels: str) -> None:
        self.samples.append((suffix, labels, value))

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for suffix, labels, value in self.samples:
            written = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{suffix}{{{written}}} {value:.15g}"


class Histogram:
    """Counts how often a value was at most so much; kept in this process, for any thread."""

    def __init__(self, name: str, help: str, labels: tuple[str, ...], bounds: tuple[float, ...]):
        self._name, self._help, self._labels, self._bounds = name, help, labels, bounds
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, value: float, *labels: str) -> None:
        with self._lock:
            counts = self._counts.setdefault(labels, [0] * (len(self._bounds) + 1))
            counts[bisect_left(self._bounds, value)] += 1
            self._sums[labels] = self._sums.get(labels, 0.0) + value

    def family(self) -> Family:
        family = Family(self._name, "histogram", self._help)
        with self._lock:
            counted = {labels: list(counts) for labels, counts in self._counts.items()}
            sums = dict(self._sums)
        bounds = [*(f"{bound:g}" for bound in self._bounds), "+Inf"]
        for values, counts in counted.items():
            labels = dict(zip(self._labels, values, strict=True))
            so_far = 0
            for bound, count in zip(bounds, counts, strict=True):
                so_far += count
                family.add(so_far, "_bucket", **labels, le=bound)
            family.add(sums[values], "_sum", **labels)
            family.add(so_far, "_count", **labels)
        return family


def as_text(families: list[Family]) -> str:
    return "\n".join(line for family in families for line in family.lines()) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
