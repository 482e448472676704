"""Counts what depends on images and collections, and describes it in one sentence."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True)
class Usage:
    """A campaign that uses images: those at positions below `n_images`."""

    id: UUID
    name: str
    state: str
    n_images: int


@dataclass(frozen=True)
class DependentCampaign:
    id: UUID
    name: str
    state: str
    n_answers: int
    n_models: int
    is_learning: bool


@dataclass(frozen=True)
class Dependents:
    """What is deleted together with a collection. `refusal` says why it cannot be deleted now, if
    so."""

    n_images: int
    n_answers: int
    n_annotators: int
    n_models: int
    campaigns: list[DependentCampaign]
    refusal: str | None

    @property
    def sentence(self) -> str:
        parts = [counted(self.n_images, "image")]
        if self.campaigns:
            parts.append(
                f"{counted(len(self.campaigns), 'campaign')} ({names(self.campaigns)}) with "
                f"{counted(self.n_answers, 'answer')} of {counted(self.n_annotators, 'annotator')} "
                f"and {counted(self.n_models, 'model')}"
            )
        return f"This also deletes {' and '.join(parts)}. This cannot be undone."


def counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def names(campaigns: list[DependentCampaign] | list[Usage]) -> str:
    """List the first few campaigns with their names and states."""
    listed = ", ".join(f"“{campaign.name}”, {campaign.state}" for campaign in campaigns[:5])
    return listed + (f" and {len(campaigns) - 5} more" if len(campaigns) > 5 else "")
