"""A real Caddy with our Caddyfile, if it is installed (requirements/deployment.lock)."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from likewise.embedded import free_port
from testbed.servers import ROOT
from testbed.system import wait_until

PROGRAM = shutil.which("caddy", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
needs_caddy = pytest.mark.skipif(
    PROGRAM is None, reason="Caddy is not installed: make .venv/.deployment"
)


def caddy_environment(folder: Path, **variables: str) -> dict[str, str]:
    """Variables of a Caddy that shares nothing with others on this machine."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "CADDY_ADMIN": f"unix/{folder}/admin.sock",
        **variables,
    }


@contextmanager
def running_caddy(folder: Path, upstreams: list[str], **variables: str) -> Iterator[str]:
    """The address of a Caddy without https over these web servers (host:port)."""
    assert PROGRAM is not None
    port = free_port()
    given = {
        "LIKEWISE_DOMAIN": f"http://:{port}",
        "LIKEWISE_UPSTREAM": " ".join(upstreams),
        **variables,
    }
    with (folder / "caddy.log").open("ab") as log:
        process = subprocess.Popen(
            [PROGRAM, "run", "--config", "Caddyfile", "--adapter", "caddyfile"],
            cwd=ROOT,
            env=caddy_environment(folder, **given),
            stdout=log,
            stderr=log,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until("Caddy", lambda: _is_listening(address), 20)
        yield address
    finally:
        process.kill()
        process.wait()


def _is_listening(address: str) -> bool:
    try:
        # A method that no web server here answers: it need not be there.
        httpx.request("BREW", address, timeout=0.5)
    except httpx.ConnectError:
        return False
    except httpx.TimeoutException:
        return True
    return True
