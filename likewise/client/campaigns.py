"""Campaigns: running them, and taking their results."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from likewise.client.errors import TrainingFailed
from likewise.client.objects import (
    Answer,
    Embedding,
    Label,
    Membership,
    Model,
    Neighbour,
    Progress,
    read,
)
from likewise.client.transport import Transport


class Campaign:
    """One question asked about one collection. `settings` holds all that the API tells of it."""

    def __init__(self, transport: Transport, data: dict[str, Any]) -> None:
        self._transport = transport
        self.id: str = data["id"]
        self.name: str = data["name"]
        self.collection_id: str = data["collection_id"]
        self.annotator_link: str = data["annotator_link"]
        self.settings = data

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r}>"

    @property
    def _path(self) -> str:
        return f"/campaigns/{self.id}"

    def start(self) -> Progress:
        """From draft to running: from now on the link for annotators works."""
        return self._act("start")

    def pause(self) -> Progress:
        return self._act("pause")

    def resume(self) -> Progress:
        return self._act("resume")

    def finish(self) -> Progress:
        """End before the budget is spent; what came in is learned once more."""
        return self._act("finish")

    def retry(self) -> Progress:
        """Train again after a failed training."""
        return self._act("retry")

    def admit_new_images(self) -> Progress:
        return self._act("admit")

    def _act(self, action: str) -> Progress:
        return Progress.of(self._transport.post(f"{self._path}/actions/{action}"))

    def progress(self) -> Progress:
        return Progress.of(self._transport.get(f"{self._path}/progress"))

    def wait(self, timeout: float | None = None, poll: float = 2.0) -> Progress:
        """Wait until the campaign has finished and its last training has ended.

        timeout: in seconds, None for ever. Raises TimeoutError, TrainingFailed.
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
        """Let another requester look at the campaign (`view`), or work on it (`edit`)."""
        body = {"email": email, "access": access}
        self._transport.request("PUT", f"{self._path}/shares", json=body)

    def answers(
        self,
        annotator: int | None = None,
        round: int | None = None,
        role: str | None = None,
        newest_first: bool = False,
    ) -> Iterator[Answer]:
        """Finished answers in the order in which they came, fetched as they are asked for.

        role: `ask` (learned from), `gold` or `repeat` (checks of the annotator); None: all.
        """
        order = "newest" if newest_first else "oldest"
        query = {"annotator": annotator, "round": round, "role": role, "order": order}
        for one in self._transport.pages(f"{self._path}/answers", limit=500, **query):
            yield Answer.of(one)

    def models(self) -> Iterator[Model]:
        """All models, the oldest first."""
        for one in self._transport.pages(f"{self._path}/models"):
            yield Model.of(one)

    def embedding(self, version: int | None = None) -> Embedding:
        """The vectors of all images in the newest model, or in model `version`."""
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
        """The images most like one, nearest first; it is named by position, hash or file name."""
        query = {"image": image, "sha256": sha256, "filename": filename, "k": k}
        told = self._transport.get(f"{self._path}/neighbours", **query, version=version)
        return [read(Neighbour, one) for one in told["neighbours"]]

    def memberships(
        self,
        version: int | None = None,
        *,
        order: str = "position",
        cluster: int | None = None,
        asked: bool | None = None,
    ) -> Iterator[Membership]:
        """Every image in the clusters of its own that the newest model has, or model `version`.

        order: `position`, or `uncertain`: the least probable first. Raises NotFound for a model
        of a strategy that tells no clusters.
        """
        # Of a campaign without a model the first is asked for, which the server says is not there.
        newest = max((one.version for one in self.models()), default=1)
        number = newest if version is None else version
        query = {"order": order, "cluster": cluster, "asked": asked}
        path = f"{self._path}/models/{number}/memberships"
        for one in self._transport.pages(path, limit=1000, **query):
            yield read(Membership, one)

    def labels(
        self,
        version: int | None = None,
        *,
        order: str = "likeliest",
        label: str | None = None,
        asked: bool | None = None,
    ) -> Iterator[Label]:
        """Every image of a select campaign with its label by the newest model, or model `version`.

        order: `likeliest`: the surest yes first; `contested`: the least sure first; `position`.
        label: `yes` or `no` only. Raises NotFound for a model that labels nothing.
        """
        newest = max((one.version for one in self.models()), default=1)
        path = f"{self._path}/models/{newest if version is None else version}/labels"
        query = {"order": order, "label": label, "asked": asked}
        for one in self._transport.pages(path, limit=1000, **query):
            yield read(Label, one)

    def export(self, file: str, to: str | Path = ".", **query: Any) -> Path:
        """Take a file away, such as `answers.csv`; `to` is a folder or a path. Returns the path."""
        path = Path(to)
        target = path / file if path.is_dir() else path
        self._transport.download(f"{self._path}/export/{file}", target, **query)
        return target
