"""`likewise`: the command line. Each group of commands has a file in `commands/`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from likewise import environment

cli = typer.Typer(
    help="Learn which images people perceive as similar, and why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
ROOT = Path(__file__).parent.parent
REFUSALS = (environment.NotRunning, environment.WeakKey)


@cli.command()
def up(
    port: Annotated[
        int, typer.Option(envvar="LIKEWISE_PORT", help="Port of the web server.")
    ] = 8000,
    host: Annotated[str, typer.Option(envvar="LIKEWISE_HOST")] = "127.0.0.1",
    demo: Annotated[bool, typer.Option(help="Create the demo at the first start.")] = True,
    web_processes: Annotated[
        int,
        typer.Option(
            envvar="LIKEWISE_WEB_PROCESSES",
            min=0,
            help="Processes of the web server; 0: half as many as the machine has cores, 1 to 4.",
        ),
    ] = 0,
) -> None:
    """Run everything: PostgreSQL, Redis, web server, Celery worker and dispatcher."""
    from likewise.first_start import first_start
    from likewise.supervisor import Supervisor

    try:
        Supervisor(host, port, web_processes).run(lambda: first_start(with_demo=demo))
    except KeyboardInterrupt:
        return


@cli.command()
def serve(
    port: Annotated[int, typer.Option(envvar="LIKEWISE_PORT")] = 8000,
    host: Annotated[str, typer.Option(envvar="LIKEWISE_HOST")] = "0.0.0.0",
    processes: Annotated[
        int,
        typer.Option(
            envvar="LIKEWISE_WEB_PROCESSES", min=0, help="Processes that share the port; 0: one."
        ),
    ] = 1,
) -> None:
    """Run only the web server. Set DATABASE_URL, REDIS_URL and LIKEWISE_SECRET_KEY first."""
    _load_checked()
    from likewise import web_processes
    from likewise.web_server import VARIABLES, command

    if processes > 1:
        try:
            web_processes.serve(host, port, processes)
        except web_processes.PortTaken as error:
            raise SystemExit(f"{error} Stop it or choose another port: --port.") from error
        return
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    _become(*command(host, port))


@cli.command()
def worker(
    concurrency: Annotated[int, typer.Option(envvar="LIKEWISE_WORKERS", min=1)] = 1,
    queue: Annotated[
        str,
        typer.Option(
            help="Kinds of work, comma-separated: learning (trainings), learning-gpu (trainings "
            "of LIKEWISE_GPU_STRATEGIES), files (imports, clean-up, dry runs)."
        ),
    ] = "learning,files",
) -> None:
    """Run only a Celery worker."""
    _load_checked()
    _check_queues(queue.split(","))
    _become(
        "celery",
        # Without the banner, because it is not a log line.
        "-q",
        "-A",
        "workers.celery_app:celery",
        "worker",
        "-P",
        "threads",
        "-c",
        str(concurrency),
        "-Q",
        queue,
        "-l",
        "info",
    )


def _check_queues(names: list[str]) -> None:
    """Refuse unknown names: a worker would wait for messages that nobody sends."""
    from app.jobs.queues import LEARNING_GPU, QUEUES

    unknown = [name for name in names if name not in QUEUES]
    if unknown:
        raise typer.BadParameter(
            f"no queue is called {', '.join(map(repr, unknown))}. Queues: {', '.join(QUEUES)}.",
            param_hint="--queue",
        )
    if LEARNING_GPU in names:
        from learning.devices import pick_device

        if pick_device("auto").type == "cpu":
            typer.echo(
                "This machine has no GPU that torch can use. Trainings of the queue learning-gpu "
                "run on the processor.",
                err=True,
            )


@cli.command()
def dispatcher() -> None:
    """Run only the dispatcher, which sends the outbox to Celery and queues lost jobs again."""
    _load_checked()
    _become("workers.dispatcher")


@cli.command()
def migrate(
    revision: Annotated[
        str, typer.Argument(help="Target revision; `head` is the newest.")
    ] = "head",
) -> None:
    """Migrate the database to a revision."""
    from alembic import command
    from alembic.config import Config

    environment.load()
    config = Config(ROOT / "alembic.ini")
    if revision in ("base",) or revision.startswith("-"):
        command.downgrade(config, revision)
    else:
        command.upgrade(config, revision)


def _load_checked() -> None:
    """Load and check the settings of a long-running process.

    It logs JSON, because its log is kept and only JSON lines have times and request ids.
    """
    environment.load()
    os.environ.setdefault("LIKEWISE_LOG_FORMAT", "json")
    environment.require_strong_key(os.environ["LIKEWISE_SECRET_KEY"])
    from app.core.settings import get_settings

    get_settings()


def _become(module: str, *arguments: str) -> None:
    """Replace this process, so that signals reach the program directly."""
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def _register_commands() -> None:
    from likewise.commands import (
        answers,
        backup,
        campaigns,
        collections,
        demo,
        doctor,
        emulate,
        forget,
        simulate,
        users,
    )

    cli.add_typer(users.cli, name="user")
    cli.add_typer(campaigns.cli, name="campaign")
    cli.add_typer(emulate.cli, name="emulate")
    cli.command("import")(collections.import_)
    cli.command("import-answers")(answers.import_answers_)
    cli.command("export")(campaigns.export)
    cli.command("simulate")(simulate.simulate)
    cli.command("demo")(demo.demo)
    cli.command("doctor")(doctor.doctor)
    cli.command("forget")(forget.forget)
    cli.command("backup")(backup.backup)
    cli.command("restore")(backup.restore)


_register_commands()


def main() -> None:
    """Run the command line and print each expected error as one line on standard error."""
    from pydantic import ValidationError

    from app.core.errors import LikewiseError
    from app.core.settings import Settings, problems_of_settings
    from likewise.embedded import ServerDidNotStart
    from likewise.supervisor import CannotStart

    try:
        cli()
    except (LikewiseError, *REFUSALS, CannotStart, ServerDidNotStart) as error:
        print(f"likewise: {error}", file=sys.stderr)
        sys.exit(1)
    except ValidationError as error:
        if error.title != Settings.__name__:
            raise
        print(f"likewise: {problems_of_settings(error)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
