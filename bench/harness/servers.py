"""PostgreSQL and Valkey of a benchmark's own, and settings of this process that point to them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app import tables
from testbed.servers import Servers, running_servers
from testbed.settings import forget_settings

# Services are called here as in every process, with all tables and answers to hooks.
__all__ = ["own_servers", "tables", "use", "use_new_database"]


@contextmanager
def own_servers() -> Iterator[tuple[Servers, Path]]:
    """The servers, and a folder of their own, which is removed at the end."""
    # PostgreSQL may run as another user and has its socket there: a short, readable path.
    with tempfile.TemporaryDirectory(prefix="likewise-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with running_servers(folder) as servers:
            yield servers, folder


def use(environment: dict[str, str]) -> None:
    """This process has these settings from now on."""
    os.environ.update(environment)
    forget_settings()


def use_new_database(servers: Servers, data: Path, **more: str) -> dict[str, str]:
    """Settings for an empty database and a data folder, which this process uses from now on."""
    environment = {
        "DATABASE_URL": servers.new_database(),
        "REDIS_URL": servers.valkey.url,
        "LIKEWISE_SECRET_KEY": "bench",
        "LIKEWISE_DATA": str(data),
        **more,
    }
    use(environment)
    return environment
