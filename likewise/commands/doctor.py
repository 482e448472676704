"""`likewise doctor` checks that everything Likewise needs is there."""

import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import typer

from likewise import environment

MOST_SKEW_SECONDS = 2.0
MOST_WAITING_SECONDS = 60.0


class ShouldNotStay(Exception):
    """Something works but is not safe."""


def doctor() -> None:
    """Check the machine, servers, storage and migrations. Exits with 1 if something is wrong."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("Python", _python),
        ("disk", _disk),
        ("settings", _settings),
        ("secret key", _secret_key),
        ("PostgreSQL", _postgres),
        ("clock", _clock),
        ("migrations", _migrations),
        ("wall", _row_security),
        ("factors", _factors),
        ("Redis", _redis),
        ("queue", _queue),
        ("workers", _workers),
        ("storage", _storage),
        ("backup", _backup),
        ("features", _features),
        ("encoder", _encoder),
        ("pages", _pages),
    ]
    healthy = True
    for name, check in checks:
        try:
            typer.echo(f"ok    {name:<12} {check()}")
        except ShouldNotStay as warning:
            typer.echo(f"WARN  {name:<12} {warning}")
        except Exception as error:
            # What a check raises is its result, and the other checks still run.
            healthy = False
            typer.echo(f"FAIL  {name:<12} {error}")
    if not healthy:
        raise typer.Exit(1)


def _python() -> str:
    return sys.version.split()[0]


def _disk() -> str:
    folder = environment.data_folder()
    folder = folder if folder.exists() else folder.parent
    free = shutil.disk_usage(folder).free / 2**30
    if free < 2:
        raise RuntimeError(f"only {free:.1f} GB free in {folder}; Likewise needs 2 GB")
    return f"{free:.0f} GB free in {folder}"


def _settings() -> str:
    environment.load()
    return os.environ.get("LIKEWISE_BASE_URL", "LIKEWISE_BASE_URL is not set; the default is used")


def _secret_key() -> str:
    key = os.environ["LIKEWISE_SECRET_KEY"]
    environment.require_strong_key(key)
    weak = environment.weak_old_keys()
    if weak:
        raise ShouldNotStay(
            f"{weak} of LIKEWISE_OLD_SECRET_KEYS can be guessed. Anybody who guesses a key "
            "can forge links while it is listed. Remove it as soon as nothing needs it "
            "(docs/operations.md, Another secret key)"
        )
    n_old = len(os.environ.get("LIKEWISE_OLD_SECRET_KEYS", "").split())
    return f"{len(key)} characters" + (f", {n_old} older ones are read" if n_old else "")


# The same for two connections to the same database of the same running server.
SERVER = "SELECT current_database(), pg_postmaster_start_time()"


def _postgres() -> str:
    from sqlalchemy import text

    from app.core.database import get_direct_engine, transaction
    from app.core.settings import get_settings

    with transaction() as session:
        version: str = session.execute(text("SHOW server_version")).scalar_one()
        server = session.execute(text(SERVER)).one()
    has_pooler = bool(get_settings().direct_database_url)
    name = "LIKEWISE_DIRECT_DATABASE_URL" if has_pooler else "DATABASE_URL"
    with get_direct_engine().connect() as connection:
        limit = connection.execute(text("SHOW statement_timeout")).scalar_one()
        direct = connection.execute(text(SERVER)).one()
    if limit == "0":
        raise RuntimeError(
            f"what answers at {name} ignores the options of connections, so it is a pooler. Set "
            "LIKEWISE_DIRECT_DATABASE_URL to the address of PostgreSQL itself"
        )
    if server != direct:
        raise RuntimeError(
            "DATABASE_URL and LIKEWISE_DIRECT_DATABASE_URL lead to different databases"
        )
    return f"{version}, through a pooler" if has_pooler else version


def _clock() -> str:
    from sqlalchemy import text

    from app.core.database import transaction

    with transaction() as session:
        session.execute(text("SELECT 1"))
        before = datetime.now(UTC)
        theirs: datetime = session.execute(text("SELECT clock_timestamp()")).scalar_one()
        after = datetime.now(UTC)
    skew = (theirs - before - (after - before) / 2).total_seconds()
    if abs(skew) > MOST_SKEW_SECONDS:
        raise RuntimeError(
            f"the database's clock is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}; "
            "leases and signatures depend on the time. Set both clocks (timedatectl)"
        )
    return f"{abs(skew):.1f} s from the database's"


OLDEST = """
    SELECT
        (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)
         FROM outbox WHERE dispatched_at IS NULL),
        (SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)
         FROM job WHERE state = 'queued')
