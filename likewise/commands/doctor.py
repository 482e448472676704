"""`likewise doctor`: is everything that Likewise needs there?"""

import os
import shutil
import sys
from collections.abc import Callable

import typer

from likewise import environment


def doctor() -> None:
    """Check the machine, the servers, storage and migrations; exits 1 when something is wrong."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("Python", _python),
        ("disk", _disk),
        ("settings", _settings),
        ("PostgreSQL", _postgres),
        ("migrations", _migrations),
        ("Redis", _redis),
        ("storage", _storage),
        ("features", _features),
    ]
    healthy = True
    for name, check in checks:
        try:
            typer.echo(f"ok    {name:<12} {check()}")
        except Exception as error:
            # Whatever a check raises is its finding; the others are still made.
            healthy = False
            typer.echo(f"FAIL  {name:<12} {error}")
    if not healthy:
        raise typer.Exit(1)


def _python() -> str:
    return sys.version.split()[0]


def _disk() -> str:
    free = shutil.disk_usage(environment.data_folder().parent).free / 2**30
    if free < 2:
        raise RuntimeError(f"only {free:.1f} GB free; 2 GB are needed")
    return f"{free:.0f} GB free"


def _settings() -> str:
    environment.load()
    return os.environ.get("LIKEWISE_BASE_URL", "LIKEWISE_BASE_URL not set, default used")


def _postgres() -> str:
    from sqlalchemy import text

    from app.core.database import transaction

    with transaction() as session:
        version: str = session.execute(text("SHOW server_version")).scalar_one()
    return version


def _migrations() -> str:
    from app.core.database import transaction
    from app.core.revisions import database_revision, newest_revision

    newest = newest_revision()
    with transaction() as session:
        current = database_revision(session)
    if current != newest:
        raise RuntimeError(f"database is at {current}, code at {newest}: run `likewise migrate`")
    return f"at {current}"


def _redis() -> str:
    from redis import Redis

    from app.core.settings import get_settings

    with Redis.from_url(get_settings().redis_url, socket_connect_timeout=3) as client:
        client.ping()
        appendonly = client.config_get("appendonly")["appendonly"]
    return f"answers, append-only file {'on' if appendonly == 'yes' else 'OFF'}"


def _storage() -> str:
    from app.core.settings import get_settings
    from app.core.storage import delete_objects, get_object, put_object

    put_object("doctor/probe", b"ok")
    if get_object("doctor/probe") != b"ok":
        raise RuntimeError("what was written is not what was read")
    delete_objects(["doctor/probe"])
    return get_settings().storage


def _features() -> str:
    from app.features.custom import custom_address, load_custom

    return load_custom().address if custom_address() else "built in"
