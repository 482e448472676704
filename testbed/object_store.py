"""S3-compatible storage: moto's server, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import httpx

from likewise.embedded import free_port
from testbed.system import wait_until

BUCKET, PREFIX = "likewise", "a/prefix"


@dataclass
class ObjectStore:
    """An S3 server with one bucket, and the settings that make it storage."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return {
            "STORAGE_URL": f"s3://{BUCKET}/{PREFIX}",
            "AWS_ENDPOINT": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test-access-key",
            "AWS_SECRET_ACCESS_KEY": "test-secret-key",
        }

    @property
    def client(self) -> Any:
        """Another program's view of the server."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.settings["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.settings["AWS_SECRET_ACCESS_KEY"],
        )

    def all_keys(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def start(self) -> None:
        with (self.folder / "s3.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until("the S3 server", self._answers, 60)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "s3.log").read_text()
        try:
            return httpx.get(f"{self.endpoint}/moto-api/", timeout=2).is_success
        except httpx.TransportError:
            return False


@contextmanager
def running_object_store(folder: Path) -> Iterator[ObjectStore]:
    folder.mkdir(parents=True, exist_ok=True)
    store = ObjectStore(folder)
    try:
        store.start()
        store.client.create_bucket(Bucket=BUCKET)
        yield store
    finally:
        store.stop()