"""


def _queue() -> str:
    from sqlalchemy import text

    from app.core.database import transaction

    with transaction() as session:
        message, job = session.execute(text(OLDEST)).one()
    if message > MOST_WAITING_SECONDS:
        raise RuntimeError(
            f"a message has been waiting for {message:.0f} s. Check that the dispatcher is running"
        )
    return f"oldest message {message:.0f} s, oldest waiting job {job:.0f} s"


def _workers() -> str:
    from app.jobs.queues import FILES, LEARNING, LEARNING_GPU, gpu_strategies
    from workers.queues import served_queues

    served, with_gpu = served_queues(), gpu_strategies()
    if with_gpu and LEARNING_GPU not in served:
        raise RuntimeError(
            f"trainings of {', '.join(sorted(with_gpu))} wait for a worker with a GPU, and none "
            "is running. Start `likewise worker --queue learning-gpu` on a machine with a GPU, or "
            "unset LIKEWISE_GPU_STRATEGIES"
        )
    lacking = [name for name in (LEARNING, FILES) if name not in served]
    if lacking:
        raise ShouldNotStay(
            f"no worker serves {' and '.join(lacking)}. Start `likewise worker`; until then, "
            "this work waits"
        )
    return f"serve {', '.join(sorted(served))}"


def _migrations() -> str:
    from app.core.database import transaction
    from app.core.revisions import database_revision, newest_revision

    newest = newest_revision()
    with transaction() as session:
        current = database_revision(session)
    if current != newest:
        raise RuntimeError(f"database is at {current}, code at {newest}. Run `likewise migrate`")
    return f"at {current}"


def _row_security() -> str:
    from app.core.database import transaction
    from app.core.row_security import row_security_problems
    from app.tables import metadata

    with transaction() as session:
        problems = row_security_problems(session, metadata)
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise RuntimeError(
            f"only the application separates requesters' data: {'; '.join(problems[:3])}{more}. "
            "Run `likewise migrate`; it reports what it lacks the rights to do"
        )
    return f"{len(metadata.tables)} tables; requesters' requests use a role of their own"


def _factors() -> str:
    from app.accounts.factors import count_factors
    from app.core.database import transaction

    with transaction() as session:
        n, old, lost = count_factors(session)
    if lost:
        raise RuntimeError(
            f"no key decrypts {lost} of {n} second factors, so their owners cannot sign in with "
            "a code. Add the key that encrypted them to LIKEWISE_OLD_SECRET_KEYS, or remove "
            "them (`likewise user sign-out EMAIL --factor`)"
        )
    if old:
        return f"{n} second factors, {old} of them need a key of LIKEWISE_OLD_SECRET_KEYS"
    return f"{n} second factors, the newest key decrypts all"


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
        raise RuntimeError("storage returned other bytes than were written")
    delete_objects(["doctor/probe"])
    return get_settings().storage


def _backup() -> str:
    from sqlalchemy import text

    from app.core.database import transaction
    from app.core.storage import all_keys
    from likewise.backups.tools import find_tool

    with transaction() as session:
        number = int(session.execute(text("SHOW server_version_num")).scalar_one())
    path, version = find_tool("pg_dump", number // 10_000)
    # A backup lists all objects. Some storage permits reads and writes but no listing.
    next(all_keys(), None)
    return f"pg_dump {version} ({path}), storage can be listed"


def _features() -> str:
    from app.features.custom import custom_address, load_custom

    return load_custom().address if custom_address() else "built in"


def _encoder() -> str:
    from app.core.settings import get_settings
    from app.features.encoder import is_available, load_encoder, missing_message

    if not is_available():
        raise ShouldNotStay(
            f"{missing_message()}. Until then, campaigns do not offer features of what images show"
        )
    encoder = load_encoder()
    name = get_settings().encoder or "EfficientNet-Lite0"
    return f"{name}, {encoder.n_features} numbers per image, on {encoder.device}"


def _pages() -> str:
    from app.core.database import transaction
    from app.operations.violations import latest_violations

    with transaction() as session:
        violations = latest_violations(session, 1)
    if not violations:
        return "no browser has reported a blocked resource"
    violation = violations[0]
    when = violation.last_at.strftime("%Y-%m-%d")
    return (
        f"last blocked {when}: {violation.directive} {violation.blocked} on {violation.page}, "
        f"{violation.n} times"
    )
