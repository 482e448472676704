"""Faults that can be switched on; every choice comes from one seeded generator."""

from random import Random
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from emulators.mturk.shapes import MTURK, SQS

CallFault = Literal["throttle", "error_before", "error_after", "timeout_before", "timeout_after"]


def _known(name: str) -> str:
    if name not in (*MTURK.operation_names, *SQS.operation_names):
        raise ValueError(f"There is no operation {name}.")
    return name


class FaultRule(BaseModel):
    """A share of the calls goes wrong: before anything happened, or after it has."""

    model_config = ConfigDict(extra="forbid")

    kind: CallFault
    share: float = Field(ge=0, le=1)
    operations: list[Annotated[str, AfterValidator(_known)]] | None = Field(
        default=None, description="All, if not given."
    )


class FaultSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    seed: int = 0
    calls: list[FaultRule] = []
    throttle_status: Literal[400, 429] = 400
    hold_seconds: float = Field(default=0.2, ge=0, description="How long a time-out is held.")
    duplicate_notifications: float = Field(default=0, ge=0, le=1)
    late_share: float = Field(
        default=0, ge=0, le=1, description="Submissions that lists show late."
    )
    late_seconds: float = Field(default=60, ge=0)
    refused_submissions: float = Field(
        default=0, ge=0, le=1, description="Forms answered with 503, before anything is stored."
    )


class Faults:
    def __init__(self, settings: FaultSettings | None = None) -> None:
        self.settings = settings or FaultSettings()
        self._random = Random(self.settings.seed)

    def strike(self, operation: str) -> CallFault | None:
        """The fault that a call meets, if any. The shares of several rules add up."""
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
