"""The kind `bins`: people drag images into a few bins."""

from collections.abc import Sequence
from typing import ClassVar

from app.kinds.groupings import GroupingKind
from learning.simulation import Crowd, SimulatedAnswer


class BinsKind(GroupingKind):
    """All groups are shown from the start, as in the paper of CrowdSter."""

    name: ClassVar[str] = "bins"
    interface: ClassVar[str] = "bins"
    title: ClassVar[str] = "Bins"
    about: ClassVar[str] = "People drag 20 images into 4 bins. Quick; best for nearest neighbours."
    strategy: ClassVar[str] = "crowdster"
    group_noun: ClassVar[str] = "bins"
    grid_size: ClassVar[int] = 20
    max_groups: ClassVar[int] = 4
    columns: ClassVar[int] = 4
    seconds_per_grid: ClassVar[float] = 60.0

    def simulate(
        self, crowd: Crowd, annotator: int, images: Sequence[int], max_groups: int
    ) -> SimulatedAnswer:
        return crowd.answer(annotator, images, max_groups, n_bins=max_groups)
