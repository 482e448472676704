"""The API's objects as frozen dataclasses. Fields that a newer server adds are ignored."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Record = TypeVar("Record")


def read(kind: type[Record], data: dict[str, Any], **instead: Any) -> Record:
    """Make an object from the JSON fields it knows; `instead` has those that need conversion."""
    known = {attribute.name for attribute in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in {**data, **instead}.items() if name in known})


@dataclass(frozen=True)
class Image:
    """`position` is its number in the collection; `sha256` is the hash of the uploaded file."""

    position: int
    filename: str
    sha256: str
    url: str
    large_url: str
    attributes: dict[str, Any]


@dataclass(frozen=True)
class FeatureSet:
    """Vectors of a collection's images: `n_known` of `n_images` have a row. `state` is `queued`,
    `running`, `done` or `failed`; `n_done` counts images while it is computed. `notes` say what of
    an upload was not used."""

    id: str
    name: str
    kind: str
    state: str
    n_features: int | None
    n_known: int
    n_done: int
    n_images: int
    error: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class UploadReport:
    """The result of an upload for every file.

    added:      positions by file name
    duplicates: the file name of the same image in the collection, by file name
    rejected:   the reason by file name
    partly_used: a message on each table with rows that match no image, by file name
    present:    files that were already in the collection and were not sent again
    attributes: all attributes of the collection's images
    """

    added: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    partly_used: dict[str, str] = field(default_factory=dict)
    present: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    n_images: int = 0


@dataclass(frozen=True)
class Job:
    """A training; `progress` is in [0, 1]."""

    id: str
    state: str
    attempts: int
    progress: float
    error: str | None

    @property
    def is_active(self) -> bool:
        return self.state in ("queued", "running")


@dataclass(frozen=True)
class Model:
    version: int
    round: int
    n_answers: int
    created_at: datetime
    metrics: dict[str, float]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Model":
        return read(cls, data, created_at=datetime.fromisoformat(data["created_at"]))


@dataclass(frozen=True)
class Progress:
    state: str
    answers: int
    surplus: int
    budget: int
    annotators: int
    round: int
    rounds: int
    leases: int
    job: Job | None
    models: list[Model]
    imported: int = 0
    asked_again: int = 0
    asked_again_open: int = 0

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Progress":
        job = read(Job, data["job"]) if data["job"] else None
        return read(cls, data, job=job, models=[Model.of(model) for model in data["models"]])


@dataclass(frozen=True)
class AskAgain:
    """What asking others for answers that are left out would mean.

    answers: places that would be opened for others; open: such places that have no new answer yet.
    reopens: whether the campaign has finished and would run again, for these places only.
    cost_cents: about what it costs in cents of `currency`, with fees.
    """

    answers: int
    open: int
    reopens: bool
    cost_cents: int
    currency: str


@dataclass(frozen=True)
class Answer:
    """One grouping: `groups[k]` is the group of image `images[k]`, −1 for a leftover.

    asked_again: whether its place was opened for another annotator; replaces: the id of the answer
    whose place it fills.
    """

    id: str
    annotator: int
    grid: int
    role: str
    round: int | None
    state: str
    submitted_at: datetime
    elapsed_ms: int | None
    left_out: bool
    images: list[int]
    groups: list[int]
    descriptions: list[str]
    unseen: list[int]
    asked_again: bool = False
    replaces: str | None = None

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Answer":
        return read(cls, data, submitted_at=datetime.fromisoformat(data["submitted_at"]))

    def sets(self) -> Iterator[set[int]]:
        """The images of each group."""
        for group in sorted({number for number in self.groups if number >= 0}):
            pairs = zip(self.images, self.groups, strict=True)
            yield {image for image, number in pairs if number == group}


@dataclass(frozen=True)
class Neighbour:
    """`image` is its position; `distance` is Euclidean, in the model's embedding."""

    image: int
    distance: float
    filename: str
    url: str


@dataclass(frozen=True)
class Membership:
    """An image's cluster in a model.

    second_cluster: None if the model has only one cluster; asked: whether an answer that the model
    was learned from shows the image
    """

    image: int
    filename: str
    url: str
    cluster: int
    probability: float
    second_cluster: int | None
    second_probability: float
    asked: bool


@dataclass(frozen=True)
class Suggestion:
    """An image that a campaign does not ask about. certainty: the probability of its label or
    cluster in the newest model."""

    image: int
    filename: str
    url: str
    certainty: float


@dataclass(frozen=True)
class Label:
    """An image of a select campaign with its label and its probabilities of yes.

    probability: from votes and classifier; prior: from the classifier alone; majority,
    dawid_skene, glad: from votes alone, None without votes; yes, no, unsure: numbers of votes
    """

    image: int
    filename: str
    url: str
    label: str
    probability: float
    prior: float
    majority: float | None
    dawid_skene: float | None
    glad: float | None
    yes: int
    no: int
    unsure: int


@dataclass(frozen=True)
class Classified:
    """An image of a campaign with classes, with the names of its labels.

    sureness: probability of the label, or of the least certain one. Lists have one entry for each
    class of the campaign: probability, from votes and classifier; prior, from the classifier alone;
    majority, dawid_skene, glad, from votes alone, None without votes; votes, numbers of annotators.
    answers, unsure: annotators who answered about the image, and who saw it but did not.
    """

    image: int
    filename: str
    url: str
    labels: list[str]
    sureness: float
    probability: list[float]
    prior: list[float]
    majority: list[float] | None
    dawid_skene: list[float] | None
    glad: list[float] | None
    votes: list[int]
    answers: int
    unsure: int


@dataclass(frozen=True)
class Embedding:
    """vectors: (N, d) float32, where row k is the image at position k; filenames, sha256: (N,)."""

    vectors: "NDArray[np.float32]"
    filenames: "NDArray[np.str_]"
    sha256: "NDArray[np.str_]"


@dataclass(frozen=True)
class Attempt:
    """status: the HTTP status, None without a response; said: start of the response, or error."""

    at: datetime
    status: int | None
    said: str
    seconds: float

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Attempt":
        return read(cls, data, at=datetime.fromisoformat(data["at"]))


@dataclass(frozen=True)
class Delivery:
    """state: pending, delivered or failed; body: the signed content."""

    id: str
    event: str
    state: str
    created_at: datetime
    body: str
    attempts: list[Attempt]

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Delivery":
        attempts = [Attempt.of(attempt) for attempt in data["attempts"]]
        created_at = datetime.fromisoformat(data["created_at"])
        return read(cls, data, created_at=created_at, attempts=attempts)
