"""Faults that the emulator makes on request."""

import random
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Annotated, Literal

from pydantic import Field

from emulators.prolific.models.common import Strict

Kind = Literal[
    "429", "5xx-before", "5xx-after", "timeout-before", "timeout-after",  # calls
    "late",  # operation submission-status: a change is seen `seconds` later; hook: sent later
    "duplicate", "out-of-order",  # operation hook
    "forged", "expired", "foreign",  # operation study-url: the prolific_token
]  # fmt: skip
BEFORE = ("429", "5xx-before", "timeout-before")


class Fault(Strict):
    """One kind of fault for the operations that match a pattern (`*`, `pay-*`, `hook`, …).

    probability: the share of calls that fail; times: the maximum number of failures; seconds: the
    length of a time-out or delay; status: the status of a 5xx
    """

    operation: str = "*"
    kind: Kind
    probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    times: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(ge=0)] | None = None
    status: Annotated[int, Field(ge=500, le=599)] = 503
    struck: int = 0


class Faults:
    """The faults that are on. They are drawn from a seed, so that a run can be repeated."""

    def __init__(self, seed: int) -> None:
        self.rules: list[Fault] = []
        self.random = random.Random(seed)

    def drawn(self, operation: str, *kinds: str) -> Iterator[Fault]:
        """The faults of these kinds that affect this call."""
        for rule in self.rules:
            if rule.kind not in kinds or not fnmatch(operation, rule.operation):
                continue
            if rule.times is not None and rule.struck >= rule.times:
                continue
            if self.random.random() < rule.probability:
                rule.struck += 1
                yield rule

    def first(self, operation: str, *kinds: str) -> Fault | None:
        return next(self.drawn(operation, *kinds), None)
