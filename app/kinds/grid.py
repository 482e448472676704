"""The kind `grid`: people colour groups of images and say what each has in common."""

from typing import ClassVar

from app.kinds.base import Descriptions
from app.kinds.groupings import GroupingKind


class GridKind(GroupingKind):
    """Groups that annotators make and describe, as in the paper of Context Embedding Networks."""

    name: ClassVar[str] = "grid"
    interface: ClassVar[str] = "grid"
    title: ClassVar[str] = "Grid"
    about: ClassVar[str] = (
        "People colour groups of a 4×6 grid and say in words what each has in common. Best for "
        "attributes."
    )
    strategy: ClassVar[str] = "cen"
    grid_size: ClassVar[int] = 24
    max_groups: ClassVar[int] = 10
    columns: ClassVar[int] = 6
    descriptions: ClassVar[Descriptions] = "required"
    seconds_per_grid: ClassVar[float] = 75.0
