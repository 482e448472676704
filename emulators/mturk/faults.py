"""Faults that can be switched on. One seeded generator makes every choice."""

from random import Random
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from emulators.mturk.shapes import MTURK, SQS

CallFault = Literal["throttle", "error_before", "error_after", "timeout_before", "timeout_after"]


def _known(name: str) -> str:
    if name not in (*MTURK.operation_names, *SQS.operation_names):
        raise ValueError(f"The operation {name} does not exist.")
    return name


class FaultRule(BaseModel):
    """A share of the calls fails, before or after it took effect."""

    model_config = ConfigDict(extra="forbid")

    kind: CallFault
    share: float = Field(ge=0, le=1)
    operations: list[Annotated[str, AfterValidator(_known)]] | None = Field(
        default=None, description="All operations by default."
    )


class FaultSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    seed: int = 0
    calls: list[FaultRule] = []
    throttle_status: Literal[400, 429] = 400
    hold_seconds: float = Field(
        default=0.2, ge=0, description="Seconds before a timed-out connection is closed."
    )
    duplicate_notifications: float = Field(default=0, ge=0, le=1)
    late_share: float = Field(
        default=0, ge=0, le=1, description="Share of submissions that lists show late."
    )
    late_seconds: float = Field(default=60, ge=0)
    refused_submissions: float = Field(
        default=0, ge=0, le=1, description="Share of forms that get a 503 and are not stored."
    )


class Faults:
    def __init__(self, settings: FaultSettings | None = None) -> None:
        self.settings = settings or FaultSettings()
        self._random = Random(self.settings.seed)

    def strike(self, operation: str) -> CallFault | None:
        """The fault of this call, if any. The shares of several rules add up."""
        chance = self._random.random()
        for rule in self.settings.calls:
            if rule.operations is None or operation in rule.operations:
                if chance < rule.share:
                    return rule.kind
                chance -= rule.share
        return None

    def lateness(self) -> float:
        late = self._random.random() < self.settings.late_share
        return self.settings.late_seconds if late else 0

    def twice(self) -> bool:
        return self._random.random() < self.settings.duplicate_notifications

    def refuses_submission(self) -> bool:
        return self._random.random() < self.settings.refused_submissions
