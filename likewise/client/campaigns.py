"""Campaigns: running them and getting their results."""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from likewise.client.alignments import CampaignAlignments
from likewise.client.errors import TrainingFailed
from likewise.client.objects import (
    Answer,
    AskAgain,
    Classified,
    Embedding,
    Label,
    Membership,
    Model,
    Neighbour,
    Progress,
    Suggestion,
    read,
)
from likewise.client.transport import Transport


class Campaign(CampaignAlignments):
    """One question about one collection. `settings` has every field that the API returns."""

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self.id: str = data["id"]
        self.name: str = data["name"]
        self.collection_id: str = data["collection_id"]
        self.annotator_link: str = data["annotator_link"]
        self.settings = data

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r}>"

    def start(self) -> Progress:
        """Launch a draft. From now on, the link for annotators works."""
        return self._act("start")

    def pause(self) -> Progress:
        return self._act("pause")

    def resume(self) -> Progress:
        return self._act("resume")

    def finish(self) -> Progress:
        """End the campaign before the budget is spent, and train on the answers once more."""
        return self._act("finish")

    def retry(self) -> Progress:
        """Train again after a failed training."""
        return self._act("retry")

    def admit_new_images(self) -> Progress:
        return self._act("admit")

    def ask_about(self, images: Iterable[int]) -> int:
        """Ask about more images, by their positions, in a campaign that asks about a part of them.
        Returns how many it did not ask about before."""
        body = {"images": list(images)}
        return int(self._transport.post(f"{self._path}/asked-images", body)["added"])

    def suggested_images(self, limit: int = 24) -> list[Suggestion]:
        """Return images that the campaign does not ask about, those that the newest model is least
        certain of first; none if the model does not say how certain it is."""
        reply = self._transport.get(f"{self._path}/suggested-images", limit=limit)
        return [read(Suggestion, data) for data in reply["images"]]

    def _act(self, action: str) -> Progress:
        return Progress.of(self._transport.post(f"{self._path}/actions/{action}"))

    def progress(self) -> Progress:
        return Progress.of(self._transport.get(f"{self._path}/progress"))

    def wait(self, timeout: float | None = None, poll: float = 2.0) -> Progress:
        """Wait until the campaign has finished and its last training has ended.

        timeout: in seconds; None waits for ever. Raises TimeoutError, TrainingFailed.
        """
        deadline = time.monotonic() + timeout if timeout is not None else None
        while True:
            now = self.progress()
            if now.job is not None and now.job.state == "failed":
                raise TrainingFailed(now.job.error or "The training failed.")
            if now.state == "finished" and (now.job is None or not now.job.is_active):
                return now
            if deadline is not None and time.monotonic() + poll > deadline:
                raise TimeoutError(
                    f"{self.name} has not finished after {timeout:g} seconds: "
                    f"{now.answers} of {now.budget} answers."
                )
            time.sleep(poll)

    def share(self, email: str, access: str = "view") -> None:
        """Let another requester see (`view`) or change (`edit`) the campaign."""
        body = {"email": email, "access": access}
        self._transport.request("PUT", f"{self._path}/shares", json=body)

    def price_of_asking_again(self, annotator: int) -> AskAgain:
        """Return how many answers would be asked again if you left an annotator out, and about what
        that costs."""
        path = f"{self._path}/annotators/{annotator}/ask-again"
        return read(AskAgain, self._transport.get(path))

    def leave_out(self, annotator: int, reason: str = "", *, ask_again: bool = True) -> None:
        """Leave an annotator out of learning. With `ask_again`, others are asked for their answers,
        and a finished campaign runs again until these are given."""
        body = {"reason": reason, "ask_again": ask_again}
        self._transport.post(f"{self._path}/annotators/{annotator}/actions/leave_out", body)

    def take_back(self, annotator: int, reason: str = "") -> None:
        """Undo all decisions about an annotator. Answers that nobody has started to give again are
        no longer asked for."""
        body = {"reason": reason}
        self._transport.post(f"{self._path}/annotators/{annotator}/actions/restore", body)

    def answers(
        self,
        annotator: int | None = None,
        round: int | None = None,
        role: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[Answer]:
        """Finished answers in the order in which they were submitted, fetched page by page.

        role: `ask` (used for learning), `gold` or `repeat` (checks of the annotator); None: all
        """
        order = "newest" if newest_first else "oldest"
        query = {"annotator": annotator, "round": round, "role": role, "order": order}
        for data in self._transport.pages(f"{self._path}/answers", limit=500, **query):
            yield Answer.of(data)

    def models(self) -> Iterator[Model]:
        """All models, oldest first."""
        for data in self._transport.pages(f"{self._path}/models"):
            yield Model.of(data)

    def embedding(self, version: int | None = None) -> Embedding:
        """The vectors of all images in model `version`, or in the newest model."""
        import numpy as np

        with tempfile.TemporaryDirectory() as folder:
            path = self.export("embedding.npz", folder, version=version)
            with np.load(path) as arrays:
                return Embedding(arrays["embedding"], arrays["filenames"], arrays["sha256"])

    def neighbours(
        self,
        image: int | None = None,
        *,
        sha256: str | None = None,
        filename: str | None = None,
        k: int = 10,
        version: int | None = None,
    ) -> list[Neighbour]:
        """The images nearest to one image, which is given by position, hash or file name."""
        query = {"image": image, "sha256": sha256, "filename": filename, "k": k}
        reply = self._transport.get(f"{self._path}/neighbours", **query, version=version)
        return [read(Neighbour, neighbour) for neighbour in reply["neighbours"]]

    def memberships(
        self,
        version: int | None = None,
        *,
        order: str = "position",
        cluster: int | None = None,
        asked: bool | None = None,
    ) -> Iterator[Membership]:
        """Every image with its cluster in model `version`, or in the newest model.

        order: `position`, or `uncertain` for the least probable first. Raises NotFound if the
        campaign's strategy does not learn clusters.
        """
        # Without a model this requests version 1, and the server replies that it does not exist.
        newest = max((model.version for model in self.models()), default=1)
        number = newest if version is None else version
        query = {"order": order, "cluster": cluster, "asked": asked}
        path = f"{self._path}/models/{number}/memberships"
        for data in self._transport.pages(path, limit=1000, **query):
            yield read(Membership, data)

    def labels(
        self,
        version: int | None = None,
        *,
        order: str = "likeliest",
        label: str | None = None,
        asked: bool | None = None,
    ) -> Iterator[Label]:
        """Every image of a select campaign with its label in model `version`, or in the newest.

        order: `likeliest` (most certain yes first), `contested` (least certain first) or `position`
        label: only `yes` or only `no`. Raises NotFound if the model has no labels.
        """
        newest = max((model.version for model in self.models()), default=1)
        path = f"{self._path}/models/{newest if version is None else version}/labels"
        query = {"order": order, "label": label, "asked": asked}
        for data in self._transport.pages(path, limit=1000, **query):
            yield read(Label, data)

    def classified(
        self,
        version: int | None = None,
        *,
        order: str = "surest",
        label: str | None = None,
        asked: bool | None = None,
    ) -> Iterator[Classified]:
        """Every image of a campaign with classes with its labels in model `version`, or in the
        newest.

        order: `surest` (with `label`: those that most certainly have it first), `contested` (least
        certain first) or `position`; label: only images with this class's label. Raises NotFound if
        the model has no classes.
        """
        newest = max((model.version for model in self.models()), default=1)
        path = f"{self._path}/models/{newest if version is None else version}/classes"
        query = {"order": order, "label": label, "asked": asked}
        for data in self._transport.pages(path, limit=1000, **query):
            yield read(Classified, data)

    def export(self, file: str, to: str | Path = ".", **query: Any) -> Path:
        """Download an export such as `answers.csv`; returns the file's path.

        to: a file, or a folder, which is made if its name ends with a slash.
        """
        path = Path(to)
        is_folder = path.is_dir() or str(to).endswith(("/", os.sep))
        target = path / file if is_folder else path
        target.parent.mkdir(parents=True, exist_ok=True)
        self._transport.download(f"{self._path}/export/{file}", target, **query)
        return target
