"""Kinds of task: they define what an annotator does with a grid, and the grid's usual size."""

from dataclasses import dataclass

from app.core.errors import InvalidInput
from learning.ballots import CHOICES


@dataclass(frozen=True)
class Kind:
    """A kind of task.

    `max_groups` is the maximum number of groups in an answer. In a kind with `votes`, the groups
    are the choices of learning/ballots.py, so their number is fixed.
    """

    title: str
    about: str
    question: str
    grid_size: int
    max_groups: int
    columns: int
    votes: bool = False


_BELONG = "Which of these images belong together?"
KINDS = {
    "grid": Kind(
        "Grid",
        "People colour groups of a 4×6 grid and say in words what each has in common. Best for "
        "attributes.",
        _BELONG, 24, 10, 6,
    ),
    "bins": Kind(
        "Bins",
        "People drag 20 images into 4 bins. Quick; best for nearest neighbours.",
        _BELONG, 20, 4, 4,
    ),
    "select": Kind(
        "Select",
        "People tick every image that shows what you ask for. Best for one label: yes or no.",
        "Tick every image that shows …", 24, len(CHOICES), 6, votes=True,
    ),
}  # fmt: skip


def get_kind(name: str) -> Kind:
    """Return the kind with this name. Raises InvalidInput if there is none."""
    if name not in KINDS:
        raise InvalidInput(f"The kind must be one of {', '.join(KINDS)}, not {name!r}.")
    return KINDS[name]


def checked_max_groups(name: str, wanted: int | None) -> int:
    """Return a campaign's maximum number of groups. Raises InvalidInput if the kind has a fixed
    number and `wanted` differs from it."""
    kind = get_kind(name)
    if kind.votes and wanted not in (None, kind.max_groups):
        raise InvalidInput(
            f"A {name} campaign always has the {kind.max_groups} choices {', '.join(CHOICES)}, so "
            f"max_groups can't be {wanted}. Leave it out."
        )
    return kind.max_groups if wanted is None else wanted
