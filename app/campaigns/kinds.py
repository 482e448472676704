"""Kinds of task: what an annotator does with a grid, and its usual size."""

from dataclasses import dataclass

from app.core.errors import InvalidInput
from learning.ballots import CHOICES


@dataclass(frozen=True)
class Kind:
    """max_groups is the most groups of an answer, or all it has where they are fixed: those of
    `select` are votes, learning/ballots.py."""

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
    """Raises InvalidInput for an unknown kind."""
    if name not in KINDS:
        raise InvalidInput(f"The kind must be one of {', '.join(KINDS)}, not {name!r}.")
    return KINDS[name]


def checked_max_groups(name: str, wanted: int | None) -> int:
    """The most groups of a campaign; raises InvalidInput where the kind's are fixed and others
    are wanted."""
    kind = get_kind(name)
    if kind.votes and wanted not in (None, kind.max_groups):
        raise InvalidInput(
            f"A {name} campaign always has the {kind.max_groups} choices {', '.join(CHOICES)}, so "
            f"max_groups can't be {wanted}. Leave it out."
        )
    return kind.max_groups if wanted is None else wanted
