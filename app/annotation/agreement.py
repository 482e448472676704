"""How answers are compared in each kind of task: groups by which images are together, votes one by
one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.campaigns.kinds import KINDS
from app.campaigns.models import Campaign
from learning.ballots import ballot_agreement, ballot_consistency
from learning.quality import Agreement, agreement, consistency, is_one_group

Groups = Sequence[int]


@dataclass(frozen=True)
class Comparing:
    """How to compare answers: `agreement` with a known answer, `consistency` with the annotator's
    own earlier answer, and `is_flat` for an answer that distinguishes nothing, as if given without
    looking."""

    agreement: Callable[[Groups, Groups], Agreement | None]
    consistency: Callable[[Groups, Groups], Agreement | None]
    is_flat: Callable[[Groups], bool]


_GROUPS = Comparing(agreement, consistency, is_one_group)
# If something is rare or common, an honest answer often says no or yes to all images, so only gold
# grids show whether someone looks.
_VOTES = Comparing(ballot_agreement, ballot_consistency, lambda groups: False)


def comparing(campaign: Campaign) -> Comparing:
    return _VOTES if KINDS[campaign.kind].votes else _GROUPS
