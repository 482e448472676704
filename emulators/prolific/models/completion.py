"""Completion codes, with which participants come back, and their actions."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from emulators.prolific.models.common import Strict, Text

CodeType = Literal[
    "COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE",
    "NO_CONSENT", "OTHER", "FIXED_SCREENOUT", "SCREENED_IN", "SCREENED_OUT",
]  # fmt: skip
Actor = Literal["participant", "researcher"]


class Approve(Strict):
    action: Literal["AUTOMATICALLY_APPROVE"]


class Review(Strict):
    action: Literal["MANUALLY_REVIEW"]


class AddToGroup(Strict):
    action: Literal["ADD_TO_PARTICIPANT_GROUP"]
    participant_group: Text


class RemoveFromGroup(Strict):
    action: Literal["REMOVE_FROM_PARTICIPANT_GROUP"]
    participant_group: Text


class RequestReturn(Strict):
    action: Literal["REQUEST_RETURN"]
    return_reason: Text


class DynamicPayment(Strict):
    action: Literal["DYNAMIC_PAYMENT"]


class ScreenOut(Strict):
    action: Literal["FIXED_SCREEN_OUT_PAYMENT"]
    fixed_screen_out_reward: Annotated[int, Field(ge=1)]
    slots: Annotated[int, Field(ge=1)]


class ScreenOutPatch(Strict):
    """Once a study is published, only `slots` can be raised, and only it is required."""

    action: Literal["FIXED_SCREEN_OUT_PAYMENT"]
    fixed_screen_out_reward: Annotated[int, Field(ge=1)] | None = None
    slots: Annotated[int, Field(ge=1)]


Simple = Approve | Review | AddToGroup | RemoveFromGroup | RequestReturn | DynamicPayment
Action = Annotated[Simple | ScreenOut, Field(discriminator="action")]
ActionPatch = Annotated[Simple | ScreenOutPatch, Field(discriminator="action")]

# These actions decide a submission's status, so a code can have at most one of them.
OUTCOMES = {
    "AUTOMATICALLY_APPROVE",
    "MANUALLY_REVIEW",
    "REQUEST_RETURN",
    "DYNAMIC_PAYMENT",
    "FIXED_SCREEN_OUT_PAYMENT",
}


class CompletionCode(Strict):
    code: Text | None
    code_type: CodeType
    actions: list[Action]
    actor: Actor = "participant"

    @model_validator(mode="after")
    def _agree(self) -> "CompletionCode":
        names = [action.action for action in self.actions]
        outcomes = OUTCOMES.intersection(names)
        if len(outcomes) > 1:
            raise ValueError(f"these actions exclude each other: {', '.join(sorted(outcomes))}")
        if "DYNAMIC_PAYMENT" in outcomes and self.actor != "researcher":
            raise ValueError("the actor of DYNAMIC_PAYMENT must be researcher")
        if self.code is None and (self.actor != "participant" or names):
            raise ValueError("a code that is null must have the actor participant and no actions")
        return self

    @property
    def screen_out(self) -> ScreenOut | None:
        return next((a for a in self.actions if isinstance(a, ScreenOut)), None)

    @property
    def screen_out_reward(self) -> int | None:
        return self.screen_out.fixed_screen_out_reward if self.screen_out else None


class CodePatch(Strict):
    code: Text | None
    code_type: CodeType | None = None
    actions: list[ActionPatch]
    actor: Actor | None = None
