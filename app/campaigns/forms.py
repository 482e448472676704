"""The campaign form: it turns the text fields of a page into a plan.

Fields of a strategy are named `STRATEGY.FIELD` and come from the strategy's pydantic model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from app.campaigns.service import CampaignPlan
from app.core.errors import InvalidInput

Number = TypeVar("Number", int, float)
NUMBERS = (
    "budget",
    "rounds",
    "grid_size",
    "max_groups",
    "answers_per_grid",
    "grids_per_assignment",
    "learn_every",
    "reward_cents",
)
DEFAULTS = {
    "kind": "grid",
    "strategy": "cen",
    "question": "Which of these images belong together?",
    "budget": "100",
    "answers_per_grid": "1",
    "grids_per_assignment": "10",
    "learn_every": "50",
}


@dataclass(frozen=True)
class CampaignForm:
    """The form's fields as the browser sent them."""

    fields: dict[str, str]

    @classmethod
    def blank(cls, collection_id: str) -> "CampaignForm":
        return cls({**DEFAULTS, "collection_id": collection_id})

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(name, default)

    def plan(self) -> CampaignPlan:
        """Return the plan, with defaults for empty fields. Raises InvalidInput with the name of the
        wrong field."""
        try:
            collection_id = UUID(self.get("collection_id"))
        except ValueError as error:
            raise InvalidInput("Choose a collection.", code="bad_collection") from error
        strategy = self.get("strategy", "cen")
        numbers: dict[str, Any] = {
            name: self._number(name) for name in NUMBERS if self.get(name).strip()
        }
        if self.get("ready_share").strip():
            numbers["ready_share"] = self._share("ready_share")
        texts = {
            name: self.get(name)
            for name in ("name", "question", "kind", "currency")
            if self.get(name)
        }
        if "name" not in texts:
            raise InvalidInput("Give the campaign a name.", code="bad_name")
        return CampaignPlan(
            **{**texts, **numbers},
            collection_id=collection_id,
            strategy=strategy,
            settings=self._settings(strategy),
        )

    def _settings(self, strategy: str) -> dict[str, Any]:
        prefix = f"{strategy}."
        return {
            name.removeprefix(prefix): value
            for name, value in self.fields.items()
            if name.startswith(prefix) and value.strip()
        }

    def _number(self, name: str) -> int:
        return self._parsed(name, int, "a whole number")

    def _share(self, name: str) -> float:
        return self._parsed(name, float, "a number from 0 to 1")

    def _parsed(self, name: str, parse: Callable[[str], Number], what: str) -> Number:
        text = self.get(name).strip()
        try:
            return parse(text)
        except ValueError as error:
            raise InvalidInput(
                f"{name} must be {what}, not {text[:40]!r}.", code=f"bad_{name}"
            ) from error
