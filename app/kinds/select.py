"""The kind `select`: people tick every image that shows what is asked for."""

from typing import ClassVar

from app.kinds.votes import YesNoKind


class SelectKind(YesNoKind):
    """A vote on every image: yes, no or unsure."""

    name: ClassVar[str] = "select"
    interface: ClassVar[str] = "select"
    title: ClassVar[str] = "Select"
    about: ClassVar[str] = (
        "People tick every image that shows what you ask for. Best for one label: yes or no."
    )
    question: ClassVar[str] = "Tick every image that shows …"
    strategy: ClassVar[str] = "neucrowd"
    grid_size: ClassVar[int] = 24
    columns: ClassVar[int] = 6
    seconds_per_grid: ClassVar[float] = 30.0
